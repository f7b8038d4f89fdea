// Targets, backends, mappings and credentials that are refused, and the TOML of which they consist.

import { replyAttributeProblem, VALUE_CHECKS } from "../../../cli/check_config.ts";
import type { Case } from "./load_cases.ts";

export const LDAP = 'kind = "ldap"\nurl = "ldap://127.0.0.1"\nusers_dn = "ou=people,dc=example"\n';
export const SCIM = 'kind = "scim"\nurl = "https://saas.example.com/scim/v2"\n';
export const ldap = (name: string, more = "", target = "default") =>
  `[targets.${target}.backends.${name}]\n${LDAP}${more}\n`;
export const scim = (more: string) => `[targets.default.backends.saas]\n${SCIM}${more}\n`;
export const credential = (name: string, more = "") =>
  `[[scim.credential]]\nname = "${name}"\npassword = "twelve chars"\n${more}\n`;
export const mapped = (kind: string, rows: string) => `[targets.corp.mapping.${kind}]\n${rows}\n`;
export const FILES = { "/srv/ca.pem": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n" };

export const TARGETS: readonly Case[] = [
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

export const BACKENDS: readonly Case[] = [
  { toml: "targets.corp.backends = 5", key: "targets.corp.backends", says: "it must be a table" },
  { toml: "[targets.corp.backends.a]", key: "targets.corp.backends.a.kind", says: "missing" },
  {
    toml: "targets.corp.backends.a.kind = 'file'",
    key: "targets.corp.backends.a.kind",
    says: '"file" is not allowed; it must be "store", "ldap" or "scim"',
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
  {
    toml: ldap("a", "password_change = true"),
    key: "targets.default.backends.a.password_change",
    says: "needs TLS",
  },
  {
    toml: ldap("a", 'user_filter = "(mail={name})"'),
    key: "targets.default.backends.a.user_filter",
    says: "it must find users by their name, too: (|(uid={account})…)",
  },
  {
    toml: ldap("a", 'user_filter = "(uid={name}*)"'),
    key: "targets.default.backends.a.user_filter",
    says: "uses the typed name only to compare it with whole values",
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

const extensions = (setting: string) => `[targets.corp]\nextensions = ${JSON.stringify(setting)}\n`;
const extensionFault = (
  setting: string,
  says: string,
  files: Readonly<Record<string, string>> = {},
): Case => ({
  toml: extensions(setting),
  key: "targets.corp.extensions",
  says,
  world: { ...VALUE_CHECKS, files },
});

export const EXTENSIONS: readonly Case[] = [
  extensionFault("none.json", 'the file "none.json" does not exist; it must hold schema extensions in JSON'),
  extensionFault("a.json", "must be JSON", { "/srv/a.json": "" }),
  extensionFault("a.json", "must be JSON", { "/srv/a.json": "root:x:0:0" }),
  extensionFault("a.json", "the extensions must be a list", { "/srv/a.json": '{"id":"urn:a:b"}' }),
  extensionFault("a.json", "at most 524288 characters", { "/srv/a.json": `[${" ".repeat(524_287)}]` }),
  extensionFault("[", "must be JSON"),
  extensionFault("{}", "the extensions must be a list"),
  extensionFault("[5]", "each extension must be an object"),
  extensionFault("[".repeat(17) + "]".repeat(17), "at most 16 levels"),
  extensionFault('[{"id":"urn:ietf:params:scim:x","name":"a"}]', "must not begin with urn:ietf:params:scim:"),
  extensionFault(
    '[{"id":"URN:ietf:params","name":"a"}]',
    "must not be the beginning of urn:ietf:params:scim:",
  ),
  extensionFault(
    '[{"id":"urn:example:a","name":"A","attributes":[{"name":"__proto__"}]}]',
    "an attribute of urn:example:a has a name that is not allowed",
  ),
];

export const MAPPINGS: readonly Case[] = [
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

export const CREDENTIALS: readonly Case[] = [
  { toml: credential("hr") + credential("HR"), key: "scim.credential[1].name", says: "names must differ" },
  {
    toml: credential("hr", 'targets = ["default", "nope"]'),
    key: "scim.credential[0].targets",
    says: 'no target "nope"',
  },
  { toml: "[[scim.credential]]", key: "scim.credential[0].password", says: "missing" },
  { toml: "[scim.credential]\nname = 'x'", key: "scim.credential", says: "[[scim.credential]]" },
];

export const FOR_LOGINS: readonly Case[] = [
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
