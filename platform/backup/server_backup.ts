// Backups of a running server, over the control socket only: GET /backup streams the store in the format of a backup.

import { faultMessage, type Log } from "../log.ts";
import type { CancelTimer, Clock } from "../runtime.ts";
import { type StoreFormat, versionOf } from "../upgrade/store_format.ts";
import { BACKUP_FORMAT, BackupWriter } from "./backup_format.ts";
import { readStore, type ReadStoreOptions } from "./read_store.ts";
import { BackupFault, type BackupRecord, isTransient, OctetWriter, writeKey, writeValue } from "./records.ts";

// Captures the commits of this process while a backup reads the store. The entries as they were read, followed by these changes, are the
// store at the moment when the capture ends: the reading needs no snapshot, which Deno KV does not have.

/** A change whose result is read from the store after its commit, such as a sum. It can include sums of later commits. */
interface UnknownChange {
  readonly kind: "changed";
  readonly key: Deno.KvKey;
}

type Change = BackupRecord | UnknownChange;

/** The changes that wait for a slow receiver have at most this size. Beyond it, the backup ends with an error. */
const MAX_WAITING_OCTETS = 64 * 1024 * 1024;

interface SizedChange {
  readonly change: Change;
  readonly octets: number;
}

/** The last change of each key since the last call of {@link CommitCapture.take}. */
class Changes {
  /** By the octets of the key. */
  readonly #changes = new Map<string, SizedChange>();
  readonly #maxOctets: number;
  #octets = 0;
  #problem: string | null = null;

  constructor(maxOctets: number) {
    this.#maxOctets = maxOctets;
  }

  fail(problem: string): void {
    this.#problem = problem;
    this.#changes.clear();
  }

