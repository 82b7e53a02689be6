/** A sentence in which `names` and "errors" stand out; always text. */

export function Sentence({ text }: { readonly text: string }) {
  return (
    <span class="break-words">
      {partsOf(text).map(({ kind, text: part }, i) =>
        kind === "name" ? (
          <code key={i} class="mono rounded bg-raised px-1">
            {part}
          </code>
        ) : kind === "error" ? (
          <em key={i} class="font-medium">
            {part}
          </em>
        ) : (
          <span key={i}>{part}</span>
        ),
      )}
    </span>
  );
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
