// Opens the store: the embedded file of Deno KV, or a KV Connect endpoint (store.kv). Each fault is one sentence with its remedy and
// contains no token. KV Connect protocol: https://github.com/denoland/denokv/blob/main/proto/kv-connect.md

import { escapeControlCharacters } from "./control_characters.ts";
import { type Fetch, type FetchResult, fetchWithDeadline, NO_ANSWER_IN_TIME } from "./fetch_with_deadline.ts";
import { faultMessage } from "./log.ts";
import { type Clock, systemClock, withTimeout } from "./runtime.ts";
import { StoreUnavailable } from "./store_fault.ts";
import { type WatchingKv, watchingKv } from "./watching_kv.ts";

/** The store cannot be opened; `message` contains the remedy. */
export class StoreFault extends Error {}

/** The environment variable with the access token of a KV Connect endpoint. The runtime reads the same variable. */
export const KV_TOKEN_VARIABLE = "DENO_KV_ACCESS_TOKEN";
/** A KV Connect endpoint must answer within this time. The runtime itself would wait without a limit. */
const OPEN_TIMEOUT_MS = 10_000;
/** The answer of the metadata exchange has some 500 octets. */
const MAX_METADATA_OCTETS = 65_536;

export interface KvOpenDeps {
  readonly clock: Clock;
  readonly fetch: Fetch;
  /** The access token. Empty: not set. */
  readonly token: string;
  readonly open: (location: string) => Promise<Deno.Kv>;
}

/** Loaded for a store of several nodes. No literal, because Deno reads the modules of a literal import() at the start. */
const KV_CONNECT: string = import.meta.resolve("./kv_connect/client.ts");

interface KvOpenOptions extends Partial<KvOpenDeps>, Pick<KvConnectionDeps, "onLost" | "onReopened"> {
  /** Refuses a file that does not exist or is empty, instead of creating it. */
  readonly mustExist?: boolean;
}

/** Opens the store at a file path or a URL. The caller closes it. */
export type KvOpener = (location: string) => Promise<Deno.Kv>;

/** Whether a store is a KV Connect endpoint; otherwise it is a file. */
export function isKvUrl(location: string): boolean {
  return /^https?:\/\//i.test(location);
}

/**
 * Opens the store at `location`: a file path, or the http or https URL of a KV Connect endpoint. Creates a file that does not exist. Calls
 * of an endpoint have deadlines.
 *
 * @throws StoreFault if it cannot be opened, or if an endpoint does not answer within ten seconds.
 */
export async function openKv(location: string, options: KvOpenOptions = {}): Promise<Deno.Kv> {
  const {
    clock = systemClock,
    fetch = globalThis.fetch,
    token = Deno.env.get(KV_TOKEN_VARIABLE) ?? "",
    open = async (at) => {
      if (!isKvUrl(at)) return await Deno.openKv(at);
      const { openKvConnect }: typeof import("./kv_connect/client.ts") = await import(KV_CONNECT);
      return await openKvConnect(at, { clock, token });
    },
    mustExist = false,
  } = options;
  if (isKvUrl(location)) {
    const { onLost = () => undefined, onReopened = () => undefined } = options;
    return await openRemote(location, { clock, fetch, token, open, onLost, onReopened });
  }
  if (mustExist && !await hasContent(location)) {
    throw new StoreFault(`Cannot open the store "${location}": it does not exist. Check the path.`);
  }
  return await openFile(location, open);
}

async function openFile(file: string, open: KvOpener): Promise<Deno.Kv> {
  // Deno KV creates files that all users can read, but existing files keep their mode.
  for (const suffix of ["", "-wal", "-shm"]) await makePrivateFile(`${file}${suffix}`, suffix === "");
  try {
    const kv = await open(file);
    await kv.get(["schema"]);
    return kv;
  } catch (fault) {
    throw new StoreFault(
      `Cannot open the store "${file}": ${
        faultMessage(fault)
      }. Restore it from a backup, or move it away to start with an empty store.`,
    );
  }
}

/** Whether a file exists and is not empty. @throws StoreFault if this cannot be read */
export async function hasContent(file: string): Promise<boolean> {
  try {
    return (await Deno.stat(file)).size > 0;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return false;
    throw new StoreFault(`Cannot read "${file}": ${faultMessage(fault)}`);
  }
}

async function makePrivateFile(file: string, create: boolean): Promise<void> {
  try {
    if (create) (await Deno.open(file, { create: true, append: true, mode: 0o600 })).close();
    await Deno.chmod(file, 0o600);
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound && !create) return;
    throw new StoreFault(`Cannot create the store "${file}": ${faultMessage(fault)}`);
  }
}

