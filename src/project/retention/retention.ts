/**
 * Retention: topics lose their oldest events by age (`retentionMs`) and by size (`retentionBytes`, over all partitions,
 * oldest first). A group that has not settled what is about to go is told of first, when it comes near and again when it
 * happens: an audit entry (once an hour while it goes on), a callback, the statistics. With `holdForGroups` nothing goes before every group is past it.
 * A group that rests, behind a build of a view that was replaced, is behind as it should be, and counts for nothing here.
 */
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import { FirstFailure } from "../../model/first-failure.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { Handle } from "../../model/task.js";
import type { TopicConfig, TopicRef } from "../../model/topic.js";
import type { PartitionHead } from "../../ports/log.js";
import { cursorsAt, type GroupCursor, slowestFloor } from "../group-floors.js";
import { checkHost, type Host } from "../host.js";
import { AllLetterOutcomes } from "../letters/letter-outcomes.js";
import { checkFunctions, checkList, checkObject, checkRange } from "../option-checks.js";
import { roundsTask } from "../running-task.js";
import { namedTopics } from "../topic-choice.js";
import { restingGroups } from "../views/resting-groups.js";
import { AgeCuts } from "./age-cut.js";
import { AuditRetention } from "./audit-retention.js";
import { cutsByBytes, unsettled } from "./retention-cut.js";
import { UnreadReports } from "./unread-reports.js";

/** A group that has not settled events which retention takes. */
export interface UnreadEvents {
  readonly topic: string;
  readonly partition: number;
  readonly group: string;
  /** "soon": they go within the time of notice; "now": they go at once; "held": they stay because of the group. */
  readonly stage: "soon" | "now" | "held";
  /** Events it would lose, or has kept. */
  readonly events: number;
  readonly floor: Seq;
  /** The newest of the events that go. */
  readonly through: Seq;
}

/** Which topics, and what is spared. */
export interface RetentionRun {
  readonly topic?: TopicRef;
  /** Default: every topic with a retention. */
  readonly topics?: readonly TopicRef[];
  /** Keep what a group has not settled, however old. Default false. */
  readonly holdForGroups?: boolean;
  /** How long before the time a group is told of. Default: a tenth of the topic's `retentionMs`. */
  readonly noticeMs?: number;
  /** Awaited before anything goes. */
  readonly onWouldLose?: (unread: UnreadEvents) => unknown;
  /** How long entries of the audit are kept. Default: a year where no topic is named, else they are left alone. */
  readonly auditMs?: number;
}

/** What retention is told, and how often it looks. */
export interface RetentionOptions extends RetentionRun {
  /** Default 60,000. */
  readonly everyMs?: number;
}

const OPTIONS = namesOf<RetentionOptions>({
  topic: true,
  topics: true,
  holdForGroups: true,
  noticeMs: true,
  onWouldLose: true,
  auditMs: true,
  everyMs: true,
});

/** What retention has done since it began. */
export interface RetentionStats {
  readonly [name: string]: number;
  readonly rounds: number;
  /** Events that went. */
  readonly trimmed: number;
  /** Reports of groups with unread events. */
  readonly reports: number;
  /** Events that groups lost unread. */
  readonly lost: number;
  /** Partitions held back in the last round that went through all topics. */
  readonly held: number;
}

const AUDIT_MS = 365 * 86_400_000;

/** The most that one step by size takes away before it is measured again. */
const MAX_STEP_BYTES = 64 * 1_048_576;

/**
 * Removes what is older, or more, than topics keep, again and again. A group that would lose unread events is reported first.
 *
 * @example
 * const retention = startRetention(bus, { onWouldLose: ({ group, topic, events }) => alert(group, topic, events) });
 */
