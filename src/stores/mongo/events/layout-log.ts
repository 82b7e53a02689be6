/** The log of the topics of one layout. Calls that mind what is fixed of a topic are told of it. */
import type { EventDraft, StoredEvent } from "../../../model/event.js";
import type { Fence } from "../../../ports/groups.js";
import type { AppendResult, HistoryOptions, Log } from "../../../ports/log.js";
import type { Target } from "./fenced-append.js";
import type { TopicTraits } from "./topic-traits.js";

export interface TopicByKey extends Pick<TopicTraits, "keyIndex"> {
  readonly name: string;
}

export interface LayoutLog extends Pick<Log, "read" | "headsOf" | "seqAt" | "trim" | "remove"> {
  append(target: Target, drafts: readonly EventDraft[], fence?: Fence): Promise<AppendResult>;
  latestByKey(topic: TopicByKey, keys: readonly string[]): Promise<ReadonlyMap<string, StoredEvent>>;
  history(topic: TopicByKey, key: string, options: HistoryOptions): Promise<readonly StoredEvent[]>;
}
