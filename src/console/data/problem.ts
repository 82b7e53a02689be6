/** What went wrong with a call, as the hub says it, or as the line says it. */

export interface ProblemBody {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly issues?: readonly { readonly path: string; readonly message: string }[];
}

/** Of what is not available, that which waiting does not mend. */
const LASTING: ReadonlySet<string> = new Set(["STORE_DAMAGED", "STORE_INCOMPATIBLE", "UNSUPPORTED"]);

/** What a hub says that goes down, and what a proxy says whose hub is away. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504]);
/** Too slow, or too much at once. */
const PASSING: ReadonlySet<number> = new Set([408, 429]);

export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly body: Partial<ProblemBody>;

  constructor(status: number, code: string, detail: string, body: Partial<ProblemBody> = {}) {
    super(detail);
    this.status = status;
    this.code = code;
    this.body = body;
  }

  /** The hub was not reached at all, or is going down, or its store or the way to it is away: it may be back in a moment. */
  get isOffline(): boolean {
    return this.status === 0 || (AWAY.has(this.status) && !LASTING.has(this.code));
  }

  /** The hub has understood, and says no: it will say so again. */
  get isRefusal(): boolean {
    return this.status >= 400 && this.status < 500 && !PASSING.has(this.status);
  }
}

export function problemFrom(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, "OFFLINE", "the hub cannot be reached");
}

export async function problemOf(response: Response): Promise<Problem> {
  const body = (await response.json().catch(() => ({}))) as Partial<ProblemBody>;
  const { status } = response;
  return new Problem(status, body.code ?? "ERROR", body.detail ?? `the hub answered ${status}`, body);
}

/** The right that is missing, of "this token lacks ops:audit". */
export function missingRight(problem: Problem): string | null {
  return problem.code === "FORBIDDEN" ? (/lacks (\S+)/.exec(problem.message)?.[1] ?? "a right") : null;
}
