/** The browser build of promethean/client, as text. */
export function clientBundle(): Promise<string>;
