/** Copying: ids, payloads, and the command that does the same in a terminal. */
import { Check, Copy, Terminal } from "lucide-preact";
import { useState } from "preact/hooks";
import { Button } from "./button.js";
import { toast } from "./toast.js";

const SHOWN_MS = 1_200;

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without a secure context there is no clipboard to write to: let the browser do it from a field, inside the dialog if one
    // is open, since nothing else can be selected then.
    const field = document.createElement("textarea");
    field.value = text;
    (document.activeElement?.closest("dialog") ?? document.body).append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [done, setDone] = useState(false);
  return (
    <button
      type="button"
      aria-label={`Copy ${label}`}
      title={done ? "Copied" : `Copy ${label}`}
      class="inline-flex size-6 shrink-0 items-center justify-center rounded text-faint hover:bg-raised hover:text-ink max-sm:-my-2 max-sm:size-10"
      onClick={(event) => {
        event.stopPropagation();
        setDone(true);
        setTimeout(() => setDone(false), SHOWN_MS);
        return copy(text);
      }}
    >
      {done ? <Check size={13} aria-hidden="true" /> : <Copy size={13} aria-hidden="true" />}
      <span role="status" class="sr-only">
        {done && "Copied"}
      </span>
    </button>
  );
}

/** "Copy as CLI command": what one sees or is about to do, as a command line. */
export function CopyCommand({ command, short }: { readonly command: string; readonly short?: boolean }) {
  return (
    <Button
      kind="quiet"
      icon={Terminal}
      title={command}
      aria-label="Copy as CLI command"
      class="max-sm:hidden"
      onClick={() => {
        toast("good", "Copied", command);
        return copy(command);
      }}
    >
      {short ? undefined : "Copy as CLI"}
    </Button>
  );
}
