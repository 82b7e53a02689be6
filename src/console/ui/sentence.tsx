/** A sentence in which `names` and "errors" stand out; always text. */
import { visible } from "./format.js";

export function Sentence({ text }: { readonly text: string }) {
  return (
    <span class="wrap-anywhere">
      {partsOf(text).map(({ kind, text: part }, i) =>
        kind === "name" ? (
          <code key={i} class="mono rounded bg-raised px-1">
            <bdi>{shortened(part)}</bdi>
          </code>
        ) : kind === "error" ? (
          <em key={i} class="font-medium">
            <bdi>{shortened(part)}</bdi>
          </em>
        ) : (
          <span key={i}>{part}</span>
        ),
      )}
    </span>
  );
}

const LONGEST_PART = 100;

/** A stack trace or a page of HTML as an error would bury the sentence; whole, it stands in the table below. */
function shortened(part: string): string {
  return part.length > LONGEST_PART ? `${visible(part.slice(0, LONGEST_PART))}…` : visible(part);
}

interface Part {
  readonly kind: "plain" | "name" | "error";
  readonly text: string;
}

export function partsOf(text: string): Part[] {
  return text
    .split(/(`[^`]+`|"[^"]+")/)
    .filter((part) => part !== "")
    .map((part) => {
      if (part.length > 2 && part.startsWith("`") && part.endsWith("`"))
        return { kind: "name", text: part.slice(1, -1) };
      if (part.length > 2 && part.startsWith('"') && part.endsWith('"'))
        return { kind: "error", text: part.slice(1, -1) };
      return { kind: "plain", text: part };
    });
}
