// RADIUS clients that the console made, beside those of the settings: kept under ["client", name] with their secret sealed, each change
// in one commit with its audit record, and at the gate from the next packet on.

import type { ClientPolicy, ClientSettings } from "../../config.ts";
import type { Clock } from "../../runtime.ts";
import type { Log } from "../../log.ts";
import type { Mutation, Store } from "../../store.ts";
import type { Vault } from "../../vault.ts";
import type { Clients, ClientUse, KnownClient } from "./clients.ts";
import { type ClientSigning, clientSigning } from "./client_signing.ts";
import type { Learnt } from "./learnt.ts";

/** Another RADIUS server that judges passwords. */
export type FirstFactorServer = NonNullable<ClientPolicy["firstFactorServer"]>;

/** What of the policy may differ from client to client here; the rest is as the settings have it for all. */
export interface ClientChoices {
  readonly messageAuthenticator: ClientPolicy["messageAuthenticator"];
  readonly firstFactor: "settings" | ClientPolicy["firstFactor"];
  /** Name of an LDAP backend; "" unless `firstFactor` is "ldap". */
  readonly firstFactorBackend: string;
  /** `null` unless `firstFactor` is "radius". Its secret is given apart, and never shown. */
  readonly firstFactorServer: Omit<FirstFactorServer, "secret"> | null;
  readonly device: ClientPolicy["device"];
  readonly appendMode: boolean;
  readonly appendSeparator: string;
  readonly unknownUsers: ClientPolicy["unknownUsers"];
  readonly stripDomains: readonly string[];
  readonly stripRealms: readonly string[];
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
  /** The secret of the first-factor server. */
  readonly serverSealed: Uint8Array | null;
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
  readonly signing: ClientSigning;
}

/** `no_server_secret`: the first factor is at another RADIUS server, and no secret of it is given or kept. */
export type RegisterProblem = "taken" | "unknown" | "in_settings" | "changed" | "full" | "no_server_secret";
export type RegisterOutcome =
  | { readonly ok: true; readonly client: ShownClient | null }
  | { readonly ok: false; readonly reason: RegisterProblem };

export interface ClientRegister {
  load(): Promise<void>;
  /** In order of name. */
  list(): ShownClient[];
  find(name: string): ShownClient | null;
  add(
    content: ClientContent,
    given: { secret: string; serverSecret?: string | undefined; audit: Mutation },
  ): Promise<RegisterOutcome>;
  /** Changes all but the name and the secret. The first-factor server's secret stays unless another is given. */
  change(
    content: ClientContent,
    given: { version: number; serverSecret?: string | undefined; audit: Mutation },
  ): Promise<RegisterOutcome>;
  /** The first-factor server of a client with its secret, to be asked; `null` when it has none. */
  firstFactorServer(name: string): FirstFactorServer | null;
  /** Gives another secret; the present one is accepted for `overlapMs` more. */
  rotate(
    name: string,
    given: { secret: string; overlapMs: number; audit: Mutation },
  ): Promise<RegisterOutcome>;
  /** Stops accepting the secret before. */
  endOverlap(name: string, given: { audit: Mutation }): Promise<RegisterOutcome>;
  remove(name: string, given: { audit: Mutation }): Promise<RegisterOutcome>;
  /** Clients whose unsigned requests are accepted from some address; "any" while no client is configured. */
  unsigned(): readonly UnsignedClient[];
}

export interface UnsignedClient {
  readonly name: string;
  /** When an unsigned Access-Request was accepted last; 0: not since the start. */
  readonly lastMs: number;
  /** Whether the client's settings accept them from every address, whatever was learnt. */
  readonly isAlways: boolean;
}

export interface RegisterDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
  readonly clients: Clients;
  readonly settings: readonly ClientSettings[];
  readonly anyClient: ClientPolicy;
  readonly signing: Pick<Learnt, "addressesOf" | "names">;
}

