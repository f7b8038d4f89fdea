// The request log: the requests of each connection for 30 days. An entry has names of attributes, and no values but the name of the resource. Requests wait
// in a bounded buffer and are written in batches, so that no answer waits for the log. Batches have ascending numbers:
// ["scim_request", connection, number].

import { DAY_MS } from "../../../platform/durations.ts";
import type { Log } from "../../../platform/log.ts";
import type { CancelTimer, Clock } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import { REQUEST_LOG_DAYS, type RequestOutcome } from "./connection_settings.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { ResourceKind } from "../../schema/resource.ts";

/** A stored batch. Its node adds requests until it is full. */
interface RequestBatch {
  readonly requests: readonly RequestLogEntry[];
}

/** The batch to which this node adds. */
interface OpenBatch {
  readonly number: number;
  readonly openedMs: number;
  readonly requests: readonly RequestLogEntry[];
  readonly octets: number;
}

interface RequestLogDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** A page, newest first. `cursor`: for the next page. */
export interface RequestPage {
  readonly requests: readonly LoggedRequest[];
  readonly cursor: string | null;
}

const FLUSH_MS = 500;
const MAX_BUFFERED = 5000;
export const MAX_BATCH_REQUESTS = 100;
/** Deno KV stores at most 64 KiB in a value. */
const MAX_BATCH_OCTETS = 56_000;
/** Of each connection: at most 200,000 requests. */
export const MAX_BATCHES = 2000;
const MAX_OPEN_MS = 3_600_000;
/** Another node began so many batches since: requests of both nodes stay in order. */
const MAX_BATCHES_BEHIND = 10;
/** Batches that one page reads. */
const MAX_READ_BATCHES = 100;
const MAX_TRIES = 20;
/** Batches of other nodes whose requests were handed to observers. */
const MAX_SEEN = 1000;
const prefixOf = (connection: string): Deno.KvKey => ["scim_request", connection];
const keyOf = (connection: string, number: number): Deno.KvKey => [...prefixOf(connection), number];
const CURSOR = /^(\d{1,15})\.(\d{1,3})$/;

export class RequestLog {
  readonly #deps: RequestLogDeps;
  readonly #open = new Map<string, OpenBatch>();
  readonly #observers = new Set<(requests: readonly LoggedRequest[]) => void>();
  #buffer: RequestLogEntry[] = [];
  #lost = 0;
  #flushing: Promise<void> = Promise.resolve();
  #cancelTimer: CancelTimer | null = null;
  #isClosed = false;
  /** The batches that other nodes changed, while there are observers. */
  readonly #changed = new Set<string>();
  readonly #seen = new Map<string, number>();
  #observedSinceMs = 0;
  #isFollowing = false;

  constructor(deps: RequestLogDeps) {
    this.#deps = deps;
    deps.store.followGroups(["scim_request"], 3, ([, connection, number]) => {
      this.#noteOther(String(connection), Number(number));
    });
  }

