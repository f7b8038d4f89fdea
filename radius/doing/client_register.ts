// RADIUS clients that the console made, beside those of the settings: kept under ["client", name] with their secret sealed, each change
// in one commit with its audit record, and at the gate from the next packet on.

import type { ClientPolicy, ClientSettings } from "../../config.ts";
import type { Clock } from "../../runtime.ts";
import type { Log } from "../../log.ts";
import type { Mutation, Store } from "../../store.ts";
import type { Vault } from "../../vault.ts";
import type { Clients, ClientUse, KnownClient } from "./clients.ts";

/** What of the policy may differ from client to client here; the rest is as the settings have it for all. */
export interface ClientChoices {
  readonly messageAuthenticator: ClientPolicy["messageAuthenticator"];
  readonly firstFactor: "settings" | "none" | "directory";
  readonly device: ClientPolicy["device"];
  readonly appendMode: boolean;
  readonly unknownUsers: ClientPolicy["unknownUsers"];
}

/** What somebody says of a client, but for its secret. */
export interface ClientContent extends ClientChoices {
  readonly name: string;
  /** IP addresses and ranges, canonical. */
  readonly address: readonly string[];
  readonly nasIdentifier: string;
  readonly disabled: boolean;
}

interface ClientRecord extends ClientContent {
  readonly sealed: Uint8Array;
  readonly previous: { readonly sealed: Uint8Array; readonly untilMs: number } | null;
  readonly secretMs: number;
  readonly createdMs: number;
  /** Grows with each change: who changes says which one they saw. */
  readonly version: number;
}

/** A client as the console shows it; its secret cannot be shown. */
export interface ShownClient extends ClientContent {
  readonly from: "settings" | "console";
  readonly version: number;
  readonly createdMs: number | null;
  readonly secretMs: number | null;
  /** Until when the secret before is accepted as well. */
  readonly overlapUntilMs: number | null;
  readonly use: Readonly<ClientUse>;
}

export type RegisterProblem = "taken" | "unknown" | "in_settings" | "changed" | "full";
export type RegisterOutcome =
  | { readonly ok: true; readonly client: ShownClient | null }
  | { readonly ok: false; readonly reason: RegisterProblem };

export interface ClientRegister {
  load(): Promise<void>;
  /** In order of name. */
  list(): ShownClient[];
  find(name: string): ShownClient | null;
  add(content: ClientContent, given: { secret: string; audit: Mutation }): Promise<RegisterOutcome>;
  /** Changes all but the name and the secret. */
  change(content: ClientContent, given: { version: number; audit: Mutation }): Promise<RegisterOutcome>;
  /** Gives another secret; the present one is accepted for `overlapMs` more. */
  rotate(
    name: string,
    given: { secret: string; overlapMs: number; audit: Mutation },
  ): Promise<RegisterOutcome>;
  /** Stops accepting the secret before. */
  endOverlap(name: string, given: { audit: Mutation }): Promise<RegisterOutcome>;
  remove(name: string, given: { audit: Mutation }): Promise<RegisterOutcome>;
}

export interface RegisterDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
  readonly clients: Clients;
  readonly settings: readonly ClientSettings[];
  readonly anyClient: ClientPolicy;
}

const MOST_CLIENTS = 2000;
const NEVER: ClientUse = { packets: 0, lastMs: 0, previousMs: 0 };
const keyOf = (name: string): Deno.KvKey => ["client", name];
const sealKeyOf = (name: string, which: "secret" | "previous"): Deno.KvKey => ["client", name, which];

