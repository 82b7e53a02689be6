/** How much room there is, where the drawing itself has to know: as in the style sheet. */
import { signal } from "@preact/signals";

const narrow = matchMedia("(width < 40rem)");

/** Phones: one column, and everything that is pressed large enough for a thumb. */
export const isPhone = signal(narrow.matches);

narrow.addEventListener("change", ({ matches }) => {
  isPhone.value = matches;
});
