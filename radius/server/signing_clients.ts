// The source addresses that must sign under `message_authenticator = "auto"`, per client. An address that sent a signed Access-Request must sign
// from then on, even after a restart. An address whose unsigned logins succeeded recently is never required to sign.

import { COMMAND } from "../../platform/command_name.ts";
import { usesTls } from "../../platform/client_settings.ts";
import type { ClientSettings } from "../../platform/config/config.ts";
import { DAY_MS } from "../../platform/durations.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Log } from "../../platform/log.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import type { Client } from "./clients.ts";

/** The client and the source address of a request. */
interface SigningSource {
  readonly client: Pick<Client, "name">;
  readonly source: string;
}

/** Beyond this number, further addresses are not required to sign. */
const MAX_ADDRESSES = 10_000;
/** After a successful unsigned login, unsigned requests of its address stay accepted for this time. */
const UNSIGNED_RECENT_MS = 7 * DAY_MS;
/** The stored time may be older than the last such login by this much. */
const UNSIGNED_STALE_MS = DAY_MS / 2;

const keyOf = (name: string, source: string): Deno.KvKey => ["learnt", name, source];

interface SigningClientsDeps {
  readonly store: Store;
  readonly log: Log;
  readonly clock: Pick<Clock, "nowMs">;
}

export class SigningClients {
  readonly #deps: SigningClientsDeps;
  readonly #addresses = new AddressTable<true>();
  readonly #unsigned = new AddressTable<{ atMs: number; storedMs: number }>();
  /** Warnings that were written. */
  readonly #warned = new Set<string>();

  constructor(deps: SigningClientsDeps) {
    this.#deps = deps;
    deps.store.follow(["learnt"], (entry) => this.#applyLearnt(entry));
    deps.store.follow(["unsigned_login"], (entry) => this.#applyUnsigned(entry));
  }

  /** Clients with a learnt address. */
  get names(): ReadonlySet<string> {
    return new Set(this.#addresses.names());
  }

  /** Whether requests of this address must be signed. */
  requires({ client, source }: SigningSource): boolean {
    return this.#addresses.get(client.name, source) !== undefined;
  }

  /** Call this for a signed Access-Request without EAP-Message. */
  learn({ client: { name }, source }: SigningSource): void {
    if (this.#isUnsignedRecent(name, source)) {
      return this.#warnOnce(
        "this address sends signed and unsigned requests: unsigned requests stay accepted, because unsigned logins succeeded recently",
        { client: name, source },
      );
    }
    if (this.#addresses.size >= MAX_ADDRESSES) {
      return this.#warnOnce(
        'too many addresses sign their requests: Message-Authenticator is not required from further addresses; set message_authenticator = "require"',
        { client: name },
      );
    }
    this.#addresses.set(name, source, true);
    this.#deps.log.warn(
      "this address signs its requests: Message-Authenticator is required from it from now on",
      { client: name, source, forget: `${COMMAND} client forget ${name}` },
    );
    this.#record(name, [{ type: "set", key: keyOf(name, source), value: true }]);
  }

