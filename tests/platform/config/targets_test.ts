// Targets, their backends and mappings, credentials, and the settings that the gateway derives from them.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { VALUE_CHECKS } from "../../../cli/check_config.ts";
import type { BackendSettings, Config } from "../../../platform/config/config.ts";
import { configOf, faultsOf, warnedKeys } from "./samples.ts";
import {
  BACKENDS,
  credential,
  CREDENTIALS,
  EXTENSIONS,
  FILES,
  FOR_LOGINS,
  ldap,
  mapped,
  MAPPINGS,
  SCIM,
  scim,
  TARGETS,
} from "./targets_cases.ts";

/** The first backend of the first target, which must be of that kind. */
function first<K extends BackendSettings["kind"]>(
  kind: K,
  { targets }: Config,
): Extract<BackendSettings, { kind: K }> {
  const [backend] = targets[0]?.backends ?? [];
  if (backend?.kind !== kind) throw new Error(`The first backend is no ${kind} backend`);
  return backend as Extract<BackendSettings, { kind: K }>;
}

Deno.test("loadConfig() returns the target default with a store backend when the file names none", () => {
  const { targets, scim: { credentials }, radius } = configOf("");
  assertEquals(JSON.parse(JSON.stringify(targets)), [{
    name: "default",
    pageSize: 100,
    maxDropPercent: 20,
    mapping: { user: {}, group: {} },
    backends: [{ kind: "store", name: "local", mode: "sync" }],
  }]);
  assertEquals([credentials.length, radius.directory, radius.replyGroups.length], [0, "default", 0]);
});

Deno.test("loadConfig() keeps targets, backends and groups in the order of the file", () => {
  const { targets, radius } = configOf(
    `[targets.zoo]\n[targets.default.backends.b]\nkind = "store"\n${ldap("a")}` +
      `[targets.alpha]\n[radius.reply.group.z]\nClass = "z"\n[radius.reply.group.a]\nClass = "a"\n`,
  );
  assertEquals(targets.map(({ name }) => name), ["zoo", "default", "alpha"]);
  assertEquals(targets[1]?.backends.map(({ name }) => name).slice(-2), ["b", "a"]);
  assertEquals(radius.replyGroups.map(({ group }) => group), ["z", "a"]);
});

Deno.test("loadConfig() returns an LDAP backend with its certificates read and its port filled in", () => {
  const backend = first(
    "ldap",
    configOf(
      ldap(
        "directory",
        'mode = "async"\nstart_tls = true\nca_cert = "ca.pem"\nbind_dn = "cn=admin"\nbind_password = "env:PW"\n' +
          'groups_dn = "ou=groups"\nschema = "active_directory"\nconnections = 9\ntimeout_ms = 800\n' +
          'attributes = { userName = "uid", active = "employeeType" }\n',
      ),
      { files: FILES, env: { PW: "s3cret" } },
    ),
  );
  assertEquals({ ...backend, attributes: { ...backend.attributes } }, {
    kind: "ldap",
    name: "directory",
    mode: "async",
    url: ["ldap://127.0.0.1:389"],
    startTls: true,
    caPem: FILES["/srv/ca.pem"],
    bindDn: "cn=admin",
    bindPassword: "s3cret",
    usersDn: "ou=people,dc=example",
    groupsDn: "ou=groups",
    schema: "active_directory",
    userFilter: "",
    userDomains: [],
    passwordChange: false,
    attributes: { userName: "uid", active: "employeeType" },
    connections: 9,
    timeoutMs: 800,
  });
});

Deno.test("loadConfig() returns a SCIM backend with a token or with a name and a password", () => {
  const withToken = first("scim", configOf(scim('token = "t"')));
  const withName = first("scim", configOf(scim('user_name = "u"\npassword = "p"')));
  assertEquals([withToken.token, withToken.userName, withToken.url], [
    "t",
    "",
    "https://saas.example.com/scim/v2",
  ]);
  assertEquals([withName.token, withName.userName, withName.password], ["", "u", "p"]);
});

Deno.test("loadConfig() returns the JSON of schema extensions: the content of the file, or the setting itself", () => {
  const json = '[{ "id": "urn:example:a", "name": "A", "attributes": [{ "name": "x" }] }]';
  const of = (setting: string) =>
    `[targets.corp]\nextensions = ${JSON.stringify(setting)}\n[targets.plain]\n`;
  for (const setting of ["a.json", "/srv/a.json", json, "file:a.json"]) {
    const { targets } = configOf(of(setting), { files: { "/srv/a.json": json }, ...VALUE_CHECKS });
    const found = targets.map(({ name, extensions }) => [name, extensions]);
    assertEquals(found, [["default", undefined], ["corp", json], ["plain", undefined]]);
  }
  const marked = `\uFEFF${json}\r\n`;
  assertEquals(
    configOf(of("a.json"), { files: { "/srv/a.json": marked }, ...VALUE_CHECKS }).targets[1]?.extensions,
    marked,
  );
});