export function startRetention(host: Host, options: RetentionOptions = {}): Handle<RetentionStats> {
  checkObject("startRetention", options);
  checkRange("everyMs", options.everyMs, 1);
  const retention = new Retention(host, options);
  const { clock, tasks } = host;
  const name = `retention ${namedTopics(options)?.join(", ") ?? "*"}`;
  return roundsTask(
    { kind: "retention", name, clock, board: tasks, stats: () => retention.stats },
    { everyMs: options.everyMs ?? 60_000, round: (signal) => retention.round(signal) },
  );
}

/** One run over all topics. */
export async function retainNow(host: Host, options: RetentionRun = {}): Promise<RetentionStats> {
  const retention = new Retention(host, options);
  await retention.round(new AbortController().signal);
  return retention.stats;
}

class Retention {
  readonly #host: Host;
  readonly #options: RetentionRun;
  readonly #counts = { rounds: 0, trimmed: 0, reports: 0, lost: 0, held: 0 };
  readonly #reports = new UnreadReports();
  readonly #cuts: AgeCuts;
  readonly #cutsSoon: AgeCuts;
  readonly #outcomes: AllLetterOutcomes;
  readonly #audit: AuditRetention | undefined;
  /** Partitions held back in this round. */
  #holding = 0;

  constructor(host: Host, options: RetentionRun) {
    checkHost(host);
    checkObject("retention", options);
    checkOptionNames("retention", options, OPTIONS);
    checkList("topics", options.topics);
    checkRange("noticeMs", options.noticeMs, 0);
    checkRange("auditMs", options.auditMs, 0);
    checkFunctions({ onWouldLose: options.onWouldLose });
    this.#host = host;
    this.#options = options;
    this.#cuts = new AgeCuts(host.store.log);
    this.#cutsSoon = new AgeCuts(host.store.log);
    this.#outcomes = new AllLetterOutcomes(host);
    const keepMs = options.auditMs ?? (namedTopics(options) === null ? AUDIT_MS : undefined);
    this.#audit = keepMs === undefined ? undefined : new AuditRetention(host, keepMs);
  }

