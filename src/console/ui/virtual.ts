/** Long lists: only the rows that can be seen are drawn. */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";

export interface Window {
  readonly items: readonly VirtualItem[];
  readonly before: number;
  readonly after: number;
  scrollTo(index: number): void;
}

/** The rows to draw of `count`, each `size` pixels high, in the scroller. */
export function useVirtual(o: {
  readonly scroller: RefObject<HTMLElement>;
  readonly count: number;
  readonly size: number;
}): Window {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const options = {
    count: o.count,
    estimateSize: () => o.size,
    getScrollElement: () => o.scroller.current,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    overscan: 12,
    initialRect: { width: 800, height: 600 },
    onChange: () => redraw(undefined),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), [virtualizer]);
  useEffect(() => virtualizer.measure(), [o.size]);
  useLayoutEffect(() => virtualizer._willUpdate());
  const items = virtualizer.getVirtualItems();
  const first = items[0];
  const last = items.at(-1);
  return {
    items,
    before: first?.start ?? 0,
    after: last === undefined ? 0 : virtualizer.getTotalSize() - last.end,
    scrollTo: (index) => virtualizer.scrollToIndex(index),
  };
}