async function openRemote(
  url: string,
  deps: KvOpenDeps & Required<Pick<KvConnectionDeps, "onLost" | "onReopened">>,
): Promise<Deno.Kv> {
  const { clock, token, onLost, onReopened } = deps;
  const refuse = (problem: string): never => {
    throw new StoreFault(`Cannot open the store "${url}": ${problem}`);
  };
  if (token === "") {
    refuse(`${KV_TOKEN_VARIABLE} is not set. Set it to the access token of the KV Connect server.`);
  }
  const deadlineMs = clock.nowMs() + OPEN_TIMEOUT_MS;
  const problem = metadataProblem(await exchangeMetadata(url, { ...deps, deadlineMs }));
  if (problem !== null) refuse(problem);
  let kv: Deno.Kv | null = null;
  let isLate = false;
  const opening = deps.open(url).then(async (opened) => {
    if (isLate) opened.close();
    kv = opened;
    await opened.get(["schema"]);
    return opened;
  });
  try {
    const opened = await withTimeout(opening, { clock, timeoutMs: deadlineMs - clock.nowMs() });
    if (opened.inTime) {
      return new KvConnection(opened.value, {
        clock,
        open: () => deps.open(url),
        onLost,
        onReopened,
      });
    }
  } catch (fault) {
    (kv as Deno.Kv | null)?.close();
    refuse(`${safeDetail(fault, token)}. Check store.kv, ${KV_TOKEN_VARIABLE} and the log of the server.`);
  }
  isLate = true;
  (kv as Deno.Kv | null)?.close();
  return refuse(SILENT);
}

const SILENT = `the server did not answer within ${
  OPEN_TIMEOUT_MS / 1000
} s. Check that it runs and can be reached, and that the address is right.`;

const NO_ENDPOINT = "its answer is not that of a KV Connect endpoint. Correct the address (store.kv).";

/** The metadata exchange, sent before the runtime sends its own: it has a deadline, and its status tells the faults apart. */
function exchangeMetadata(
  url: string,
  { fetch, clock, token, deadlineMs }: KvOpenDeps & { deadlineMs: number },
): Promise<FetchResult> {
  return fetchWithDeadline({
    method: "POST",
    url,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ supportedVersions: [1, 2, 3] }),
  }, { fetch, clock, deadlineMs, maxOctets: MAX_METADATA_OCTETS });
}

/** Why the answer is not that of a KV Connect endpoint that accepts the token, or `null`. */
function metadataProblem(answer: FetchResult): string | null {
  if (!answer.ok) {
    return answer.loss.detail === NO_ANSWER_IN_TIME.detail
      ? SILENT
      : `${answer.loss.detail}. Check that the server runs and can be reached, and that the address is right.`;
  }
  const { status, body } = answer;
  if (status === 401 || status === 403) {
    return `the server refuses the access token (HTTP ${status}). Set ${KV_TOKEN_VARIABLE} to the access token of the server.`;
  }
  if (status >= 300 && status < 400) {
    return `the server redirects to another address (HTTP ${status}). Set store.kv to that address.`;
  }
  if (status >= 400 && status < 500) {
    return `it is not a KV Connect endpoint (HTTP ${status}). Correct the address (store.kv).`;
  }
  if (status !== 200) return `the server fails (HTTP ${status}). Check its log, and try again.`;
  if (body === null) return answer.flaw === "out_of_time" ? SILENT : NO_ENDPOINT;
  return isMetadata(body) ? null : NO_ENDPOINT;
}

function isMetadata(body: Uint8Array): boolean {
  try {
    const metadata: unknown = JSON.parse(new TextDecoder().decode(body));
    return typeof metadata === "object" && metadata !== null && "version" in metadata &&
      "endpoints" in metadata;
  } catch {
    return false;
  }
}

/** The runtime quotes the response in its message, so the text is cut, and a token in it is removed. */
function safeDetail(fault: unknown, token: string): string {
  return escapeControlCharacters(faultMessage(fault).replaceAll(token, "…").slice(0, 300)).replace(/\.$/, "");
}

// Deadlines for a KV Connect endpoint (store.kv). The client of the runtime repeats a call for ever if the server is down, waits for
// ever if the connection is dead, and cannot cancel a call (measured with Deno 2.9.6 and denokv 0.14.0). Here a call ends in time, and a
// connection that missed a deadline is replaced.

/** Limits of one call, in milliseconds. */
interface KvDeadlines {
  /** A get, a getMany, or one batch of a list. */
  readonly readMs: number;
  readonly commitMs: number;
  /**
   * If a call is pending for this time, further calls wait here and are not sent. So few calls are lost with a connection, and the client
   * of the runtime, which writes a line to stderr for each of its repetitions, writes few.
   */
  readonly holdMs: number;
  /** The pause between two attempts to open a new connection. */
  readonly reopenMs: number;
}

