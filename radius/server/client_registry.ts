// The registry of RADIUS clients that the console created, beside those of the settings. A change is one commit with its audit record, and
// applies from the next packet on.

import type { ClientSettings, RequestSettings } from "../../platform/config/config.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Log } from "../../platform/log.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import { requireUpgraded } from "../../platform/upgrade/store_format.ts";
import type { Vault } from "../../platform/vault.ts";
import type { ClientContent, FirstFactorServer } from "../../platform/client_settings.ts";
import {
  type ClientActivity,
  clientKey,
  type ClientRecord,
  ClientSecrets,
  findUnsigned,
  fromStoredClient,
  type ShownClient,
  showRecord,
  showSettings,
  type StoredClient,
  toStoredClient,
  type UnsignedClient,
} from "./client_record.ts";
import { clientSigning, type SigningClients } from "./unsigned_requests.ts";
import type { Clients, ClientUse } from "./clients.ts";

/** `no_server_secret`: the first factor is at another RADIUS server, and no secret for it is given or stored. */
type RegistryProblem = "taken" | "unknown" | "in_settings" | "changed" | "full" | "no_server_secret";
export type RegistryResult =
  | { readonly ok: true; readonly client: ShownClient | null }
  | { readonly ok: false; readonly reason: RegistryProblem };

interface RegistryDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
  readonly clients: Clients;
  readonly settings: readonly ClientSettings[];
  readonly anyClient: RequestSettings;
  readonly signing: Pick<SigningClients, "addressesOf" | "names">;
}

/** New secrets of the first-factor server and of Disconnect-Requests. */
interface OwnSecrets {
  readonly serverSecret?: string | undefined;
  readonly disconnectSecret?: string | undefined;
}

const MAX_CLIENTS = 2000;
const NEVER: ClientUse = { packets: 0, lastMs: 0, previousMs: 0, unsignedMs: 0 };

/** The only client while all clients are disabled. It has no address, so no request is served. The console can show its name. */
const NO_CLIENT = {
  name: "disabled",
  address: [],
  secret: "no packet is ever checked with this",
  nasIdentifier: "",
  nasIpAddress: "",
  tlsSan: "",
  tlsFingerprint: "",
  tlsDisconnect: false,
  disconnectPort: 0,
  disconnectSecret: "",
};

export class ClientRegistry {
  readonly #deps: RegistryDeps;
  readonly #secrets: ClientSecrets;
  #anyClient: RequestSettings;
  /** Of the settings file. */
  #configured: readonly ClientSettings[];
  readonly #records = new Map<string, ClientRecord>();
  /** Records whose names the settings file has too. They are not served. */
  readonly #hidden = new Map<string, ClientRecord>();
  /** Names of clients whose records this version cannot read. */
  readonly #unreadable = new Set<string>();

  constructor(deps: RegistryDeps) {
    this.#deps = deps;
    this.#anyClient = deps.anyClient;
    this.#configured = deps.settings;
    this.#secrets = new ClientSecrets(deps.vault);
    deps.store.follow(["client"], (entry) => {
      try {
        this.#remember(entry);
      } finally {
        this.#apply();
      }
    });
  }

