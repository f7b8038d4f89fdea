// RADIUS clients: listed with their logins, created (also from a discovered packet), changed, given a new secret, and removed.

import { type Context, Hono } from "hono";
import {
  type ClientContent,
  clientSetting,
  CONSOLE_SETTINGS,
  type ConsoleSetting,
  CONTENT_SETTINGS,
  isOfTransport,
  isSettingUsed,
  type SecretSetting,
  settingOf,
  transportOf,
  usesTls,
} from "../../../platform/client_settings.ts";
import { DAY_MS } from "../../../platform/durations.ts";
import type { RegistryResult } from "../../../radius/server/client_registry.ts";
import type { ShownClient } from "../../../radius/server/client_record.ts";
import type { GatewayMonitor } from "../../../radius/ports.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import { auditEntry, type AuditValues } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import type { ChartStore } from "../charts/chart_store.ts";
import {
  CANDIDATE,
  CHANGED_CLIENT,
  type ClientGateway,
  type ClientImpact,
  type ClientList,
  type ClientRow,
  type DiscoveredList,
  type EffectiveRules,
  FIRST_FACTOR_TEST,
  type FirstFactorAnswer,
  type FirstFactorKind,
  type GuideServer,
  NEW_CLIENT,
  type OneClient,
  ROTATION,
} from "./client_types.ts";
import { type Connect, requireGateway } from "../deps.ts";
import { createHistoryReader } from "../history/history.ts";
import { callerOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import {
  isAppendSeparator,
  isDomainOrRealm,
  isListedUserName,
  rejectsUnknownUsers,
} from "../../../radius/protocol/login_input.ts";
import { withLastChange } from "../audit/last_change.ts";
import type { ErrorCode } from "../error_codes.ts";
import { badField, Refusal } from "../errors.ts";
import type * as v from "valibot";
import { type SocketAddress, socketAddressText } from "../../../platform/addresses.ts";
import { canonicalFingerprint, canonicalSan } from "../../../platform/certificate_names.ts";
import { isReplySource } from "../../../radius/protocol/relayed_attributes.ts";

export interface ClientRouteDeps {
  readonly connect?: Connect;
  readonly charts: Pick<ChartStore, "read">;
  readonly watch: Pick<GatewayMonitor, "conversations">;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const SECRET_OCTETS = 24;
const MAX_LOGINS = 1000;
const MAX_NAMES = 50;
const MAX_OPEN = 5000;
const PROBLEMS = {
  taken: "client_taken",
  unknown: "unknown_client",
  in_settings: "settings_client",
  changed: "changed_meanwhile",
  full: "too_many_clients",
  no_server_secret: "no_server_secret",
} as const satisfies Record<string, ErrorCode>;

export function createClientRoutes(deps: ClientRouteDeps) {
  const { connect, clock } = deps;
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), async (c) => {
      const items = await rowsOf(deps, requireGateway(connect).register.list());
      const ldap = ldapBackends(requireGateway(connect));
      const gateway = clientGateway(requireGateway(connect));
      return c.json({ nowMs: clock.nowMs(), ldap, gateway, items } satisfies ClientList);
    })
    .post("/heard", may("owner", { countsAsUse: false }), jsonBody(CANDIDATE), (c) => {
      const items = requireGateway(connect).clientDiscovery.list(c.req.valid("json").secret);
      return c.json({ nowMs: clock.nowMs(), items } satisfies DiscoveredList);
    })
    .post("/", may("owner", { recentFactor: true }), jsonBody(NEW_CLIENT), async (c) => {
      const { secret: given, ...rest } = c.req.valid("json");
      const { register, clientDiscovery } = requireGateway(connect);
      const { content, secrets } = toClientContent(requireGateway(connect), rest);
      const { secret, made } = secretOf(deps, given);
      const values = clientAuditValues(content, secrets);
      const isTls = usesTls(content);
      const event = {
        action: "client.create" as const,
        after: isTls ? values : { ...values, secret: CHANGED },
      };
      const options = { secret, ...secrets, audit: audit(c, content.name, event) };
      const client = clientOf(await register.add(content, options));
      clientDiscovery.forget(content);
      // Over TLS, it has no use. A random one is stored, so that the client needs a new one for UDP.
      return c.json({ client, secret: isTls ? null : made });
    })
    .post(
      "/first-factor",
      may("owner", { recentFactor: true }),
      jsonBody(FIRST_FACTOR_TEST),
      async (c) => {
        const answer = await probeFirstFactor(requireGateway(connect), c.req.valid("json"));
        return c.json(answer satisfies FirstFactorAnswer);
      },
    )
    .route("/", createOneClientRoutes(deps));
}

