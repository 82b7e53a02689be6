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
    summary: "list topics, or show one",
    load: async () => (await import("./commands/topics.js")).topicsCommand(),
  },
  topic: {
    summary: "remove a topic",
    load: async () => (await import("./commands/topic.js")).topicCommand(),
  },
  groups: {
    summary: "list groups, or show one",
    load: async () => (await import("./commands/groups.js")).groupsCommand(),
  },
  lag: {
    summary: "show how far behind groups are",
    load: async () => (await import("./commands/lag.js")).lagCommand(),
  },
  why: {
    summary: "say what holds a group up",
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
    summary: "list, redrive or discard dead letters",
    load: async () => (await import("./commands/dlq.js")).dlqCommand(),
  },
  export: {
    summary: "write a topic as lines of JSON",
    load: async () => (await import("./commands/export.js")).exportCommand(),
  },
  import: {
    summary: "read lines of an export into a topic",
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
    summary: "copy a store's file while it is in use",
    load: async () => (await import("./commands/backup.js")).backupCommand(),
  },
  view: {
    summary: "list, look up, rebuild or remove views",
    load: async () => (await import("./commands/view.js")).viewCommand(),
  },
  history: {
    summary: "show the events of a key",
    load: async () => (await import("./commands/history.js")).historyCommand(),
  },
  schema: {
    summary: "show, check or register schemas",
    load: async () => (await import("./commands/schema.js")).schemaCommand(),
  },
  lint: {
    summary: "check the topics, headers and schemas of a project",
    load: async () => (await import("./commands/lint.js")).lintCommand(),
  },
  outbox: {
    summary: "show the outbox, requeue what was given up",
    load: async () => (await import("./commands/outbox.js")).outboxCommand(),
  },
  token: {
    summary: "mint or inspect tokens for a hub",
    load: async () => (await import("./commands/token.js")).tokenCommand(),
  },
  context: {
    summary: "save and choose connections",
    load: async () => (await import("./commands/context.js")).contextCommand(),
  },
  config: {
    summary: "print or check the settings of serve",
    load: async () => (await import("./commands/config.js")).configCommand(),
  },
  doctor: {
    summary: "check that everything is in order, and say what to do",
    load: async () => (await import("./commands/doctor.js")).doctorCommand(),
  },
  bench: {
    summary: "measure how fast events go in and out here",
    load: async () => (await import("./commands/bench.js")).benchCommand(),
  },
  completion: {
    summary: "print completion for bash, zsh or fish",
    load: async () => (await import("./commands/completion.js")).completionCommand(COMMANDS),
  },
};

/** The headings under which `--help` lists the commands. */
export const HEADINGS: Readonly<Record<string, readonly string[]>> = {
  "Run a hub:": ["up", "serve", "config", "doctor", "backup", "bench"],
  "Events:": ["publish", "tail", "subscribe", "history", "export", "import", "replay"],
  "Groups and dead letters:": ["groups", "lag", "why", "verify", "cursor", "dlq"],
  "Topics, views and schemas:": ["topics", "topic", "compact", "view", "schema", "lint", "outbox"],
  "Access and shell:": ["token", "context", "completion"],
};
