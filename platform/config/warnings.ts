// Warnings: settings that are valid but need attention.

import type { ConfigWarning, RequestSettings } from "./config.ts";
import {
  type ClientSetting,
  clientSetting,
  isRelaying,
  isSettingUsed,
  REQUEST_SETTINGS,
  settingOf,
  usesTls,
} from "../client_settings.ts";
import { isLoopback, isWildcard, type SocketAddress, socketAddressText } from "../addresses.ts";
import type { ConfigCheck, ConfigView } from "./validate.ts";
import { RADIUS_ROWS } from "./list_settings.ts";
import { problemOf } from "../setting_problems.ts";
import { entryPrefix } from "./parse_tables.ts";
import { snakeCase } from "./setting_rows.ts";

/** RFC 2865 §3 prefers at least 16 octets. */
const MIN_SECRET_CHARACTERS = 16;

function* weakSecret(key: string, secret: string): Iterable<ConfigWarning> {
  if (secret !== "" && secret.length < MIN_SECRET_CHARACTERS) {
    yield {
      key,
      ...problemOf("short_secret", { count: secret.length, min: MIN_SECRET_CHARACTERS }),
    };
  }
}

function* policyWarnings(
  prefix: string,
  settings: RequestSettings & Partial<Parameters<typeof usesTls>[0]>,
  given: ReadonlySet<string>,
): Iterable<ConfigWarning> {
  const { tlsSan = "", tlsFingerprint = "" } = settings;
  // TLS protects each packet.
  if (settings.messageAuthenticator === "off" && !usesTls({ tlsSan, tlsFingerprint })) {
    yield { key: `${prefix}message_authenticator`, ...problemOf("unsigned") };
  }
  if (settings.mode === "shadow") yield { key: `${prefix}mode`, ...problemOf("shadow_mode") };
  if (settings.eap === "relay" && settings.firstFactor !== "radius") {
    yield { key: `${prefix}eap`, ...problemOf("eap_without_server") };
  }
  if (settings.eap === "gtc") yield { key: `${prefix}eap`, ...problemOf("gtc_clear_text") };
  if (settings.unknownUsers === "allow" && settings.firstFactor !== "none") {
    yield { key: `${prefix}unknown_users`, ...problemOf("unknown_users") };
  }
  if (isRelaying(settings) && settings.eapOuterIdentity !== "refuse") {
    const code = settings.eapOuterIdentity === "trust" ? "outer_identity" : "outer_identity_reply";
    yield { key: `${prefix}eap_outer_identity`, ...problemOf(code) };
  }
  if (settings.firstFactorServer?.messageAuthenticator === "auto") {
    yield {
      key: `${prefix}first_factor_server.message_authenticator`,
      ...problemOf("server_unsigned"),
    };
  }
  if (settings.firstFactorServer !== null) {
    yield* weakSecret(`${prefix}first_factor_server.secret`, settings.firstFactorServer.secret);
  }
  yield* unusedSettings(prefix, settings, given);
}

/** Servers are asked one after another, and each has its share of the time. */
const MIN_SHARE_MS = 500;

function* firstFactorServers(
  prefix: string,
  { firstFactorServer }: RequestSettings,
  listens: readonly SocketAddress[],
): Iterable<ConfigWarning> {
  const { address: servers, timeoutMs } = firstFactorServer ?? { address: [], timeoutMs: 0 };
  const own = servers.find(({ hostname, port }) =>
    listens.some((listen) =>
      listen.port === port &&
      (listen.hostname === hostname || (isWildcard(listen.hostname) && isLoopback(hostname)))
    )
  );
  if (own !== undefined) {
    const address = socketAddressText(own);
    yield { key: `${prefix}first_factor_server.address`, ...problemOf("server_is_self", { address }) };
  }
  const share = Math.floor(timeoutMs / servers.length);
  if (servers.length > 1 && share < MIN_SHARE_MS) {
    const values = { count: servers.length, share, min: MIN_SHARE_MS };
    yield { key: `${prefix}first_factor_server.timeout_ms`, ...problemOf("server_share", values) };
  }
}

function* unusedSettings(
  prefix: string,
  settings: RequestSettings,
  given: ReadonlySet<string>,
): Iterable<ConfigWarning> {
  const warned = new Set<string>();
  for (const name of REQUEST_SETTINGS) {
    const { key = name, when = {} } = clientSetting(name);
    const [by] = Object.keys(when) as ClientSetting[];
    const [table = key] = key.split(".");
    if (by === undefined || !given.has(prefix + key) || warned.has(table)) continue;
    if (isSettingUsed(name, (of) => settingOf(settings, of))) continue;
    warned.add(table);
    const value = settingOf(settings, by);
    const other = clientSetting(by).key;
    const values = { other: `${other}`, value: JSON.stringify(value) };
    yield { key: prefix + table, ...problemOf("no_effect_while_is", values) };
  }
}

function* clients({ config: { radius }, given }: ConfigView): Iterable<ConfigWarning> {
  yield* weakSecret("radius.secret", radius.secret);
  if (radius.clients.length === 0) {
    yield* policyWarnings("radius.", radius.anyClient, given);
    yield* firstFactorServers("radius.", radius.anyClient, radius.listen);
  }
  for (const [at, client] of radius.clients.entries()) {
    const prefix = entryPrefix("radius.client", at);
    yield* weakSecret(`${prefix}secret`, client.secret);
    if (usesTls(client) && radius.tls.listen.length === 0) {
      yield { key: `${prefix}tls`, ...problemOf("no_effect_while_empty", { other: "radius.tls_listen" }) };
    }
    yield* policyWarnings(prefix, client, given);
    yield* firstFactorServers(prefix, client, radius.listen);
  }
}

