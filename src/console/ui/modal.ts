/** The browser's own dialog: it keeps the focus inside, gives it back, and closes on Esc or on a press beside it. */
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

export interface ModalProps {
  readonly ref: RefObject<HTMLDialogElement>;
  readonly onCancel: (event: Event) => void;
  readonly onPointerDown: (event: PointerEvent) => void;
  readonly onClick: (event: MouseEvent) => void;
}

/** Open for as long as the component is there. */
export function useModal(onClose: () => void): ModalProps {
  const box = useRef<HTMLDialogElement>(null);
  const isPressed = useRef(false);
  useEffect(() => {
    const dialog = box.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return {
    ref: box,
    onCancel: (event) => {
      event.preventDefault();
      onClose();
    },
    // A selection that is drawn out of a field ends beside the dialog, too: what was typed must not be lost by it.
    onPointerDown: ({ target }) => {
      isPressed.current = target === box.current;
    },
    onClick: ({ target }) => {
      if (isPressed.current && target === box.current) onClose();
    },
  };
}
