/** The answer to a lone publish, read off its bytes: it is short, and whoever publishes one at a time waits for nothing else. */
import { hasAt, numberEnd, numberIn } from "../model/plain-bytes.js";

const TYPE_AND_TOPIC = Buffer.from('{"type":"PLACED","topic":"');
const PARTITION = Buffer.from('","partition":');
const SEQ = Buffer.from(',"seq":');
const CORRS = Buffer.from(',"corrs":[');
const END = Buffer.from("]}");
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Calls back with what a PLACED frame of one publish says; false, without a call, if the message is anything else. */
export function readPlaced(
  bytes: Buffer,
  onPlaced: (corr: number, partition: number, seq: number) => void,
): boolean {
  if (!hasAt(bytes, 0, TYPE_AND_TOPIC)) return false;
  let at = TYPE_AND_TOPIC.length;
  while (at < bytes.length && bytes[at] !== QUOTE) if (bytes[at++] === BACKSLASH) return false;
  if (!hasAt(bytes, at, PARTITION)) return false;
  const partitionAt = at + PARTITION.length;
  const partitionEnd = numberEnd(bytes, partitionAt);
  if (partitionEnd < 0 || !hasAt(bytes, partitionEnd, SEQ)) return false;
  const seqAt = partitionEnd + SEQ.length;
  const seqEnd = numberEnd(bytes, seqAt);
  if (seqEnd < 0 || !hasAt(bytes, seqEnd, CORRS)) return false;
  const corrAt = seqEnd + CORRS.length;
  const corrEnd = numberEnd(bytes, corrAt);
  if (corrEnd < 0 || !hasAt(bytes, corrEnd, END) || corrEnd + END.length !== bytes.length) return false;
  onPlaced(
    numberIn(bytes, corrAt, corrEnd),
    numberIn(bytes, partitionAt, partitionEnd),
    numberIn(bytes, seqAt, seqEnd),
  );
  return true;
}
