// Checks that concern several settings. Each check reads the whole Config and yields its faults.

import { resolve } from "node:path";
import type { ClientPolicy, ClientSettings, Config, ConfigFault } from "./config.ts";
import { isWildcard, socketAddressText } from "../addresses.ts";
import { problemOf } from "../setting_problems.ts";
import { entryPrefix } from "./parse_tables.ts";

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
export function* namesDiffer(list: string, names: readonly string[]): Iterable<ConfigFault> {
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

function* clientsDiffer({ config: { radius } }: ConfigView): Iterable<ConfigFault> {
  const seen = new Map<string, ClientSettings>();
  for (const [at, client] of radius.clients.entries()) {
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

function* firstFactorHasServer(prefix: string, policy: ClientPolicy): Iterable<ConfigFault> {
  if (policy.firstFactor !== "radius") return;
  const problem = problemOf("first_factor_server_missing");
  const server = policy.firstFactorServer;
  if (server === null) yield { key: `${prefix}first_factor_server.address`, ...problem };
  else if (server.secret === "") yield { key: `${prefix}first_factor_server.secret`, ...problem };
}

function* firstFactorsHaveServers({ config: { radius } }: ConfigView): Iterable<ConfigFault> {
  yield* firstFactorHasServer("radius.", radius.anyClient);
  for (const [at, client] of radius.clients.entries()) {
    yield* firstFactorHasServer(entryPrefix("radius.client", at), client);
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
  clientsDiffer,
  firstFactorsHaveServers,
  servicesHaveKeys,
  routesFitTotal,
  mailIsWhole,
  providerIsWhole,
  ({ config }) => namesDiffer("console.admin", config.console.admins.map(({ name }) => name)),
];
