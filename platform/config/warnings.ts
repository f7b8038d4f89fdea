// Warnings: settings that are valid but need attention.

import type { ClientPolicy, ConfigWarning } from "./config.ts";
import { clientSetting, POLICY_SETTINGS, settingOf } from "../client_values.ts";
import { isLoopback, isWildcard } from "../addresses.ts";
import type { ConfigCheck, ConfigView } from "./validate.ts";
import { POLICY_ROWS } from "./client_rows.ts";
import { entryPrefix } from "./parse_tables.ts";

/** RFC 2865 §3 prefers at least 16 octets. */
const MIN_SECRET_CHARACTERS = 16;

function* weakSecret(key: string, secret: string): Iterable<ConfigWarning> {
  if (secret !== "" && secret.length < MIN_SECRET_CHARACTERS) {
    yield {
      key,
      problem:
        `it has ${secret.length} characters; a shared secret under ${MIN_SECRET_CHARACTERS} can be guessed ` +
        `by anyone who sees one packet`,
    };
  }
}

function* policyWarnings(
  prefix: string,
  policy: ClientPolicy,
  given: ReadonlySet<string>,
): Iterable<ConfigWarning> {
  if (policy.messageAuthenticator === "off") {
    yield {
      key: `${prefix}message_authenticator`,
      problem: '"off" checks no Message-Authenticator; what a request says can be altered on the way',
    };
  }
  if (policy.unknownUsers === "allow" && policy.firstFactor !== "none") {
    yield {
      key: `${prefix}unknown_users`,
      problem:
        '"allow" lets a name that is not in the directory pass the first factor; another spelling of a name is ' +
        'such a name. "auto" rejects it',
    };
  }
  if (policy.firstFactorServer?.messageAuthenticator === "auto") {
    yield {
      key: `${prefix}first_factor_server.message_authenticator`,
      problem:
        '"auto" trusts answers of that server without Message-Authenticator until it signs one; they can be forged',
    };
  }
  if (policy.firstFactorServer !== null) {
    yield* weakSecret(`${prefix}first_factor_server.secret`, policy.firstFactorServer.secret);
  }
  yield* unusedSettings(prefix, policy, given);
}

function* unusedSettings(
  prefix: string,
  policy: ClientPolicy,
  given: ReadonlySet<string>,
): Iterable<ConfigWarning> {
  const warned = new Set<string>();
  for (const name of POLICY_SETTINGS) {
    const { key = name, usedWhen } = clientSetting(name);
    if (usedWhen === undefined || !given.has(prefix + key)) continue;
    const [table = key] = key.split(".");
    const value = settingOf(policy, usedWhen.setting);
    if (value === usedWhen.is || warned.has(table)) continue;
    warned.add(table);
    const other = clientSetting(usedWhen.setting).key;
    yield { key: prefix + table, problem: `it has no effect while ${other} is ${JSON.stringify(value)}` };
  }
}

function* clients({ config: { radius }, given }: ConfigView): Iterable<ConfigWarning> {
  yield* weakSecret("radius.secret", radius.secret);
  if (radius.clients.length === 0) yield* policyWarnings("radius.", radius.anyClient, given);
  for (const [at, client] of radius.clients.entries()) {
    const prefix = entryPrefix("radius.client", at);
    yield* weakSecret(`${prefix}secret`, client.secret);
    yield* policyWarnings(prefix, client, given);
  }
}

function* keysWithoutEffect({ config: { radius }, given }: ConfigView): Iterable<ConfigWarning> {
  if (radius.clients.length === 0) return;
  for (const name of ["secret", ...Object.keys(POLICY_ROWS)]) {
    const key = `radius.${name}`;
    if (given.has(key)) {
      yield { key, problem: "it has no effect beside [[radius.client]]; it is for any client address" };
    }
  }
}

function* factors({ config: { factors } }: ConfigView): Iterable<ConfigWarning> {
  if (factors.phoneNumbers === "any") {
    yield {
      key: "factors.phone_numbers",
      problem: '"any" texts and calls whatever number is typed; that is no second factor at all',
    };
    if (factors.countryCodes.length === 0) {
      yield {
        key: "factors.country_codes",
        problem:
          'it is empty and factors.phone_numbers is "any"; list the countries that you pay texts and calls to',
      };
    }
  }
  if (factors.enrolAtLogin === "always") {
    yield {
      key: "factors.enrol_at_login",
      problem: '"always" lets anyone who types the name of a user without a factor pair a phone of their own',
    };
  }
  if (factors.enabled.length === 0) {
    yield { key: "factors.enabled", problem: "no factor is offered; no user can log in" };
  }
  const { failures, hardLimit } = factors.lockout;
  if (hardLimit < failures) {
    yield {
      key: "factors.lockout.hard_limit",
      problem:
        `${hardLimit} is less than factors.lockout.failures, ${failures}; only an administrator unlocks`,
    };
  }
}

function* outbox({ config: { telephony, factors } }: ConfigView): Iterable<ConfigWarning> {
  if (telephony.url === "" && (factors.enabled.includes("sms") || factors.enabled.includes("voice"))) {
    yield {
      key: "telephony.url",
      problem: "it is empty; texts and calls stay in the embedded outbox, which is for evaluation only",
    };
  }
}

function* services({ parts: { general }, given }: ConfigView): Iterable<ConfigWarning> {
  const urls = ["second_factor.url", "telephony.url"] as const;
  for (const key of urls) {
    const url = URL.parse(general[key]);
    if (url?.protocol === "http:" && !isLoopback(url.hostname)) {
      yield { key, problem: "it is not https; anyone on the network path reads what is sent" };
    }
  }
  const idle = {
    "second_factor.url": ["second_factor.consumer_key", "second_factor.consumer_secret"],
    "telephony.url": [
      "telephony.account_id",
      "telephony.auth_token",
      "telephony.from",
      "telephony.twiml_echo_url",
    ],
  } as const;
  for (const url of urls) {
    if (general[url] !== "") continue;
    for (const key of idle[url]) {
      if (given.has(key) && general[key] !== "") {
        yield { key, problem: `it has no effect while ${url} is empty` };
      }
    }
  }
}

function* publicUrl({ config: { http }, given }: ConfigView): Iterable<ConfigWarning> {
  const key = "http.public_url";
  if (!given.has(key) && isWildcard(http.listen.hostname)) {
    const shown = http.listen.port === 0 ? "an address of this host alone" : http.publicUrl;
    yield { key, problem: `it is not set; links contain ${shown}, which a phone cannot reach` };
  }
  const url = URL.parse(http.publicUrl);
  if (http.tls === null && url?.protocol === "http:" && !isLoopback(url.hostname)) {
    yield {
      key,
      problem: "it is not https; anyone on the network path reads passwords, sessions and passcodes",
    };
  }
  if (given.has(key) && http.tls !== null && http.publicUrl.startsWith("http:")) {
    yield { key, problem: "it begins with http: though http.tls_cert is given; links would not work" };
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
  const problem = http.trustedProxies.length > 0
    ? "it is not on loopback and has no TLS; the way from the proxy to here carries passwords in clear text"
    : "it is not on loopback and has no TLS; passwords and sessions cross the network in clear text";
  yield { key: "http.listen", problem };
}

export const WARNING_CHECKS: readonly ConfigCheck[] = [
  clients,
  keysWithoutEffect,
  factors,
  outbox,
  services,
  storeEndpoint,
  publicUrl,
  clearText,
];
