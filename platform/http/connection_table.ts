// Limits the open HTTP connections, so that file descriptors stay free for RADIUS, the store and upstream calls.
// When the table is full, the oldest connection that has no request in progress makes room for a new one.

import { sourceKey } from "../addresses.ts";

/** One open connection; `close` ends it at once. */
interface TrackedConnection {
  readonly address: string;
  readonly port: number;
  close(): void;
}

export interface ConnectionTable {
  /** Adds a connection. `false`: the table is full, and the caller closes the connection. */
  add(connection: TrackedConnection): boolean;
  remove(peer: Peer): void;
  /** A request of this connection begins. Until {@link end}, the connection is not closed to make room. */
  begin(peer: Peer): void;
  end(peer: Peer): void;
  /** Closes connections: those without a request in progress, or all. */
  close(which: "idle" | "all"): void;
  size(): number;
  /** Resolves once no connection has a request in progress. */
  whenQuiet(): Promise<void>;
}

type Peer = Pick<TrackedConnection, "address" | "port">;

interface Entry {
  readonly connection: TrackedConnection;
  readonly source: string;
  busy: boolean;
}

interface ConnectionTableDeps {
  readonly maxConnections: number;
  /** Addresses of reverse proxies: many users share them, so only the total limit applies. */
  readonly isProxy?: (address: string) => boolean;
}

export function createConnectionTable(
  { maxConnections, isProxy = () => false }: ConnectionTableDeps,
): ConnectionTable {
  /** In the order of the last activity, the oldest first. */
  const entries = new Map<string, Entry>();
  const perSource = new Map<string, number>();
  const maxPerSource = Math.max(1, Math.floor(maxConnections / 2));
  let busyCount = 0;
  let onQuiet: (() => void)[] = [];

  const countDown = (): void => {
    busyCount -= 1;
    if (busyCount > 0) return;
    for (const resolve of onQuiet) resolve();
    onQuiet = [];
  };
  const take = (key: string): Entry | null => {
    const entry = entries.get(key);
    if (entry === undefined) return null;
    entries.delete(key);
    if (entry.busy) countDown();
    const left = (perSource.get(entry.source) ?? 1) - 1;
    if (left <= 0) perSource.delete(entry.source);
    else perSource.set(entry.source, left);
    return entry;
  };
  /** Closes the oldest idle connection, of one source or of any. */
  const closeOldest = (source: string | null): boolean => {
    for (const [key, entry] of entries) {
      if (entry.busy || (source !== null && entry.source !== source)) continue;
      take(key);
      entry.connection.close();
      return true;
    }
    return false;
  };

  return {
    add(connection) {
      const source = sourceKey(connection.address);
      const isOverShare = (perSource.get(source) ?? 0) >= maxPerSource && !isProxy(connection.address);
      if (isOverShare && !closeOldest(source)) return false;
      if (entries.size >= maxConnections && !closeOldest(null)) return false;
      entries.set(keyOf(connection), { connection, source, busy: false });
      perSource.set(source, (perSource.get(source) ?? 0) + 1);
      return true;
    },
    remove: (peer) => void take(keyOf(peer)),
    begin(peer) {
      const entry = entries.get(keyOf(peer));
      if (entry === undefined || entry.busy) return;
      entry.busy = true;
      busyCount += 1;
    },
    end(peer) {
      const key = keyOf(peer);
      const entry = entries.get(key);
      if (entry === undefined || !entry.busy) return;
      entry.busy = false;
      countDown();
      entries.delete(key);
      entries.set(key, entry);
    },
    close(which) {
      for (const [key, entry] of [...entries]) {
        if (which === "idle" && entry.busy) continue;
        take(key);
        entry.connection.close();
      }
    },
    size: () => entries.size,
    whenQuiet: () =>
      busyCount === 0 ? Promise.resolve() : new Promise((resolve) => void onQuiet.push(resolve)),
  };
}

function keyOf({ address, port }: Peer): string {
  return `${address}|${port}`;
}

/** So many free descriptors are enough for all parts of the program. */
export const PROBED_DESCRIPTORS = 1200;

/** How many descriptors are free, up to {@link PROBED_DESCRIPTORS}. Opens that many at once and closes them. */
export function countFreeDescriptors(open: () => Disposable = openNull): number {
  const held: Disposable[] = [];
  try {
    while (held.length < PROBED_DESCRIPTORS) held.push(open());
  } catch (_noneLeft) {
    // The number that could be opened is the result.
  } finally {
    for (const one of held) one[Symbol.dispose]();
  }
  return held.length;
}

function openNull(): Disposable {
  return Deno.openSync("/dev/null");
}

/** Descriptors that stay free for RADIUS, the store, LDAP, and calls to other services. */
const RESERVED = 100;
/** Enough for the streams of 2,000 phones and 64 console pages, and for short requests. */
const MAX_CONNECTIONS = 2400;
const MIN_CONNECTIONS = 16;

/** How many HTTP connections may be open at once. */
export function connectionLimit(freeDescriptors: number): number {
  if (freeDescriptors >= PROBED_DESCRIPTORS) return MAX_CONNECTIONS;
  return Math.max(MIN_CONNECTIONS, freeDescriptors - RESERVED);
}

/** The response of one connection while it is written. */
export interface UnsentResponse {
  /** The reader has received a part. */
  progress(): void;
  /** The response is sent, or its connection is closed. */
  release(): void;
}

export interface UnsentOctets {
  /** Adds a response; `close` ends its connection to make room for others. */
  add(octets: number, close: () => void): UnsentResponse;
  total(): number;
}

const MAX_UNSENT_OCTETS = 64 * 1024 * 1024;

export function createUnsentOctets({ maxOctets = MAX_UNSENT_OCTETS } = {}): UnsentOctets {
  /** In the order of the last progress, the oldest first. */
  const responses = new Map<UnsentResponse, { readonly octets: number; readonly close: () => void }>();
  let total = 0;
  const remove = (response: UnsentResponse): void => {
    total -= responses.get(response)?.octets ?? 0;
    responses.delete(response);
  };
  const makeRoom = (octets: number): void => {
    for (const [response, { close }] of responses) {
      if (total + octets <= maxOctets) return;
      remove(response);
      close();
    }
  };
  return {
    add(octets, close) {
      makeRoom(octets);
      const response: UnsentResponse = {
        progress() {
          const entry = responses.get(response);
          if (entry === undefined) return;
          responses.delete(response);
          responses.set(response, entry);
        },
        release: () => remove(response),
      };
      responses.set(response, { octets, close });
      total += octets;
      return response;
    },
    total: () => total,
  };
}
