// The backlog of a destination: which records wait, how many, and which are skipped because they are beyond the bound.

import { auditEntry, auditIdAt, auditIdMs } from "../audit.ts";
import { auditActionOf } from "../audit_actions.ts";
import type { Log } from "../log.ts";
import type { Clock } from "../runtime.ts";
import type { Mutation } from "../store.ts";
import type { DestinationCursor } from "./destination.ts";
import type { DestinationSettings } from "./destination_choices.ts";
import { kindOf } from "./ecs_events.ts";
import { readLogPage, type RecordPage, type RecordReaderDeps, type StoredRecord } from "./record_reader.ts";

export interface BacklogDeps extends RecordReaderDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly name: string;
  readonly settings: DestinationSettings;
  /** How long audit records are stored. */
  readonly retentionMs: () => number;
  readonly isStopped: () => boolean;
}

/** Records that expire soon count as too old. */
const RETENTION_RESERVE_MS = 3_600_000;
const HOUR_MS = 3_600_000;
const SKIPPED = "log_export.skipped";
/** Pages that one call reads. */
const MAX_PAGES = 200;

export class Backlog {
  readonly #deps: BacklogDeps;
  readonly #kinds: ReadonlySet<string>;
  readonly #object: string;

  constructor(deps: BacklogDeps) {
    this.#deps = deps;
    this.#kinds = new Set(deps.settings.records);
    this.#object = `log-export:${deps.name}`;
  }

  /** The records of a page that the destination wants. It also gets the records about its own gaps. */
  wantedOf({ records }: RecordPage): StoredRecord[] {
    return records.filter(({ value }) => {
      const action = auditActionOf(String(value.action));
      return this.#kinds.has(kindOf(action)) ||
        (action === SKIPPED && value.object === this.#object);
    });
  }

  /** Whether a record is beyond the age of the bound. */
  isTooOld(record: StoredRecord | undefined): boolean {
    return record !== undefined && record.id < this.#oldestId();
  }

  #oldestId(): string {
    const { clock, settings: { maxHours }, retentionMs } = this.#deps;
    const storedMs = Math.max(RETENTION_RESERVE_MS, retentionMs() - RETENTION_RESERVE_MS);
    return auditIdAt(clock.nowMs() - Math.min(maxHours * HOUR_MS, storedMs));
  }

  /** Counts the records that came since the last count. */
  async count(cursor: DestinationCursor): Promise<DestinationCursor> {
    let { count, position, oldestMs } = cursor.backlog;
    for (let pages = 0; pages < MAX_PAGES && !this.#deps.isStopped(); pages++) {
      const page = await readLogPage(this.#deps, position);
      const wanted = this.wantedOf(page);
      const [oldest] = wanted;
      if (count === 0 && oldest !== undefined) oldestMs = auditIdMs(oldest.id);
      count += wanted.length;
      position = page.position;
      if (page.isEnd) break;
    }
    return { ...cursor, backlog: { count, position, oldestMs } };
  }

  /**
   * Skips the records that are too old, and then pages of the oldest ones while there are too many. Returns the cursor after them, and the audit
   * record that belongs into the same commit. That record is sent like any other.
   */
  async skip(start: DestinationCursor): Promise<{ cursor: DestinationCursor; record: Mutation | null }> {
    const { settings: { maxRecords }, log, name } = this.#deps;
    const oldestId = this.#oldestId();
    let cursor = start;
    let first: StoredRecord | undefined;
    let last: StoredRecord | undefined;
    let isOld = true;
    for (let pages = 0; pages < MAX_PAGES && !this.#deps.isStopped(); pages++) {
      const page = await readLogPage(this.#deps, cursor.position, { before: isOld ? oldestId : undefined });
      const wanted = this.wantedOf(page);
      const left = cursor.backlog.count - wanted.length;
      if (!isOld && left < maxRecords) break;
      first ??= wanted[0];
      last = wanted.at(-1) ?? last;
      cursor = {
        ...cursor,
        position: page.position,
        skipped: cursor.skipped + wanted.length,
        backlog: { ...cursor.backlog, count: Math.max(0, left) },
      };
      if (!isOld && page.isEnd) break;
      if (page.isEnd) isOld = false;
    }
    if (first === undefined || last === undefined) return { cursor, record: null };
    const count = cursor.skipped - start.skipped;
    const details = { count, ...periodOf([first.id, last.id]) };
    cursor = { ...cursor, backlog: { ...cursor.backlog, oldestMs: auditIdMs(last.id) } };
    log.warn("the log export skipped records beyond its bound", { destination: name, ...details });
    return { cursor, record: this.#recordOf(details) };
  }

  /**
   * The audit record about records that the receiver refused, and that were left out. There is none about such a record, because it would be
   * refused, too, and so on.
   */
  recordsOfLeftOut(records: readonly StoredRecord[]): Mutation[] {
    const { log, name } = this.#deps;
    const ids = records.map(({ id }) => id).toSorted();
    const details = { count: ids.length, ...periodOf(ids) };
    log.warn("the log export left out records that the receiver refuses", { destination: name, ...details });
    const hasOthers = records.some(({ value }) => value.action !== SKIPPED);
    return hasOthers ? [this.#recordOf({ ...details, because: "receiver_refused" })] : [];
  }

  #recordOf(details: { count: number; from: string; to: string; because?: string }): Mutation {
    return auditEntry({ action: SKIPPED, actor: "gateway", object: this.#object, ...details });
  }
}

/** When the first and the last of records were written. @param ids in their order */
function periodOf(ids: readonly string[]): { from: string; to: string } {
  const timeOf = (id = "") => new Date(auditIdMs(id)).toISOString();
  return { from: timeOf(ids[0]), to: timeOf(ids.at(-1)) };
}
