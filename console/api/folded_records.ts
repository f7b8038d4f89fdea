// Audit records of events that one person can repeat: one record for each kind of event and minute, with a count, so that they do not fill the log.

import { type AuditEntry, auditEntry, type AuditSlot, createAuditSlot } from "../../platform/audit.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation } from "../../platform/store.ts";

interface FoldedRecord {
  readonly untilMs: number;
  readonly slot: AuditSlot;
  count: number;
}

export class FoldedRecords {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #open = new Map<string, FoldedRecord>();

  constructor({ clock }: { clock: Pick<Clock, "nowMs"> }) {
    this.#clock = clock;
  }

  /** The record for the commit of an event. It replaces the record of an earlier event with the same key, for a minute. */
  entry(key: string, event: AuditEntry): Mutation {
    const nowMs = this.#clock.nowMs();
    // The oldest is the first, so the search ends at the first one that counts.
    for (const [known, { untilMs }] of this.#open) {
      if (untilMs > nowMs) break;
      this.#open.delete(known);
    }
    const found = this.#open.get(key) ?? { untilMs: nowMs + MINUTE_MS, slot: createAuditSlot(), count: 0 };
    found.count += 1;
    this.#open.set(key, found);
    return auditEntry(found.count > 1 ? { ...event, count: found.count } : event, found.slot);
  }
}
