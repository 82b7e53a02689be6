/** A JSON body that publishes, from its bytes to the text of the answer: the same for every short way into the hub. */
import type { Place, PublishWaiter } from "../../model/event-bus.js";
import type { Caller } from "../auth/auth.js";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { PayloadTexts } from "../ws/payload-text.js";
import { parseText, textOf } from "./body.js";
import {
  type PublishDesk,
  type PublishHeaders,
  publishAll,
  submitOne,
  topicItem,
  topicItems,
} from "./publish-items.js";

/** Who asked. Exactly one of the two is called, once. */
export interface PublishAsker {
  /** With the answer, as JSON. */
  published(text: string): void;
  fail(error: unknown): void;
}

/** Answers an event without a promise: there are many of them. */
export function publishBody(
  hub: HubContext,
  desk: PublishDesk,
  caller: Caller,
  headers: PublishHeaders,
  bytes: Buffer,
  asker: PublishAsker,
): void {
  try {
    if (!hub.accepting()) throw new HubError("CLOSED", "the hub is going down");
    const value = parseText(textOf(bytes));
    if (Array.isArray(value)) {
      publishAll(desk, caller, headers, topicItems(value)).then(
        (placed) => asker.published(JSON.stringify(placed)),
        (error: unknown) => asker.fail(error),
      );
      return;
    }
    const event = topicItem(value);
    const text = new PayloadTexts(bytes).next(event.item.payload);
    submitOne(desk, caller, headers, event, new EventWaiter(event.topic, asker), text);
  } catch (error) {
    asker.fail(error);
  }
}

class EventWaiter implements PublishWaiter {
  readonly #topic: string;
  readonly #asker: PublishAsker;

  constructor(topic: string, asker: PublishAsker) {
    this.#topic = topic;
    this.#asker = asker;
  }

  /** The topic's name was checked, an id may be anybody's. */
  done({ id, partition, seq, ts }: Place, duplicate: boolean): void {
    const again = duplicate ? ',"duplicate":true' : "";
    this.#asker.published(
      `{"id":${JSON.stringify(id)},"topic":"${this.#topic}","partition":${partition},"seq":${seq},"ts":${ts}${again}}`,
    );
  }

  fail(error: unknown): void {
    this.#asker.fail(error);
  }
}