/**
 * A restart of the server takes less than 3 s, and calls that wait for it succeed. After that, the client of a RADIUS server that is
 * silent has not failed over yet: usual timeouts are 3 to 5 s.
 */
export const KV_DEADLINES: KvDeadlines = { readMs: 3000, commitMs: 3000, holdMs: 500, reopenMs: 500 };

interface KvConnectionDeps {
  readonly clock: Clock;
  /** Opens a new connection to the same store. It must reject after a time of its own. */
  readonly open: () => Promise<Deno.Kv>;
  readonly deadlines?: Partial<KvDeadlines>;
  /** Called when the connection missed a deadline. Calls fail from now on. */
  readonly onLost?: () => void;
  /** Called when a new connection is open. Commits of the old one may still be applied. */
  readonly onReopened?: () => void;
}

/** While the store answers other calls, a call may take this many times its deadline: it waits behind them. */
const MAX_DEADLINES = 4;
/** Deadlines are counted in ticks, not by the clock. A process that was suspended still has time to read the answers that wait for it. */
const TICK_MS = 125;

interface PendingCall {
  readonly sinceTick: number;
  readonly deadlineTicks: number;
  readonly reject: (fault: StoreUnavailable) => void;
  /** Sends the call; `null` after that. */
  send: (() => void) | null;
}

/**
 * A `Deno.Kv` whose calls end in time.
 *
 * A call that misses its deadline rejects with {@link StoreUnavailable}, and with it all calls in progress. While no connection is open,
 * calls reject at once. A commit that rejects with `wasSent` has an UNKNOWN outcome: it may have been applied, and it may still be applied
 * later, also after the store answered other calls. The caller must prevent that with a check (platform/cluster/change_log.ts).
 */
export class KvConnection implements Deno.Kv, WatchingKv {
  readonly #deps: KvConnectionDeps;
  readonly #deadlines: KvDeadlines;
  readonly #pending = new Set<PendingCall>();
  #kv: Deno.Kv;
  #state: "open" | "lost" | "closed" = "open";
  #tick = 0;
  #answerTick = 0;
  #isTicking = false;

  /** @param kv an open connection; closing this object closes it */
  constructor(kv: Deno.Kv, deps: KvConnectionDeps) {
    this.#kv = kv;
    this.#deps = deps;
    this.#deadlines = { ...KV_DEADLINES, ...deps.deadlines };
  }

  /** Whether calls are sent to the store. */
  get isOpen(): boolean {
    return this.#state === "open";
  }

  get<T = unknown>(
    key: Deno.KvKey,
    options?: { consistency?: Deno.KvConsistencyLevel },
  ): Promise<Deno.KvEntryMaybe<T>> {
    return this.#call(this.#deadlines.readMs, (kv) => kv.get<T>(key, options));
  }

  getMany<T extends readonly unknown[]>(
    keys: readonly [...{ [K in keyof T]: Deno.KvKey }],
    options?: { consistency?: Deno.KvConsistencyLevel },
  ): Promise<{ [K in keyof T]: Deno.KvEntryMaybe<T[K]> }> {
    return this.#call(this.#deadlines.readMs, (kv) => kv.getMany<T>(keys, options));
  }

  list<T = unknown>(selector: Deno.KvListSelector, options?: Deno.KvListOptions): Deno.KvListIterator<T> {
    const kv = this.#kv;
    const batches = kv.list<T>(selector, options);
    const next = batches.next.bind(batches);
    batches.next = () => this.#call(this.#deadlines.readMs, next, kv);
    return batches;
  }

  set(key: Deno.KvKey, value: unknown, options?: { expireIn?: number }): Promise<Deno.KvCommitResult> {
    return this.#call(this.#deadlines.commitMs, (kv) => kv.set(key, value, options));
  }

  delete(key: Deno.KvKey): Promise<void> {
    return this.#call(this.#deadlines.commitMs, (kv) => kv.delete(key));
  }

  atomic(): Deno.AtomicOperation {
    const kv = this.#kv;
    const operation = kv.atomic();
    const commit = operation.commit.bind(operation);
    operation.commit = () => this.#call(this.#deadlines.commitMs, commit, kv);
    return operation;
  }

  /** Not limited: a watch that is silent may be one of keys that do not change. It ends when the connection is replaced. */
  watch<T extends readonly unknown[]>(
    keys: readonly [...{ [K in keyof T]: Deno.KvKey }],
    options?: { raw?: boolean },
  ): ReadableStream<{ [K in keyof T]: Deno.KvEntryMaybe<T[K]> }> {
    return this.#kv.watch<T>(keys, options);
  }

