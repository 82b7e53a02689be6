/** `promethean serve`: a hub in production. SIGTERM refuses new work, drains what is under way, and ends with 0. */
import type { Command } from "commander";
import type { AuthOptions, JwtOptions } from "../../hub/auth/auth.js";
import type { HubOptions } from "../../hub/server.js";
import { pause, systemClock } from "../../model/clock.js";
import { defineTopic, type TopicOptions } from "../../model/topic.js";
import { type ConfigFlags, type HubConfig, loadConfig } from "../hub-config.js";
import { newCommand } from "../own-command.js";
import { perform, type Session } from "../session.js";
import { chooseStore } from "../store-choice.js";
import { fewTroubles } from "../troubles.js";

export function serveCommand(): Command {
  return withConfigFlags(
    newCommand(
      "serve",
      "Runs a hub in production, until SIGTERM or Ctrl-C. Its log goes to stderr, as JSON.",
      [
        "promethean serve --config hub.yaml",
        "PROMETHEAN_ADMIN_TOKEN_FILE=admin-token promethean serve --store bus.db",
        "PROMETHEAN_JWT_SECRET_FILE=jwt-secret promethean serve --store 'mongodb://localhost:27017/bus?replicaSet=rs0'",
      ],
    ),
  ).action(perform<ConfigFlags, []>(serve));
}

export function withConfigFlags(command: Command): Command {
  return command
    .option("-c, --config <file>", "settings, YAML or JSON (PROMETHEAN_CONFIG)")
    .option("--store <store>", "where events are kept: a file, or mongodb://… (PROMETHEAN_STORE)")
    .option(
      "--exclusive",
      "no other process opens the file meanwhile; lone publishes are then answered faster",
    )
    .option("--host <host>", "the address it listens on (PROMETHEAN_HOST)")
    .option("--port <port>", "the port it listens on (PROMETHEAN_PORT)")
    .option("--require-groups", "tokens act for the groups that they name, and for no others");
}

async function serve(session: Session<ConfigFlags>): Promise<void> {
  session.servesUntilStopped = true;
  const config = await loadConfig(session.options);
  const [{ pino }, { createBus }, { startHub }, { checkedBus }, { startRetention }, { startCompactor }] =
    await Promise.all([
      import("pino"),
      import("../../bus/create-bus.js"),
      import("../../hub/server.js"),
      import("../checked-bus.js"),
      import("../../project/retention/retention.js"),
      import("../../project/history/compactor.js"),
    ]);
  const log = pino({ level: config.log.level, name: config.name }, pino.destination({ dest: 2, sync: true }));
  const { exclusive } = config;
  const store = await chooseStore(config.store, { exclusive, onWarning: (message) => log.warn(message) });
  const bus = await createBus({
    store,
    topics: config.topics.map(({ name, ...options }) =>
      defineTopic(name, present(options) as TopicOptions<unknown>),
    ),
    ...present(config.bus),
    onTrouble: fewTroubles(({ error, ...where }, leftOut) =>
      log.warn({ code: error.code, ...where, ...(leftOut > 0 && { leftOut }) }, error.message),
    ),
  });
  session.onEnd(async () => {
    await bus.close();
    log.info("stopped");
  });
  if (config.upkeep.retention) startRetention(bus);
  if (config.upkeep.compaction) startCompactor(bus);
  const { host, port, name, origins, tracing } = config;
  const hub = await startHub({
    bus: await checkedBus(bus),
    host,
    port,
    name,
    origins,
    tracing,
    limits: present(config.limits),
    log,
    auth: authOf(config),
    // Clients have as long to settle what they hold as handlers of this process would.
    ...present({ drainMs: config.bus.drainMs }),
  } as HubOptions);
  session.onEnd(async () => {
    log.info("stopping: no new work is taken");
    await hub.close();
  });
  log.info({ url: hub.url, store: bus.store.name }, "listening");
  await pause(systemClock, Number.MAX_SAFE_INTEGER, session.signal);
}

function authOf({ auth }: HubConfig): AuthOptions {
  const { requireGroups = false } = auth;
  if (auth.jwt !== undefined) return { jwt: present(auth.jwt) as JwtOptions, requireGroups };
  if (auth.tokens === undefined) return "none";
  const grants = auth.tokens.map(({ token, scopes, subject }) => [
    token ?? "",
    { scopes, ...(subject !== undefined && { subject }) },
  ]);
  return { tokens: Object.fromEntries(grants), requireGroups };
}

function present(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
