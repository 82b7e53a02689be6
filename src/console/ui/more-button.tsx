/** The way to the next page of a list. */
import type { ComponentChildren } from "preact";
import type { Problem } from "../data/problem.js";
import { Button } from "./button.js";
import { sentence } from "./states.js";

export function MoreButton(props: {
  readonly live: {
    readonly hasMore: boolean;
    readonly isLoading: boolean;
    readonly stopped: Problem | undefined;
    more(): void;
    refresh(): void;
  };
  readonly children?: ComponentChildren;
}) {
  const { live, children = "Load more" } = props;
  if (live.stopped !== undefined) {
    return (
      <span role="alert" class="ml-auto flex items-center gap-3 text-xs text-bad">
        {sentence(live.stopped.message)}
        <Button onClick={live.refresh}>Try again</Button>
      </span>
    );
  }
  if (!live.hasMore && !live.isLoading) return null;
  return (
    <Button class="ml-auto" busy={live.isLoading} onClick={live.more}>
      {children}
    </Button>
  );
}
