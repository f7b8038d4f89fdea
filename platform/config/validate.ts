// Checks that concern several settings, and those of targets and credentials. Each check reads the whole Config and yields its faults.

import { resolve } from "node:path";
import type {
  BackendSettings,
  ClientSettings,
  Config,
  ConfigFault,
  ConfigWarning,
  LdapBackendSettings,
  RequestSettings,
  ScimBackendSettings,
} from "./config.ts";
import { isLoopback, isWildcard, socketAddressText } from "../addresses.ts";
import { usesTls } from "../client_settings.ts";
import { problemOf } from "../setting_problems.ts";
import { entryPrefix } from "./parse_tables.ts";
import { canonicalName } from "../canonical_name.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../../radius/protocol/packet.ts";
import { attributeSetOctets } from "../../radius/protocol/attributes.ts";
import { joinKey } from "./parse_settings.ts";
import { findsUserBy, parseUserFilter } from "../user_filter.ts";

/** The input of a check. `given` has the keys of the file. */
export interface ConfigView {
  readonly config: Config;
  readonly given: ReadonlySet<string>;
}

export type ConfigCheck = (view: ConfigView) => Iterable<ConfigFault>;

/** The path of a Unix domain socket has at most 104 to 108 octets; a few are a reserve for a temporary name. */
const MAX_SOCKET_PATH_OCTETS = 100;

/** The control socket, through which commands reach a running gateway. */
export function controlSocketPath(config: Config): string {
  return resolve(config.server.dataDir, "control.sock");
}

function* controlSocketFits({ config }: ConfigView): Iterable<ConfigFault> {
  const octets = new TextEncoder().encode(controlSocketPath(config)).length;
  if (octets > MAX_SOCKET_PATH_OCTETS) {
    yield {
      key: "server.data_dir",
      problem: `the path of control.sock in it has ${octets} octets; a socket's path may have ` +
        `${MAX_SOCKET_PATH_OCTETS}, so the directory needs a shorter path`,
    };
  }
}

function* listensAreApart({ config: { radius } }: ConfigView): Iterable<ConfigFault> {
  const accounting = radius.accounting.isGiven ? radius.accounting.listen : [];
  const seen = new Set<string>();
  const wildcards = new Map<number, string>();
  const all = [
    ...radius.listen.map((address) => ({ key: "radius.listen", address })),
    ...accounting.map((address) => ({ key: "radius.accounting_listen", address })),
  ];
  for (const { key, address } of all) {
    if (address.port === 0) continue;
    const text = socketAddressText(address);
    const other = wildcards.get(address.port);
    if (seen.has(text)) yield { key, problem: `${text} is there twice; each address must be there once` };
    else if (isWildcard(address.hostname) && other !== undefined) {
      yield {
        key,
        problem: `${other} and ${text} are both every address on one port; [::] alone takes IPv4 as well`,
      };
    }
    seen.add(text);
    if (isWildcard(address.hostname)) wildcards.set(address.port, text);
  }
  for (const { key, address: { hostname, port } } of all) {
    const wildcard = wildcards.get(port);
    if (port === 0 || wildcard === undefined || isWildcard(hostname)) continue;
    // 0.0.0.0 does not contain IPv6 addresses.
    if (wildcard.startsWith("0.0.0.0:") && hostname.includes(":")) continue;
    yield {
      key,
      problem: `${wildcard} is every address of this host, so it already contains ${
        socketAddressText({ hostname, port })
      }; list ${wildcard} alone, or only the addresses`,
    };
  }
}

/** Names of one kind must differ, ignoring case. */
function* namesDiffer(list: string, names: readonly string[]): Iterable<ConfigFault> {
  const seen = new Map<string, number>();
  for (const [at, name] of names.entries()) {
    const canonical = name.normalize("NFC").toLowerCase();
    const first = seen.get(canonical);
    if (first !== undefined && name !== "") {
      const key = `${entryPrefix(list, at)}name`;
      yield {
        key,
        problem: `${JSON.stringify(name)} is the name of ${list}[${first}] already; names must differ`,
      };
    } else seen.set(canonical, at);
  }
}

/** A client is known by its certificate, or by its addresses and its secret. */
function* clientsAreKnown({ config: { radius } }: ConfigView): Iterable<ConfigFault> {
  const certificates = new Map<string, string>();
  for (const [at, client] of radius.clients.entries()) {
    const prefix = entryPrefix("radius.client", at);
    if (!usesTls(client)) {
      if (client.address.length === 0) yield { key: `${prefix}address`, ...problemOf("client_address") };
      if (client.secret === "") yield { key: `${prefix}secret`, ...problemOf("client_secret") };
      continue;
    }
    const certificate = `${client.tlsSan} ${client.tlsFingerprint}`;
    const name = certificates.get(certificate);
    if (name !== undefined) {
      yield { key: `${prefix}tls.san`, ...problemOf("certificate_taken", { name: JSON.stringify(name) }) };
    }
    certificates.set(certificate, client.name);
  }
}

