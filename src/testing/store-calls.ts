/**
 * Every call that can go through a store, as data: which part, which method, what sort of call. Whoever stands between
 * a caller and a store (faults, observers, planted bugs) says once what happens around a call; the table below is
 * complete by type, so that a new port method cannot slip by.
 */
import type { Signal, Store } from "../ports/store.js";

/** A part of a store. */
export type StorePart = "log" | "groups" | "documents" | "outbox" | "registry";

/** What faults are dealt out by. `read` and `state` change nothing; the others may. */
export type CallKind =
  | "append"
  | "read"
  | "session"
  | "lease"
  | "commit"
  | "state"
  | "document"
  | "outbox"
  | "registry";

/** Those that can fail: to prepare is a hint, to watch is no call, and without `appendNow` all that is appended is asked for. */
type MethodOf<P extends StorePart> = Exclude<keyof Store[P], "watch" | "prepare" | "appendNow"> & string;
type ArgsOf<P extends StorePart, M extends MethodOf<P>> = Store[P][M] extends (...args: infer A) => unknown
  ? Readonly<A>
  : never;

interface CallOf<P extends StorePart, M extends MethodOf<P>> {
  readonly name: `${P}.${M}`;
  readonly part: P;
  readonly method: M;
  readonly kind: CallKind;
  readonly args: ArgsOf<P, M>;
}

/** One call, told apart by `name`: "log.append", "groups.commit" … */
export type StoreCall = {
  [P in StorePart]: { [M in MethodOf<P>]: CallOf<P, M> }[MethodOf<P>];
}[StorePart];

/** A call's name: part and method. */
export type CallName = StoreCall["name"];

const KINDS: { readonly [P in StorePart]: { readonly [M in MethodOf<P>]: CallKind } } = {
  log: {
    append: "append",
    read: "read",
    heads: "read",
    headsOf: "read",
    seqAt: "read",
    find: "read",
    latestByKey: "read",
    history: "read",
    hasKeyIndex: "read",
    trim: "append",
    remove: "append",
  },
  groups: {
    open: "session",
    beat: "session",
    close: "session",
    sessions: "state",
    join: "session",
    leave: "session",
    start: "lease",
    claim: "lease",
    commit: "commit",
    release: "lease",
    move: "lease",
    state: "state",
    list: "state",
    changes: "state",
    remove: "lease",
  },
  documents: {
    define: "document",
    write: "document",
    transact: "commit",
    get: "read",
    find: "read",
    views: "read",
    drop: "document",
    purge: "document",
  },
  outbox: {
    add: "outbox",
    claimBatch: "outbox",
    markSent: "outbox",
    markError: "outbox",
    requeueExpired: "outbox",
    requeueDead: "outbox",
    discardDead: "outbox",
    purge: "outbox",
    stats: "read",
    list: "read",
  },
  registry: {
    defineTopic: "registry",
    topic: "read",
    topics: "read",
    removeTopic: "registry",
    putSchema: "registry",
    schemas: "read",
    token: "read",
    putToken: "registry",
    tokens: "read",
    audit: "registry",
    audits: "read",
    trimAudits: "registry",
  },
};

/** Calls the wrapped store, with the call's own arguments or with others. */
export type Proceed = (args?: readonly unknown[]) => Promise<unknown>;

export interface Interception {
  around(call: StoreCall, proceed: Proceed): Promise<unknown>;
  /** A signal on its way to a listener; deliver it, another, later, or none at all. */
  signal?(signal: Signal, deliver: (signal: Signal) => void): void;
  /** Default: the wrapped store's own. */
  open?(): Promise<void>;
  close?(): Promise<void>;
}

/** The same store with `interception` around every call and signal. */
export function interceptStore(store: Store, interception: Interception): Store {
  const pass = (signal: Signal, deliver: (signal: Signal) => void): void =>
    interception.signal === undefined ? deliver(signal) : interception.signal(signal, deliver);
  const watch = store.watch?.bind(store);
  return {
    // A driver may know them only once it is open.
    get name() {
      return store.name;
    },
    get capabilities() {
      return store.capabilities;
    },
    log: wrapPart(store, "log", interception),
    groups: wrapPart(store, "groups", interception),
    documents: wrapPart(store, "documents", interception),
    outbox: withOutboxWatch(store, wrapPart(store, "outbox", interception), pass),
    registry: wrapPart(store, "registry", interception),
    open: () => (interception.open ?? store.open.bind(store))(),
    close: () => (interception.close ?? store.close.bind(store))(),
    ...(watch && { watch: (listener) => watch((signal) => pass(signal, listener)) }),
  };
}

type Callable = Record<string, (...args: readonly unknown[]) => Promise<unknown>>;

function wrapPart<P extends StorePart>(store: Store, name: P, interception: Interception): Store[P] {
  const target = store[name] as unknown as Callable;
  const wrapped: Callable = {};
  for (const [method, kind] of Object.entries(KINDS[name]) as [string, CallKind][]) {
    wrapped[method] = (...args) => {
      const call = { name: `${name}.${method}`, part: name, method, kind, args } as unknown as StoreCall;
      const proceed: Proceed = async (others) => target[method]?.apply(target, [...(others ?? args)]);
      return interception.around(call, proceed);
    };
  }
  return wrapped as unknown as Store[P];
}

function withOutboxWatch(
  store: Store,
  outbox: Store["outbox"],
  pass: (signal: Signal, deliver: (signal: Signal) => void) => void,
): Store["outbox"] {
  const watch = store.outbox.watch?.bind(store.outbox);
  if (watch === undefined) return outbox;
  return { ...outbox, watch: (wake) => watch(() => pass({ type: "any" }, wake)) };
}
