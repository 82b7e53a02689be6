/** Every command: what it does in a line, and where its code is. Nothing is loaded before it is asked for. */
import type { Command } from "commander";

export interface CommandEntry {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  up: {
    summary: "start a hub here, with the console and a worked example",
    load: async () => (await import("./commands/up.js")).upCommand(),
  },
  serve: {
    summary: "run a hub in production",
    load: async () => (await import("./commands/serve.js")).serveCommand(),
  },
  publish: {
    summary: "publish events",
    load: async () => (await import("./commands/publish.js")).publishCommand(),
  },
  tail: {
    summary: "follow a topic",
    load: async () => (await import("./commands/tail.js")).tailCommand(),
  },
  subscribe: {
    summary: "consume a topic as a group, with a program for each event",
    load: async () => (await import("./commands/subscribe.js")).subscribeCommand(),
  },
  topics: {
    summary: "the topics, or one of them",
    load: async () => (await import("./commands/topics.js")).topicsCommand(),
  },
  groups: {
    summary: "the groups, or one of them",
    load: async () => (await import("./commands/groups.js")).groupsCommand(),
  },
  lag: {
    summary: "how far behind groups are",
    load: async () => (await import("./commands/lag.js")).lagCommand(),
  },
  why: {
    summary: "what holds a group up",
    load: async () => (await import("./commands/why.js")).whyCommand(),
  },
  verify: {
    summary: "account for every event of a group",
    load: async () => (await import("./commands/verify.js")).verifyCommand(),
  },
  cursor: {
    summary: "move a group to another place, or remove it",
    load: async () => (await import("./commands/cursor.js")).cursorCommand(),
  },
  dlq: {
    summary: "dead letters: look, redrive, discard",
    load: async () => (await import("./commands/dlq.js")).dlqCommand(),
  },
  export: {
    summary: "a topic as lines of JSON",
    load: async () => (await import("./commands/export.js")).exportCommand(),
  },
  import: {
    summary: "lines of an export back into a topic",
    load: async () => (await import("./commands/import.js")).importCommand(),
  },
  replay: {
    summary: "copy a topic into another",
    load: async () => (await import("./commands/replay.js")).replayCommand(),
  },
  compact: {
    summary: "compact topics now",
    load: async () => (await import("./commands/compact.js")).compactCommand(),
  },
  backup: {
    summary: "a copy of a store's file, while it is in use",
    load: async () => (await import("./commands/backup.js")).backupCommand(),
  },
  view: {
    summary: "read models: list, look up, as they were, rebuild",
    load: async () => (await import("./commands/view.js")).viewCommand(),
  },
  history: {
    summary: "the events of a key",
    load: async () => (await import("./commands/history.js")).historyCommand(),
  },
  schema: {
    summary: "schemas: status, check, register",
    load: async () => (await import("./commands/schema.js")).schemaCommand(),
  },
  lint: {
    summary: "check the topics, headers and schemas of a project",
    load: async () => (await import("./commands/lint.js")).lintCommand(),
  },
  outbox: {
    summary: "the outbox of a store: status, requeue",
    load: async () => (await import("./commands/outbox.js")).outboxCommand(),
  },
  token: {
    summary: "tokens for a hub: mint, inspect",
    load: async () => (await import("./commands/token.js")).tokenCommand(),
  },
  context: {
    summary: "saved connections",
    load: async () => (await import("./commands/context.js")).contextCommand(),
  },
  config: {
    summary: "the settings of serve: print, check",
    load: async () => (await import("./commands/config.js")).configCommand(),
  },
  doctor: {
    summary: "check that everything is in order, and say what to do",
    load: async () => (await import("./commands/doctor.js")).doctorCommand(),
  },
  bench: {
    summary: "how fast events go in and out here",
    load: async () => (await import("./commands/bench.js")).benchCommand(),
  },
  completion: {
    summary: "completion for bash, zsh or fish",
    load: async () => (await import("./commands/completion.js")).completionCommand(COMMANDS),
  },
};
