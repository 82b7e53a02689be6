/** A client that notes the commands it sends, for stores that are told to use it. */
import { type Document, MongoClient, type MongoClientOptions } from "mongodb";

export class NotedClient {
  readonly client: MongoClient;
  #commands: Document[] = [];
  #replies: Document[] = [];

  constructor(url: string, options: MongoClientOptions = {}) {
    this.client = new MongoClient(url, { ...options, monitorCommands: true });
    this.client.on("commandStarted", ({ command }) => this.#commands.push(command));
    this.client.on("commandSucceeded", ({ reply }) => this.#replies.push(reply as Document));
  }

  /** All since it was told to forget, as they were sent; the first member of a command is its name. */
  get commands(): readonly Document[] {
    return this.#commands;
  }

  get names(): string[] {
    return this.#commands.map(nameOf);
  }

  /** Answers to those that succeeded. */
  get replies(): readonly Document[] {
    return this.#replies;
  }

  named(name: string): Document[] {
    return this.#commands.filter((command) => nameOf(command) === name);
  }

  forget(): void {
    this.#commands = [];
    this.#replies = [];
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

function nameOf(command: Document): string {
  return Object.keys(command)[0] ?? "";
}
