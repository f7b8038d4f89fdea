// Backups of a running server, over the control socket only: GET /backup streams the store in the format of a backup.

import type { Log } from "../log.ts";
import { faultMessage } from "../log_line.ts";
import type { CancelTimer, Clock } from "../runtime.ts";
import { BACKUP_FORMAT, BackupWriter } from "./backup_format.ts";
import type { CommitObserver } from "./commit_capture.ts";
import { BackupFault } from "./octets.ts";
import { readStore, type ReadStoreOptions } from "./read_store.ts";

export const BACKUP_PATH = "/backup";

export interface BackupSource extends Pick<ReadStoreOptions, "settings"> {
  readonly clock: Clock;
  readonly kv: Deno.Kv;
  readonly commits: CommitObserver;
  /** The version of the program. */
  readonly version: string;
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
  const { kv, commits, version, settings, clock: { nowMs } } = source;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const writer = new BackupWriter((octets) => (chunks.push(octets), Promise.resolve()), { deflate: false });
  await writer.begin({ format: BACKUP_FORMAT, version, createdMs: nowMs() });
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