  /** Records a request. Returns at once. If the buffer is full, the request is not recorded. */
  record(entry: RequestLogEntry): void {
    if (this.#isClosed || this.#buffer.length >= MAX_BUFFERED) this.#lost++;
    else this.#buffer.push(redactEntry(entry));
    if (!this.#isClosed) this.#cancelTimer ??= this.#deps.clock.after(FLUSH_MS, () => void this.flush());
  }

  /** Writes what waits in the buffer. */
  flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    return this.#flushing = this.#flushing.then(() => this.#flush());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  /**
   * Calls the observer with the requests of all nodes, after they are stored. It must not throw.
   *
   * @returns what removes it.
   */
  observe(observer: (requests: readonly LoggedRequest[]) => void): () => void {
    if (this.#observers.size === 0) this.#observedSinceMs = this.#deps.clock.nowMs();
    this.#observers.add(observer);
    return () => {
      this.#observers.delete(observer);
      if (this.#observers.size === 0) this.#seen.clear();
    };
  }

  /** The requests of a connection, newest first. A page can be empty although there are more. */
  async page(
    connection: string,
    { filter, cursor, size }: { filter: RequestFilter; cursor: string | null; size: number },
  ): Promise<RequestPage> {
    await this.flush();
    const from = readCursor(cursor);
    const found: LoggedRequest[] = [];
    let read = 0;
    let last: number | null = null;
    const end = from === null ? [...prefixOf(connection), true] : keyOf(connection, from.number + 1);
    const batches = this.#deps.store.range<RequestBatch>(
      { start: prefixOf(connection), end },
      { reverse: true, limit: MAX_READ_BATCHES },
    );
    for await (const { key, value } of batches) {
      const number = Number(key[2]);
      const requests = loggedRequests(number, value);
      const end = from?.number === number ? from.index : requests.length;
      for (let index = Math.min(end, requests.length) - 1; index >= 0; index--) {
        const one = requests[index];
        if (one === undefined || !matchesRequest(one, filter)) continue;
        found.push(one);
        if (found.length === size) return { requests: found, cursor: one.id };
      }
      // The batches before it were closed before the range began, also those of other nodes.
      const beganMs = requests[0]?.atMs ?? Infinity;
      if (beganMs < (filter.fromMs ?? 0) - 2 * MAX_OPEN_MS) return { requests: found, cursor: null };
      read++;
      last = number;
    }
    return { requests: found, cursor: read < MAX_READ_BATCHES || last === null ? null : `${last}.0` };
  }

  /** The newest request that `filter` matches, of the newest batches. */
  async newest(connection: string, filter: RequestFilter = {}): Promise<LoggedRequest | null> {
    const { requests } = await this.page(connection, { filter, cursor: null, size: 1 });
    return requests[0] ?? null;
  }

  async #flush(): Promise<void> {
    const waiting = this.#buffer;
    const { log } = this.#deps;
    if (this.#lost > 0) log.warn("requests of connections were not logged", { count: this.#lost });
    this.#lost = 0;
    if (waiting.length === 0) return;
    this.#buffer = [];
    for (const [connection, entries] of Map.groupBy(waiting, (one) => one.connection)) {
      try {
        await this.#write(connection, entries);
      } catch (fault) {
        // The answers were sent already. A log that cannot be written must not fill the memory.
        this.#open.delete(connection);
        log.warn("requests of a connection were not logged", {
          connection,
          count: entries.length,
          fault: String(fault),
        });
      }
    }
  }

  async #write(connection: string, entries: readonly RequestLogEntry[]): Promise<void> {
    let races = 0;
    for (let left = entries; left.length > 0;) {
      const known = this.#usableBatch(connection);
      const batch = known ?? await this.#newBatch(connection);
      const added = fitting(batch, left);
      const next: OpenBatch = {
        ...batch,
        requests: [...batch.requests, ...added],
        octets: batch.octets + added.reduce((sum, entry) => sum + entryOctets(entry), 0),
      };
      if (added.length === 0) {
        this.#open.delete(connection);
      } else if (await this.#commit(connection, next, { isNew: known === null })) {
        this.#open.set(connection, next);
        this.#notify(loggedRequests(next.number, { requests: added }, batch.requests.length));
        left = left.slice(added.length);
      } else if (++races > MAX_TRIES) {
        throw new Error("other nodes keep taking the number of the batch");
      }
    }
  }

  /** @returns false if another node took the number of a new batch. */
  async #commit(
    connection: string,
    { number, requests, octets }: OpenBatch,
    { isNew }: { isNew: boolean },
  ): Promise<boolean> {
    const key = keyOf(connection, number);
    const mutations: Mutation[] = [
      { type: "set", key, value: { requests }, expireInMs: REQUEST_LOG_DAYS * DAY_MS },
    ];
    if (isNew) mutations.push({ type: "delete", key: keyOf(connection, number - MAX_BATCHES) });
    const checks = isNew ? [{ key, versionstamp: null }] : [];
    const { ok } = await this.#deps.store.commit({ checks, mutations, sizeOctets: octets });
    return ok;
  }

  #usableBatch(connection: string): OpenBatch | null {
    const batch = this.#open.get(connection);
    if (batch === undefined) return null;
    const isOld = this.#deps.clock.nowMs() - batch.openedMs > MAX_OPEN_MS;
    return isOld || batch.requests.length >= MAX_BATCH_REQUESTS ? null : batch;
  }

