/** One worker in a process of its own, always at work, until it is killed. It tells when it has done something. */
import { writeSync } from "node:fs";
import { type KillPlace, openPlace } from "./place.js";
import { ROLES, type RoleName } from "./roles.js";

const [role = "", place = "{}"] = process.argv.slice(2);

const opened = await openPlace(JSON.parse(place) as KillPlace);
const worker = await ROLES[role as RoleName].work(opened);
const look = setInterval(() => {
  if (worker.done() === 0) return;
  clearInterval(look);
  writeSync(1, `${JSON.stringify({ type: "working" })}\n`);
}, 5);