export function createClientRegister(deps: RegisterDeps): ClientRegister {
  const { store, vault, clock, clients, settings, log } = deps;
  const records = new Map<string, ClientRecord>();
  const inSettings = new Set(settings.map(({ name }) => name));

  const seal = (name: string, which: "secret" | "previous", secret: string): Uint8Array =>
    vault.seal(sealKeyOf(name, which), new TextEncoder().encode(secret));
  const open = (name: string, which: "secret" | "previous", sealed: Uint8Array): string | null => {
    const plain = vault.open(sealKeyOf(name, which), sealed);
    return plain === null ? null : new TextDecoder().decode(plain);
  };
  const knownOf = (record: ClientRecord): KnownClient[] => {
    const secret = open(record.name, "secret", record.sealed);
    if (record.disabled || secret === null) return [];
    const { previous } = record;
    const before = previous === null || previous.untilMs <= clock.nowMs()
      ? null
      : open(record.name, "previous", previous.sealed);
    return [{
      ...policyOf(record, deps.anyClient),
      name: record.name,
      address: record.address,
      secret,
      nasIdentifier: record.nasIdentifier,
      nasIpAddress: "",
      ...(before === null || previous === null
        ? {}
        : { previousSecret: { secret: before, untilMs: previous.untilMs } }),
    }];
  };
  /** Brings the gate up to what is recorded. A client that is disabled is no client, but does not open the gate to any address. */
  const apply = (): void => {
    const known = [...settings, ...[...records.values()].flatMap(knownOf)];
    if (known.length === 0 && records.size > 0) clients.replace([NOBODY]);
    else clients.replace(known);
  };
  const useOf = (name: string): ClientUse => clients.all.find((one) => one.name === name)?.use ?? NEVER;
  const shown = ({ sealed: _secret, previous, ...rest }: ClientRecord): ShownClient => ({
    ...rest,
    from: "console",
    overlapUntilMs: previous !== null && previous.untilMs > clock.nowMs() ? previous.untilMs : null,
    use: { ...useOf(rest.name) },
  });
  const ofSettings = (client: ClientSettings): ShownClient => ({
    name: client.name,
    address: client.address,
    nasIdentifier: client.nasIdentifier,
    disabled: false,
    messageAuthenticator: client.messageAuthenticator,
    firstFactor: client.firstFactor === "directory" || client.firstFactor === "none"
      ? client.firstFactor
      : "settings",
    device: client.device,
    appendMode: client.appendMode,
    unknownUsers: client.unknownUsers,
    from: "settings",
    version: 0,
    createdMs: null,
    secretMs: null,
    overlapUntilMs: null,
    use: { ...useOf(client.name) },
  });
  const refusal = (name: string): RegisterOutcome => ({
    ok: false,
    reason: inSettings.has(name) ? "in_settings" : "unknown",
  });
  /** Writes one record as it was decided from `before`, unless it was changed since. */
  const write = async (
    record: ClientRecord,
    { before, audit }: { before: ClientRecord | null; audit: Mutation },
  ): Promise<RegisterOutcome> => {
    const entry = await store.get<ClientRecord>(keyOf(record.name));
    if ((entry.value?.version ?? null) !== (before?.version ?? null)) return { ok: false, reason: "changed" };
    const { ok } = await store.commit({
      checks: [{ key: entry.key, versionstamp: entry.versionstamp }],
      mutations: [{ type: "set", key: keyOf(record.name), value: record }, audit],
    });
    if (!ok) return { ok: false, reason: "changed" };
    records.set(record.name, record);
    apply();
    return { ok: true, client: shown(record) };
  };

  const find = (name: string): ShownClient | null => {
    const record = records.get(name);
    if (record !== undefined) return shown(record);
    const setting = settings.find((one) => one.name === name);
    return setting === undefined ? null : ofSettings(setting);
  };

  return {
    async load() {
      for await (const { value } of store.list<ClientRecord>(["client"])) {
        if (value === null) continue;
        if (inSettings.has(value.name)) {
          log.warn("a client of the console stands in the settings now, which count", { client: value.name });
        } else records.set(value.name, value);
      }
      if (records.size > 0) apply();
    },
    list: () =>
      [...settings.map(ofSettings), ...[...records.values()].map(shown)]
        .sort((a, b) => a.name < b.name ? -1 : 1),
    find,
    async add(content, { secret, audit }) {
      if (find(content.name) !== null) return { ok: false, reason: "taken" };
      if (records.size >= MOST_CLIENTS) return { ok: false, reason: "full" };
      const nowMs = clock.nowMs();
      const sealed = seal(content.name, "secret", secret);
      const record = { ...content, sealed, previous: null, secretMs: nowMs, createdMs: nowMs, version: 1 };
      return await write(record, { before: null, audit });
    },
    async change(content, { version, audit }) {
      const before = records.get(content.name);
      if (before === undefined) return refusal(content.name);
      if (before.version !== version) return { ok: false, reason: "changed" };
      return await write({ ...before, ...content, version: version + 1 }, { before, audit });
    },
    async rotate(name, { secret, overlapMs, audit }) {
      const before = records.get(name);
      if (before === undefined) return refusal(name);
      const old = open(name, "secret", before.sealed);
      const nowMs = clock.nowMs();
      const previous = old === null || overlapMs === 0
        ? null
        : { sealed: seal(name, "previous", old), untilMs: nowMs + overlapMs };
      const sealed = seal(name, "secret", secret);
      const version = before.version + 1;
      return await write({ ...before, sealed, previous, secretMs: nowMs, version }, { before, audit });
    },
    async endOverlap(name, { audit }) {
      const before = records.get(name);
      if (before === undefined) return refusal(name);
      return await write({ ...before, previous: null, version: before.version + 1 }, { before, audit });
    },
    async remove(name, { audit }) {
      if (!records.has(name)) return refusal(name);
      await store.commit({ mutations: [{ type: "delete", key: keyOf(name) }, audit] });
      records.delete(name);
      apply();
      return { ok: true, client: null };
    },
  };
}

/** Stands at the gate while every client is disabled: no address is inside its range, so nobody is served. */
const NOBODY: KnownClient = {
  name: "nobody",
  address: [],
  secret: "no packet is ever checked with this",
  nasIdentifier: "",
  nasIpAddress: "",
  messageAuthenticator: "require",
  limitProxyState: true,
  firstFactor: "none",
  firstFactorBackend: "",
  firstFactorServer: null,
  device: "challenge",
  holdMs: 0,
  appendMode: false,
  unknownUsers: "reject",
};

function policyOf(choices: ClientChoices, settings: ClientPolicy): ClientPolicy {
  const { messageAuthenticator, firstFactor, device, appendMode, unknownUsers } = choices;
  const first = firstFactor === "settings"
    ? {}
    : { firstFactor, firstFactorBackend: "", firstFactorServer: null };
  return { ...settings, messageAuthenticator, device, appendMode, unknownUsers, ...first };
}