const MOST_CLIENTS = 2000;
const NEVER: ClientUse = { packets: 0, lastMs: 0, previousMs: 0, unsignedMs: 0 };
const keyOf = (name: string): Deno.KvKey => ["client", name];
type Sealed = "secret" | "previous" | "server";
const sealKeyOf = (name: string, which: Sealed): Deno.KvKey => ["client", name, which];

type LaterField =
  | "firstFactorBackend"
  | "serverSealed"
  | "appendSeparator"
  | "stripDomains"
  | "stripRealms";
/** Records of earlier versions lack some fields. */
type StoredRecord =
  & Omit<ClientRecord, LaterField | "firstFactorServer">
  & Partial<Pick<ClientRecord, LaterField>>
  & {
    readonly firstFactorServer?:
      | Omit<FirstFactorServer, "secret" | "messageAuthenticator">
        & Partial<Pick<FirstFactorServer, "messageAuthenticator">>
      | null;
  };

/** A stored record with every field. */
function completed(
  stored: StoredRecord,
  { appendSeparator, stripDomains, stripRealms }: ClientPolicy,
): ClientRecord {
  const { firstFactorServer: server, ...rest } = stored;
  const later = { firstFactorBackend: "", serverSealed: null, appendSeparator, stripDomains, stripRealms };
  const firstFactorServer = server ? { messageAuthenticator: "require" as const, ...server } : null;
  return { ...later, ...rest, firstFactorServer };
}

