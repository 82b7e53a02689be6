/** The token, for as long as the tab lives, or for this browser if its owner says so. */
import { signal } from "@preact/signals";

const NAME = "promethean.token";

export const token = signal<string | null>(takeFromLink() ?? stored());

export function keepToken(value: string, forThisBrowser: boolean): void {
  forgetStored();
  (forThisBrowser ? localStorage : sessionStorage).setItem(NAME, value);
  token.value = value;
}

export function dropToken(): void {
  forgetStored();
  token.value = null;
}

function forgetStored(): void {
  localStorage.removeItem(NAME);
  sessionStorage.removeItem(NAME);
}

function stored(): string | null {
  return sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME);
}

/** Somebody followed a link while the page was open; true if it brought a token. */
export function followLink(): boolean {
  const given = takeFromLink();
  if (given !== null) token.value = given;
  return given !== null;
}

/** A first-run link brings the token behind `#`, which is never sent; it is taken out of the address at once. */
function takeFromLink(): string | null {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null || given === "") return null;
  forgetStored();
  sessionStorage.setItem(NAME, given);
  history.replaceState(null, "", location.pathname + location.search);
  return given;
}