function* clientsDiffer({ config: { radius } }: ConfigView): Iterable<ConfigFault> {
  const seen = new Map<string, ClientSettings>();
  for (const [at, client] of radius.clients.entries()) {
    if (usesTls(client)) continue;
    for (const range of client.address) {
      const id = JSON.stringify([range, client.nasIdentifier, client.nasIpAddress]);
      const other = seen.get(id);
      if (other !== undefined) {
        yield {
          key: `${entryPrefix("radius.client", at)}address`,
          problem: other === client
            ? `${range} is there twice; each range must be there once`
            : `${range} belongs to ${
              JSON.stringify(other.name)
            } already; clients behind one address must differ ` +
              `in nas_identifier or nas_ip_address`,
        };
      }
      seen.set(id, client);
    }
  }
}

function* firstFactorHasServer(prefix: string, settings: RequestSettings): Iterable<ConfigFault> {
  if (settings.firstFactor !== "radius") return;
  const problem = problemOf("first_factor_server_missing");
  const server = settings.firstFactorServer;
  if (server === null) yield { key: `${prefix}first_factor_server.address`, ...problem };
  else if (server.secret === "") yield { key: `${prefix}first_factor_server.secret`, ...problem };
}

/** In shadow mode, the first-factor server decides alone. Without one, nothing could be answered. */
function* shadowHasServer(prefix: string, { mode, firstFactor }: RequestSettings): Iterable<ConfigFault> {
  if (mode === "shadow" && firstFactor !== "radius") {
    yield { key: `${prefix}first_factor`, ...problemOf("shadow_without_server") };
  }
}

function* firstFactorsHaveServers({ config: { radius } }: ConfigView): Iterable<ConfigFault> {
  yield* firstFactorHasServer("radius.", radius.anyClient);
  yield* shadowHasServer("radius.", radius.anyClient);
  for (const [at, client] of radius.clients.entries()) {
    yield* firstFactorHasServer(entryPrefix("radius.client", at), client);
    yield* shadowHasServer(entryPrefix("radius.client", at), client);
  }
}

/** The settings that another one needs, by key. */
function* neededBy(other: string, values: Readonly<Record<string, string>>): Iterable<ConfigFault> {
  for (const [key, value] of Object.entries(values)) {
    if (value === "") yield { key, ...problemOf("needed_by", { other }) };
  }
}

function* servicesHaveKeys({ config: { secondFactor, telephony } }: ConfigView): Iterable<ConfigFault> {
  if (secondFactor.url !== "") {
    yield* neededBy("second_factor.url", {
      "second_factor.consumer_key": secondFactor.consumerKey,
      "second_factor.consumer_secret": secondFactor.consumerSecret,
    });
  }
  if (telephony.url === "") return;
  yield* neededBy("telephony.url", {
    "telephony.account_id": telephony.accountId,
    "telephony.auth_token": telephony.authToken,
    "telephony.from": telephony.from,
  });
}

function* routesFitTotal({ config: { telephony } }: ConfigView): Iterable<ConfigFault> {
  const { connectionsPerRoute, connectionsTotal } = telephony;
  if (connectionsPerRoute > connectionsTotal) {
    yield {
      key: "telephony.connections_per_route",
      ...problemOf("routes_over_total", { count: connectionsPerRoute, total: connectionsTotal }),
    };
  }
}

function* providerIsWhole({ config: { console: { oidc } } }: ConfigView): Iterable<ConfigFault> {
  if (oidc === null) return;
  const { issuer, clientId, clientSecret, scopes } = oidc;
  yield* neededBy("console.oidc.issuer", {
    "console.oidc.client_id": clientId,
    "console.oidc.client_secret": clientSecret,
  });
  const { protocol, hostname } = new URL(issuer);
  if (protocol === "http:" && !["localhost", "127.0.0.1", "[::1]"].includes(hostname)) {
    yield {
      key: "console.oidc.issuer",
      ...problemOf("issuer_not_https", { value: JSON.stringify(issuer) }),
    };
  }
  if (!scopes.split(" ").includes("openid")) {
    yield { key: "console.oidc.scopes", ...problemOf("scopes_without_openid") };
  }
}

/** A server without a sender sends nothing, and a user without a password cannot sign in. */
function* mailIsWhole({ config: { mail } }: ConfigView): Iterable<ConfigFault> {
  if (mail.host === "") return;
  if (mail.from === null) yield* neededBy("mail.host", { "mail.from": "" });
  if (mail.user !== "") yield* neededBy("mail.user", { "mail.password": mail.password });
  if (mail.password !== "") yield* neededBy("mail.password", { "mail.user": mail.user });
}

