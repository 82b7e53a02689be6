/**
 * An object that has no member at all, not even those that every object inherits. Whoever looks up names from outside in an
 * ordinary one (as the MongoDB driver does in its `fieldsAsRaw`: lists under "constructor" and its like would come with bytes for
 * documents) finds something.
 */
export const NO_NAMES: Readonly<Record<string, never>> = Object.create(null);
