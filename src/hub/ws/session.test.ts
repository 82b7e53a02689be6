import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Acl } from "../auth/acl.js";
import type { Caller } from "../auth/auth.js";
import { DEFAULT_HUB_LIMITS, type HubLimits } from "../limits.js";
import type { ClientFrame, PublishFrame } from "../protocol.js";
import { checkFrame } from "./frames.js";
import { createSession, type Session, type SessionEvent, stepSession, stopPublish } from "./session.js";
import type { SessionEffect } from "./session-effects.js";

const caller = (scopes: string[], expiresMs = Number.POSITIVE_INFINITY): Caller => ({
  subject: "ada",
  acl: new Acl({ scopes }),
  expiresMs,
});
const everything = caller(["*:*"]);
const frame = (given: object, nowMs = 0): SessionEvent => ({
  type: "frame",
  frame: given as ClientFrame,
  nowMs,
});
const known = (who: Caller | null = everything, limits: Partial<HubLimits> = {}): Session =>
  createSession(who, { ...DEFAULT_HUB_LIMITS, ...limits }, 0);
const codes = (effects: readonly SessionEffect[]): unknown[] =>
  effects.map((effect) => {
    if (effect.type === "send") return (effect.frame as { code?: string; type: string }).code ?? "sent";
    return effect.type === "close" ? effect.code : effect.type;
  });

const a = { topic: "a", group: "g" };
const PUBLISH = { type: "PUBLISH", topic: "a", payload: 1, corr: 1 };
const SUBSCRIBE = { type: "SUBSCRIBE", ...a, corr: 1 };
const ACK = { type: "ACK", ...a, id: "x", corr: 1 };

describe("what a session keeps is bounded (P13)", () => {
  it("P13: rates of the last topics alone, however many it publishes to", () => {
    const session = known();
    for (let n = 0; n < 10_000; n++) stepSession(session, frame({ ...PUBLISH, topic: `t.${n}` }));
    expect(session.publishes.size).toBeLessThanOrEqual(1_000);
  });

  it("P13: of what a client takes, the names that there are", () => {
    const session = known();
    stepSession(session, frame({ type: "PING", takes: ["events", "x".repeat(1_000_000), "placed"] }));
    expect([...session.takes]).toEqual(["events", "placed"]);
  });

  it("P13: bad frames are answered with far more than they hold, and count as many", () => {
    const session = known(null);
    const bad = { type: "complaint", complaint: "bad", corr: 1, nowMs: 0 } as const;
    const answers = Array.from({ length: 10_000 }, () => codes(stepSession(session, bad))).flat();
    expect(answers.filter((code) => code === "BAD_REQUEST")).toHaveLength(4_000);
    expect(answers.filter((code) => code === "RATE_LIMITED")).toHaveLength(1_000);
    expect(answers.at(-1)).toBe(4429);
  });
});

describe("a session that has not said who it is", () => {
  it.each([PUBLISH, SUBSCRIBE, ACK, { type: "PAUSE" }])("is ended by %o", (given) => {
    const session = known(null);
    expect(codes(stepSession(session, frame(given)))).toEqual(["UNAUTHENTICATED", 4401]);
    expect(session.phase).toBe("ended");
  });

  it("may ping, and is ended when no AUTH comes", () => {
    const session = known(null);
    expect(stepSession(session, frame({ type: "PING", corr: 7 }))).toEqual([
      { type: "send", frame: { type: "PONG", corr: 7 } },
    ]);
    expect(codes(stepSession(session, { type: "late" }))).toEqual([4408]);
  });

  it("has its frames wait for the answer to its AUTH, in order, and forgotten if that is no", () => {
    const session = known(null);
    expect(stepSession(session, frame({ type: "AUTH", token: "t", corr: 1 }))).toEqual([
      { type: "authenticate", token: "t", corr: 1 },
    ]);
    for (let n = 0; n < 2_000; n++)
      expect(stepSession(session, frame({ ...PUBLISH, payload: n }))).toEqual([]);
    const effects = stepSession(session, { type: "authenticated", caller: everything, corr: 1, nowMs: 0 });
    expect(effects.slice(0, 2)).toEqual([
      { type: "send", frame: { type: "OK", corr: 1, result: { subject: "ada", takes: ["ids", "many"] } } },
      { type: "expireAt", atMs: Number.POSITIVE_INFINITY },
    ]);
    const published = effects.flatMap((effect) => (effect.type === "publish" ? [effect.frame.payload] : []));
    expect(published).toEqual(Array.from({ length: 2_000 }, (_, n) => n));
    expect(codes(stepSession(session, { type: "late" }))).toEqual([]);

    const refused = known(null);
    stepSession(refused, frame({ type: "AUTH", token: "t" }));
    stepSession(refused, frame(PUBLISH));
    expect(codes(stepSession(refused, { type: "refused" }))).toEqual(["UNAUTHENTICATED", 4401]);
  });
});

