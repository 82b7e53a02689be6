/** Light, dark, or as the machine says. */
import { computed, effect, signal } from "@preact/signals";

const NAME = "promethean.theme";
const preference = matchMedia("(prefers-color-scheme: dark)");
const chosen = signal<string | null>(localStorage.getItem(NAME));
const machine = signal(preference.matches ? "dark" : "light");
preference.addEventListener("change", (change) => {
  machine.value = change.matches ? "dark" : "light";
});

export const theme = computed<"light" | "dark">(() => {
  const wanted = chosen.value ?? machine.value;
  return wanted === "dark" ? "dark" : "light";
});

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

export function toggleTheme(): void {
  const next = theme.peek() === "dark" ? "light" : "dark";
  if (next === machine.peek()) localStorage.removeItem(NAME);
  else localStorage.setItem(NAME, next);
  chosen.value = next;
}
