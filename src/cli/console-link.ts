/** Where people go: the console of a hub, signed in. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A browser cannot go to "every address"; the name of this machine's own will do. */
export function shownUrl(url: string): string {
  return url.replace("//0.0.0.0:", "//localhost:").replace("//[::]:", "//localhost:");
}

/** The token stands behind the "#": it is not sent to any server, and not logged by one. */
export function signInLink(url: string, token: string): string {
  return `${shownUrl(url)}/#token=${encodeURIComponent(token)}`;
}

export function consoleIsBuilt(): boolean {
  return existsSync(fileURLToPath(new URL("../console/index.html", import.meta.url)));
}