export const FAULT_CHECKS: readonly ConfigCheck[] = [
  controlSocketFits,
  listensAreApart,
  ({ config }) => namesDiffer("radius.client", config.radius.clients.map(({ name }) => name)),
  clientsAreKnown,
  clientsDiffer,
  firstFactorsHaveServers,
  servicesHaveKeys,
  routesFitTotal,
  mailIsWhole,
  providerIsWhole,
  ({ config }) => namesDiffer("console.admin", config.console.admins.map(({ name }) => name)),
];

const quoted = (names: readonly string[]) => names.map((name) => JSON.stringify(name)).join(", ");

function* directoryIsTarget({ config: { radius, targets } }: ConfigView): Iterable<ConfigFault> {
  const names = targets.map(({ name }) => name);
  if (names.includes(radius.directory)) return;
  yield {
    key: "radius.directory",
    ...problemOf("no_target", { name: JSON.stringify(radius.directory), names: quoted(names) }),
  };
}

/** Rejects sibling tables whose names differ only in case. */
function* tablesDiffer(path: string, names: readonly string[]): Iterable<ConfigFault> {
  const seen = new Map<string, string>();
  for (const name of names) {
    const canonical = canonicalName(name);
    const other = seen.get(canonical);
    if (other !== undefined) {
      yield {
        key: joinKey(path, name),
        ...problemOf("name_taken", { name: JSON.stringify(other) }),
      };
    }
    seen.set(canonical, name);
  }
}

function* targetsDiffer({ config: { targets } }: ConfigView): Iterable<ConfigFault> {
  yield* tablesDiffer("targets", targets.map(({ name }) => name));
  for (const { name, backends } of targets) {
    yield* tablesDiffer(`${joinKey("targets", name)}.backends`, backends.map((backend) => backend.name));
  }
}

function* eachBackend(
  { config: { targets } }: ConfigView,
): Iterable<{ key: string; backend: BackendSettings }> {
  for (const { name, backends } of targets) {
    const path = `${joinKey("targets", name)}.backends`;
    for (const backend of backends) yield { key: joinKey(path, backend.name), backend };
  }
}

function* ldapFaults(key: string, backend: LdapBackendSettings): Iterable<ConfigFault> {
  const { url, startTls, caPem, bindDn, bindPassword, passwordChange, userFilter, attributes } = backend;
  if (startTls && url.some((one) => one.startsWith("ldaps:"))) {
    yield {
      key: `${key}.start_tls`,
      ...problemOf("start_tls_with_ldaps"),
    };
  }
  if (caPem !== "" && !startTls && url.every((one) => one.startsWith("ldap:"))) {
    yield { key: `${key}.ca_cert`, ...problemOf("ca_cert_without_tls") };
  }
  if (passwordChange && !startTls && url.some((one) => one.startsWith("ldap:"))) {
    yield { key: `${key}.password_change`, ...problemOf("password_change_without_tls") };
  }
  const naming = attributes.userName || (backend.schema === "active_directory" ? "sAMAccountName" : "uid");
  const filter = parseUserFilter(userFilter);
  if (filter !== null && !findsUserBy(filter, naming)) {
    const example = `(|(${naming}={account})…)`;
    yield { key: `${key}.user_filter`, ...problemOf("user_filter_without_name", { filter: example }) };
  }
  // RFC 4513 §5.1.2: a bind with a name and no password is anonymous, and most servers report success.
  if (bindDn !== "" && bindPassword === "") {
    yield { key: `${key}.bind_password`, ...problemOf("bind_password_missing") };
  }
  if (bindDn === "" && bindPassword !== "") {
    yield { key: `${key}.bind_dn`, ...problemOf("bind_dn_missing") };
  }
}

function* scimFaults(
  key: string,
  { token, userName, password }: ScimBackendSettings,
): Iterable<ConfigFault> {
  if (token !== "" && (userName !== "" || password !== "")) {
    yield {
      key: `${key}.token`,
      ...problemOf("token_and_password"),
    };
  } else if (token === "" && userName === "" && password === "") {
    yield { key: `${key}.token`, ...problemOf("token_missing") };
  } else if (token === "" && userName === "") {
    yield { key: `${key}.user_name`, ...problemOf("user_name_missing") };
  } else if (token === "" && password === "") {
    yield { key: `${key}.password`, ...problemOf("password_missing") };
  }
}

function* backendsAreWhole(view: ConfigView): Iterable<ConfigFault> {
  for (const { key, backend } of eachBackend(view)) {
    if (backend.kind === "ldap") yield* ldapFaults(key, backend);
    if (backend.kind === "scim") yield* scimFaults(key, backend);
  }
}

