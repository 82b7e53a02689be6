/** What something would do, as a dry run told: what keeps it from being done, that it is being looked at, or in words. */
import type { ComponentChildren } from "preact";
import type { DryRun } from "../data/dry-run.js";
import { sentence } from "./states.js";

interface ForeseenProps<T> {
  readonly dry: DryRun<T>;
  /** Said meanwhile. */
  readonly looking: string;
  readonly children: (data: T) => ComponentChildren;
}

export function Foreseen<T>({ dry: { data, problem }, looking, children }: ForeseenProps<T>) {
  if (problem !== undefined)
    return (
      <p role="alert" class="text-bad">
        {sentence(problem.message)}
      </p>
    );
  if (data === undefined) return <p class="text-faint">{looking}</p>;
  return <>{children(data)}</>;
}
