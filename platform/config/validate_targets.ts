// Checks of targets, their backends and credentials, and of the settings of the gateway that refer to them.

import { canonicalName } from "../canonical_name.ts";
import type {
  BackendSettings,
  ClientPolicy,
  ConfigFault,
  ConfigWarning,
  LdapBackendSettings,
  ScimBackendSettings,
} from "./config.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../../radius/protocol/packet.ts";
import { attributeSetOctets } from "../../radius/protocol/attributes.ts";
import { isLoopback } from "../addresses.ts";
import { problemOf } from "../setting_problems.ts";
import { joinKey } from "./parse_toml.ts";
import { type ConfigCheck, type ConfigView, namesDiffer } from "./validate.ts";
import { entryPrefix } from "./parse_tables.ts";

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
  const { url, startTls, caPem, bindDn, bindPassword } = backend;
  if (startTls && url.startsWith("ldaps:")) {
    yield {
      key: `${key}.start_tls`,
      ...problemOf("start_tls_with_ldaps"),
    };
  }
  if (caPem !== "" && !startTls && url.startsWith("ldap:")) {
    yield { key: `${key}.ca_cert`, ...problemOf("ca_cert_without_tls") };
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
  policy: ClientPolicy,
  { config }: ConfigView,
): Iterable<ConfigFault> {
  if (policy.firstFactor !== "ldap") return;
  const directory = config.targets.find(({ name }) => name === config.radius.directory);
  const ldap = directory?.backends.filter(({ kind }) => kind === "ldap").map(({ name }) => name) ?? [];
  if (ldap.includes(policy.firstFactorBackend)) return;
  const isEmpty = policy.firstFactorBackend === "";
  const code = ldap.length === 0
    ? isEmpty ? "first_factor_backend_none" : "first_factor_backend_lost"
    : isEmpty
    ? "first_factor_backend_empty"
    : "first_factor_backend_unknown";
  const values = {
    value: JSON.stringify(policy.firstFactorBackend),
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
  if (backend.kind === "store") return false;
  const url = URL.parse(backend.url);
  if (url === null || isLoopback(url.hostname)) return false;
  return backend.kind === "ldap" ? url.protocol === "ldap:" && !backend.startTls : url.protocol === "http:";
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