Deno.test("loadConfig() accepts a mapping of every form of SCIM attribute", () => {
  const urn = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
  const { targets } = configOf(mapped(
    "user",
    `title = "jobTitle"\n"name.familyName" = "sn"\n"emails[].value" = "mail"\n"photos[]" = "photo"\n"manager.$ref" = "boss"\n` +
      `"${urn}:department" = "ou"\n"${urn}:manager.displayName" = "bossName"\nid = "userName"\nexternalId = "userName"\n`,
  ));
  const corp = targets.find(({ name }) => name === "corp");
  assertEquals({ ...corp?.mapping.user }, {
    title: "jobTitle",
    "name.familyName": "sn",
    "emails[].value": "mail",
    "photos[]": "photo",
    "manager.$ref": "boss",
    [`${urn}:department`]: "ou",
    [`${urn}:manager.displayName`]: "bossName",
    id: "userName",
    externalId: "userName",
  });
});

for (
  const [name, cases] of Object.entries({
    "refuses targets that are none": TARGETS,
    "refuses backends that are not whole": BACKENDS,
    "refuses schema extensions that cannot be used": EXTENSIONS,
    "refuses mappings that lose a value": MAPPINGS,
    "refuses credentials that fit no target": CREDENTIALS,
    "refuses logins without what they need": FOR_LOGINS,
  })
) {
  Deno.test(`loadConfig() ${name}`, () => {
    for (const { toml, key, says, world } of cases) {
      const faults = faultsOf(toml, world);
      const fault = faults.find((one) => one.key === key);
      assert(fault !== undefined, `${toml}: no fault for ${key} in ${JSON.stringify(faults)}`);
      assertStringIncludes(fault?.problem ?? "", says);
    }
  });
}

Deno.test("loadConfig() accepts a first factor at an LDAP backend of the target whose users log in", () => {
  const { radius } = configOf(
    'radius.directory = "corp"\n[[radius.client]]\nname = "vpn"\naddress = ["192.0.2.1"]\n' +
      'secret = "0123456789abcdef"\nfirst_factor = "ldap"\nfirst_factor_backend = "a"\n' +
      ldap("a", "", "corp"),
  );
  assertEquals([radius.clients[0]?.firstFactor, radius.clients[0]?.firstFactorBackend], ["ldap", "a"]);
  assertEquals(radius.clients[0]?.firstFactorServer, null);
});

const PLAIN: readonly (readonly [string, boolean])[] = [
  [ldap("a"), false],
  [ldap("a").replace("127.0.0.1", "ldap.example.org"), true],
  [ldap("a", "start_tls = true").replace("127.0.0.1", "ldap.example.org"), false],
  [ldap("a").replace("ldap://127.0.0.1", "ldaps://ldap.example.org"), false],
  [ldap("a").replace("127.0.0.1", "[::1]"), false],
  [scim('token = "t"'), false],
  [scim('token = "t"').replace("https:", "http:"), true],
  [scim('token = "t"').replace("https://saas.example.com", "http://localhost:80"), false],
];

Deno.test("loadConfig() warns of a backend with clear text over the network", () => {
  for (const [toml, warned] of PLAIN) {
    const keys = warnedKeys(toml).filter((key) => key.startsWith("targets."));
    assertEquals(keys.map((key) => key.slice(key.lastIndexOf("."))), warned ? [".url"] : [], toml);
  }
});

Deno.test("loadConfig() warns of groups whose order in the file is lost: TOML lists names of digits first", () => {
  const two = "radius.reply.group.admins.Class = 'a'\nradius.reply.group.100.Class = 'b'";
  assert(warnedKeys(two).includes("radius.reply.group.100"));
  assert(!warnedKeys("radius.reply.group.100.Class = 'b'").includes("radius.reply.group.100"));
});

Deno.test("loadConfig() does not warn of unknown_users = reject: targets have users", () => {
  assert(!warnedKeys("radius.unknown_users = 'reject'").includes("radius.unknown_users"));
});

Deno.test("loadConfig() shows no secret of backends and credentials", () => {
  const planted = "planted-0123456789";
  const config = configOf(
    ldap("a", `bind_dn = "cn=a"\nbind_password = "${planted}"`) + scim(`token = "${planted}"`) +
      `[targets.default.backends.basic]\n${SCIM}user_name = "u"\npassword = "${planted}"\n` +
      credential("hr").replace("twelve chars", planted),
  );
  assertEquals(config.scim.credentials[0]?.password, planted);
  for (const part of [config, config.targets, config.targets[0], ...config.targets[0]?.backends ?? []]) {
    const shown = JSON.stringify(part) + Deno.inspect(part, { depth: 20 });
    assert(!shown.includes(planted), shown);
  }
  const bad = faultsOf(`targets.default.backends.a = { kind = "scim", token = ["${planted}"] }`);
  assert(bad.length > 0 && !JSON.stringify(bad).includes(planted));
});
