/**
 * Many writes to one view. What stands under their keys is remembered, or fetched by one query; the writes are decided in
 * memory, one after the other, and each document is put down once, as the last of its writes left it. Crossing into SQLite costs
 * more than what most statements do there, so few of them carry all.
 *
 * Correct only inside a transaction that keeps other writers out from the first look to the last row.
 */
import { BusError } from "../../../model/errors.js";
import type { JsonValue } from "../../../model/json.js";
import type { WriteResult } from "../../../ports/documents.js";
import type { Connection, SqlValue } from "../sqlite.js";
import { isOddKey, type Standing } from "./document-memory.js";
import type { TextWrite } from "./document-message.js";
import type { KnownView } from "./document-view.js";

/** Keys looked up by one query; fewer if their documents come along, which may be large. */
const LOOK_KEYS = 1_000;
const LOOK_DOCUMENTS = 100;

type Found = readonly [index: number, version: number | string, isDocument: 0 | 1, fields: string | null];

export class DocumentBatch {
  readonly #connection: Connection;
  readonly #view: KnownView;
  readonly #standing = new Map<string, Standing>();
  /** What is not put down yet. */
  readonly #changed = new Set<Standing>();
  #applied = 0;
  #stale = 0;
  /** How the number of documents changed. */
  #added = 0;

  constructor(connection: Connection, view: KnownView) {
    this.#connection = connection;
    this.#view = view;
  }

  get result(): WriteResult & { readonly added: number } {
    return { applied: this.#applied, stale: this.#stale, added: this.#added };
  }

  /**
   * Throws WRITE_CONFLICT at the first write that expects something else. `each`: every write is put down before the
   * next, for views with values that must be unique, and that may go from one document to another.
   */
  run(writes: readonly TextWrite[], { each }: { readonly each: boolean }): void {
    this.#look(writes);
    for (const write of writes) {
      this.#apply(write);
      if (each) this.#putDown();
    }
    this.#putDown();
    this.#view.memory.keep(this.#standing.values());
  }

  #look(writes: readonly TextWrite[]): void {
    const whole = writes.some(({ op }) => op === "increment");
    const unknown = new Set<string>();
    for (const { key } of writes) {
      if (this.#standing.has(key)) continue;
      const remembered = this.#view.memory.find(key, whole);
      if (remembered === undefined) unknown.add(key);
      else this.#standing.set(key, remembered);
    }
    const keys = [...unknown];
    const size = whole ? LOOK_DOCUMENTS : LOOK_KEYS;
    for (let i = 0; i < keys.length; i += size) this.#lookUp(keys.slice(i, i + size), whole);
  }

  /** One row of JSON for all keys: a row each costs several times as much. Versions that are no integers keep all digits. */
  #lookUp(keys: readonly string[], whole: boolean): void {
    for (const key of keys) {
      this.#standing.set(key, { key, version: undefined, ts: 0, fields: null, isDocument: false });
    }
    const version = "CASE typeof(version) WHEN 'integer' THEN version ELSE format('%!.17g', version) END";
    const row = this.#connection
      .sql(
        `SELECT json_group_array(json_array(wanted.key, ${version}, fields IS NOT NULL, ${whole ? "fields" : "NULL"}))
         FROM json_each(?) wanted CROSS JOIN ${this.#view.table} document ON document.key = CAST(wanted.value AS BLOB)`,
      )
      .get<[string]>(keyList(keys));
    for (const [index, stored, isDocument, fields] of JSON.parse(row?.[0] ?? "[]") as Found[]) {
      const standing = this.#standing.get(keys[index] as string) as Standing;
      standing.version = typeof stored === "number" ? stored : Number(stored.replace("Inf", "Infinity"));
      standing.isDocument = isDocument === 1;
      standing.fields = whole ? fields : undefined;
    }
  }

  #apply(write: TextWrite): void {
    const standing = this.#standing.get(write.key) as Standing;
    this.#checkExpected(write, standing);
    const version = write.version ?? (standing.version ?? 0) + 1;
    if (standing.version !== undefined && version <= standing.version) {
      this.#stale++;
      return;
    }
    const fields = write.by === null ? write.fields : incremented(standing.fields, write.by);
    this.#applied++;
    this.#added += Number(fields !== null) - Number(standing.isDocument);
    standing.version = version;
    standing.ts = write.ts;
    standing.fields = fields;
    standing.isDocument = fields !== null;
    this.#changed.add(standing);
  }

  #checkExpected(write: TextWrite, standing: Standing): void {
    if (write.expected === undefined) return;
    const version = standing.isDocument ? (standing.version ?? null) : null;
    if (version === write.expected) return;
    throw new BusError(
      "WRITE_CONFLICT",
      `document "${write.key}" of view "${this.#view.name}" is at version ${version}, not at ${write.expected}`,
      { details: { view: this.#view.name, key: write.key, version } },
    );
  }

  #putDown(): void {
    const changed = [...this.#changed];
    let next = 0;
    for (const { rows, statement } of this.#view.puts) {
      while (changed.length - next >= rows) {
        const values: SqlValue[] = [];
        for (const end = next + rows; next < end; next++) {
          const { key, version, ts, fields } = changed[next] as Standing;
          values.push(
            isOddKey(key) ? Buffer.from(key, "utf8") : key,
            version as number,
            ts,
            fields as string | null,
          );
        }
        statement.run(...values);
      }
    }
    this.#changed.clear();
  }
}

/** Half a surrogate pair is stored as U+FFFD, as everywhere in UTF-8. */
function keyList(keys: readonly string[]): string {
  const text = JSON.stringify(keys);
  if (!text.includes("\\ud")) return text;
  return JSON.stringify(keys.map((key) => key.replace(/\p{Surrogate}/gu, "\ufffd")));
}

/** Fields that are absent, or no numbers, start at 0. */
function incremented(text: string | null | undefined, by: Readonly<Record<string, number>>): string {
  const sums = JSON.parse(text ?? "{}") as Record<string, JsonValue>;
  for (const name of Object.keys(by)) {
    const present = Object.hasOwn(sums, name) ? sums[name] : 0;
    const value = (typeof present === "number" ? present : 0) + (by[name] as number);
    if (!Number.isFinite(value)) throw new BusError("INVALID_PAYLOAD", `${name}: ${value} has no JSON form`);
    if (name !== "__proto__") sums[name] = value;
    // As data it is a member like any other; plain assignment would change the prototype.
    else Object.defineProperty(sums, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return JSON.stringify(sums);
}