  add(key: string, sized: SizedChange): void {
    if (this.#problem !== null) return;
    this.#octets += sized.octets - (this.#changes.get(key)?.octets ?? 0);
    this.#changes.set(key, sized);
    if (this.#octets > this.#maxOctets) this.fail("the store changes faster than the backup is written");
  }

  take(): readonly Change[] {
    if (this.#problem !== null) throw new BackupFault(this.#problem);
    const taken = [...this.#changes.values()].map(({ change }) => change);
    this.#changes.clear();
    this.#octets = 0;
    return taken;
  }
}

interface CommitCapture {
  /** Removes and returns the last change of each key since the last call. @throws BackupFault if there were too many */
  take(): Promise<readonly BackupRecord[]>;
  /** Waits for the commits in progress; {@link take} returns the last changes then. */
  end(): Promise<void>;
}

/** The value of now, which the caller may change later. */
function copyOf(value: unknown): unknown {
  return value instanceof Deno.KvU64 ? value : structuredClone(value);
}

const NO_CAPTURES: readonly Changes[] = [];

/** Observes the atomic operations of one open store. Without a capture, it costs one call per operation. */
export class CommitObserver {
  readonly #kv: Deno.Kv;
  readonly #nowMs: () => number;
  readonly #maxOctets: number;
  readonly #inProgress = new Set<Promise<unknown>>();
  readonly #captures = new Set<Changes>();
  readonly #scale = new OctetWriter();

  /** Replaces `kv.atomic`. */
  constructor(kv: Deno.Kv, nowMs: () => number, { maxWaitingOctets = MAX_WAITING_OCTETS } = {}) {
    this.#kv = kv;
    this.#maxOctets = maxWaitingOctets;
    this.#nowMs = nowMs;
    const create = kv.atomic.bind(kv);
    kv.atomic = () => this.#observe(create());
  }

  /** Starts a capture. It contains every commit that starts after this call resolves. */
  async capture(): Promise<CommitCapture> {
    const changes = new Changes(this.#maxOctets);
    this.#captures.add(changes);
    await this.#settle();
    return {
      take: async () => await this.#resolve(changes.take()),
      end: async () => {
        this.#captures.delete(changes);
        await this.#settle();
      },
    };
  }

  async #settle(): Promise<void> {
    await Promise.allSettled([...this.#inProgress]);
  }

  #observe(operation: Deno.AtomicOperation): Deno.AtomicOperation {
    const captures = this.#captures.size === 0 ? NO_CAPTURES : [...this.#captures];
    const changes: Change[] = [];
    if (captures.length > 0) this.#record(operation, changes);
    const commit = operation.commit.bind(operation);
    operation.commit = () => {
      for (const capture of this.#captures) {
        // The store fills and commits an operation in one task. If that changes, a backup must not miss the operation.
        if (!captures.includes(capture)) capture.fail("a commit began before the backup and ended during it");
      }
      const committing = commit().then((done) => {
        if (done.ok) { for (const capture of captures) this.#keep(capture, changes); }
        return done;
      });
      this.#inProgress.add(committing);
      const remove = () => this.#inProgress.delete(committing);
      committing.then(remove, remove);
      return committing;
    };
    return operation;
  }

  #record(operation: Deno.AtomicOperation, changes: Change[]): void {
    const set = operation.set.bind(operation);
    operation.set = (key, value, options) => {
      const expiresAtMs = options?.expireIn === undefined ? null : this.#nowMs() + options.expireIn;
      changes.push({ kind: "set", key, value: copyOf(value), expiresAtMs });
      set(key, value, options);
      return operation;
    };
    const remove = operation.delete.bind(operation);
    operation.delete = (key) => {
      changes.push({ kind: "delete", key });
      remove(key);
      return operation;
    };
    for (const name of ["sum", "min", "max"] as const) {
      const change = operation[name].bind(operation);
      operation[name] = (key: Deno.KvKey, operand: bigint) => {
        changes.push({ kind: "changed", key });
        change(key, operand);
        return operation;
      };
    }
  }

  #keep(capture: Changes, changes: readonly Change[]): void {
    for (const change of changes) {
      if (isTransient(change.key)) continue;
      writeKey(this.#scale, change.key);
      const key = this.#scale.take().toHex();
      if (change.kind === "set") writeValue(this.#scale, change.value);
      capture.add(key, { change, octets: key.length + this.#scale.length });
      this.#scale.truncate(0);
    }
  }

  async #resolve(changes: readonly Change[]): Promise<BackupRecord[]> {
    const records: BackupRecord[] = [];
    for (const change of changes) {
      if (change.kind !== "changed") {
        records.push(change);
        continue;
      }
      const { key } = change;
      const { value, versionstamp } = await this.#kv.get(key);
      records.push(
        versionstamp === null ? { kind: "delete", key } : { kind: "set", key, value, expiresAtMs: null },
      );
    }
    return records;
  }
}

export const BACKUP_PATH = "/backup";

interface BackupSource extends Pick<ReadStoreOptions, "settings"> {
  readonly clock: Clock;
  readonly kv: Deno.Kv;
  readonly commits: CommitObserver;
  /** The format of the records. */
  readonly format: Pick<StoreFormat, "writes">;
  readonly log: Log;
}

/** A batch takes some milliseconds, for which packets wait. */
const BATCH_ENTRIES = 100;

type Answer = (request: Request) => Promise<Response>;

/** Answers requests for a backup; `next` answers all others. */
export function answerBackups(source: BackupSource, next: Answer): Answer {
  const { clock } = source;
  let isBusy = false;
  return async (request) => {
    if (new URL(request.url).pathname !== BACKUP_PATH || request.method !== "GET") return await next(request);
    // Two at once would only slow each other down.
    if (isBusy) return new Response(null, { status: 409 });
    isBusy = true;
    const body = streamOf(logged(source, backupOctets(source)), { clock, onEnd: () => isBusy = false });
    return new Response(body, { headers: { "content-type": "application/octet-stream" } });
  };
}

/** A reader that reads nothing for this time loses the backup, because the server holds the changes meanwhile. */
const READ_TIMEOUT_MS = 120_000;

/** A stream that calls `onEnd` also if its reader gives up before it reads anything, when the generator has not started. */
function streamOf(
  octets: AsyncGenerator<Uint8Array<ArrayBuffer>>,
  { clock, onEnd }: { clock: Clock; onEnd: () => void },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let stopTimer: CancelTimer = () => undefined;
  const finish = (): void => {
    stopTimer();
    onEnd();
  };
  const waitForReader = (controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): void => {
    stopTimer();
    stopTimer = clock.after(READ_TIMEOUT_MS, () => {
      controller.error(new BackupFault("the reader of the backup stopped"));
      void octets.return(undefined).finally(finish);
    });
  };
  return new ReadableStream({
    start: waitForReader,
    async pull(controller) {
      try {
        stopTimer();
        const { done, value } = await octets.next();
        if (done !== true) {
          waitForReader(controller);
          return controller.enqueue(value);
        }
      } catch (fault) {
        finish();
        throw fault;
      }
      finish();
      controller.close();
    },
    async cancel() {
      await octets.return(undefined).finally(finish);
    },
  }, { highWaterMark: 0 });
}

/** Logs the start, the end and the failure of a backup. */
async function* logged(
  { log }: BackupSource,
  octets: AsyncGenerator<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  log.info("a backup of the store begins");
  let sent = 0;
  let isComplete = false;
  try {
    for await (const chunk of octets) {
      sent += chunk.length;
      yield chunk;
    }
    isComplete = true;
  } catch (fault) {
    log.error("a backup of the store failed", { fault: faultMessage(fault) });
    throw fault;
  } finally {
    log.info(isComplete ? "a backup of the store is complete" : "a backup of the store ended early", {
      sent,
    });
  }
}

/** A backup of the store at the moment of its end: the entries as they were read, and then the changes since the reading began. */
async function* backupOctets(source: BackupSource): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { kv, commits, format, settings, clock: { nowMs } } = source;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const writer = new BackupWriter((octets) => (chunks.push(octets), Promise.resolve()), { deflate: false });
  await writer.begin({ format: BACKUP_FORMAT, version: versionOf(format.writes), createdMs: nowMs() });
  const capture = await commits.capture();
  try {
    for await (const batch of readStore(kv, { nowMs, settings, batchEntries: BATCH_ENTRIES })) {
      for (const record of batch) await writer.add(record);
      // Only between two batches: a change must follow the entries that were read before it.
      for (const change of await capture.take()) await writer.add(change);
      yield* chunks.splice(0);
    }
    await capture.end();
    for (const change of await capture.take()) await writer.add(change);
  } finally {
    await capture.end();
  }
  await writer.end({ isExact: true });
  yield* chunks;
}
