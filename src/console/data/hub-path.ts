/** Where the hub's paths begin, as the browser sees them: "" at the root of its host, "/bus" where a proxy has put it there. */
const [, found = ""] = /^(.*)\/assets\/[^/]*$/.exec(new URL(import.meta.url).pathname) ?? [];

export const hubPath = found;
