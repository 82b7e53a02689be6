/** Which groups an update of the log of changes (group-changes.ts) is about, as a change stream shows it. */
import type { Document } from "mongodb";
import type { GroupRef } from "../../../ports/groups.js";
import type { GroupChange } from "../collections.js";
import { groupRef } from "./cursor-document.js";

/**
 * What updates of the change log added. They come whole, or piece by piece (`latest.17`); and once the log is full, with all
 * that it holds, since every entry has moved.
 */
export class ChangedGroups {
  #version = 0;

  of(updatedFields: Document | undefined): GroupRef[] {
    const entries = Object.entries(updatedFields ?? {})
      .filter(([path]) => path === "latest" || path.startsWith("latest."))
      .flatMap(([, value]) => value as Partial<GroupChange> | readonly Partial<GroupChange>[] | null)
      .filter(isChange);
    if (entries.length === 0) return [];
    const newest = Math.max(...entries.map(({ version }) => version));
    // A log that begins anew counts from the beginning.
    const known = newest < this.#version ? 0 : this.#version;
    this.#version = newest;
    const names = entries.filter(({ version }) => version > known).map(({ ref }) => ref);
    return [...new Set(names)].map(groupRef);
  }
}

function isChange(entry: Partial<GroupChange> | null): entry is GroupChange {
  return typeof entry?.ref === "string" && typeof entry.version === "number";
}