  /** Has a deadline of its own. */
  waitForChange(...[keys, options]: Parameters<WatchingKv["waitForChange"]>): Promise<void> {
    const watching = this.#state === "open" ? watchingKv(this.#kv) : null;
    return watching?.waitForChange(keys, options) ??
      Promise.reject(new StoreUnavailable("The store cannot be watched"));
  }

  commitVersionstamp(): symbol {
    return this.#kv.commitVersionstamp();
  }

  /** @throws Error always: KV Connect has no queues */
  enqueue(): Promise<Deno.KvCommitResult> {
    throw new Error("Cannot use the queue: KV Connect has none");
  }

  /** @throws Error always: KV Connect has no queues */
  listenQueue(): Promise<void> {
    throw new Error("Cannot use the queue: KV Connect has none");
  }

  /** Ends all calls in progress. A commit among them may still be applied. The process must end itself: the client of the runtime may not. */
  close(): void {
    if (this.#state === "closed") return;
    const wasOpen = this.#state === "open";
    this.#state = "closed";
    if (wasOpen) this.#kv.close();
    this.#rejectAll("The store is closed");
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** @param belongsTo the connection of an iterator or of an operation, which no other connection continues */
  #call<T>(deadlineMs: number, work: (kv: Deno.Kv) => Promise<T>, belongsTo?: Deno.Kv): Promise<T> {
    if (this.#state !== "open") {
      const state = this.#state === "lost" ? "does not answer" : "is closed";
      return Promise.reject(new StoreUnavailable(`The store ${state}`));
    }
    if (belongsTo !== undefined && belongsTo !== this.#kv) {
      return Promise.reject(new StoreUnavailable("The connection to the store was replaced"));
    }
    return new Promise((resolve, reject) => {
      const call: PendingCall = {
        sinceTick: this.#tick,
        deadlineTicks: ticksOf(deadlineMs),
        reject,
        send: () => {
          call.send = null;
          // Started in a microtask of its own, so that an error thrown by `work` is a rejection.
          Promise.resolve(this.#kv).then(work).then((value) => {
            if (!this.#pending.delete(call)) return;
            resolve(value);
            this.#answered();
          }, (fault: unknown) => {
            if (!this.#pending.delete(call)) return;
            reject(fault);
            this.#answered();
          });
        },
      };
      const isHeld = this.#isSilent();
      this.#pending.add(call);
      if (!isHeld) call.send?.();
      if (!this.#isTicking) this.#tickLater();
    });
  }

  /** Whether calls wait and none was answered for so long that no more calls are sent. The oldest call is the first of the set. */
  #isSilent(): boolean {
    for (const { sinceTick } of this.#pending) {
      return this.#tick - Math.max(sinceTick, this.#answerTick) > ticksOf(this.#deadlines.holdMs);
    }
    return false;
  }

  #answered(): void {
    this.#answerTick = this.#tick;
    for (const { send } of this.#pending) send?.();
  }

  /** The tick in progress when a call began is not complete, so it is not counted. */
  #isOverdue({ sinceTick, deadlineTicks }: PendingCall): boolean {
    const passed = this.#tick - sinceTick;
    return passed > deadlineTicks && (this.#isSilent() || passed > deadlineTicks * MAX_DEADLINES);
  }

  #tickLater(): void {
    this.#isTicking = true;
    this.#deps.clock.after(TICK_MS, () => {
      this.#tick++;
      this.#isTicking = false;
      if (this.#pending.size === 0 || this.#state !== "open") return;
      for (const call of this.#pending) {
        if (this.#isOverdue(call)) return this.#lose();
      }
      this.#tickLater();
    });
  }

  #lose(): void {
    this.#state = "lost";
    // Its calls cannot be cancelled: they end when the store answers again, and their results are ignored.
    this.#kv.close();
    this.#rejectAll("The store did not answer in time");
    this.#deps.onLost?.();
    void this.#reopen();
  }

  #rejectAll(message: string): void {
    const calls = [...this.#pending];
    this.#pending.clear();
    for (const { send, reject } of calls) {
      reject(new StoreUnavailable(message, { wasSent: send === null }));
    }
  }

  async #reopen(): Promise<void> {
    try {
      const kv = await this.#deps.open();
      if (this.#state === "closed") return kv.close();
      this.#kv = kv;
      this.#state = "open";
      this.#deps.onReopened?.();
    } catch (_stillDown) {
      if (this.#state === "closed") return;
      this.#deps.clock.after(this.#deadlines.reopenMs, () => void this.#reopen());
    }
  }
}

function ticksOf(durationMs: number): number {
  return Math.ceil(durationMs / TICK_MS);
}