  async #newBatch(connection: string): Promise<OpenBatch> {
    const { store, clock } = this.#deps;
    let number = 1;
    for await (const { key } of store.list(prefixOf(connection), { reverse: true, limit: 1 })) {
      number = Number(key[2]) + 1;
    }
    return { number, openedMs: clock.nowMs(), requests: [], octets: 0 };
  }

  #notify(requests: readonly LoggedRequest[]): void {
    if (requests.length > 0) { for (const observer of this.#observers) observer(requests); }
  }

  #noteOther(connection: string, number: number): void {
    const own = this.#open.get(connection);
    if (own !== undefined && number >= own.number + MAX_BATCHES_BEHIND) this.#open.delete(connection);
    if (this.#observers.size === 0) return;
    this.#changed.add(JSON.stringify([connection, number]));
    if (!this.#isFollowing) void this.#followOthers();
  }

  /** Reads the batches that other nodes changed, one after another. */
  async #followOthers(): Promise<void> {
    this.#isFollowing = true;
    try {
      for (const text of this.#changed) {
        this.#changed.delete(text);
        const [connection, number] = JSON.parse(text) as [string, number];
        const { value } = await this.#deps.store.get<RequestBatch>(keyOf(connection, number));
        const seen = this.#seen.get(text) ?? 0;
        const requests = loggedRequests(number, value);
        this.#remember(text, requests.length);
        this.#notify(requests.slice(seen).filter(({ atMs }) => atMs >= this.#observedSinceMs));
      }
    } catch (fault) {
      this.#deps.log.warn("requests of another node were not read", { fault: String(fault) });
    } finally {
      this.#isFollowing = false;
    }
  }

  #remember(batch: string, count: number): void {
    this.#seen.delete(batch);
    this.#seen.set(batch, count);
    for (const oldest of this.#seen.keys()) {
      if (this.#seen.size <= MAX_SEEN) break;
      this.#seen.delete(oldest);
    }
  }
}

/** The first entries that fit into a batch. */
function fitting(batch: OpenBatch, entries: readonly RequestLogEntry[]): readonly RequestLogEntry[] {
  let { octets } = batch;
  const places = MAX_BATCH_REQUESTS - batch.requests.length;
  const end = entries.findIndex((entry, at) =>
    at >= places || (octets += entryOctets(entry)) > MAX_BATCH_OCTETS
  );
  return end < 0 ? entries : entries.slice(0, end);
}

/** The requests of a batch, oldest first, from the position `first`. */
function loggedRequests(number: number, batch: RequestBatch | null, first = 0): LoggedRequest[] {
  return (batch?.requests ?? []).map((entry, at) => ({ ...entry, id: `${number}.${first + at}` }));
}

/** The requests before this one. */
function readCursor(cursor: string | null): { number: number; index: number } | null {
  const [, number, index] = CURSOR.exec(cursor ?? "") ?? [];
  return number === undefined || index === undefined
    ? null
    : { number: Number(number), index: Number(index) };
}

/** A request of a connection. {@link redactEntry} bounds and redacts it. */
export interface RequestLogEntry {
  readonly atMs: number;
  /** The name of the connection. */
  readonly connection: string;
  readonly source: string;
  readonly method: string;
  /** `users.create` */
  readonly operation: string;
  readonly resource: {
    readonly kind: ResourceKind;
    readonly id: string | null;
    readonly name: string | null;
  } | null;
  readonly status: number;
  readonly scimType: string | null;
  /** Why it was refused, or what a dry run would have done. */
  readonly detail: string | null;
  /** Names of attributes. */
  readonly attributes: readonly string[];
  readonly durationMs: number;
  readonly dryRun: boolean;
  readonly userAgent: string;
}

/** An entry of the log as it is read. */
export interface LoggedRequest extends RequestLogEntry {
  /** Unique within the connection. */
  readonly id: string;
}

