// The delivery to one destination: reads the log from the stored position, sends, waits for the confirmation, and stores the new position. After a
// failure it begins again at the stored position. So each record is delivered at least once, within the bound of the backlog.

import type { WriteLease } from "../cluster/lease.ts";
import type { Log } from "../log.ts";
import { type Clock, type Random, withTimeout } from "../runtime.ts";
import type { Mutation, Store } from "../store.ts";
import { Backlog } from "./backlog.ts";
import { cursorKey, type DestinationCursor } from "./destination.ts";
import type { DestinationSettings } from "./destination_choices.ts";
import type { EcsRecord } from "./ecs_fields.ts";
import type { ExportPosition } from "./export_position.ts";
import { ChannelFault, type LogChannel } from "./log_channel.ts";
import { readLogPage, type RecordReaderDeps, type StoredRecord } from "./record_reader.ts";
import { webhookPauseMs } from "./webhook_sender.ts";

export interface LogDeliveryDeps extends RecordReaderDeps {
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
const STORE_PAUSE_MS = 5000;
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
  #isStopped = false;
  #wake: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: LogDeliveryDeps, cursor: DestinationCursor) {
    this.#deps = deps;
    this.#cursor = cursor;
    this.#sentTo = cursor.position;
    this.#trimmedMs = this.#savedMs = deps.clock.nowMs();
    this.#backlog = new Backlog({ ...deps, isStopped: () => this.#isStopped });
  }

  /** What is stored, and what happened since. */
  get state(): DestinationCursor {
    return this.#cursor;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Confirms what was sent, if the receiver answers soon, and stores the position unless `keepsPosition` is false. Never rejects. */
  async stop({ keepsPosition }: { keepsPosition: boolean }): Promise<void> {
    this.#isStopped = true;
    this.#wake();
    await this.#running;
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

  async #run(): Promise<void> {
    while (!this.#isStopped) await this.#wait(await this.#round());
  }

  /** One page. Returns how long to wait before the next one. */
  async #round(): Promise<number> {
    const { settings, log, name } = this.#deps;
    try {
      if (!settings.isPaused) return await this.#forward();
      await this.#trim();
      return TRIM_MS;
    } catch (fault) {
      this.#abandon();
      if (fault instanceof ChannelFault) return await this.#failed(fault);
      log.error("the log export cannot use the store", { destination: name, fault: String(fault) });
      return STORE_PAUSE_MS;
    }
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
        isStopped: () => this.#isStopped,
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
      log.error("the log export cannot use the store", { destination: name, fault: String(fault) });
    }
    return webhookPauseMs({ failures: this.#failures, retryAfterMs }, random);
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
    this.#isStopped = true;
    onLost();
  }

  /** Waits, at most until {@link stop}. */
  #wait(delayMs: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#deps.clock.after(Math.min(delayMs, TRIM_MS), resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
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
