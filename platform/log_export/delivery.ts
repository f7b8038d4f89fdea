// The delivery to one destination: reads the log from the stored position, sends, waits for the confirmation, and stores the new position. After a
// failure it begins again at the stored position. So each record is delivered at least once, within the bound of the backlog.

import { auditEntry } from "../audit.ts";
import { auditIdAt, auditIdMs } from "../log_blocks.ts";
import { retryPauseMs } from "../backoff.ts";
import type { WriteLease } from "../cluster/lease.ts";
import { HOUR_MS } from "../durations.ts";
import type { Log } from "../log.ts";
import { type Clock, type Random, withTimeout } from "../runtime.ts";
import type { Mutation, Store } from "../store.ts";
import { WorkLoop } from "../work_loop.ts";
import { cursorKey, type DestinationCursor } from "./destination.ts";
import type { DestinationSettings } from "./destination_choices.ts";
import { type EcsRecord, kindOf } from "./ecs_fields.ts";
import { ChannelFault, type LogChannel } from "./log_channel.ts";
import {
  type ExportPosition,
  readLogPage,
  type RecordPage,
  type RecordReaderDeps,
  type StoredRecord,
} from "./record_reader.ts";

interface LogDeliveryDeps extends RecordReaderDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Each write of a position checks it, so that a node that lost the lease writes none. */
  readonly lease: Pick<WriteLease, "check">;
  readonly name: string;
  readonly settings: DestinationSettings;
  readonly openChannel: () => LogChannel;
  /** Makes the fields of records. */
  readonly toFields: (records: readonly StoredRecord[]) => Promise<EcsRecord[]>;
  /** How long audit records are stored. */
  readonly retentionMs: () => number;
  /** Another node has the lease. */
  readonly onLost: () => void;
}

/** How often the log is read while there is nothing to send. */
const POLL_MS = 1000;
/** After a page of a backlog, the delivery rests for as long as the page took, up to this, so that logins are not slower. */
const MAX_REST_MS = 50;
/** The position is stored at most this often, because logins share the commits. After a crash, so much is sent again. */
const SAVE_MS = 1000;
/** A position after records that the destination does not want is stored so often. */
const SAVE_IDLE_MS = 300_000;
/** While the destination does not answer, or is paused, its bound is checked this often. */
const TRIM_MS = 60_000;
/** Records on one connection before it must be confirmed. */
const MAX_UNCONFIRMED = 20_000;
/** So many failures in a row, about a minute, before a record is left out that the receiver refuses for its content. */
const TRIES_BEFORE_LEAVING_OUT = 6;
/** After a record was left out, others are left out at once for so long. Otherwise a few such records would make the export slow. */
const LENIENT_MS = 600_000;
const STOP_MS = 3000;

export class Delivery {
  readonly #deps: LogDeliveryDeps;
  readonly #backlog: Backlog;
  #cursor: DestinationCursor;
  /** What was sent, beyond the stored position. */
  #sentTo: ExportPosition;
  #unconfirmed = 0;
  /** Records that the receiver refused, and that were left out since the last confirmation. */
  #leftOut: StoredRecord[] = [];
  /** Until then, refused records are left out at once. */
  #lenientUntilMs = 0;
  /** What is recorded with the next position. */
  #toRecord: Mutation[] = [];
  #unconfirmedSinceMs = 0;
  #savedMs: number;
  #hasUnsaved = false;
  #trimmedMs: number;
  #failures = 0;
  #channel: LogChannel | null = null;
  readonly #loop: WorkLoop;

