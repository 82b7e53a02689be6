/** What stands where data would: not yet, nothing, not allowed, not found, not working. */
import { CircleAlert, Inbox, Lock, SearchX, WifiOff } from "lucide-preact";
import type { ComponentChildren } from "preact";
import type { Live } from "../data/live.js";
import { missingRight, type Problem } from "../data/problem.js";
import { Button } from "./button.js";
import { CopyButton } from "./copy.js";
import { sentenceCase } from "./format.js";

/** Grey bars, only if it takes longer than a moment. */
export function Skeleton({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div class="late flex flex-col gap-2.5 p-4" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} class={`shimmer h-4 ${["w-full", "w-11/12", "w-4/5"][i % 3]}`} />
      ))}
    </div>
  );
}

/** Grey bars, or, if the hub is away meanwhile, words: nobody is to look at bars that cannot become anything. */
export function Waiting({
  rows,
  problem,
}: {
  readonly rows?: number;
  readonly problem: Problem | undefined;
}) {
  if (problem?.isOffline !== true) return <Skeleton {...(rows !== undefined && { rows })} />;
  return (
    <div role="status">
      <Empty
        icon={WifiOff}
        title={problem.status === 0 ? "The hub cannot be reached" : "The hub cannot say now"}
      >
        {problem.status !== 0 && `${sentence(problem.message)} `}
        What belongs here appears by itself once it can. It is tried again every few seconds.
      </Empty>
    </div>
  );
}

/** Says what would be here, and what makes it appear. */
export function Empty(props: {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly command?: string;
  readonly icon?: typeof Inbox;
}) {
  const { title, children, command, icon: Icon = Inbox } = props;
  return (
    <div class="flex flex-col items-center gap-2 px-6 py-12 text-center">
      <div class="mb-1 flex size-10 items-center justify-center rounded-full bg-raised text-faint">
        <Icon size={20} aria-hidden="true" />
      </div>
      <p class="font-medium">{title}</p>
      {children !== undefined && (
        <p class="max-w-md text-sm text-balance wrap-anywhere text-soft">{children}</p>
      )}
      {command !== undefined && (
        <div class="mt-2 flex max-w-full items-center gap-1 rounded-md border border-line bg-sunken py-1 pr-1 pl-3">
          <code class="mono wrap-anywhere whitespace-pre-wrap text-left">{command}</code>
          <CopyButton text={command} label="command" />
        </div>
      )}
    </div>
  );
}

export function Failure({ problem, retry }: { readonly problem: Problem; readonly retry?: () => void }) {
  const right = missingRight(problem);
  if (right !== null) {
    return (
      <Empty icon={Lock} title="Your token does not cover this">
        It lacks the right <code class="mono text-ink">{right}</code>. Ask whoever runs this hub for a token
        with that scope, or sign in with another one.
      </Empty>
    );
  }
  if (problem.status === 404) {
    return (
      <Empty icon={SearchX} title="Not found">
        {sentence(problem.message)}
      </Empty>
    );
  }
  return (
    <div class="flex flex-col items-center gap-3 px-6 py-12 text-center" role="alert">
      <div class="flex size-10 items-center justify-center rounded-full bg-bad-wash text-bad">
        <CircleAlert size={20} aria-hidden="true" />
      </div>
      <p class="max-w-lg text-sm wrap-anywhere">{sentence(problem.message)}</p>
      <p class="mono text-xs text-faint">{problem.code}</p>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

export function sentence(text: string): string {
  const first = sentenceCase(text);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

/** What is shown was right once, and can no longer be asked for. */
function Outdated({ problem }: { readonly problem: Problem }) {
  return (
    <p role="alert" class="mb-3 rounded-md bg-bad-wash px-3 py-2 text-sm wrap-anywhere text-bad">
      This is no longer brought up to date. {sentence(problem.message)}
    </p>
  );
}

/** The three stages of data that is asked for; children get it once it is there. Offline keeps what was there. */
export function Loaded<T>(props: {
  readonly live: Live<T>;
  readonly rows?: number;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { live, rows, children } = props;
  const problem = live.problem?.isOffline === false ? live.problem : undefined;
  if (live.data !== undefined)
    return (
      <>
        {problem !== undefined && <Outdated problem={problem} />}
        {children(live.data)}
      </>
    );
  if (problem !== undefined) return <Failure problem={problem} retry={live.refresh} />;
  return <Waiting {...(rows !== undefined && { rows })} problem={live.problem} />;
}