function* keysWithoutEffect({ config: { radius }, given }: ConfigView): Iterable<ConfigWarning> {
  if (radius.clients.length === 0) return;
  for (const name of ["secret", ...Object.keys(RADIUS_ROWS)]) {
    const key = `radius.${name}`;
    if (given.has(key)) {
      yield { key, ...problemOf("no_effect_beside_clients") };
    }
  }
}

function* factors({ config: { factors } }: ConfigView): Iterable<ConfigWarning> {
  if (factors.phoneNumbers === "any") {
    yield { key: "factors.phone_numbers", ...problemOf("any_number") };
    if (factors.countryCodes.length === 0) {
      yield { key: "factors.country_codes", ...problemOf("any_number_anywhere") };
    }
  }
  if (factors.enrolAtLogin === "always") {
    yield { key: "factors.enrol_at_login", ...problemOf("enrol_always") };
  }
  if (factors.enabled.length === 0) {
    yield { key: "factors.enabled", ...problemOf("no_factor") };
  }
  const { failures, hardLimit } = factors.lockout;
  if (hardLimit < failures) {
    yield {
      key: "factors.lockout.hard_limit",
      ...problemOf("hard_limit_first", { count: hardLimit, failures }),
    };
  }
}

function* outbox({ config: { telephony, factors } }: ConfigView): Iterable<ConfigWarning> {
  if (telephony.url === "" && (factors.enabled.includes("sms") || factors.enabled.includes("voice"))) {
    yield { key: "telephony.url", ...problemOf("outbox_only") };
  }
}

function* services({ config: { secondFactor, telephony }, given }: ConfigView): Iterable<ConfigWarning> {
  const { url: _second, timeoutMs: _ms, ...ofSecond } = secondFactor;
  const { accountId, authToken, from, twimlEchoUrl } = telephony;
  const services = [
    { key: "second_factor", url: secondFactor.url, others: ofSecond },
    { key: "telephony", url: telephony.url, others: { accountId, authToken, from, twimlEchoUrl } },
  ];
  for (const { key, url } of services) {
    const parsed = URL.parse(url);
    if (parsed?.protocol === "http:" && !isLoopback(parsed.hostname)) {
      yield { key: `${key}.url`, ...problemOf("service_not_https") };
    }
  }
  for (const { key: table, url, others } of services) {
    if (url !== "") continue;
    for (const [name, value] of Object.entries<string>(others)) {
      const key = `${table}.${snakeCase(name)}`;
      if (given.has(key) && value !== "") {
        yield { key, ...problemOf("no_effect_while_empty", { other: `${table}.url` }) };
      }
    }
  }
}

function* mail({ config: { mail }, given }: ConfigView): Iterable<ConfigWarning> {
  if (mail.host === "") {
    for (const name of ["user", "password", "from"]) {
      const key = `mail.${name}`;
      if (given.has(key)) yield { key, ...problemOf("no_effect_while_empty", { other: "mail.host" }) };
    }
  } else if (mail.security === "none" && !isLoopback(mail.host)) {
    yield { key: "mail.security", ...problemOf("mail_clear_text") };
  }
}

function* publicUrl({ config: { http }, given }: ConfigView): Iterable<ConfigWarning> {
  const key = "http.public_url";
  if (!given.has(key) && isWildcard(http.listen.hostname)) {
    const isUnknown = http.listen.port === 0;
    yield {
      key,
      ...(isUnknown
        ? problemOf("public_url_unknown")
        : problemOf("public_url_missing", { url: http.publicUrl })),
    };
  }
  const url = URL.parse(http.publicUrl);
  if (http.tls === null && url?.protocol === "http:" && !isLoopback(url.hostname)) {
    yield { key, ...problemOf("public_url_not_https") };
  }
  if (given.has(key) && http.tls !== null && http.publicUrl.startsWith("http:")) {
    yield { key, ...problemOf("public_url_http") };
  }
}

/** The access token authorizes every read and write of the store. */
function* storeEndpoint({ config: { store } }: ConfigView): Iterable<ConfigWarning> {
  const url = URL.parse(store.kv);
  if (url?.protocol === "http:" && !isLoopback(url.hostname)) {
    yield {
      key: "store.kv",
      problem:
        "it is not https; anyone on the network path reads the access token and can read and change the whole store",
    };
  }
}

/** {@link publicUrl} checks the address that browsers use. This check is about the address that the server listens on. */
function* clearText({ config: { http } }: ConfigView): Iterable<ConfigWarning> {
  if (http.tls !== null || isLoopback(http.listen.hostname)) return;
  const isBehindProxy = http.trustedProxies.length > 0;
  yield { key: "http.listen", ...problemOf(isBehindProxy ? "clear_text_behind_proxy" : "clear_text") };
}

export const WARNING_CHECKS: readonly ConfigCheck[] = [
  clients,
  keysWithoutEffect,
  factors,
  outbox,
  services,
  mail,
  storeEndpoint,
  publicUrl,
  clearText,
];