it("P13: what waited for the answer to an AUTH counts once", () => {
  const session = known(null, { framesPerSecond: 5 });
  stepSession(session, frame({ type: "AUTH", token: "t" }));
  for (let n = 0; n < 9; n++) expect(stepSession(session, frame(PUBLISH))).toEqual([]);
  const effects = stepSession(session, { type: "authenticated", caller: everything, nowMs: 0 });
  expect(codes(effects)).toEqual(["sent", "expireAt", ...Array(9).fill("publish")]);
});

it("what waits behind two AUTHs is done under the second", () => {
  const session = known(null);
  stepSession(session, frame({ type: "AUTH", token: "t" }));
  stepSession(session, frame({ type: "AUTH", token: "u" }));
  stepSession(session, frame(PUBLISH));
  const first = stepSession(session, { type: "authenticated", caller: caller([]), nowMs: 0 });
  expect(codes(first)).toEqual(["sent", "expireAt", "authenticate"]);
  const second = stepSession(session, { type: "authenticated", caller: everything, nowMs: 0 });
  expect(codes(second)).toEqual(["sent", "expireAt", "publish"]);
});

describe("a session", () => {
  it("asks the bus for what its caller may do, and for nothing else", () => {
    const session = known(caller(["publish:a", "subscribe:b.**"]));
    expect(codes(stepSession(session, frame(PUBLISH)))).toEqual(["publish"]);
    expect(codes(stepSession(session, frame({ ...PUBLISH, topic: "b" })))).toEqual(["FORBIDDEN"]);
    expect(codes(stepSession(session, frame(SUBSCRIBE)))).toEqual(["FORBIDDEN"]);
    expect(codes(stepSession(session, frame({ ...SUBSCRIBE, topic: "b.*" })))).toEqual(["subscribe"]);
    expect(codes(stepSession(session, frame({ ...SUBSCRIBE, topic: "**" })))).toEqual(["FORBIDDEN"]);
  });

  it("subscribes as the groups that its caller may act for", () => {
    const session = known(caller(["subscribe:a", "group:g.*"]));
    expect(codes(stepSession(session, frame(SUBSCRIBE)))).toEqual(["FORBIDDEN"]);
    expect(codes(stepSession(session, frame({ ...SUBSCRIBE, group: "g.1" })))).toEqual(["subscribe"]);
    const later = (scope: string): SessionEvent => ({
      type: "authenticated",
      caller: caller(["subscribe:a", scope]),
      nowMs: 0,
    });
    expect(codes(stepSession(session, later("group:g.1")))).toEqual(["sent", "expireAt"]);
    expect(codes(stepSession(session, later("group:g.2")))).toEqual(["FORBIDDEN", 4403]);
  });

  it("knows what its client takes, from the last AUTH or PING that said so", () => {
    const session = known(null);
    stepSession(session, frame({ type: "AUTH", token: "t", takes: ["events", "placed"] }));
    stepSession(session, { type: "authenticated", caller: everything, nowMs: 0 });
    expect([...session.takes]).toEqual(["events", "placed"]);
    stepSession(session, frame({ type: "PING" }));
    stepSession(session, frame({ type: "AUTH", token: "t" }));
    expect([...session.takes]).toEqual(["events", "placed"]);
    stepSession(session, { type: "authenticated", caller: everything, nowMs: 0 });
    stepSession(session, frame({ type: "PING", takes: [] }));
    expect([...session.takes]).toEqual([]);
  });

  it("P13: asks the bus for many of a topic at once if its caller may publish there, and counts each of them", () => {
    const session = known(caller(["publish:a"]), { framesPerSecond: 10, publishesPerSecondPerTopic: 5 });
    const many = (topic: string, count: number): object => {
      return { type: "PUBLISH_MANY", topic, events: Array.from({ length: count }, () => ({ payload: 1 })) };
    };
    expect(codes(stepSession(session, frame(many("b", 1))))).toEqual(["FORBIDDEN"]);
    expect(codes(stepSession(session, frame(many("a", 7))))).toEqual(["publishMany"]);
    expect(codes(stepSession(session, frame(many("a", 4))))).toEqual(["RATE_LIMITED"]);
    expect(codes(stepSession(session, frame(many("a", 3))))).toEqual(["publishMany"]);
    expect(codes(stepSession(known(), frame(many("a", 1_000))))).toEqual(["publishMany"]);
    for (const events of [undefined, [], [1], [{}], Array.from({ length: 1_001 }, () => ({ payload: 1 }))])
      expect(checkFrame({ type: "PUBLISH_MANY", topic: "a", events })).toHaveProperty("complaint");
  });

  it("hands on the text of a payload with its publish", () => {
    const event: SessionEvent = { type: "frame", frame: PUBLISH as ClientFrame, nowMs: 0, text: "1" };
    expect(stepSession(known(), event)).toEqual([{ type: "publish", frame: PUBLISH, text: "1" }]);
  });

  it("P13: stops a publish by itself for the same reasons as among other frames, and counts it the same", () => {
    const limits = { framesPerSecond: 2, publishesPerSecondPerTopic: 1 };
    const states: readonly Partial<Session>[] = [
      {},
      { leaving: true },
      { phase: "ended" },
      { authenticating: true },
    ];
    for (const who of [null, everything, caller(["publish:b"])])
      for (const state of states) {
        const one = Object.assign(known(who, limits), state);
        const other = Object.assign(known(who, limits), state);
        for (let n = 0; n < 8; n++) {
          const given = { ...PUBLISH, payload: n } as PublishFrame;
          const among = stepSession(one, { type: "frame", frame: given, nowMs: n, text: "t" });
          const alone = stopPublish(other, given, n, "t");
          expect(alone ?? [{ type: "publish", frame: given, text: "t" }]).toEqual(among);
        }
        expect([other.phase, other.refusals, other.waiting]).toEqual([one.phase, one.refusals, one.waiting]);
      }
  });

  it("settles, extends, pauses and ends only what is subscribed to", () => {
    const session = known();
    const asked = [
      ACK,
      { ...ACK, type: "NACK" },
      { ...ACK, type: "MODACK", extend_ms: 5 },
      { type: "PAUSE", ...a },
      { type: "RESUME", ...a },
      { type: "UNSUBSCRIBE", ...a },
    ];
    for (const given of asked) expect(codes(stepSession(session, frame(given)))).toEqual(["NOT_FOUND"]);
    stepSession(session, frame(SUBSCRIBE));
    expect(asked.flatMap((given) => codes(stepSession(session, frame(given))))).toEqual([
      "settle",
      "settle",
      "extend",
      "pause",
      "pause",
      "unsubscribe",
    ]);
    expect(stepSession(session, frame({ type: "PAUSE" }))).toMatchObject([{ keys: ["a\ng"], paused: true }]);
    stepSession(session, { type: "unsubscribed", key: "a\ng" });
    expect(codes(stepSession(session, frame(ACK)))).toEqual(["NOT_FOUND"]);
  });

  it("has each subscription once, and so many of them", () => {
    const session = known(everything, { maxSubscriptionsPerConnection: 2 });
    const ask = (topic: string): unknown[] => codes(stepSession(session, frame({ ...SUBSCRIBE, topic })));
    expect([ask("a"), ask("a"), ask("b"), ask("c")]).toEqual([
      ["subscribe"],
      ["INVALID_OPTION"],
      ["subscribe"],
      ["QUEUE_FULL"],
    ]);
    stepSession(session, { type: "unsubscribed", key: "a\ng" });
    expect(ask("c")).toEqual(["subscribe"]);
  });

  it("P13: refuses what comes too fast, lets it on after a while, and ends when it is not heeded", () => {
    const session = known(everything, { framesPerSecond: 10, publishesPerSecondPerTopic: 5 });
    const ask = (nowMs: number): unknown[] => codes(stepSession(session, frame(PUBLISH, nowMs)));
    for (let n = 0; n < 10; n++) expect(ask(0)).toEqual(["publish"]);
    expect(ask(0)).toEqual(["RATE_LIMITED"]);
    expect(codes(stepSession(session, frame({ ...PUBLISH, topic: "b" })))).toEqual(["publish"]);
    expect(ask(1_000)).toEqual(["publish"]);
    const told = new Set<unknown>();
    for (let n = 0; n < 1_100; n++) for (const code of ask(1_000)) told.add(code);
    expect([...told]).toEqual(["publish", "RATE_LIMITED", 4429]);
    expect(session.phase).toBe("ended");
  });

  it("goes on under a later token, unless that lacks what is subscribed to", () => {
    const session = known();
    stepSession(session, frame(SUBSCRIBE));
    stepSession(session, frame({ type: "AUTH", token: "later", corr: 2 }));
    const later = caller(["subscribe:a"], 5_000);
    expect(stepSession(session, { type: "authenticated", caller: later, corr: 2, nowMs: 0 })).toEqual([
      {
        type: "send",
        frame: { type: "OK", corr: 2, result: { subject: "ada", expires_ms: 5_000, takes: ["ids", "many"] } },
      },
      { type: "expireAt", atMs: 5_000 },
    ]);
    expect(codes(stepSession(session, frame(PUBLISH)))).toEqual(["FORBIDDEN"]);
    stepSession(session, frame({ type: "AUTH", token: "last" }));
    const last = { type: "authenticated", caller: caller(["publish:a"]), nowMs: 0 } as const;
    expect(codes(stepSession(session, last))).toEqual(["FORBIDDEN", 4403]);
  });

  it("of a hub that goes down settles, and takes on nothing", () => {
    const session = known();
    stepSession(session, frame(SUBSCRIBE));
    session.leaving = true;
    expect(codes(stepSession(session, frame(PUBLISH)))).toEqual(["CLOSED"]);
    expect(codes(stepSession(session, frame({ ...SUBSCRIBE, topic: "b" })))).toEqual(["CLOSED"]);
    expect(codes(stepSession(session, frame(ACK)))).toEqual(["settle"]);
  });

  it.each<[SessionEvent, unknown[]]>([
    [{ type: "expired" }, ["UNAUTHENTICATED", 4401]],
    [{ type: "fenced" }, ["LEASE_LOST", 4409]],
    [{ type: "crowded" }, ["QUEUE_FULL", 4429]],
    [{ type: "slow" }, [4430]],
  ])("is ended by %o, and then does nothing", (event, told) => {
    const session = known();
    stepSession(session, frame(SUBSCRIBE));
    expect(codes(stepSession(session, event))).toEqual(told);
    for (const later of [
      frame(PUBLISH),
      frame(ACK),
      frame({ type: "PING" }),
      event,
      { type: "late" } as const,
    ])
      expect(stepSession(session, later)).toEqual([]);
  });

  it("whatever comes: answers each request once, asks for nothing without a right, and ends once", () => {
    const rights = caller(["publish:a", "subscribe:a"]);
    const topic = fc.constantFrom("a", "b");
    const type = fc.constantFrom(
      "PUBLISH",
      "SUBSCRIBE",
      "UNSUBSCRIBE",
      "ACK",
      "NACK",
      "MODACK",
      "PAUSE",
      "PING",
      "AUTH",
    );
    const asked = fc.record({
      type,
      topic,
      group: fc.constant("g"),
      id: fc.constant("x"),
      token: fc.constant("t"),
      payload: fc.constant(1),
      extend_ms: fc.constant(1),
    });
    const event: fc.Arbitrary<SessionEvent> = fc.oneof(
      { weight: 8, arbitrary: asked.map((given) => frame({ ...given, corr: 1 })) },
      fc.constant<SessionEvent>({ type: "authenticated", caller: rights, nowMs: 0 }),
      fc.constant<SessionEvent>({ type: "unsubscribed", key: "a\ng" }),
      fc.constantFrom<SessionEvent>(
        { type: "late" },
        { type: "expired" },
        { type: "refused" },
        { type: "slow" },
      ),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), fc.boolean(), (events, isKnown) => {
        const session = known(isKnown ? rights : null);
        let closes = 0;
        for (const one of events) {
          const waits = session.authenticating;
          const effects = stepSession(session, one);
          closes += effects.filter((effect) => effect.type === "close").length;
          for (const effect of effects) {
            if (effect.type === "publish" || effect.type === "subscribe")
              expect([session.caller?.subject, effect.frame.topic]).toEqual(["ada", "a"]);
          }
          const isAnswer = (effect: SessionEffect): boolean => effect.type !== "close";
          if (one.type === "frame" && !waits) expect(effects.filter(isAnswer).length).toBeLessThanOrEqual(1);
        }
        expect(closes).toBe(session.phase === "ended" ? 1 : 0);
      }),
      { numRuns: 300 },
    );
  });
});