  /** Call this for an Access-Accept that answers an unsigned request. */
  noteUnsignedAccept({ client: { name }, source }: SigningSource): void {
    const atMs = this.#deps.clock.nowMs();
    const last = this.#unsigned.get(name, source);
    if (last !== undefined && atMs - last.storedMs < UNSIGNED_STALE_MS) {
      last.atMs = atMs;
      return;
    }
    if (last === undefined && this.#unsigned.size >= MAX_ADDRESSES) {
      this.#unsigned.removeWhere(({ atMs: then }) => atMs - then >= UNSIGNED_RECENT_MS);
      if (this.#unsigned.size >= MAX_ADDRESSES) return;
    }
    this.#unsigned.set(name, source, { atMs, storedMs: atMs });
    const key = ["unsigned_login", name, source];
    this.#record(name, [{ type: "set", key, value: atMs, expireInMs: UNSIGNED_RECENT_MS }]);
  }

  /** The addresses that must sign, sorted. */
  addressesOf(name: string): readonly string[] {
    return this.#addresses.sourcesOf(name).sort();
  }

  /** Removes all addresses of a client from the store. */
  forgetMutations(name: string): Mutation[] {
    return this.#addresses.sourcesOf(name).map((source) => ({ type: "delete", key: keyOf(name, source) }));
  }

  /** `false` if the client has no learnt address. */
  async forget(name: string): Promise<boolean> {
    const mutations = this.forgetMutations(name);
    const isKnown = this.#addresses.removeName(name);
    await this.#deps.store.commit({ mutations });
    return isKnown;
  }

  async load(): Promise<void> {
    const { store } = this.#deps;
    for await (const entry of store.list(["learnt"])) this.#applyLearnt(entry);
    for await (const entry of store.list(["unsigned_login"])) this.#applyUnsigned(entry);
  }

  /** Takes over a stored address: at the start, or after a change of another node. */
  #applyLearnt({ key: [, name, source], value }: StoreEntry<unknown>): void {
    if (typeof name !== "string" || typeof source !== "string") return;
    if (value === null) this.#addresses.remove(name, source);
    else this.#addresses.set(name, source, true);
  }

  #applyUnsigned({ key: [, name, source], value }: StoreEntry<unknown>): void {
    if (typeof name !== "string" || typeof source !== "string") return;
    if (typeof value === "number") this.#unsigned.set(name, source, { atMs: value, storedMs: value });
    else this.#unsigned.remove(name, source);
  }

  #record(client: string, mutations: Mutation[]): void {
    this.#deps.store.commit({ mutations }).catch((fault: unknown) =>
      this.#deps.log.error("the addresses of a client that sign could not be stored", {
        client,
        fault: String(fault),
      })
    );
  }

  #warnOnce(message: string, fields: Record<string, string>): void {
    const key = JSON.stringify([message, fields]);
    if (this.#warned.size >= MAX_ADDRESSES || this.#warned.has(key)) return;
    this.#warned.add(key);
    this.#deps.log.warn(message, fields);
  }

  #isUnsignedRecent(name: string, source: string): boolean {
    const last = this.#unsigned.get(name, source);
    return last !== undefined && this.#deps.clock.nowMs() - last.atMs < UNSIGNED_RECENT_MS;
  }
}

/** Which requests of a client must be signed, by its settings and by the learnt addresses. */
export interface ClientSigning {
  /** `learnt`: requests from `addresses` must be signed; others are accepted unsigned. */
  readonly required: "always" | "learnt" | "never";
  /** At most 100. */
  readonly addresses: readonly string[];
  readonly count: number;
  /** Whether unsigned requests of the client are accepted from some of its addresses. */
  readonly acceptsUnsigned: boolean;
}

const MAX_SHOWN_ADDRESSES = 100;

export function clientSigning(
  client: Pick<
    ClientSettings,
    "name" | "address" | "messageAuthenticator" | "tlsSan" | "tlsFingerprint"
  >,
  signing: Pick<SigningClients, "addressesOf">,
): ClientSigning {
  const { name, address, messageAuthenticator } = client;
  // TLS protects each packet.
  const mode = usesTls(client) ? "require" : messageAuthenticator;
  if (mode === "require") return { required: "always", addresses: [], count: 0, acceptsUnsigned: false };
  if (mode === "off") return { required: "never", addresses: [], count: 0, acceptsUnsigned: true };
  const [only] = address;
  const isAlone = address.length === 1 && only !== undefined && !only.includes("/");
  const addresses = signing.addressesOf(name);
  return {
    required: "learnt",
    addresses: addresses.slice(0, MAX_SHOWN_ADDRESSES),
    count: addresses.length,
    acceptsUnsigned: !(isAlone && addresses.includes(only)),
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
  remove(name: string, source: string): void {
    const values = this.#byName.get(name);
    if (values?.delete(source)) this.#size--;
    if (values?.size === 0) this.#byName.delete(name);
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
