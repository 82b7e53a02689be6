/**
 * Which process a session belongs to, so that one whose process is gone counts as dead at once, without waiting for its
 * time to run out. Only processes of this machine, this boot and this process namespace are judged; of all others
 * nothing is known, and their sessions live as long as they beat.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

interface Identity {
  /** Host, boot and process namespace: pids mean something only inside it. */
  readonly realm: string;
  readonly pid: number;
  /** When the process began, so that a pid that was given out again is not taken for it. */
  readonly start: string;
}

/** This process, as text; null where it cannot be told. */
export function processIdentity(): string | null {
  const start = startOf(process.pid);
  if (start === undefined || start === null) return null;
  const identity: Identity = { realm: realm(), pid: process.pid, start };
  return JSON.stringify(identity);
}

/** True only if that process has certainly ended. */
export function hasEnded(identity: string): boolean {
  const { realm: where, pid, start } = JSON.parse(identity) as Identity;
  if (where !== realm()) return false;
  const present = startOf(pid);
  return present === null || (present !== undefined && present !== start);
}

/** Remembers for a moment what `hasEnded` said: a group's state asks once per member and partition. */
export class ProcessWatch {
  readonly #answers = new Map<string, { ended: boolean; untilMs: number }>();
  readonly #keepMs: number;

  constructor(keepMs = 50) {
    this.#keepMs = keepMs;
  }

  hasEnded(identity: string | null): boolean {
    if (identity === null) return false;
    const nowMs = performance.now();
    const known = this.#answers.get(identity);
    // A process that has ended does not come back.
    if (known !== undefined && (known.ended || known.untilMs > nowMs)) return known.ended;
    if (this.#answers.size > 10_000) this.#answers.clear();
    const ended = hasEnded(identity);
    this.#answers.set(identity, { ended, untilMs: nowMs + this.#keepMs });
    return ended;
  }
}

let ownRealm: string | undefined;

function realm(): string {
  ownRealm ??= [hostname(), ...linuxRealm()].join(" ");
  return ownRealm;
}

function linuxRealm(): string[] {
  try {
    return [
      readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
      readlinkSync("/proc/self/ns/pid"),
    ];
  } catch {
    return [];
  }
}

/** When a process began; null if there is none; undefined if it cannot be told. */
function startOf(pid: number): string | null | undefined {
  return process.platform === "linux" ? linuxStart(pid) : listedStart(pid);
}

function linuxStart(pid: number): string | null | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name, in parentheses, may hold anything: fields are counted behind it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? null : fields[19];
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === "ENOENT" || code === "ESRCH" ? null : undefined;
  }
}

function listedStart(pid: number): string | null | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH" ? null : undefined;
  }
  const ps = spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8", timeout: 2_000 });
  if (ps.error !== undefined || ps.status === null) return undefined;
  return ps.stdout.trim() || null;
}