/** The routes of one client: reading, changing, secrets, signing and removing. */
function createOneClientRoutes(deps: ClientRouteDeps) {
  const { connect, store } = deps;
  return new Hono<HttpEnv>()
    .get("/:id", may("viewer"), async (c) => c.json(await readClient(deps, c.req.param("id"))))
    .put("/:id", may("owner", { recentFactor: true }), jsonBody(CHANGED_CLIENT), async (c) => {
      const { version, ...rest } = c.req.valid("json");
      const { register } = requireGateway(connect);
      const name = c.req.param("id");
      const { content, secrets } = toClientContent(requireGateway(connect), { ...rest, name });
      const before = register.find(content.name);
      if (before === null) throw new Refusal("unknown_client");
      const event = {
        action: "client.change" as const,
        before: clientAuditValues(before),
        after: clientAuditValues(content, secrets),
      };
      const options = { version, ...secrets, audit: audit(c, name, event) };
      const changed = {
        object: `client:${name}`,
        changes: "client",
        admin: c.var.session.admin.name,
      } as const;
      await withLastChange(store, changed, async () => clientOf(await register.change(content, options)));
      return c.json(await readClient(deps, name));
    })
    .post("/:id/secret", may("owner", { recentFactor: true }), jsonBody(ROTATION), async (c) => {
      const { secret: given, overlapMs } = c.req.valid("json");
      const name = c.req.param("id");
      const { secret, made } = secretOf(deps, given);
      const after = { secret: CHANGED, overlap: `${overlapMs / 3_600_000} h` };
      const options = { secret, overlapMs, audit: audit(c, name, { action: "client.rotate", after }) };
      const client = clientOf(await requireGateway(connect).register.rotate(name, options));
      return c.json({ client, secret: made });
    })
    .delete("/:id/overlap", may("owner"), async (c) => {
      const name = c.req.param("id");
      const options = { audit: audit(c, name, { action: "client.end_overlap" }) };
      clientOf(await requireGateway(connect).register.endOverlap(name, options));
      return c.json(await readClient(deps, name));
    })
    .delete("/:id/signing", may("owner", { recentFactor: true }), async (c) => {
      const name = c.req.param("id");
      const { signingClients, register } = requireGateway(connect);
      const isKnown = register.find(name) !== null;
      const hasSigned = signingClients.names.has(name);
      // The record of a removed client can be deleted as well.
      if (!isKnown && !hasSigned) throw new Refusal("unknown_client");
      if (hasSigned) {
        const record = audit(c, name, { action: "client.forget" });
        await store.commit({ mutations: [...signingClients.forgetMutations(name), record] });
        await signingClients.forget(name);
      }
      return c.json({ hasSigned, isKnown });
    })
    .delete("/:id", may("owner", { recentFactor: true }), async (c) => {
      const name = c.req.param("id");
      const { register } = requireGateway(connect);
      const client = register.find(name);
      if (client === null) throw new Refusal("unknown_client");
      const event = { action: "client.remove" as const, before: clientAuditValues(client) };
      const outcome = await register.remove(name, { audit: audit(c, name, event) });
      if (!outcome.ok) throw new Refusal(PROBLEMS[outcome.reason]);
      return c.json({ done: true });
    });
}

/** Clients with their logins of the last 24 hours. */
async function rowsOf(
  { charts, clock, connect }: ClientRouteDeps,
  clients: readonly ShownClient[],
): Promise<ClientRow[]> {
  const nowMs = clock.nowMs();
  const { clients: figures } = await charts.read({ fromMs: nowMs - DAY_MS, toMs: nowMs, client: "" });
  return clients.map((client) => {
    const { accepted = 0, rejected = 0 } = figures.find((one) => one.client === client.name) ?? {};
    return { ...client, accepted, rejected, effective: effectiveRules(requireGateway(connect), client) };
  });
}

