/**
 * How requests and replies cross between the threads. Nested objects cost several times as much to clone as what they hold,
 * and among a thousand partitions each event is an append and an answer of its own. So messages are flat, and appends that
 * follow each other cross as one list of numbers, as do their answers:
 *
 *   requests  number, name, argument · number, APPENDS, numbers of all appends of the run, buffers, places
 *   replies   number, outcome, answer or error · number, APPENDS, first seqs of the run
 *
 * The number is that of the first of a run; the others follow it. A topic and partition are named once, as a place, and told
 * by its number from then on. The outcome is whether the request succeeded.
 */
import type { Seq } from "../../../model/event.js";
import { LAYOUT } from "../../batch-encoder.js";
import type { PackedError } from "../errors.js";
import type { AppendAnswer, AppendRequest, OperationName, Reply, Request } from "../protocol.js";

/** In place of the name of an operation, and of the outcome of one. */
const APPENDS = 0;

/** Of an append: its place, its buffer, whether its ids are to be looked up, and the layout of its one batch. */
const PER_APPEND = 3 + LAYOUT;

/** The numbers of places, for the thread that sends. */
export class PlaceNumbers {
  #numbers = new Map<string, number[]>();
  #count = 0;
  #untold: (number | string)[] = [];

  numberOf(topic: string, partition: number): number {
    let numbers = this.#numbers.get(topic);
    if (numbers === undefined) {
      numbers = [];
      this.#numbers.set(topic, numbers);
    }
    let number = numbers[partition];
    if (number === undefined) {
      number = this.#count++;
      numbers[partition] = number;
      this.#untold.push(number, topic, partition);
    }
    return number;
  }

  /** Number, topic and partition of places that the other thread has not been told of. */
  takeUntold(): readonly (number | string)[] {
    const untold = this.#untold;
    this.#untold = [];
    return untold;
  }

  /** What was taken last may not have been told: all are given numbers anew. */
  forget(): void {
    this.#numbers = new Map();
    this.#untold = [];
  }
}

/** The places behind the numbers, for the thread that receives. */
export type Places = Map<number, { readonly topic: string; readonly partition: number }>;

/** Their numbers must follow each other. */
export function packRequests(requests: readonly Request[], places: PlaceNumbers): readonly unknown[] {
  const flat: unknown[] = [];
  for (let i = 0; i < requests.length; ) {
    const { number, name, argument } = requests[i] as Request;
    const end = endOfRun(requests, i);
    if (end > i) {
      packAppends(requests, i, end, places, flat);
      i = end;
    } else {
      flat.push(number, name, name === "append" ? bare(argument as AppendRequest) : argument);
      i++;
    }
  }
  return flat;
}

function endOfRun(requests: readonly Request[], from: number): number {
  let end = from;
  while (end < requests.length && isPlain(requests[end] as Request)) end++;
  return end;
}

/** An append of one batch, without a fence, whose ids are all to be looked up, or none. */
function isPlain({ name, argument }: Request): boolean {
  if (name !== "append") return false;
  const { layout, check, fence } = argument as AppendRequest;
  return layout.length === LAYOUT && typeof check === "string" && fence === undefined;
}

/** Only what belongs to it: whoever asks hands in a larger object. */
function bare({ topic, partition, buffer, layout, check, fence }: AppendRequest): AppendRequest {
  return { topic, partition, buffer, layout, check, fence };
}

function packAppends(
  requests: readonly Request[],
  from: number,
  end: number,
  places: PlaceNumbers,
  flat: unknown[],
): void {
  const numbers = new Float64Array((end - from) * PER_APPEND);
  const buffers: ArrayBuffer[] = [];
  for (let i = from, at = 0; i < end; i++, at += PER_APPEND) {
    const { topic, partition, buffer, layout, check } = (requests[i] as Request).argument as AppendRequest;
    if (buffer !== buffers.at(-1)) buffers.push(buffer);
    numbers[at] = places.numberOf(topic, partition);
    numbers[at + 1] = buffers.length - 1;
    numbers[at + 2] = check === "all" ? 1 : 0;
    for (let n = 0; n < LAYOUT; n++) numbers[at + 3 + n] = layout[n] as number;
  }
  flat.push((requests[from] as Request).number, APPENDS, numbers, buffers, places.takeUntold());
}

