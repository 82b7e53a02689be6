/** What a browser needs to run in a container, and to leave the network alone. */
export const FLAGS: string[];
/** The path of a Chromium; throws with advice if there is none. */
export function findChromium(): string;