  /** Reads the stored clients. Call it once, before anything else. */
  async load(): Promise<void> {
    await this.#deps.store.load(["client"], (entry) => this.#remember(entry));
    if (this.#records.size + this.#unreadable.size > 0) this.#apply();
  }

  /** Updates the packet gate after the settings changed. */
  refresh({ anyClient, clients }: { anyClient: RequestSettings; clients: readonly ClientSettings[] }): void {
    const hasNewClients = clients !== this.#configured;
    this.#anyClient = anyClient;
    if (hasNewClients) {
      this.#configured = clients;
      const all = [...this.#records.values(), ...this.#hidden.values()];
      this.#records.clear();
      this.#hidden.clear();
      for (const record of all) this.#add(record);
    }
    if (hasNewClients || this.#records.size + this.#unreadable.size > 0) this.#apply();
  }

  /** In order of name. */
  list(): ShownClient[] {
    const ofSettings = this.#configured.map((client) => showSettings(client, this.#activityOf(client)));
    const ofRecords = [...this.#records.values()].map((record) => this.#show(record));
    return [...ofSettings, ...ofRecords].sort((a, b) => a.name < b.name ? -1 : 1);
  }

  find(name: string): ShownClient | null {
    const record = this.#records.get(name);
    if (record !== undefined) return this.#show(record);
    const client = this.#settingsOf(name);
    return client === undefined ? null : showSettings(client, this.#activityOf(client));
  }

  /** The names of the clients of a source address; `null` if packets from there have no client. */
  namesAt(address: string): readonly string[] | null {
    return this.#deps.clients.findByAddress(address)?.map(({ name }) => name) ?? null;
  }

  /** Clients whose unsigned requests are accepted from some address; "any" while no client is configured. */
  unsigned(): UnsignedClient[] {
    return findUnsigned(this.#deps.clients, () => this.list());
  }

  /** The first-factor server of a client with its secret; `null` if it has none. */
  firstFactorServer(name: string): FirstFactorServer | null {
    const record = this.#records.get(name);
    return record === undefined
      ? this.#settingsOf(name)?.firstFactorServer ?? null
      : this.#secrets.serverOf(record);
  }

  async add(
    content: ClientContent,
    { secret, serverSecret, disconnectSecret, audit }: OwnSecrets & { secret: string; audit: Mutation },
  ): Promise<RegistryResult> {
    if (this.find(content.name) !== null) return { ok: false, reason: "taken" };
    if (this.#records.size >= MAX_CLIENTS) return { ok: false, reason: "full" };
    const serverSealed = this.#secrets.sealServer(content, { given: serverSecret, before: null });
    if (serverSealed === undefined) return { ok: false, reason: "no_server_secret" };
    const nowMs = this.#deps.clock.nowMs();
    const sealed = this.#secrets.seal(content.name, "secret", secret);
    const times = { secretMs: nowMs, createdMs: nowMs };
    const disconnectSealed = this.#secrets.sealDisconnect(content, { given: disconnectSecret, before: null });
    const secrets = { sealed, serverSealed, disconnectSealed, previous: null };
    const record = { ...content, ...secrets, ...times, version: 1 };
    return await this.#write(record, { before: null, audit });
  }

  /** Changes all but the name and the secret. The other secrets stay unless new ones are given. */
  async change(
    content: ClientContent,
    { version, serverSecret, disconnectSecret, audit }: OwnSecrets & { version: number; audit: Mutation },
  ): Promise<RegistryResult> {
    const before = this.#records.get(content.name);
    if (before === undefined) return this.#refusal(content.name);
    if (before.version !== version) return { ok: false, reason: "changed" };
    const serverSealed = this.#secrets.sealServer(content, { given: serverSecret, before });
    if (serverSealed === undefined) return { ok: false, reason: "no_server_secret" };
    const disconnectSealed = this.#secrets.sealDisconnect(content, { given: disconnectSecret, before });
    const secrets = { serverSealed, disconnectSealed };
    return await this.#write({ ...before, ...content, ...secrets, version: version + 1 }, { before, audit });
  }

  /** Sets a new secret. The current one stays valid for `overlapMs`. */
  async rotate(
    name: string,
    { secret, overlapMs, audit }: { secret: string; overlapMs: number; audit: Mutation },
  ): Promise<RegistryResult> {
    const before = this.#records.get(name);
    if (before === undefined) return this.#refusal(name);
    const old = this.#secrets.open(name, "secret", before.sealed);
    const nowMs = this.#deps.clock.nowMs();
    const previous = old === null || overlapMs === 0
      ? null
      : { sealed: this.#secrets.seal(name, "previous", old), untilMs: nowMs + overlapMs };
    const sealed = this.#secrets.seal(name, "secret", secret);
    const version = before.version + 1;
    return await this.#write({ ...before, sealed, previous, secretMs: nowMs, version }, { before, audit });
  }

  /** Ends the validity of the previous secret. */
  async endOverlap(name: string, { audit }: { audit: Mutation }): Promise<RegistryResult> {
    const before = this.#records.get(name);
    if (before === undefined) return this.#refusal(name);
    return await this.#write({ ...before, previous: null, version: before.version + 1 }, { before, audit });
  }

  async remove(name: string, { audit }: { audit: Mutation }): Promise<RegistryResult> {
    if (!this.#records.has(name)) return this.#refusal(name);
    await this.#deps.store.commit({ mutations: [{ type: "delete", key: clientKey(name) }, audit] });
    this.#records.delete(name);
    this.#apply();
    return { ok: true, client: null };
  }

  /** Writes a record that was derived from `before`, unless it was changed in between. @throws NotUpgraded */
  async #write(
    record: ClientRecord,
    { before, audit }: { before: ClientRecord | null; audit: Mutation },
  ): Promise<RegistryResult> {
    const { store } = this.#deps;
    requireUpgraded(store);
    const entry = await store.get<ClientRecord>(clientKey(record.name));
    if ((entry.value?.version ?? null) !== (before?.version ?? null)) return { ok: false, reason: "changed" };
    const { ok } = await store.commit({
      checks: [{ key: entry.key, versionstamp: entry.versionstamp }],
      mutations: [{ type: "set", key: clientKey(record.name), value: toStoredClient(record) }, audit],
    });
    if (!ok) return { ok: false, reason: "changed" };
    this.#records.set(record.name, record);
    this.#apply();
    return { ok: true, client: this.#show(record) };
  }

  /** Takes over a stored record; `null`: it was deleted. */
  #remember({ key, value }: StoreEntry<unknown>): void {
    const name = String(key[1]);
    const record = value as StoredClient | null;
    this.#unreadable.delete(name);
    this.#records.delete(name);
    this.#hidden.delete(name);
    if (record === null) return;
    if (!isClientRecord(record)) {
      this.#unreadable.add(name);
      throw new TypeError("it has no name, addresses and secret, so this client is not served");
    }
    this.#add(fromStoredClient(record));
  }

  #add(record: ClientRecord): void {
    const { name } = record;
    if (this.#settingsOf(name) === undefined) {
      this.#records.set(name, record);
    } else {
      this.#hidden.set(name, record);
      this.#deps.log.warn(
        "a client is defined in the console and in the settings file: the settings file is used",
        { client: name },
      );
    }
  }

  /** Updates the packet gate. A disabled client is not served, but while one exists, the gate does not accept arbitrary addresses. */
  #apply(): void {
    const { clients, clock } = this.#deps;
    const anyClient = this.#anyClient;
    const stored = [...this.#records.values()]
      .map((record) => this.#secrets.toKnownClient(record, { settings: anyClient, nowMs: clock.nowMs() }))
      .filter((client) => client !== null);
    const known = [...this.#configured, ...stored];
    const isConfigured = this.#records.size + this.#unreadable.size > 0;
    clients.replace(known.length === 0 && isConfigured ? [{ ...anyClient, ...NO_CLIENT }] : known);
  }

  #settingsOf(name: string): ClientSettings | undefined {
    return this.#configured.find((client) => client.name === name);
  }

  #show(record: ClientRecord): ShownClient {
    return showRecord(record, { ...this.#activityOf(record), nowMs: this.#deps.clock.nowMs() });
  }

  #activityOf(client: Parameters<typeof clientSigning>[0]): ClientActivity {
    const { clients, signing } = this.#deps;
    const use = clients.all.find(({ name }) => name === client.name)?.use ?? NEVER;
    return { use: { ...use }, signing: clientSigning(client, signing) };
  }

  #refusal(name: string): RegistryResult {
    return { ok: false, reason: this.#settingsOf(name) === undefined ? "unknown" : "in_settings" };
  }
}

function isClientRecord({ name, address, sealed }: StoredClient): boolean {
  return typeof name === "string" && Array.isArray(address) && sealed instanceof Uint8Array;
}
