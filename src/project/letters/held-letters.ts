/**
 * Dead letters of keys that a group holds. They come back in the order of the events they were made of, each naming the
 * one before it, so that the group lets none in before its turn (consume/hold.ts). A letter that fails again is a new
 * letter in its old place. One that is passed over keeps all behind it where they are.
 */
import { comebackId } from "../../model/derived-id.js";
import type { Seq } from "../../model/event.js";
import type { Redriven } from "../../model/redrive.js";
import { isSettled } from "../../ports/groups.js";
import type { Host } from "../host.js";
import type { Letter } from "./dead-letters.js";

/** As little of a letter as the order needs: there may be very many. */
export interface HeldLetter {
  readonly id: string;
  readonly root: Seq;
  status: Letter["status"];
  /** It was never tried: it only follows another one. */
  readonly waiting: boolean;
  /** Place in the dead-letter topic. */
  readonly partition: number;
  readonly seq: Seq;
}

/** The letters of one key that one group made. */
export interface Chain {
  readonly group: string;
  readonly key: string;
  readonly letters: HeldLetter[];
}

export class Chains {
  readonly #chains = new Map<string, Chain>();

  add(letter: Letter): void {
    if (letter.hold === undefined || letter.key === undefined) return;
    const { group } = letter.origin;
    const name = `${group}\n${letter.key}`;
    const chain = this.#chains.get(name) ?? { group, key: letter.key, letters: [] };
    this.#chains.set(name, chain);
    const { id, partition, seq, hold } = letter;
    const status = isElsewhere(letter) ? "discarded" : letter.status;
    chain.letters.push({ id, status, root: hold.root, waiting: hold.waiting, partition, seq });
  }

  /** Each in the order of its events; of one event's letters the newest, which says what became of it. */
  all(): Chain[] {
    return [...this.#chains.values()].map((chain) => {
      const letters = chain.letters.toSorted((a, b) => a.root - b.root || a.seq - b.seq);
      return { ...chain, letters: letters.filter(({ root }, i) => letters[i + 1]?.root !== root) };
    });
  }
}

/** It went to another topic: to those that wait for it in its own, it is as good as discarded. */
function isElsewhere({ id, status, outcome, origin }: Letter): boolean {
  return status === "redriven" && outcome !== comebackId(id, origin.topic);
}

/** The open letters in their order, each with what the group is told when it comes back. */
export function turnsOf({
  group,
  letters,
}: Chain): { readonly letter: HeldLetter; readonly turn: Redriven }[] {
  const kept = letters.filter(({ status }) => status !== "discarded");
  const turns: { letter: HeldLetter; turn: Redriven }[] = [];
  kept.forEach((letter, i) => {
    const { root } = letter;
    const after = kept[i - 1]?.root ?? 0;
    // Behind the last one there are only letters that were discarded.
    const through = i === kept.length - 1 ? (letters.at(-1)?.root ?? root) : root;
    if (letter.status === "open") turns.push({ letter, turn: { group, root, after, through, skip: false } });
  });
  return turns;
}

/** What the group is told when nothing more will come back: null while something may. */
export function endOf({ group, letters }: Chain): Redriven | null {
  const last = letters.at(-1);
  if (last === undefined || letters.some(({ status }) => status === "open")) return null;
  const after = letters.filter(({ status }) => status === "redriven").at(-1)?.root ?? 0;
  return after >= last.root ? null : { group, root: last.root, after, through: last.root, skip: true };
}

/** `group\nkey` of the keys that groups hold, as far as the store knows. */
export async function heldKeys({ store, clock }: Host, topic: string): Promise<Set<string>> {
  const held = new Set<string>();
  for (const ref of await store.groups.list(topic)) {
    const state = await store.groups.state(ref, { nowMs: clock.now() });
    for (const { cursor } of state?.leases ?? [])
      for (const { key } of cursor.held ?? []) held.add(`${ref.group}\n${key}`);
  }
  return held;
}

/** An event that brought a letter back. */
export interface BroughtBack {
  readonly group: string;
  readonly partition: number;
  readonly seq: Seq;
}

export interface Standing {
  /** Some of what was brought back is not settled yet, as far as the store knows. */
  readonly pending: boolean;
  /** `group\nkey` of the keys that are held. */
  readonly held: ReadonlySet<string>;
  /** Groups that somebody works for. */
  readonly worked: ReadonlySet<string>;
}

/** How the groups stand with what was brought back. */
export async function standingOf(
  { store, clock }: Host,
  topic: string,
  back: readonly BroughtBack[],
): Promise<Standing> {
  const held = new Set<string>();
  const worked = new Set<string>();
  let pending = false;
  for (const group of new Set(back.map((one) => one.group))) {
    const state = await store.groups.state({ topic, group }, { nowMs: clock.now() });
    if ((state?.members.length ?? 0) > 0) worked.add(group);
    for (const { partition, cursor } of state?.leases ?? []) {
      for (const { key } of cursor.held ?? []) held.add(`${group}\n${key}`);
      const own = back.filter((one) => one.group === group && one.partition === partition);
      if (own.some(({ seq }) => !isSettled(cursor, seq))) pending = true;
    }
  }
  return { pending, held, worked };
}
