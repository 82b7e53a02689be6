/**
 * The first keys, in order, of a stream that comes in any order, each with its highest version. Bounded: when there are
 * too many the last ones go and are not taken again, so a key that is there at the end was never gone in between.
 */
export interface WindowEntry<V> {
  readonly key: string;
  readonly version: number;
  readonly value: V;
  readonly bytes: number;
}

export interface WindowOptions {
  /** Only keys above this one. */
  readonly after?: string | undefined;
  /** Only this key. */
  readonly only?: string;
  readonly maxKeys: number;
  readonly maxBytes: number;
}

export class KeyWindow<V> {
  readonly #options: WindowOptions;
  readonly #entries = new Map<string, WindowEntry<V>>();
  #bytes = 0;
  /** Keys above it were let go. */
  #last: string | undefined;

  constructor(options: WindowOptions) {
    this.#options = options;
  }

  wants(key: string): boolean {
    const { after, only } = this.#options;
    if (only !== undefined) return key === only;
    return (after === undefined || key > after) && (this.#last === undefined || key <= this.#last);
  }

  /** A version that is not above the present one changes nothing. */
  offer(entry: WindowEntry<V>): void {
    if (!this.wants(entry.key)) return;
    const present = this.#entries.get(entry.key);
    if (present !== undefined && present.version >= entry.version) return;
    this.#entries.set(entry.key, entry);
    this.#bytes += entry.bytes - (present?.bytes ?? 0);
    const { maxKeys, maxBytes } = this.#options;
    if (this.#entries.size >= maxKeys * 2 || (this.#bytes > maxBytes && this.#entries.size > 1))
      this.#shrink();
  }

  /** The entries by key, and whether there are keys beyond them. */
  close(): { readonly entries: readonly WindowEntry<V>[]; readonly more: boolean } {
    if (this.#entries.size > this.#options.maxKeys) this.#shrink();
    return { entries: this.#sorted(), more: this.#last !== undefined };
  }

  /** Lets the last keys go, to half of the bytes if those are too many. */
  #shrink(): void {
    const { maxKeys, maxBytes } = this.#options;
    const allowed = this.#bytes > maxBytes ? maxBytes / 2 : maxBytes;
    let kept = 0;
    let bytes = 0;
    for (const entry of this.#sorted()) {
      if (kept > 0 && (kept >= maxKeys || bytes + entry.bytes > allowed)) {
        this.#entries.delete(entry.key);
        continue;
      }
      kept++;
      bytes += entry.bytes;
      this.#last = entry.key;
    }
    this.#bytes = bytes;
  }

  #sorted(): WindowEntry<V>[] {
    return [...this.#entries.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }
}