/** The rules of a client, with the global setting. */
export function effectiveRules(
  { config }: Pick<Connect, "config">,
  client: Pick<ShownClient, "firstFactor" | "unknownUsers" | "holdMs">,
): EffectiveRules {
  const { firstFactor } = client.firstFactor === "settings" ? config.radius.anyClient : client;
  return {
    firstFactor: firstFactor as FirstFactorKind,
    rejectsUnknown: rejectsUnknownUsers({ ...client, firstFactor }),
    holdMs: client.holdMs || config.radius.anyClient.holdMs,
  };
}

async function readClient(deps: ClientRouteDeps, name: string): Promise<OneClient> {
  const { connect, clock } = deps;
  const found = requireGateway(connect).register.find(name);
  const [client] = found === null ? [] : await rowsOf(deps, [found]);
  if (client === undefined) throw new Refusal("unknown_client");
  const gateway = requireGateway(connect);
  return {
    nowMs: clock.nowMs(),
    server: guideServer(gateway),
    ldap: ldapBackends(gateway),
    gateway: clientGateway(gateway),
    client,
    tlsConnections: gateway.radsec?.byClient().get(name) ?? 0,
    blast: await impactOf(deps, name),
  };
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(["", "0.0.0.0", "[::]"]);

function clientGateway({ config: { radius } }: Connect): ClientGateway {
  const { firstFactor, holdMs } = radius.anyClient;
  return { firstFactor, holdMs, acceptsTls: radius.tls.listen.length > 0 };
}

function guideServer({ listening, config: { http, radius } }: Connect): GuideServer {
  const { host, port } = hostAndPort(listening.radius[0] ?? "");
  const [accounting] = radius.accounting.listen;
  return {
    host: EVERY_ADDRESS.has(host) ? new URL(http.publicUrl).hostname : host,
    port,
    // The authentication port answers Accounting-Requests, too.
    accountingPort: accounting === undefined || accounting.port === 0 ? port : accounting.port,
    tlsPort: radius.tls.listen[0]?.port || TLS_PORT,
  };
}

const RADIUS_PORT = 1812;
/** RFC 6614 §2.1. */
const TLS_PORT = 2083;

/** @param address what a socket is bound to: `host:port`, or `[IPv6]:port`. */
function hostAndPort(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(":");
  return { host: address.slice(0, Math.max(at, 0)), port: Number(address.slice(at + 1)) || RADIUS_PORT };
}

/** The given secret, or a generated one, which the response shows once. */
function secretOf(
  { random }: ClientRouteDeps,
  given: string | undefined,
): { secret: string; made: string | null } {
  if (given !== undefined) return { secret: given, made: null };
  const made = toBase64Url(random.bytes(SECRET_OCTETS));
  return { secret: made, made };
}

function audit(
  c: Context<HttpEnv>,
  name: string,
  event: { action: AuditAction; before?: AuditValues; after?: AuditValues },
): Mutation {
  return auditEntry({ ...callerOf(c), object: `client:${name}`, ...event });
}

function clientOf(outcome: RegistryResult): ShownClient {
  if (!outcome.ok) throw new Refusal(PROBLEMS[outcome.reason]);
  if (outcome.client === null) throw new Refusal("unknown_client");
  return outcome.client;
}

/** The users and logins that a change of the client affects. */
async function impactOf(deps: ClientRouteDeps, client: string): Promise<ClientImpact> {
  const { watch, clock } = deps;
  const open = watch.conversations(MAX_OPEN).filter((one) => one.client === client && one.outcome === null);
  const filter = { outcome: "", user: "", client, fromMs: clock.nowMs() - DAY_MS, toMs: null };
  const { items } = await createHistoryReader(deps).page(filter, { before: null, limit: MAX_LOGINS });
  const names = (all: readonly { readonly user: string }[]) =>
    [...new Set(all.map(({ user }) => user))].slice(0, MAX_NAMES);
  return { open: open.length, openUsers: names(open), logins: items.length, users: names(items) };
}

// Validates the settings of a RADIUS client that the console receives, and tests its first factor.

type Given = Omit<v.InferOutput<typeof NEW_CLIENT>, "secret">;

/** LDAP backends of the login target, which can check passwords. */
function ldapBackends({ config }: Pick<Connect, "config">): readonly string[] {
  const directory = config.targets.find(({ name }) => name === config.radius.directory);
  return directory?.backends.filter(({ kind }) => kind === "ldap").map(({ name }) => name) ?? [];
}

/** @throws Refusal `bad_field`, `no_server_secret`, `unknown_backend`. */
function toClientContent(
  connect: Connect,
  given: Given,
): ValidClient {
  const { disconnectSecret, ...rest } = given;
  const { content, serverSecret } = toContent(connect, rest);
  return {
    content,
    secrets: { serverSecret, disconnectSecret: rest.disconnectPort === 0 ? undefined : disconnectSecret },
  };
}

/** Checked settings of a client, and its new secrets. */
interface ValidClient {
  readonly content: ClientContent;
  readonly secrets: {
    readonly serverSecret: string | undefined;
    readonly disconnectSecret: string | undefined;
  };
}

function toContent(
  connect: Connect,
  given: Omit<Given, "disconnectSecret">,
): { content: ClientContent; serverSecret: string | undefined } {
  const { firstFactor, firstFactorServer: server } = given;
  const resolved = firstFactor === "settings" ? connect.config.radius.anyClient.firstFactor : firstFactor;
  // Then nothing could answer its requests.
  if (given.mode === "shadow" && resolved !== "radius") {
    throw badField("mode", "Shadow mode needs a first-factor server: choose the first factor RADIUS.");
  }
  const firstFactorBackend = firstFactor === "ldap" ? given.firstFactorBackend : "";
  if (firstFactor === "ldap" && !ldapBackends(connect).includes(firstFactorBackend)) {
    throw new Refusal("unknown_backend");
  }
  const known = { address: rangesOf(connect, given.address), ...certificateOf(connect, given) };
  // A client of UDP is known by its addresses only.
  if (known.address.length === 0 && !usesTls(known)) refuseValue("address", "");
  refuseBadNameParts(given);
  if (firstFactor !== "radius") {
    const content = { ...given, ...known, firstFactorBackend, firstFactorServer: null };
    return { content, serverSecret: undefined };
  }
  if (server === null) refuseValue("firstFactorServer.address", "");
  const firstFactorServer = {
    address: serverAddressesOf(connect, server.address),
    timeoutMs: server.timeoutMs,
    messageAuthenticator: server.messageAuthenticator,
  };
  return {
    content: { ...given, ...known, firstFactorBackend, firstFactorServer },
    serverSecret: server.secret,
  };
}

/** @throws Refusal `certificate_taken`: another client is known by the same certificate. */
function certificateOf(
  { register }: Connect,
  given: Pick<Given, "name" | "tlsSan" | "tlsFingerprint">,
): Pick<ClientContent, "tlsSan" | "tlsFingerprint"> {
  const valueOf = (name: "tlsSan" | "tlsFingerprint", canonical: (text: string) => string | null) =>
    given[name] === "" ? "" : canonical(given[name]) ?? refuseValue(name, given[name]);
  const own = {
    tlsSan: valueOf("tlsSan", canonicalSan),
    tlsFingerprint: valueOf("tlsFingerprint", canonicalFingerprint),
  };
  const isTaken = usesTls(own) &&
    register.list().some((other) =>
      other.name !== given.name && other.tlsSan === own.tlsSan && other.tlsFingerprint === own.tlsFingerprint
    );
  if (isTaken) throw new Refusal("certificate_taken");
  return own;
}

function rangesOf({ canonicalRange }: Connect, given: readonly string[]): string[] {
  const ranges = given.map((text) => canonicalRange(text) ?? refuseValue("address", text));
  return [...new Set(ranges)];
}

/** @throws Refusal `bad_field`, whose English message has the value and an example. */
function refuseValue(name: ConsoleSetting, text: string): never {
  const { format = "" } = clientSetting(name);
  throw badField(name, `${JSON.stringify(text.slice(0, 100))}: ${RULES[format]}`);
}

const AFFIX =
  "Not a domain or a realm. Enter it without backslash, @ and spaces, such as CORP or corp.example.";
/** What the formats accept. */
const RULES: Readonly<Record<string, string>> = {
  domains: AFFIX,
  fingerprint: "Not a SHA-256 fingerprint. Enter its 64 hexadecimal digits, with or without colons.",
  peers: "Enter each server as host:port, such as 192.0.2.20:1812 or [2001:db8::1]:1812.",
  ranges: "Not an IP address or a range such as 192.0.2.0/24.",
  realms: AFFIX,
  reply_names: "Enter all, none, or names of RADIUS attributes, such as Class, Filter-Id or 26.9.1.",
  san:
    "Not a subjectAltName. Enter a host name such as nas.example.org, an IP address, or a text that begins with URI: or email:.",
  separator: "A separator is one punctuation mark. A hyphen, a letter, a digit or a space is not allowed.",
  users: "Not a user name for this list. Enter it without spaces and commas, such as probe.",
};
const FITS: Readonly<Record<string, (text: string, all: readonly string[]) => boolean>> = {
  domains: isDomainOrRealm,
  realms: isDomainOrRealm,
  reply_names: isReplySource,
  separator: isAppendSeparator,
  users: isListedUserName,
};

function refuseBadNameParts(given: object): void {
  for (const name of CONTENT_SETTINGS) {
    const fits = FITS[clientSetting(name).format ?? ""];
    if (fits === undefined) continue;
    const value = settingOf(given, name) as string | readonly string[];
    const values = typeof value === "string" ? [value] : value;
    const wrong = values.find((text) => !fits(text, values));
    if (wrong !== undefined) refuseValue(name, wrong);
  }
}

function serverAddressesOf({ serverAddress }: Connect, given: string | readonly string[]): SocketAddress[] {
  return [...new Set([given].flat())].map((text) => {
    const address = serverAddress(text);
    return address === null || address.port === 0 ? refuseValue("firstFactorServer.address", text) : address;
  });
}

/** Tests a first factor. A stored secret is sent only to its server. */
async function probeFirstFactor(
  connect: Connect,
  test: v.InferOutput<typeof FIRST_FACTOR_TEST>,
): Promise<FirstFactorAnswer> {
  if ("backend" in test) {
    const outcome = await connect.probe(connect.config.radius.directory, test.backend);
    if (outcome === null) throw new Refusal("unknown_backend");
    return { answers: outcome.ok, detail: outcome.ok ? "" : outcome.fault.detail };
  }
  const server = "client" in test
    ? connect.register.firstFactorServer(test.client)
    : { ...test, address: serverAddressesOf(connect, test.address) };
  if (server === null) throw new Refusal("no_server_secret");
  const silent = await connect.firstFactorServers.probe(server);
  return { answers: silent.length === 0, detail: silent.join(", ") };
}

/** Replaces a secret in the audit log. */
const CHANGED = "changed";

/** The values of a client for the audit log, without secrets. */
function clientAuditValues(
  content: Omit<ClientContent, "name">,
  { serverSecret, disconnectSecret }: Partial<ValidClient["secrets"]> = {},
): AuditValues {
  const isNew = {
    "firstFactorServer.secret": serverSecret !== undefined,
    disconnectSecret: disconnectSecret !== undefined,
  };
  const values: Record<string, unknown> = {};
  for (const name of CONSOLE_SETTINGS) {
    const { console: { auditName = name, initial } = {}, ...row } = clientSetting(name);
    const value = row.type === "secret"
      ? (isNew[name as SecretSetting & ConsoleSetting] ? CHANGED : undefined)
      : settingOf(content, name);
    if (value === undefined || !isOfTransport(name, transportOf(content))) continue;
    if (!isSettingUsed(name, (of) => settingOf(content, of))) continue;
    values[auditName] = value === initial && row.type === "number" ? "settings" : auditValue(row, value);
  }
  return values;
}

function auditValue(row: object, value: unknown): unknown {
  if ("unit" in row) return `${Number(value) / 1000} s`;
  return "format" in row && row.format === "peers"
    ? (value as readonly SocketAddress[]).map(socketAddressText).join(", ")
    : value;
}
