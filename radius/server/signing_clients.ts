// What `message_authenticator = "auto"` has learnt, per client and source address: an address that sent a signed Access-Request must sign from then
// on, also after a restart. An address whose unsigned logins succeeded lately is never required to sign.

import type { Clock } from "../../platform/runtime.ts";
import type { Log } from "../../platform/log.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import type { Client } from "./clients.ts";

/** The client and the source address of a request. */
export interface SigningSource {
  readonly client: Pick<Client, "name" | "onlyAddress">;
  readonly source: string;
}

export interface Learnt {
  /** Clients of which an address was learnt. */
  readonly names: ReadonlySet<string>;
  /** Whether requests of this address must be signed. */
  requires(from: SigningSource): boolean;
  /** To be called for a signed Access-Request without EAP-Message. */
  learn(from: SigningSource): void;
  /** To be called for an Access-Accept that answers an unsigned request. */
  noteUnsignedAccept(from: SigningSource): void;
  /** The addresses that must sign, sorted. */
  addressesOf(name: string): readonly string[];
  /** What removes all addresses of a client from the store. */
  forgetting(name: string): Mutation[];
  /** `false` when nothing was learnt of that client. */
  forget(name: string): Promise<boolean>;
  load(): Promise<void>;
}

/** Addresses that are remembered; further ones are not required to sign. */
const MAX_ADDRESSES = 10_000;
const DAY_MS = 24 * 3_600_000;
/** An unsigned login that succeeded within this time keeps unsigned requests of its address accepted. */
const UNSIGNED_RECENT_MS = 7 * DAY_MS;
/** How much older than the newest such login the stored time may be. */
const UNSIGNED_STALE_MS = DAY_MS / 2;

const keyOf = (name: string, source: string): Deno.KvKey => ["learnt", name, source];
/** Version 0.1.0 stored the name of a client with one address, without the address. */
const nameKeyOf = (name: string): Deno.KvKey => ["learnt", name];

export function createLearnt(
  { store, log, clock }: { store: Store; log: Log; clock: Pick<Clock, "nowMs"> },
): Learnt {
  const addresses = new AddressTable<true>();
  const namesAlone = new Set<string>();
  const unsigned = new AddressTable<{ atMs: number; storedMs: number }>();
  /** Sources that one of the warnings below was written for. */
  const warned = new Set<string>();

  const record = (mutations: Mutation[], client: string): void => {
    store.commit({ mutations }).catch((fault: unknown) =>
      log.error("what was learnt of a client could not be recorded", { client, fault: String(fault) })
    );
  };
  const warnOnce = (message: string, fields: Record<string, string>): void => {
    const key = JSON.stringify([message, fields]);
    if (warned.size >= MAX_ADDRESSES || warned.has(key)) return;
    warned.add(key);
    log.warn(message, fields);
  };
  const forgetCommand = (name: string): string => `deno task client forget ${name}`;
  const isUnsignedRecent = (name: string, source: string): boolean => {
    const last = unsigned.get(name, source);
    return last !== undefined && clock.nowMs() - last.atMs < UNSIGNED_RECENT_MS;
  };
  const forgetting = (name: string): Mutation[] => [
    { type: "delete", key: nameKeyOf(name) },
    ...addresses.sourcesOf(name).map((source) => ({ type: "delete" as const, key: keyOf(name, source) })),
  ];

  return {
    get names() {
      return new Set([...addresses.names(), ...namesAlone]);
    },
    requires({ client, source }) {
      if (addresses.get(client.name, source) !== undefined) return true;
      if (!namesAlone.has(client.name) || client.onlyAddress !== source) return false;
      // The record of an earlier version becomes one of the client's address.
      namesAlone.delete(client.name);
      addresses.set(client.name, source, true);
      record([
        { type: "set", key: keyOf(client.name, source), value: true },
        { type: "delete", key: nameKeyOf(client.name) },
      ], client.name);
      return true;
    },
    learn({ client: { name }, source }) {
      if (isUnsignedRecent(name, source)) {
        return warnOnce(
          "this address sends signed and unsigned requests: unsigned requests stay accepted, because unsigned logins succeeded lately",
          { client: name, source },
        );
      }
      if (addresses.size >= MAX_ADDRESSES) {
        return warnOnce(
          'too many addresses sign their requests: Message-Authenticator is not required from further ones; set message_authenticator = "require"',
          { client: name },
        );
      }
      addresses.set(name, source, true);
      log.warn("this address signs its requests: Message-Authenticator is required from it from now on", {
        client: name,
        source,
        forget: forgetCommand(name),
      });
      record([{ type: "set", key: keyOf(name, source), value: true }], name);
    },
    noteUnsignedAccept({ client: { name }, source }) {
      const atMs = clock.nowMs();
      const last = unsigned.get(name, source);
      if (last !== undefined && atMs - last.storedMs < UNSIGNED_STALE_MS) {
        last.atMs = atMs;
        return;
      }
      if (last === undefined && unsigned.size >= MAX_ADDRESSES) {
        unsigned.removeWhere(({ atMs: then }) => atMs - then >= UNSIGNED_RECENT_MS);
        if (unsigned.size >= MAX_ADDRESSES) return;
      }
      unsigned.set(name, source, { atMs, storedMs: atMs });
      const key = ["unsigned_login", name, source];
      record([{ type: "set", key, value: atMs, expireInMs: UNSIGNED_RECENT_MS }], name);
    },
    addressesOf: (name) => addresses.sourcesOf(name).sort(),
    forgetting,
    async forget(name) {
      const mutations = forgetting(name);
      const isKnown = addresses.removeName(name) || namesAlone.has(name);
      namesAlone.delete(name);
      await store.commit({ mutations });
      return isKnown;
    },
    async load() {
      for await (const { key: [, name, source] } of store.list<boolean>(["learnt"])) {
        if (typeof name !== "string") continue;
        if (typeof source === "string") addresses.set(name, source, true);
        else namesAlone.add(name);
      }
      for await (const { key: [, name, source], value } of store.list<number>(["unsigned_login"])) {
        if (typeof name !== "string" || typeof source !== "string" || value === null) continue;
        unsigned.set(name, source, { atMs: value, storedMs: value });
      }
    },
  };
}

/** Values by client and source address. */
class AddressTable<V> {
  readonly #byName = new Map<string, Map<string, V>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }
  names(): Iterable<string> {
    return this.#byName.keys();
  }
  sourcesOf(name: string): string[] {
    return [...this.#byName.get(name)?.keys() ?? []];
  }
  get(name: string, source: string): V | undefined {
    return this.#byName.get(name)?.get(source);
  }
  set(name: string, source: string, value: V): void {
    const values = this.#byName.get(name) ?? new Map<string, V>();
    if (!values.has(source)) this.#size++;
    values.set(source, value);
    this.#byName.set(name, values);
  }
  removeName(name: string): boolean {
    this.#size -= this.#byName.get(name)?.size ?? 0;
    return this.#byName.delete(name);
  }
  removeWhere(isOver: (value: V) => boolean): void {
    for (const [name, values] of this.#byName) {
      for (const [source, value] of values) if (isOver(value) && values.delete(source)) this.#size--;
      if (values.size === 0) this.#byName.delete(name);
    }
  }
}
