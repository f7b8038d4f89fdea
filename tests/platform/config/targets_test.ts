// Targets, their backends and mappings, credentials, and what the gateway takes from them.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { replyAttributeProblem } from "../../../cli/check_config.ts";
import type { BackendSettings, Config } from "../../../platform/config/config.ts";
import { configOf, faultsOf, warnedKeys, type World } from "./samples.ts";

const LDAP = 'kind = "ldap"\nurl = "ldap://127.0.0.1"\nusers_dn = "ou=people,dc=example"\n';
const SCIM = 'kind = "scim"\nurl = "https://saas.example.com/scim/v2"\n';
const ldap = (name: string, more = "", target = "default") =>
  `[targets.${target}.backends.${name}]\n${LDAP}${more}\n`;
const scim = (more: string) => `[targets.default.backends.saas]\n${SCIM}${more}\n`;
const credential = (name: string, more = "") =>
  `[[scim.credential]]\nname = "${name}"\npassword = "twelve chars"\n${more}\n`;
const mapped = (kind: string, rows: string) => `[targets.corp.mapping.${kind}]\n${rows}\n`;
const FILES = { "/srv/ca.pem": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n" };

/** The first backend of the first target, which must be of that kind. */
function first<K extends BackendSettings["kind"]>(
  kind: K,
  { targets }: Config,
): Extract<BackendSettings, { kind: K }> {
  const [backend] = targets[0]?.backends ?? [];
  if (backend?.kind !== kind) throw new Error(`The first backend is no ${kind} backend`);
  return backend as Extract<BackendSettings, { kind: K }>;
}

Deno.test("loadConfig() gives the target default with a store backend when the file names none", () => {
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

Deno.test("loadConfig() gives an LDAP backend with its certificates read and its port filled in", () => {
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
    url: "ldap://127.0.0.1:389",
    startTls: true,
    caPem: FILES["/srv/ca.pem"],
    bindDn: "cn=admin",
    bindPassword: "s3cret",
    usersDn: "ou=people,dc=example",
    groupsDn: "ou=groups",
    schema: "active_directory",
    attributes: { userName: "uid", active: "employeeType" },
    connections: 9,
    timeoutMs: 800,
  });
});

Deno.test("loadConfig() gives a SCIM backend with a token or with a name and a password", () => {
  const withToken = first("scim", configOf(scim('token = "t"')));
  const withName = first("scim", configOf(scim('user_name = "u"\npassword = "p"')));
  assertEquals([withToken.token, withToken.userName, withToken.url], [
    "t",
    "",
    "https://saas.example.com/scim/v2",
  ]);
  assertEquals([withName.token, withName.userName, withName.password], ["", "u", "p"]);
});

Deno.test("loadConfig() takes a mapping of every form of SCIM attribute", () => {
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

interface Case {
  readonly toml: string;
  readonly key: string;
  readonly says: string;
  readonly world?: World;
}

const TARGETS: readonly Case[] = [
  { toml: "targets = 5", key: "targets", says: "it must be a table: [targets]" },
  { toml: "targets.corp = 5", key: "targets.corp", says: "it must be a table: [targets.corp]" },
  { toml: '[targets."a b"]', key: 'targets."a b"', says: "is no name" },
  { toml: '[targets.".."]', key: 'targets.".."', says: "not dots alone" },
  { toml: `[targets.${"a".repeat(65)}]`, key: `targets.${"a".repeat(65)}`, says: "1 to 64" },
  { toml: "[targets.corp]\n[targets.Corp]", key: "targets.Corp", says: "names must differ" },
  {
    toml: Array.from({ length: 101 }, (_, at) => `[targets.t${at}]\n`).join(""),
    key: "targets",
    says: "at most 100",
  },
  { toml: "[targets.corp]\npagesize = 5", key: "targets.corp.pagesize", says: "targets.corp.page_size" },
  {
    toml: "radius.directory = 'corp'",
    key: "radius.directory",
    says: 'no target "corp"; there is "default"',
  },
  { toml: "targets.corp.mapping = 5", key: "targets.corp.mapping", says: "[targets.corp.mapping]" },
];

const BACKENDS: readonly Case[] = [
  { toml: "targets.corp.backends = 5", key: "targets.corp.backends", says: "it must be a table" },
  { toml: "[targets.corp.backends.a]", key: "targets.corp.backends.a.kind", says: "missing" },
  {
    toml: "targets.corp.backends.a.kind = 'file'",
    key: "targets.corp.backends.a.kind",
    says: '"file" is not allowed; it must be "store", "ldap", "scim"',
  },
  {
    toml: "targets.corp.backends.a.kind = 'env:NOPE'",
    key: "targets.corp.backends.a.kind",
    says: "NOPE is not set",
  },
  {
    toml: "targets.corp.backends.a = { kind = 'store', url = 'ldap://a' }",
    key: "targets.corp.backends.a.url",
    says: "no such setting",
  },
  {
    toml: '[targets.corp.backends."a,b"]\nkind = "store"',
    key: 'targets.corp.backends."a,b"',
    says: "is no name",
  },
  {
    toml: "targets.corp.backends.7.kind = 'store'",
    key: "targets.corp.backends.7",
    says: "digits alone",
  },
  {
    toml: 'targets.corp.backends.a.kind = "store"\ntargets.corp.backends.A.kind = "store"',
    key: "targets.corp.backends.A",
    says: "names must differ",
  },
  {
    toml: Array.from({ length: 21 }, (_, at) => `targets.corp.backends.b${at}.kind = "store"\n`).join(""),
    key: "targets.corp.backends",
    says: "at most 20",
  },
  {
    toml: ldap("a", 'url = "ldaps://a"\nstart_tls = true').replace('url = "ldap://127.0.0.1"\n', ""),
    key: "targets.default.backends.a.start_tls",
    says: "ldaps: already",
  },
  {
    toml: ldap("a", 'ca_cert = "ca.pem"'),
    key: "targets.default.backends.a.ca_cert",
    says: "needs TLS",
    world: { files: FILES },
  },
  {
    toml: ldap("a", 'start_tls = true\nca_cert = "no.pem"'),
    key: "targets.default.backends.a.ca_cert",
    says: "does not exist",
  },
  { toml: ldap("a", 'bind_dn = "cn=a"'), key: "targets.default.backends.a.bind_password", says: "needs it" },
  { toml: ldap("a", 'bind_password = "x"'), key: "targets.default.backends.a.bind_dn", says: "needs it" },
  {
    toml: ldap("a", 'attributes = { "user name" = "uid" }'),
    key: 'targets.default.backends.a.attributes."user name"',
    says: "front-end attribute",
  },
  {
    toml: ldap("a", 'attributes = { userName = "uid)(x=*" }'),
    key: 'targets.default.backends.a.attributes."userName"',
    says: "LDAP attribute",
  },
  { toml: scim(""), key: "targets.default.backends.saas.token", says: "it is empty" },
  {
    toml: scim('token = "t"\npassword = "p"'),
    key: "targets.default.backends.saas.token",
    says: "one or the other",
  },
  { toml: scim('user_name = "u"'), key: "targets.default.backends.saas.password", says: "needs it" },
  { toml: scim('password = "p"'), key: "targets.default.backends.saas.user_name", says: "needs it" },
];

const MAPPINGS: readonly Case[] = [
  ...["a.b.c", "a b", "[].a", "a[0]", "urn:x y:a", "$ref", "", "1a"].map((path) => ({
    toml: mapped("user", `${JSON.stringify(path)} = "x"`),
    key: `targets.corp.mapping.user.${JSON.stringify(path)}`,
    says: "it is not a SCIM attribute",
  })),
  {
    toml: mapped("user", 'title = "job title"'),
    key: 'targets.corp.mapping.user."title"',
    says: "front-end attribute",
  },
  { toml: mapped("user", "title = 5"), key: 'targets.corp.mapping.user."title"', says: "5 is not allowed" },
  {
    toml: mapped("user", 'title = "sn"\n"name.familyName" = "SN"'),
    key: 'targets.corp.mapping.user."name.familyName"',
    says: 'belongs to "title" already',
  },
  {
    toml: mapped("user", 'id = "uid"\nexternalId = "uid"'),
    key: 'targets.corp.mapping.user."externalId"',
    says: "belongs to",
  },
  {
    toml: mapped("group", 'title = "groupName"\ndescription = "groupName"'),
    key: 'targets.corp.mapping.group."description"',
    says: "belongs to",
  },
  {
    toml: mapped("user", Array.from({ length: 201 }, (_, at) => `a${at} = "b${at}"\n`).join("")),
    key: "targets.corp.mapping.user",
    says: "at most 200",
  },
];

const CREDENTIALS: readonly Case[] = [
  { toml: credential("hr") + credential("HR"), key: "scim.credential[1].name", says: "names must differ" },
  {
    toml: credential("hr", 'targets = ["default", "nope"]'),
    key: "scim.credential[0].targets",
    says: 'no target "nope"',
  },
  { toml: "[[scim.credential]]", key: "scim.credential[0].password", says: "missing" },
  { toml: "[scim.credential]\nname = 'x'", key: "scim.credential", says: "[[scim.credential]]" },
];

const FOR_LOGINS: readonly Case[] = [
  {
    toml: "radius.first_factor = 'ldap'",
    key: "radius.first_factor_backend",
    says: "it must name an ldap backend of targets.default: there is none",
  },
  {
    toml: `radius.first_factor = 'ldap'\nradius.first_factor_backend = 'local'\n${ldap("a")}`,
    key: "radius.first_factor_backend",
    says: '"local" is none; it must name an ldap backend of targets.default: there is "a"',
  },
  {
    toml: `radius.first_factor = 'ldap'\nradius.first_factor_backend = 'a'\n${ldap("a", "", "corp")}`,
    key: "radius.first_factor_backend",
    says: "there is none",
  },
  { toml: "radius.reply.group = 5", key: "radius.reply.group", says: "it must be a table" },
  { toml: "radius.reply.group.a = 5", key: "radius.reply.group.a", says: "it must be a table" },
  {
    toml: 'radius.reply.group."VPN x".Nope = "y"',
    key: 'radius.reply.group."VPN x"."Nope"',
    says: "Nope",
    world: { checkReplyAttribute: replyAttributeProblem },
  },
  {
    toml: 'radius.reply.group.a.Class = "x"\nradius.reply.group.A.Class = "x"',
    key: "radius.reply.group.A",
    says: "names must differ",
  },
  {
    toml: Array.from({ length: 20 }, (_, at) => `"26.9.${at + 1}" = "${"x".repeat(200)}"\n`).reduce(
      (text, line) => text + line,
      "[radius.reply.default]\n",
    ),
    key: "radius.reply.default",
    says: "room for 3500",
  },
  {
    toml: Array.from(
      { length: 20 },
      (_, at) => `[radius.reply.group.g${at}]\nClass = "${"x".repeat(200)}"\n`,
    ).join(""),
    key: "radius.reply.group",
    says: "room for 3500",
  },
];

for (
  const [name, cases] of Object.entries({
    "refuses targets that are none": TARGETS,
    "refuses backends that are not whole": BACKENDS,
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

Deno.test("loadConfig() takes a first factor at an LDAP backend of the target whose users log in", () => {
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

Deno.test("loadConfig() warns of a backend that is reached in clear over the network", () => {
  for (const [toml, warned] of PLAIN) {
    const keys = warnedKeys(toml).filter((key) => key.startsWith("targets."));
    assertEquals(keys.map((key) => key.slice(key.lastIndexOf("."))), warned ? [".url"] : [], toml);
  }
});

Deno.test("loadConfig() warns of groups whose place in the file is lost: TOML gives names of digits first", () => {
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
