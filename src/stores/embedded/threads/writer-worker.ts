/**
 * The writing thread. Takes everything that waits as one group, so that one sync serves all who asked while the last
 * one was under way; answers a group at once. Between groups it keeps the file in order, and it notices what other
 * processes wrote.
 */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { BusError } from "../../../model/errors.js";
import { packError } from "../errors.js";
import type { FromWriter, Request, ToWriter, WriterOptions } from "../protocol.js";
import { type Places, packReplies, unpackRequests } from "./messages.js";
import { WriteEngine } from "./write-engine.js";

/** Requests taken into one transaction at most. */
const MAX_GROUP = 4_096;
/**
 * Commits after which the log beside the file is folded in, between two groups. Left to SQLite this happens in the middle of a
 * commit, less often, and then takes ten times as long.
 */
const FOLD_AFTER = 256;
/** Free pages that may stay for later use, and how many go back at a time. */
const KEEP_FREE_PAGES = 256;
const RECLAIM_PAGES = 512;
/** Groups after which filing is tried again that has failed. */
const FILE_AGAIN_AFTER = 256;
/** Operations that leave free pages behind. */
const FREEING = new Set<Request["name"]>(["trim", "remove", "dropView", "purgeView", "outboxPurge"]);

function serve(port: MessagePort, options: WriterOptions): void {
  const post = (message: FromWriter): void => port.postMessage(message);
  let engine: WriteEngine;
  try {
    engine = new WriteEngine(options);
  } catch (error) {
    post({ type: "failed", error: packError(BusError.from(error)) });
    port.close();
    return;
  }

  const places: Places = new Map();
  let watching: NodeJS.Timeout | undefined;
  let reclaiming: NodeJS.Immediate | undefined;
  let folding: NodeJS.Immediate | undefined;
  let unfolded = 0;
  let filing: NodeJS.Immediate | undefined;
  let groupsToRest = 0;

  /** Work nobody waits for: if it fails (the file is locked just now), the next occasion will do. */
  const spare = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      post({ type: "warning", message: BusError.from(error).message });
    }
  };

  const look = (): void => {
    if (engine.checkOthers()) post({ type: "foreign" });
  };

  const reclaim = (): void => {
    reclaiming = undefined;
    if (engine.reclaim(RECLAIM_PAGES, KEEP_FREE_PAGES)) reclaiming = setImmediate(spare, reclaim);
  };

  const fold = (): void => {
    folding = undefined;
    unfolded = 0;
    engine.fold();
  };

  const file = (): void => {
    filing = undefined;
    // Until it has worked.
    groupsToRest = FILE_AGAIN_AFTER;
    if (engine.file().foreign) post({ type: "foreign" });
    groupsToRest = 0;
    fileSoon();
  };

  const fileSoon = (): void => {
    if (groupsToRest > 0) groupsToRest--;
    else if (filing === undefined && engine.isFilingDue) filing = setImmediate(spare, file);
  };

  const keepInOrder = (): void => {
    if (++unfolded >= FOLD_AFTER) folding ??= setImmediate(spare, fold);
    spare(fileSoon);
  };

  /** Ends the thread if it fails: what was promised must come before anything else, and does when the next one opens the file. */
  const apply = (): void => {
    post({ type: "applied", serial: engine.apply() });
    keepInOrder();
  };

  const run = (requests: readonly Request[]): void => {
    const { replies, foreign } = engine.run(requests);
    post(packReplies(replies));
    if (foreign) post({ type: "foreign" });
    keepInOrder();
    if (reclaiming === undefined && requests.some(({ name }) => FREEING.has(name))) {
      reclaiming = setImmediate(spare, reclaim);
    }
  };

  const end = (leave: () => void): void => {
    clearInterval(watching);
    clearImmediate(reclaiming);
    clearImmediate(folding);
    clearImmediate(filing);
    spare(leave);
    port.close();
  };

  const receive = (message: ToWriter): void => {
    if (message === "close") end(() => engine.close());
    else if (message === "abandon") end(() => engine.abandon());
    else if (message === "apply") apply();
    else if (typeof message === "string") {
      clearInterval(watching);
      watching = message === "watch" ? setInterval(spare, options.pollMs, look) : undefined;
    } else {
      const { group, rest } = gather(port, message, places);
      run(group);
      if (rest !== undefined) receive(rest);
    }
  };

  port.on("message", receive);
  post({ type: "ready", ahead: engine.ahead });
  if (engine.warning !== undefined) post({ type: "warning", message: engine.warning });
}

/** All requests that wait, up to the first message of another kind. */
function gather(
  port: MessagePort,
  first: readonly unknown[],
  places: Places,
): { group: readonly Request[]; rest?: ToWriter } {
  const group = unpackRequests(first, places);
  while (group.length < MAX_GROUP) {
    const next = receiveMessageOnPort(port)?.message as ToWriter | undefined;
    if (next === undefined) break;
    if (typeof next === "string") return { group, rest: next };
    for (const request of unpackRequests(next, places)) group.push(request);
  }
  return { group };
}

if (parentPort !== null) serve(parentPort, workerData as WriterOptions);
