/** What something would do, asked for a moment after the last change of what is wanted; an answer to what is no longer wanted is dropped. */
import { useEffect, useState } from "preact/hooks";
import { call } from "./api.js";
import { type Problem, problemFrom } from "./problem.js";

const SETTLE_MS = 200;

export interface DryRun<T> {
  readonly data?: T;
  readonly problem?: Problem;
}

/** null: it is not clear yet what is wanted. */
export function useDryRun<T>(path: string, body: object | null): DryRun<T> {
  const text = JSON.stringify(body);
  const [found, setFound] = useState<DryRun<T> & { readonly of: string }>({ of: "" });
  const wanted = `${path} ${text}`;
  useEffect(() => {
    if (body === null) return;
    const over = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const data = await call<T>(path, { body: { ...body, dryRun: true }, signal: over.signal });
        setFound({ of: wanted, data });
      } catch (error) {
        if (!over.signal.aborted) setFound({ of: wanted, problem: problemFrom(error) });
      }
    }, SETTLE_MS);
    return () => {
      clearTimeout(timer);
      over.abort();
    };
  }, [wanted]);
  return found.of === wanted ? found : {};
}