  constructor(deps: LogDeliveryDeps, cursor: DestinationCursor) {
    this.#deps = deps;
    this.#cursor = cursor;
    this.#sentTo = cursor.position;
    this.#trimmedMs = this.#savedMs = deps.clock.nowMs();
    this.#loop = new WorkLoop({
      clock: deps.clock,
      // After a fault. Each round says when the next one is due.
      intervalMs: TRIM_MS,
      pass: async () => this.#loop.dueAt(deps.clock.nowMs() + await this.#round()),
      onFault: (fault) => this.#logFault(fault),
    });
    this.#backlog = new Backlog({ ...deps, isStopped: () => this.#loop.isClosed });
  }

  /** What is stored, and what happened since. */
  get state(): DestinationCursor {
    return this.#cursor;
  }

  start(): void {
    this.#loop.wake();
  }

  /** Confirms what was sent, if the receiver answers soon, and stores the position unless `keepsPosition` is false. Never rejects. */
  async stop({ keepsPosition }: { keepsPosition: boolean }): Promise<void> {
    await this.#loop.close();
    const channel = this.#channel;
    this.#channel = null;
    if (channel !== null && this.#unconfirmed > 0 && keepsPosition) {
      const confirming = channel.confirm().then(() => true, () => false);
      const done = await withTimeout(confirming, { clock: this.#deps.clock, timeoutMs: STOP_MS });
      if (done.inTime && done.value) this.#confirmed();
    }
    channel?.close();
    if (this.#hasUnsaved && keepsPosition) await this.#save().catch(() => undefined);
  }

  /** One page. Returns how long to wait before the next one. */
  async #round(): Promise<number> {
    const { settings } = this.#deps;
    try {
      if (!settings.isPaused) return await this.#forward();
      await this.#trim();
      return TRIM_MS;
    } catch (fault) {
      this.#abandon();
      if (fault instanceof ChannelFault) return await this.#failed(fault);
      throw fault;
    }
  }

  #logFault(fault: unknown): void {
    const { log, name } = this.#deps;
    log.error("the log export cannot use the store", { destination: name, fault: String(fault) });
  }

  async #forward(): Promise<number> {
    const { clock, openChannel, toFields } = this.#deps;
    const startedMs = clock.nowMs();
    const restMs = () => Math.min(MAX_REST_MS, Math.max(0, clock.nowMs() - startedMs));
    const page = await readLogPage(this.#deps, this.#sentTo);
    const wanted = this.#backlog.wantedOf(page);
    if (this.#unconfirmed === 0 && this.#backlog.isTooOld(wanted[0])) {
      await this.#trim();
      return 0;
    }
    const channel = this.#channel ??= openChannel();
    if (wanted.length > 0) {
      const leavesOutRefused = this.#failures >= TRIES_BEFORE_LEAVING_OUT || startedMs < this.#lenientUntilMs;
      const leftOut = await channel.send(await toFields(wanted), {
        leavesOutRefused,
        isStopped: () => this.#loop.isClosed,
      });
      this.#leftOut.push(...wanted.filter(({ id }) => leftOut.includes(id)));
      if (this.#unconfirmed === 0) this.#unconfirmedSinceMs = clock.nowMs();
      this.#unconfirmed += wanted.length;
    }
    this.#sentTo = page.position;
    if (this.#unconfirmed > 0) {
      const dueMs = this.#unconfirmedSinceMs + channel.confirmAfterMs - clock.nowMs();
      const isDue = dueMs <= 0 || this.#unconfirmed >= MAX_UNCONFIRMED;
      if (!isDue) return page.isEnd ? Math.min(POLL_MS, dueMs) : restMs();
      await channel.confirm();
    }
    this.#confirmed();
    const unsavedMs = clock.nowMs() - this.#savedMs;
    const isDue = this.#hasUnsaved && (page.isEnd || unsavedMs >= SAVE_MS || this.#toRecord.length > 0);
    if (isDue || unsavedMs >= SAVE_IDLE_MS) await this.#save();
    return page.isEnd ? POLL_MS : restMs();
  }

  /** The receiver has everything that was sent. */
  #confirmed(): void {
    const { clock, log, name } = this.#deps;
    const count = this.#unconfirmed;
    const position = this.#sentTo;
    this.#cursor = { ...this.#cursor, position };
    if (count === 0) return;
    const { problem, sent, backlog } = this.#cursor;
    if (problem !== null) log.info("the log export works again", { destination: name });
    const leftOut = this.#leftOut.splice(0);
    if (leftOut.length > 0) {
      this.#toRecord.push(...this.#backlog.recordsOfLeftOut(leftOut));
      this.#lenientUntilMs = clock.nowMs() + LENIENT_MS;
    }
    this.#cursor = {
      ...{ position, sent: sent + count - leftOut.length, skipped: this.#cursor.skipped + leftOut.length },
      ...{ lastSentMs: clock.nowMs(), problem: null },
      backlog: remainingOf(backlog, { count, position }),
    };
    this.#hasUnsaved = true;
    this.#unconfirmed = 0;
    this.#failures = 0;
  }

  async #failed({ code, message: detail, retryAfterMs }: ChannelFault): Promise<number> {
    const { clock, random, log, name } = this.#deps;
    const { problem } = this.#cursor;
    this.#failures++;
    if (problem === null) {
      log.warn("the log export cannot deliver records", { destination: name, problem: code, detail });
    }
    const sinceMs = problem?.sinceMs ?? clock.nowMs();
    this.#cursor = { ...this.#cursor, problem: { code, detail, sinceMs } };
    try {
      if (this.#failures === 1 || clock.nowMs() - this.#trimmedMs >= TRIM_MS) await this.#trim();
      await this.#save();
    } catch (fault) {
      this.#logFault(fault);
    }
    return retryPauseMs({ failures: this.#failures, retryAfterMs }, random);
  }

  /** Counts the backlog, and skips what is beyond the bound. */
  async #trim(): Promise<void> {
    this.#trimmedMs = this.#deps.clock.nowMs();
    this.#cursor = await this.#backlog.count(this.#cursor);
    const { cursor, record } = await this.#backlog.skip(this.#cursor);
    this.#cursor = cursor;
    this.#sentTo = cursor.position;
    await this.#save(record === null ? [] : [record]);
  }

  /** Forgets what was sent and not confirmed. */
  #abandon(): void {
    this.#channel?.close();
    this.#channel = null;
    this.#sentTo = this.#cursor.position;
    this.#unconfirmed = 0;
    this.#leftOut = [];
  }

  async #save(others: readonly Mutation[] = []): Promise<void> {
    const { store, lease, name, clock, onLost } = this.#deps;
    const { next: _pass, ...position } = this.#cursor.position;
    const value: DestinationCursor = { ...this.#cursor, position };
    const recorded = this.#toRecord.length;
    const done = await store.commit({
      checks: lease.check === null ? [] : [lease.check],
      mutations: [{ type: "set", key: cursorKey(name), value }, ...this.#toRecord, ...others],
    });
    this.#toRecord.splice(0, recorded);
    this.#savedMs = clock.nowMs();
    this.#hasUnsaved = false;
    if (done.ok) return;
    void this.#loop.close();
    onLost();
  }
}

/** The counted backlog after records were delivered. A position beyond the counted part begins a new count. */
function remainingOf(
  backlog: DestinationCursor["backlog"],
  { count, position }: { count: number; position: ExportPosition },
): DestinationCursor["backlog"] {
  if (backlog.count > count) return { ...backlog, count: backlog.count - count };
  return { count: 0, position, oldestMs: null };
}

interface BacklogDeps extends RecordReaderDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly name: string;
  readonly settings: DestinationSettings;
  /** How long audit records are stored. */
  readonly retentionMs: () => number;
  readonly isStopped: () => boolean;
}

/** Records that expire soon count as too old. */
const RETENTION_RESERVE_MS = HOUR_MS;
const SKIPPED = "log_export.skipped";
/** Pages that one call reads. */
const MAX_PAGES = 200;

/** Which records of the log wait for a destination, how many, and which are skipped because they are beyond the bound. */
class Backlog {
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
      const action = String(value.action);
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
