/** A panel at the side for one row of a list. Esc closes it and gives the focus back; on narrow screens it is the page. */
import { X } from "lucide-preact";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "./button.js";

interface PanelProps {
  readonly title: ComponentChildren;
  readonly label: string;
  readonly onClose: () => void;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Panel({ title, label, onClose, actions, children }: PanelProps) {
  const box = useRef<HTMLElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    const before = document.activeElement;
    box.current?.focus();
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || document.querySelector("dialog[open]") !== null) return;
      close.current();
    };
    addEventListener("keydown", onKey);
    return () => {
      removeEventListener("keydown", onKey);
      // The row may be gone with what was done to it: then the page itself has the focus, not the window.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      else document.getElementById("content")?.focus();
    };
  }, []);
  return (
    <aside
      ref={box}
      tabIndex={-1}
      aria-label={label}
      class="slide-in fixed top-12 right-0 bottom-0 z-30 flex w-[min(36rem,100vw)] flex-col border-l border-line-strong bg-surface outline-none max-sm:bottom-14 low:overflow-y-auto print:static print:w-full"
    >
      <div class="flex min-h-12 items-center gap-2 border-b border-line py-2 pr-2 pl-4">
        <h2 class="min-w-0 flex-1 truncate font-medium">{title}</h2>
        <Button kind="quiet" icon={X} aria-label="Close" title="Close (Esc)" onClick={onClose} />
      </div>
      <div class="min-h-0 flex-1 overflow-y-auto p-4 low:flex-none low:overflow-visible">{children}</div>
      {actions !== undefined && actions !== false && (
        <div class="flex flex-wrap items-center gap-2 border-t border-line px-4 py-2.5 max-sm:[&>*]:flex-1 max-sm:[&>*]:justify-center">
          {actions}
        </div>
      )}
    </aside>
  );
}

export function PanelPart(props: {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="mb-5 last:mb-0">
      <div class="mb-1.5 flex min-h-6 items-center gap-2">
        <h3 class="label">{props.title}</h3>
        <div class="ml-auto flex items-center">{props.actions}</div>
      </div>
      {props.children}
    </section>
  );
}
