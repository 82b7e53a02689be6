/** Questions that must be answered first. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { problemFrom } from "../data/problem.js";
import { Button, type ButtonKind } from "./button.js";
import { useModal } from "./modal.js";
import { sentence } from "./states.js";
import { DialogToasts, toast } from "./toast.js";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly footer?: ComponentChildren;
  readonly wide?: boolean;
}

export function Dialog({ title, onClose, children, footer, wide }: DialogProps) {
  const modal = useModal(onClose);
  const id = useId();
  return (
    <dialog
      {...modal}
      aria-labelledby={id}
      class={`fade-in m-auto outline-none max-h-[90vh] w-[calc(100vw-2rem)] rounded-lg border border-line-strong bg-surface p-0 text-ink backdrop:bg-scrim ${wide ? "max-w-3xl" : "max-w-xl"}`}
    >
      {/* In a low window all of it scrolls: between head and buttons there would be no room left. */}
      <div class="flex max-h-[90vh] flex-col low:max-h-none">
        <h2 id={id} class="border-b border-line px-5 py-3.5 text-base font-semibold wrap-anywhere">
          {title}
        </h2>
        <div class="min-h-0 flex-1 overflow-y-auto px-5 py-4 text-sm low:overflow-visible">{children}</div>
        {footer !== undefined && (
          // On phones one below the other, what one came for on top: within reach of a thumb, and never cut.
          <div class="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3 max-sm:flex-col-reverse max-sm:[&>button]:justify-center">
            {footer}
          </div>
        )}
      </div>
      <DialogToasts />
    </dialog>
  );
}

/** A dialog with one thing to do. What goes wrong is said in it, and it stays open; if it was closed meanwhile, it is said anyway. */
export function ActionDialog(props: {
  readonly title: string;
  readonly verb: string;
  readonly kind?: ButtonKind;
  readonly ready?: boolean;
  readonly wide?: boolean;
  readonly act: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly extra?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const { title, verb, kind = "primary", ready = true, act, onClose, children } = props;
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<string | null>(null);
  const isGone = useRef(false);
  useEffect(
    () => () => {
      isGone.current = true;
    },
    [],
  );
  const run = async (): Promise<void> => {
    setBusy(true);
    setWrong(null);
    try {
      await act();
    } catch (error) {
      const words = sentence(problemFrom(error).message);
      if (isGone.current) toast("bad", `${verb}: that failed`, words);
      else setWrong(words);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      {...(props.wide && { wide: true })}
      footer={
        <>
          {props.extra !== undefined && (
            <div class="mr-auto flex items-center max-sm:hidden">{props.extra}</div>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button kind={kind} disabled={!ready} busy={busy} onClick={run}>
            {verb}
          </Button>
        </>
      }
    >
      {children}
      {wrong !== null && (
        <p role="alert" class="mt-3 rounded-md bg-bad-wash px-3 py-2 text-bad">
          {wrong}
        </p>
      )}
    </Dialog>
  );
}
