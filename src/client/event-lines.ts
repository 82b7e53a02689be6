/** The lines of server-sent events as the hub writes them. A place may come without an event: whoever comes back goes on there. Pure. */

/** Takes pieces of text, cut anywhere, and tells of the places and the events in them. */
export class EventLines {
  readonly #onEvent: (data: string) => void;
  readonly #onPlace: (id: string) => void;
  #rest: string[] = [];
  #id: string | undefined;
  #data: string | undefined;

  constructor(o: { readonly onEvent: (data: string) => void; readonly onPlace?: (id: string) => void }) {
    this.#onEvent = o.onEvent;
    this.#onPlace = o.onPlace ?? (() => undefined);
  }

  take(text: string): void {
    const lines = text.split("\n");
    const last = lines.pop() ?? "";
    for (const line of lines) {
      this.#line(this.#rest.join("") + line);
      this.#rest = [];
    }
    if (last !== "") this.#rest.push(last);
  }

  #line(line: string): void {
    if (line === "") this.#end();
    else if (line.startsWith("id: ")) this.#id = line.slice("id: ".length);
    else if (line.startsWith("data: ")) this.#data = line.slice("data: ".length);
  }

  /** The place is behind the event: it counts once that was told. */
  #end(): void {
    const [id, data] = [this.#id, this.#data];
    this.#id = undefined;
    this.#data = undefined;
    if (data !== undefined) this.#onEvent(data);
    if (id !== undefined) this.#onPlace(id);
  }
}