  get stats(): RetentionStats {
    return { ...this.#counts };
  }

  /** A topic that fails does not keep the others from their turn. */
  async round(signal: AbortSignal): Promise<boolean> {
    const failures = new FirstFailure();
    this.#holding = 0;
    for (const topic of await this.#topics()) {
      if (signal.aborted) break;
      await failures.note(this.#workOn(topic, signal));
    }
    if (this.#audit !== undefined) await failures.note(this.#audit.round(signal));
    this.#counts.rounds++;
    if (!signal.aborted) this.#counts.held = this.#holding;
    failures.throwIfAny();
    return false;
  }

  async #workOn(topic: TopicConfig, signal: AbortSignal): Promise<void> {
    await this.#byAge(topic, signal);
    await this.#byBytes(topic, signal);
    await this.#outcomes.of(topic.name)?.tidy(signal);
  }

  async #topics(): Promise<TopicConfig[]> {
    const all = await this.#host.topics();
    const named = namedTopics(this.#options);
    const missing = named?.find((name) => !all.some((topic) => topic.name === name));
    if (missing !== undefined) throw new BusError("NOT_FOUND", `there is no topic ${missing}`);
    return all.filter(
      ({ name, retentionMs, retentionBytes }) =>
        (retentionMs !== undefined || retentionBytes !== undefined) && (named?.includes(name) ?? true),
    );
  }

  async #byAge(topic: TopicConfig, signal: AbortSignal): Promise<void> {
    const { retentionMs, name } = topic;
    if (retentionMs === undefined) return;
    const { log } = this.#host.store;
    const nowMs = this.#host.clock.now();
    const noticeMs = Math.min(retentionMs, this.#options.noticeMs ?? retentionMs / 10);
    for (const head of await log.heads(name)) {
      if (signal.aborted) return;
      const beforeMs = nowMs - retentionMs;
      const cut = await this.#cuts.of(name, head, { beforeMs, nowMs });
      const soon = await this.#cutsSoon.of(name, head, { beforeMs: beforeMs + noticeMs, nowMs });
      await this.#cutOff(topic, head, cut, soon);
    }
  }

  /** In steps, each measured anew: what an event counts in the store is only known afterwards. */
  async #byBytes(topic: TopicConfig, signal: AbortSignal): Promise<void> {
    const { retentionBytes, name } = topic;
    if (retentionBytes === undefined) return;
    const { log } = this.#host.store;
    for (let progress = true; progress && !signal.aborted; ) {
      const heads = await log.heads(name);
      const excess = heads.reduce((sum, { bytes }) => sum + bytes, 0) - retentionBytes;
      if (excess <= 0) return;
      const cuts = await cutsByBytes(log, name, heads, Math.min(excess / 2, MAX_STEP_BYTES));
      progress = false;
      for (const head of heads) {
        const cut = cuts[head.partition] ?? 0;
        if ((await this.#cutOff(topic, head, cut, cut)) > 0) progress = true;
      }
    }
  }

  /** Tells of groups that are not past the cut, then cuts; returns how many events went. */
  async #cutOff(topic: TopicConfig, head: PartitionHead, wished: Seq, soon: Seq): Promise<number> {
    if (Math.max(wished, soon) < head.low) return 0;
    const { store, clock } = this.#host;
    const resting = await restingGroups(store.registry);
    const isResting = ({ group }: GroupCursor): boolean =>
      resting.some((ref) => ref.topic === topic.name && ref.group === group);
    const all = await cursorsAt(store, topic.name, head.partition, clock.now());
    const cursors = all.filter((cursor) => !isResting(cursor));
    const cut = this.#options.holdForGroups ? Math.min(wished, slowestFloor(cursors)) : wished;
    if (cut < wished) this.#holding++;
    for (const cursor of cursors) await this.#look(topic, head, cursor, { wished, cut, soon });
    if (cut < head.low) return 0;
    const outcomes = this.#outcomes.of(topic.name);
    const trimmed = await (outcomes === undefined
      ? store.log.trim(topic.name, head.partition, cut)
      : outcomes.trim(head, topic.name, cut));
    this.#counts.trimmed += trimmed;
    return trimmed;
  }

  async #look(
    topic: TopicConfig,
    { partition, low }: PartitionHead,
    { group, cursor }: GroupCursor,
    cuts: { readonly wished: Seq; readonly cut: Seq; readonly soon: Seq },
  ): Promise<void> {
    const name = `${topic.name} ${partition} ${group}`;
    const now = unsettled(cursor, low, cuts.wished);
    const events = now > 0 ? now : unsettled(cursor, low, cuts.soon);
    const stage = now === 0 ? "soon" : this.#options.holdForGroups ? "held" : "now";
    const through = now === 0 ? cuts.soon : cuts.wished;
    const unread = {
      topic: topic.name,
      partition,
      group,
      stage,
      events,
      floor: cursor?.floor ?? 0,
      through,
    } as const;
    if (events === 0) {
      const gone = this.#reports.end(name);
      if (gone > 0) await this.#writeDown({ ...unread, stage: "now", events: gone });
      return;
    }
    if (stage === "now") this.#counts.lost += events;
    else if (this.#reports.isTold(name, stage)) return;
    await this.#tell(name, unread);
  }

  async #tell(name: string, unread: UnreadEvents): Promise<void> {
    this.#counts.reports++;
    const events = this.#reports.tell(name, unread, this.#host.clock.steady());
    if (events > 0) await this.#writeDown({ ...unread, events });
    await this.#options.onWouldLose?.(unread);
  }

  async #writeDown(unread: UnreadEvents): Promise<void> {
    const { topic, group, ...details } = unread;
    await this.#host.store.registry.audit({
      atMs: this.#host.clock.now(),
      actor: "retention",
      action: `retention.unread-${unread.stage}`,
      target: `${topic} ${group}`,
      details: { topic, group, ...details },
    });
  }
}
