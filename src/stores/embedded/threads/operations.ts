/** What the writing thread can be asked to do, and which part of it does it. */
import type { BatchWriter } from "../batches/batch-writer.js";
import type { Batches } from "../batches/batches.js";
import type { Partitions } from "../batches/partitions.js";
import type { DocumentWriter } from "../documents/document-writer.js";
import type { IdWriter } from "../indexes/id-writer.js";
import type { KeyIndexWriter } from "../indexes/key-index-writer.js";
import type { LeaseWriter } from "../lease-writer.js";
import { LogRemover } from "../log/log-remover.js";
import { LogWriter } from "../log/log-writer.js";
import type { SheetFiler } from "../log/sheet-filer.js";
import { OutboxTable } from "../outbox-table.js";
import type { Operations } from "../protocol.js";
import { RegistryWriter } from "../registry-writer.js";
import type { Connection } from "../sqlite.js";
import type { Topics } from "../topics.js";

/** Batches whose keys are indexed in one request, so that appends are not kept waiting. */
const FILL_BATCHES = 64;

export interface OperationParts {
  readonly connection: Connection;
  readonly topics: Topics;
  readonly partitions: Partitions;
  readonly batches: Batches;
  readonly rows: BatchWriter;
  readonly filer: SheetFiler;
  readonly ids: IdWriter;
  readonly keys: KeyIndexWriter;
  readonly leases: LeaseWriter;
  readonly documents: DocumentWriter;
}

export function operationsOf(parts: OperationParts): Operations {
  const { connection, topics, batches, filer, keys, leases, documents } = parts;
  const log = new LogWriter(parts);
  const remover = new LogRemover(parts);
  const registry = new RegistryWriter(connection, topics, keys);
  const outbox = new OutboxTable({
    run: (text, values) => connection.sql(text).run(...values),
    all: (text, values) => connection.sql(text).all(...values),
  });
  return {
    append: (o) => log.append(o),
    trim: (o) => remover.trim(o),
    remove: (o) => remover.remove(o),
    markDamage: (o) => remover.markDamage(o),
    fillKeys: ({ topic, part, after, filling }) => {
      const row = topics.find(topic);
      if (row?.keys !== filling) return { through: null };
      // Entries by key lead to rows.
      if (batches.sheets.of(part).length > 0) filer.all();
      return { through: keys.fill(row.id, part, { after, batches, limit: FILL_BATCHES }) };
    },
    keysFilled: (o) => registry.keysFilled(o),
    openSession: (o) => leases.openSession(o),
    beat: (o) => leases.beat(o),
    closeSession: (o) => leases.closeSession(o),
    join: (o) => leases.join(o),
    leave: (o) => leases.leave(o),
    start: (o) => leases.start(o),
    claim: (o) => leases.claim(o),
    commit: (o) => leases.commit(o),
    release: (o) => leases.release(o),
    move: (o) => leases.move(o),
    removeGroup: (o) => leases.removeGroup(o),
    defineView: (o) => documents.defineView(o),
    writeDocuments: (o) => documents.writeDocuments(o),
    dropView: (o) => documents.dropView(o),
    purgeView: (o) => documents.purgeView(o),
    outboxAdd: ({ entry, nowMs }) => outbox.add(entry, nowMs),
    outboxClaim: ({ count, claim, ...o }) => outbox.claim(count, claim, o),
    outboxSent: ({ id, token, nowMs }) => outbox.markSent(id, token, nowMs),
    outboxError: ({ id, token, ...o }) => outbox.markError(id, token, o),
    outboxExpire: ({ nowMs }) => outbox.requeueExpired(nowMs),
    outboxRequeue: ({ ids: wanted }) => outbox.requeueDead(wanted),
    outboxDiscard: ({ ids: wanted }) => outbox.discardDead(wanted),
    outboxPurge: ({ sentBeforeMs }) => outbox.purge(sentBeforeMs),
    defineTopic: (o) => registry.defineTopic(o),
    removeTopic: (o) => registry.removeTopic(o),
    putSchema: (o) => registry.putSchema(o),
    putToken: (o) => registry.putToken(o),
    audit: (o) => registry.audit(o),
    trimAudits: (o) => registry.trimAudits(o),
  };
}