/** All conditions must hold; `""` and `undefined`: any. */
export interface RequestFilter {
  readonly outcome?: RequestOutcome | undefined;
  /** A part of the name or id of the resource, of the source, or of the reason; without case. */
  readonly text?: string | undefined;
  readonly operation?: string | undefined;
  /** The first and the last time. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

const MAX_CHARACTERS = {
  source: 64,
  method: 16,
  operation: 64,
  id: 128,
  name: 256,
  scimType: 32,
  detail: 400,
  userAgent: 200,
  attribute: 128,
} as const;
const MAX_ATTRIBUTES = 40;
/** For the numbers and lengths of an entry in the format of V8. */
const OVERHEAD_OCTETS = 128;
/** An attribute path without a filter: `urn:…:User:name.givenName`, `$ref`. A filter contains a value. */
const ATTRIBUTE = /^[A-Za-z$][A-Za-z0-9._:$-]*$/;
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu;
/** A quoted value in a sentence. The end of one may be cut off. */
const QUOTED = /"(?:[^"\\]|\\.)*(?:"|\\?$)|'(?:[^'\\]|\\.)*'/g;
export const REDACTED = '"…"';

/** Cuts texts, removes control characters, and replaces values that the detail quotes. */
export function redactEntry(entry: RequestLogEntry): RequestLogEntry {
  const { resource } = entry;
  const attributes = attributeNames(entry.attributes);
  return {
    atMs: entry.atMs,
    connection: entry.connection,
    source: cut(entry.source, "source"),
    method: cut(entry.method, "method"),
    operation: cut(entry.operation, "operation"),
    resource: resource === null ? null : {
      kind: resource.kind,
      id: resource.id === null ? null : cut(resource.id, "id"),
      name: resource.name === null ? null : cut(resource.name, "name"),
    },
    status: entry.status,
    scimType: entry.scimType === null ? null : cut(entry.scimType, "scimType"),
    detail: entry.detail === null ? null : redactDetail(entry.detail, [resource?.name ?? "", ...attributes]),
    attributes,
    durationMs: Math.round(entry.durationMs),
    dryRun: entry.dryRun,
    userAgent: cut(entry.userAgent, "userAgent"),
  };
}

/** @param allowed values that a detail may quote. */
function redactDetail(detail: string, allowed: readonly string[]): string {
  // An unclosed quotation mark would hide a value that was cut off, so the text is cut last.
  const redacted = detail.slice(0, 4 * MAX_CHARACTERS.detail)
    .replace(
      QUOTED,
      (quoted) => allowed.some((one) => quoted === `"${one}"` || quoted === `'${one}'`) ? quoted : REDACTED,
    );
  return cut(redacted, "detail");
}

function attributeNames(names: readonly string[]): string[] {
  const sound = names.slice(0, 10 * MAX_ATTRIBUTES).map((name) => name.slice(0, MAX_CHARACTERS.attribute));
  return [...new Set(sound.filter((name) => ATTRIBUTE.test(name)))].slice(0, MAX_ATTRIBUTES);
}

function cut(text: string, field: keyof typeof MAX_CHARACTERS): string {
  const max = MAX_CHARACTERS[field];
  return text.slice(0, 4 * max).replace(UNSAFE, " ").trim().slice(0, max).toWellFormed();
}

function outcomeOf(status: number): RequestOutcome {
  if (status < 400) return "done";
  return status < 500 ? "refused" : "failed";
}

function matchesRequest(
  entry: RequestLogEntry,
  { outcome, text, operation, fromMs = 0, toMs = Infinity }: RequestFilter,
): boolean {
  if (entry.atMs < fromMs || entry.atMs > toMs) return false;
  if (outcome !== undefined && outcomeOf(entry.status) !== outcome) return false;
  if (operation !== undefined && operation !== "" && entry.operation !== operation) return false;
  if (text === undefined || text === "") return true;
  const wanted = canonicalName(text);
  const { resource, source, detail } = entry;
  return [resource?.name, resource?.id, source, detail]
    .some((one) => typeof one === "string" && canonicalName(one).includes(wanted));
}

/** The octets of an entry in the store, at most. A string with a character outside Latin-1 has two octets for each unit. */
function entryOctets(entry: RequestLogEntry): number {
  const text = JSON.stringify(entry);
  return (/[\u0100-\uffff]/.test(text) ? 2 * text.length : text.length) + OVERHEAD_OCTETS;
}
