/** `promethean tail`: follows a topic outside any group; a broken connection is taken up where it broke. */
import type { Command } from "commander";
import { EventLines } from "../../client/event-lines.js";
import { pause, systemClock } from "../../model/clock.js";
import type { EventRecord } from "../../model/event.js";
import { Absence } from "../absence.js";
import { PLACES, type Place, place, placeText, wholeNumber } from "../arguments.js";
import type { Backend } from "../backend.js";
import { eventLine, terminalColumns } from "../event-line.js";
import { mayComeBack } from "../exit.js";
import { newCommand } from "../own-command.js";
import { perform, type Session, withConnection } from "../session.js";

interface TailOptions {
  readonly from: Place;
  readonly key?: string;
  readonly partition?: number;
  readonly limit?: number;
}

const RECONNECT_MS = 1_000;

export function tailCommand(): Command {
  const command = newCommand(
    "tail",
    "Follows a topic: prints its events as they come. What is stored already comes first, partitions merged by time.",
    [
      "promethean tail orders.placed",
      "promethean tail orders.placed --from earliest --limit 2",
      "promethean tail orders.placed --from -15m --key customer-42 --json",
    ],
  )
    .argument("<topic>", "the topic")
    .option("--from <place>", `where to begin: ${PLACES}`, place, "latest" as Place)
    .option("-k, --key <key>", "only events of this key")
    .option("--partition <n>", "only this partition", wholeNumber(0))
    .option("-n, --limit <n>", "stop after this many events", wholeNumber(1));
  return withConnection(command).action(perform<TailOptions, [string]>(tail));
}

async function tail(session: Session<TailOptions>, topic: string): Promise<void> {
  const { out, options } = session;
  const backend = await session.connect();
  const limit = options.limit ?? Number.POSITIVE_INFINITY;
  let seen = 0;
  for await (const data of events(backend, topic, session)) {
    out.line(out.json ? data : eventLine(JSON.parse(data) as EventRecord, terminalColumns()));
    if (++seen >= limit) return;
  }
}

/** The data of each event, until the signal; the first connection must succeed. */
async function* events(
  backend: Backend,
  topic: string,
  { out, options: { from, key, partition }, signal }: Session<TailOptions>,
): AsyncGenerator<string> {
  let cursor: string | undefined;
  const absence = new Absence(out, backend.name, "tail");
  while (!signal.aborted) {
    try {
      const query = { topic, from: placeText(from), key, partition };
      const body = await backend.stream(
        "/events",
        query,
        cursor === undefined ? {} : { "Last-Event-ID": cursor },
      );
      absence.over();
      // A read that is still under way is ended by the same signal: the connection listens to it.
      yield* eventsOf(body, (id) => {
        cursor = id;
      });
    } catch (error) {
      if (!signal.aborted && (cursor === undefined || !mayComeBack(error))) throw error;
      if (!signal.aborted) absence.tell();
    }
    await pause(systemClock, RECONNECT_MS, signal);
  }
}

async function* eventsOf(
  body: AsyncIterable<Uint8Array>,
  onPlace: (id: string) => void,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let ready: string[] = [];
  const lines = new EventLines({ onEvent: (data) => ready.push(data), onPlace });
  for await (const piece of body) {
    lines.take(decoder.decode(piece, { stream: true }));
    yield* ready;
    ready = [];
  }
}
