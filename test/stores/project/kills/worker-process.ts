/** One worker in a process of its own, always at work, until it is killed or dies where it was told to. It tells when it has done something. */
import { writeSync } from "node:fs";
import type { StorePlace } from "../../../support/store-place.js";
import type { Death } from "../../crash/points.js";
import { openPlace } from "./place.js";
import { ROLES, type RoleName } from "./roles.js";

const [role = "", place = "{}", death = "null"] = process.argv.slice(2);

const opened = await openPlace(JSON.parse(place) as StorePlace, JSON.parse(death) as Death | null);
const worker = await ROLES[role as RoleName].work(opened);
const look = setInterval(() => {
  if (worker.done() === 0) return;
  clearInterval(look);
  writeSync(1, `${JSON.stringify({ type: "working" })}\n`);
}, 5);
