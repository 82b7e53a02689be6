/**
 * Which web pages may use the hub. Browsers say where a script came from, and scripts of other sites must not use somebody's open
 * console.
 *
 * A hub that needs no token serves whoever reaches it, and a browser on its machine does. A page of any site may send simple requests
 * there, and a site may make a name of its own lead there, so that its page counts as the hub's. So such a hub looks at every
 * request: at where it comes from, and at the name by which the hub was called.
 */
import { isLoopback } from "./auth/auth.js";

/** What a request says of itself. */
export interface Visit {
  readonly origin?: string | undefined;
  readonly host?: string | undefined;
}

export class Visitors {
  readonly #isOpen: boolean;
  readonly #origins: ReadonlySet<string>;
  readonly #hosts: ReadonlySet<string | undefined>;

  /** `isOpen`: nobody needs a token. `origins`: of other sites whose pages may. */
  constructor(isOpen: boolean, origins: readonly string[]) {
    this.#isOpen = isOpen;
    this.#origins = new Set(origins.map((origin) => originOf(origin) ?? origin));
    this.#hosts = new Set(origins.map((origin) => urlOf(origin)?.host));
  }

  /** Whether a request is answered. */
  mayAsk({ origin, host }: Visit): boolean {
    return !this.#isOpen || (this.#isOwnName(host) && this.#isKnownPage(origin, host));
  }

  /** Whether a WebSocket is opened: also with tokens, a page of another site has no business here. */
  mayConnect({ origin, host }: Visit): boolean {
    return (!this.#isOpen || this.#isOwnName(host)) && this.#isKnownPage(origin, host);
  }

  /** Whether a page is of another site that the hub was told of. */
  isGuest(origin: string): boolean {
    return this.#origins.has(origin);
  }

  /** Programs name no origin. */
  #isKnownPage(origin: string | undefined, host: string | undefined): boolean {
    if (origin === undefined || this.#origins.has(origin)) return true;
    const page = urlOf(origin);
    // A proxy may name the port that everybody knows.
    return page !== undefined && host !== undefined && urlOf(`${page.protocol}//${host}`)?.host === page.host;
  }

  /** Browsers always say by which name they call. */
  #isOwnName(host: string | undefined): boolean {
    if (host === undefined) return true;
    const name = /^(?:\[([^\]]*)\]|([^:@]*))(?::\d+)?$/.exec(host.toLowerCase());
    return isLoopback(name?.[1] ?? name?.[2] ?? "") || this.#hosts.has(host.toLowerCase());
  }
}

/** As browsers write it: without a path, and in lower case. Undefined of what names no site. */
export function originOf(text: string): string | undefined {
  const { origin, protocol, host } = urlOf(text) ?? {};
  if (!host) return undefined;
  // That of an app or an extension is none to a URL: "null", which is what all pages say that have no site.
  return origin === "null" ? `${protocol}//${host}` : origin;
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