export function createClientRegister(deps: RegisterDeps): ClientRegister {
  const { store, vault, clock, clients, settings, log } = deps;
  const records = new Map<string, ClientRecord>();
  const inSettings = new Set(settings.map(({ name }) => name));

  const seal = (name: string, which: Sealed, secret: string): Uint8Array =>
    vault.seal(sealKeyOf(name, which), new TextEncoder().encode(secret));
  const open = (name: string, which: Sealed, sealed: Uint8Array): string | null => {
    const plain = vault.open(sealKeyOf(name, which), sealed);
    return plain === null ? null : new TextDecoder().decode(plain);
  };
  const serverOf = ({ name, firstFactorServer, serverSealed }: ClientRecord): FirstFactorServer | null => {
    const secret = serverSealed === null ? null : open(name, "server", serverSealed);
    return firstFactorServer === null || secret === null ? null : { ...firstFactorServer, secret };
  };
  /** The sealed secret of the server that a content names. `undefined`: there is none. */
  const serverSecretOf = (
    { name, firstFactorServer }: ClientContent,
    { given, kept }: { given: string | undefined; kept: Uint8Array | null },
  ): Uint8Array | null | undefined => {
    if (firstFactorServer === null) return null;
    return given === undefined ? kept ?? undefined : seal(name, "server", given);
  };
  const knownOf = (record: ClientRecord): KnownClient[] => {
    const secret = open(record.name, "secret", record.sealed);
    if (record.disabled || secret === null) return [];
    const { previous } = record;
    const before = previous === null || previous.untilMs <= clock.nowMs()
      ? null
      : open(record.name, "previous", previous.sealed);
    return [{
      ...policyOf(record, { settings: deps.anyClient, server: serverOf(record) }),
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
  const signingOf = (client: Parameters<typeof clientSigning>[0]) => clientSigning(client, deps.signing);
  const shown = ({ sealed: _secret, serverSealed: _of, previous, ...rest }: ClientRecord): ShownClient => ({
    ...rest,
    from: "console",
    overlapUntilMs: previous !== null && previous.untilMs > clock.nowMs() ? previous.untilMs : null,
    use: { ...useOf(rest.name) },
    signing: signingOf(rest),
  });
  const ofSettings = (client: ClientSettings): ShownClient => ({
    name: client.name,
    address: client.address,
    nasIdentifier: client.nasIdentifier,
    disabled: false,
    messageAuthenticator: client.messageAuthenticator,
    firstFactor: client.firstFactor,
    firstFactorBackend: client.firstFactorBackend,
    firstFactorServer: client.firstFactorServer === null ? null : {
      address: client.firstFactorServer.address,
      timeoutMs: client.firstFactorServer.timeoutMs,
      messageAuthenticator: client.firstFactorServer.messageAuthenticator,
    },
    device: client.device,
    appendMode: client.appendMode,
    appendSeparator: client.appendSeparator,
    unknownUsers: client.unknownUsers,
    stripDomains: client.stripDomains,
    stripRealms: client.stripRealms,
    from: "settings",
    version: 0,
    createdMs: null,
    secretMs: null,
    overlapUntilMs: null,
    use: { ...useOf(client.name) },
    signing: signingOf(client),
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

  const list = (): ShownClient[] =>
    [...settings.map(ofSettings), ...[...records.values()].map(shown)]
      .sort((a, b) => a.name < b.name ? -1 : 1);

  return {
    async load() {
      for await (const { value } of store.list<StoredRecord>(["client"])) {
        if (value === null) continue;
        if (inSettings.has(value.name)) {
          log.warn("a client of the console stands in the settings now, which count", { client: value.name });
        } else records.set(value.name, completed(value, deps.anyClient));
      }
      if (records.size > 0) apply();
    },
    list,
    unsigned() {
      const [any] = clients.all;
      if (any?.anyAddress) {
        // "auto" is the default of a new installation: a warning only once an unsigned request was accepted.
        const isAlways = any.policy.messageAuthenticator === "off";
        return any.requiresSignature ? [] : [{ name: any.name, lastMs: any.use.unsignedMs, isAlways }];
      }
      return list().filter(({ disabled, signing }) => !disabled && signing.acceptsUnsigned)
        .map(({ name, use, signing }) => ({
          name,
          lastMs: use.unsignedMs,
          isAlways: signing.required === "never",
        }));
    },
    find,
    async add(content, { secret, serverSecret, audit }) {
      if (find(content.name) !== null) return { ok: false, reason: "taken" };
      if (records.size >= MOST_CLIENTS) return { ok: false, reason: "full" };
      const serverSealed = serverSecretOf(content, { given: serverSecret, kept: null });
      if (serverSealed === undefined) return { ok: false, reason: "no_server_secret" };
      const nowMs = clock.nowMs();
      const sealed = seal(content.name, "secret", secret);
      const times = { secretMs: nowMs, createdMs: nowMs };
      const record = { ...content, sealed, serverSealed, previous: null, ...times, version: 1 };
      return await write(record, { before: null, audit });
    },
    async change(content, { version, serverSecret, audit }) {
      const before = records.get(content.name);
      if (before === undefined) return refusal(content.name);
      if (before.version !== version) return { ok: false, reason: "changed" };
      const serverSealed = serverSecretOf(content, { given: serverSecret, kept: keptFor(content, before) });
      if (serverSealed === undefined) return { ok: false, reason: "no_server_secret" };
      return await write({ ...before, ...content, serverSealed, version: version + 1 }, { before, audit });
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
    firstFactorServer(name) {
      const record = records.get(name);
      return record === undefined
        ? settings.find((one) => one.name === name)?.firstFactorServer ?? null
        : serverOf(record);
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
  appendSeparator: ",",
  unknownUsers: "reject",
  stripDomains: [],
  stripRealms: [],
};

/** A kept secret is for the server that it was given for, and for no other. */
function keptFor({ firstFactorServer: next }: ClientContent, before: ClientRecord): Uint8Array | null {
  const was = before.firstFactorServer?.address;
  const isSame = next?.address.hostname === was?.hostname && next?.address.port === was?.port;
  return isSame ? before.serverSealed : null;
}

function policyOf(
  choices: ClientChoices,
  { settings, server }: { settings: ClientPolicy; server: FirstFactorServer | null },
): ClientPolicy {
  const { messageAuthenticator, firstFactor, firstFactorBackend, device, appendMode } = choices;
  const { appendSeparator, unknownUsers, stripDomains, stripRealms } = choices;
  const first = firstFactor === "settings"
    ? {}
    : { firstFactor, firstFactorBackend, firstFactorServer: server };
  const names = { unknownUsers, stripDomains, stripRealms };
  return { ...settings, messageAuthenticator, device, appendMode, appendSeparator, ...names, ...first };
}