function* credentialsFitTargets({ config: { scim, targets } }: ConfigView): Iterable<ConfigFault> {
  const names = new Set(targets.map(({ name }) => name));
  for (const [at, credential] of scim.credentials.entries()) {
    const missing = credential.targets.filter((name) => !names.has(name));
    if (missing.length > 0) {
      yield {
        key: `${entryPrefix("scim.credential", at)}targets`,
        ...problemOf("no_target", { name: quoted(missing), names: quoted([...names]) }),
      };
    }
  }
}

function* firstFactorBackend(
  prefix: string,
  settings: RequestSettings,
  { config }: ConfigView,
): Iterable<ConfigFault> {
  if (settings.firstFactor !== "ldap") return;
  const directory = config.targets.find(({ name }) => name === config.radius.directory);
  const ldap = directory?.backends.filter(({ kind }) => kind === "ldap").map(({ name }) => name) ?? [];
  if (ldap.includes(settings.firstFactorBackend)) return;
  const isEmpty = settings.firstFactorBackend === "";
  const code = ldap.length === 0
    ? isEmpty ? "first_factor_backend_none" : "first_factor_backend_lost"
    : isEmpty
    ? "first_factor_backend_empty"
    : "first_factor_backend_unknown";
  const values = {
    value: JSON.stringify(settings.firstFactorBackend),
    directory: joinKey("", config.radius.directory),
    names: quoted(ldap),
  };
  yield { key: `${prefix}first_factor_backend`, ...problemOf(code, values) };
}

function* firstFactorsHaveBackends(view: ConfigView): Iterable<ConfigFault> {
  yield* firstFactorBackend("radius.", view.config.radius.anyClient, view);
  for (const [at, client] of view.config.radius.clients.entries()) {
    yield* firstFactorBackend(entryPrefix("radius.client", at), client, view);
  }
}

function* replyGroupsDiffer({ config: { radius } }: ConfigView): Iterable<ConfigFault> {
  yield* tablesDiffer("radius.reply.user", radius.replyUsers.map(({ user }) => user));
  yield* tablesDiffer("radius.reply.group", radius.replyGroups.map(({ group }) => group));
}

/** A user can be in every group. */
function* repliesFit({ config: { radius } }: ConfigView): Iterable<ConfigFault> {
  const own = attributeSetOctets(radius.replyDefault);
  const ofUser = Math.max(0, ...radius.replyUsers.map(({ attributes }) => attributeSetOctets(attributes)));
  const all = radius.replyGroups.reduce(
    (sum, { attributes }) => sum + attributeSetOctets(attributes),
    own + ofUser,
  );
  const max = MAX_ACCEPT_ATTRIBUTE_OCTETS;
  if (own > max) {
    yield { key: "radius.reply.default", ...problemOf("reply_default_octets", { count: own, max }) };
  } else if (all > max) {
    yield { key: "radius.reply.group", ...problemOf("reply_group_octets", { count: all, max }) };
  }
}

export const TARGET_FAULT_CHECKS: readonly ConfigCheck[] = [
  directoryIsTarget,
  targetsDiffer,
  backendsAreWhole,
  ({ config }) => namesDiffer("scim.credential", config.scim.credentials.map(({ name }) => name)),
  credentialsFitTargets,
  firstFactorsHaveBackends,
  replyGroupsDiffer,
  repliesFit,
];

/** Whether passwords and tokens cross the network in clear text. */
function isPlain(backend: BackendSettings): boolean {
  if (backend.kind === "store" || (backend.kind === "ldap" && backend.startTls)) return false;
  return [backend.url].flat().some((text) => {
    const url = URL.parse(text);
    if (url === null || isLoopback(url.hostname)) return false;
    return url.protocol === "ldap:" || url.protocol === "http:";
  });
}

function* backendsAreSecret(view: ConfigView): Iterable<ConfigWarning> {
  for (const { key, backend } of eachBackend(view)) {
    if (!isPlain(backend)) continue;
    const remedy = backend.kind === "ldap" ? "ldaps: or start_tls = true" : "https:";
    yield {
      key: `${key}.url`,
      ...problemOf("connector_clear_text", { remedy }),
    };
  }
}

/** JavaScript enumerates keys of digits first, regardless of their order in the file. */
function* groupsKeepOrder({ config: { radius } }: ConfigView): Iterable<ConfigWarning> {
  if (radius.replyGroups.length < 2) return;
  for (const { group } of radius.replyGroups) {
    if (!/^[0-9]+$/.test(group)) continue;
    yield {
      key: joinKey("radius.reply.group", group),
      problem:
        "its name has only digits: it counts before all groups with letters, regardless of its position",
    };
  }
}

export const TARGET_WARNING_CHECKS: readonly ConfigCheck[] = [backendsAreSecret, groupsKeepOrder];