export function unpackRequests(flat: readonly unknown[], places: Places): Request[] {
  const requests: Request[] = [];
  for (let i = 0; i < flat.length; ) {
    const number = flat[i] as number;
    const name = flat[i + 1] as OperationName | typeof APPENDS;
    if (name === APPENDS) {
      learn(places, flat[i + 4] as readonly (number | string)[]);
      unpackAppends(number, flat[i + 2] as Float64Array, flat[i + 3] as ArrayBuffer[], places, requests);
      i += 5;
    } else {
      requests.push({ number, name, argument: flat[i + 2] });
      i += 3;
    }
  }
  return requests;
}

function learn(places: Places, untold: readonly (number | string)[]): void {
  for (let i = 0; i < untold.length; i += 3)
    places.set(untold[i] as number, { topic: untold[i + 1] as string, partition: untold[i + 2] as number });
}

function unpackAppends(
  first: number,
  numbers: Float64Array,
  buffers: readonly ArrayBuffer[],
  places: Places,
  requests: Request[],
): void {
  for (let at = 0, number = first; at < numbers.length; at += PER_APPEND, number++) {
    const place = places.get(numbers[at] as number);
    if (place === undefined) throw new Error("an append to a place that was never named");
    const { topic, partition } = place;
    const argument: AppendRequest = {
      topic,
      partition,
      buffer: buffers[numbers[at + 1] as number] as ArrayBuffer,
      layout: [
        numbers[at + 3] as number,
        numbers[at + 4] as number,
        numbers[at + 5] as number,
        numbers[at + 6] as number,
        numbers[at + 7] as number,
        numbers[at + 8] as number,
      ],
      check: numbers[at + 2] === 1 ? "all" : "none",
      fence: undefined,
    };
    requests.push({ number, name: "append", argument });
  }
}

export function packReplies(replies: readonly Reply[]): readonly unknown[] {
  const flat: unknown[] = [];
  for (let i = 0; i < replies.length; ) {
    const reply = replies[i] as Reply;
    const end = endOfAnswers(replies, i);
    if (end > i) {
      const seqs = new Float64Array(end - i);
      for (let n = i; n < end; n++) seqs[n - i] = firstSeqOf(replies[n] as Reply) as Seq;
      flat.push(reply.number, APPENDS, seqs);
      i = end;
      continue;
    }
    if ("error" in reply) flat.push(reply.number, false, reply.error);
    else flat.push(reply.number, true, reply.answer);
    i++;
  }
  return flat;
}

function endOfAnswers(replies: readonly Reply[], from: number): number {
  let end = from;
  for (let number = (replies[from] as Reply).number; end < replies.length; end++, number++) {
    const reply = replies[end] as Reply;
    if (reply.number !== number || firstSeqOf(reply) === undefined) break;
  }
  return end;
}

/** The answer to an append without duplicates. */
function firstSeqOf(reply: Reply): Seq | undefined {
  if ("error" in reply || typeof reply.answer !== "object" || reply.answer === null) return undefined;
  const { firstSeq, duplicates } = reply.answer as Partial<AppendAnswer>;
  return duplicates === undefined ? firstSeq : undefined;
}

/** Who is told of replies: an append without duplicates is answered by its first seq alone. */
export interface Replied {
  answered(number: number, answer: unknown): void;
  failed(number: number, error: PackedError): void;
}

export function unpackReplies(flat: readonly unknown[], to: Replied): void {
  for (let i = 0; i < flat.length; i += 3) {
    const number = flat[i] as number;
    const content = flat[i + 2];
    if (flat[i + 1] === APPENDS) {
      const seqs = content as Float64Array;
      for (let n = 0; n < seqs.length; n++) to.answered(number + n, seqs[n]);
    } else if (flat[i + 1] === true) to.answered(number, content);
    else to.failed(number, content as PackedError);
  }
}
