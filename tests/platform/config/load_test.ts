// Reading the settings file: all faults at once, what is unknown, what comes later, borrowed texts, and what must hold
// between settings.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { configFrom, configOf, faultsFrom, faultsOf, warnedKeys, type World } from "./samples.ts";

const CLIENT = '[[radius.client]]\nname = "vpn"\naddress = ["192.0.2.1"]\nsecret = "0123456789abcdef"\n';
const UPSTREAM = '{ address = "192.0.2.20:1812", secret = "0123456789abcdef" }';
const PEM_FILES = {
  "/srv/cert.pem": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
  "/srv/key.pem": "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n",
  "/srv/locked.pem": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n",
};

interface Case {
  readonly toml: string;
  readonly key: string;
  /** A part of the sentence. */
  readonly says: string;
  readonly world?: World;
}

const UNKNOWN: readonly Case[] = [
  { toml: "servr.log_level = 'info'", key: "servr", says: "no such setting" },
  { toml: "server.log_levl = 'info'", key: "server.log_levl", says: "did you mean server.log_level?" },
  { toml: "listen = '127.0.0.1:80'", key: "listen", says: "did you mean http.listen?" },
  {
    toml: `${CLIENT}adress = []`,
    key: "radius.client[0].adress",
    says: "did you mean radius.client[0].address?",
  },
  { toml: "[server.data_dir]\nx = 1", key: "server.data_dir", says: "a table is not allowed" },
  { toml: "server = 5", key: "server", says: "it must be a table: [server]" },
  { toml: "[radius.client]\nname = 'x'", key: "radius.client", says: "[[radius.client]]" },
  { toml: "radius.client = ['x']", key: "radius.client", says: "[[radius.client]]" },
  { toml: "radius.reply.default = 5", key: "radius.reply.default", says: "it must be a table" },
  { toml: "__proto__.x = 1", key: "__proto__", says: "no such setting" },
  { toml: "constructor = 1", key: "constructor", says: "no such setting" },
  { toml: '"a b" = 1', key: '"a b"', says: "no such setting" },
  { toml: "[empty]", key: "empty", says: "no such setting" },
  { toml: "store.kv.url = 'x'", key: "store.kv", says: "cannot be set yet" },
  { toml: "server.log_level = 1979-05-27", key: "server.log_level", says: "a date is not allowed" },
];

const LATER: readonly Case[] = [
  { toml: "store.kv = 'https://kv.example.com'", key: "store.kv", says: "one file" },
];

const BORROWED: readonly Case[] = [
  { toml: "radius.secret = 'env:NOPE'", key: "radius.secret", says: "NOPE is not set" },
  { toml: "radius.secret = 'env:'", key: "radius.secret", says: "must be followed by" },
  { toml: "radius.secret = 'env:A B'", key: "radius.secret", says: "must be followed by" },
  { toml: "radius.secret = 'file:'", key: "radius.secret", says: "must be followed by" },
  { toml: "radius.secret = 'file:nope'", key: "radius.secret", says: "does not exist" },
  {
    toml: "radius.secret = 'file:big'",
    key: "radius.secret",
    says: "characters",
    world: { files: { "/srv/big": "x".repeat(70_000) } },
  },
  { toml: "factors.country_codes = ['env:NOPE']", key: "factors.country_codes", says: "NOPE is not set" },
  {
    toml: "radius.reply.default.Class = 'env:NOPE'",
    key: 'radius.reply.default."Class"',
    says: "NOPE is not set",
  },
  {
    toml: `${CLIENT.replace('"0123456789abcdef"', '"env:E"')}`,
    key: "radius.client[0].secret",
    says: "empty",
    world: { env: { E: "" } },
  },
];

const BETWEEN: readonly Case[] = [
  {
    toml: 'radius.listen = ["[::]:1812", "0.0.0.0:1812"]',
    key: "radius.listen",
    says: "every address on one port",
  },
  {
    toml: 'radius.listen = ["127.0.0.1:1812", "[::]:1812"]',
    key: "radius.listen",
    says: "already contains 127.0.0.1:1812",
  },
  {
    toml: 'radius.listen = ["0.0.0.0:1812", "192.0.2.1:1812"]',
    key: "radius.listen",
    says: "already contains 192.0.2.1:1812",
  },
  { toml: 'radius.listen = ["127.0.0.1:1812", "127.0.0.1:1812"]', key: "radius.listen", says: "there twice" },
  {
    toml: 'radius.listen = "127.0.0.1:1812"\nradius.accounting_listen = "127.0.0.1:1812"',
    key: "radius.accounting_listen",
    says: "there twice",
  },
  {
    toml: CLIENT + CLIENT.replace("192.0.2.1", "192.0.2.2").replace("vpn", "VPN"),
    key: "radius.client[1].name",
    says: "names must differ",
  },
  {
    toml: CLIENT + CLIENT.replace("vpn", "wifi").replace("192.0.2.1", "192.0.2.1/32"),
    key: "radius.client[1].address",
    says: "nas_identifier",
  },
  {
    toml: CLIENT.replace('"192.0.2.1"', '"10.1.2.3/8", "10.0.0.0/8"'),
    key: "radius.client[0].address",
    says: "there twice",
  },
  { toml: "[[radius.client]]", key: "radius.client[0].secret", says: "missing" },
  { toml: "radius.first_factor = 'radius'", key: "radius.first_factor_server.address", says: "needs" },
  {
    toml: `${CLIENT}first_factor = 'radius'`,
    key: "radius.client[0].first_factor_server.address",
    says: "needs",
  },
  {
    toml: `${CLIENT}first_factor = 'radius'\nfirst_factor_server = { address = '192.0.2.20:1812' }`,
    key: "radius.client[0].first_factor_server.secret",
    says: "needs",
  },
  {
    toml: "second_factor.url = 'https://a'\nsecond_factor.consumer_key = 'k'",
    key: "second_factor.consumer_secret",
    says: "second_factor.url is",
  },
  {
    toml: "second_factor.url = 'https://a'\nsecond_factor.consumer_secret = 's'",
    key: "second_factor.consumer_key",
    says: "second_factor.url is",
  },
  ...["account_id", "auth_token", "from"].map((name) => ({
    toml: "telephony.url = 'https://a'",
    key: `telephony.${name}`,
    says: "telephony.url is",
  })),
  {
    toml: "telephony.connections_total = 1",
    key: "telephony.connections_per_route",
    says: "telephony.connections_total",
  },
  {
    toml: "http.tls_cert = 'cert.pem'",
    key: "http.tls_key",
    says: "needs both",
    world: { files: PEM_FILES },
  },
  { toml: "http.tls_key = 'key.pem'", key: "http.tls_cert", says: "needs both", world: { files: PEM_FILES } },
  {
    toml: "http.tls_cert = 'none.pem'\nhttp.tls_key = 'key.pem'",
    key: "http.tls_cert",
    says: "does not exist",
    world: { files: PEM_FILES },
  },
  {
    toml: "http.tls_cert = 'cert.pem'\nhttp.tls_key = 'cert.pem'",
    key: "http.tls_key",
    says: "private key",
    world: { files: PEM_FILES },
  },
  {
    toml: "http.tls_cert = 'cert.pem'\nhttp.tls_key = 'locked.pem'",
    key: "http.tls_key",
    says: "unencrypted",
    world: { files: PEM_FILES },
  },
  { toml: `server.data_dir = '/${"d".repeat(100)}'`, key: "server.data_dir", says: "control.sock" },
  {
    toml:
      "[[console.admin]]\nname = 'ann'\npassword = 'twelve chars'\n[[console.admin]]\nname = 'ANN'\npassword = 'twelve chars'",
    key: "console.admin[1].name",
    says: "names must differ",
  },
  {
    toml: 'radius.reply.default.Nope = "x"',
    key: 'radius.reply.default."Nope"',
    says: "no attribute",
    world: { checkReplyAttribute: () => "no attribute" },
  },
  {
    toml: "radius.reply.default.Class = true",
    key: 'radius.reply.default."Class"',
    says: "a text or a whole number",
  },
  {
    toml: `radius.reply.default.Class = '${"x".repeat(254)}'`,
    key: 'radius.reply.default."Class"',
    says: "254 octets",
  },
  {
    toml: "radius.reply.default.Session-Timeout = -1",
    key: 'radius.reply.default."Session-Timeout"',
    says: "-1",
  },
  { toml: "a = 1\na = 2", key: "/srv/countersign.toml", says: "line 2, column 1" },
  { toml: "a = [", key: "/srv/countersign.toml", says: "line 1" },
];

for (
  const [name, cases] of Object.entries({
    "names what is unknown or misplaced": UNKNOWN,
    "refuses what is not built yet": LATER,
    "names a text that cannot be borrowed": BORROWED,
    "refuses what cannot be together": BETWEEN,
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

Deno.test("loadConfig() says of everything that comes later that it cannot be set yet", () => {
  for (const { toml, key } of LATER) {
    const problem = faultsOf(toml).find((fault) => fault.key === key)?.problem ?? "";
    assertStringIncludes(problem, `\`${key}\` cannot be set yet: `);
  }
});

Deno.test("loadConfig() lists all faults at once", () => {
  const toml = `server.log_format = "xml"\nhttp.listen = 5\nnope = 1\nstore.kv = "x"\n` +
    `factors.passcode.sms_digits = 3\n[[radius.client]]\nname = "a"\nsecret = "env:NOPE"\n` +
    `[[console.admin]]\nname = "b"\npassword = "short"\n`;
  assertEquals(faultsOf(toml).map(({ key }) => key).sort(), [
    "console.admin[0].password",
    "factors.passcode.sms_digits",
    "http.listen",
    "nope",
    "radius.client[0].address",
    "radius.client[0].secret",
    "server.log_format",
    "store.kv",
  ]);
});

Deno.test("loadConfig() takes every preset of the contract, written out, as it takes no file", () => {
  const empty = configOf("");
  const written = configOf(
    'store.kv = ""\nradius.directory = "default"\n[radius.reply.group]\n[targets.default]\npage_size = 100\n' +
      '[targets.default.mapping.user]\n[targets.default.mapping.group]\n[targets.default.backends.local]\nkind = "store"\n',
  );
  assertEquals(written, empty);
});

Deno.test("loadConfig() needs no file, and says so when a named one is missing", () => {
  const absent = (env: Record<string, string>) => ({
    env: (name: string) => env[name],
    readTextFile: (path: string) => {
      throw new Deno.errors.NotFound(path);
    },
    cwd: "/srv",
  });
  const without = configFrom(absent({}));
  assertEquals(without.file, null);
  assertEquals(without.server.dataDir, "/srv/data");
  assertEquals(faultsFrom(absent({ COUNTERSIGN_CONFIG: "conf/c.toml" })), [
    { key: "COUNTERSIGN_CONFIG", problem: 'the settings file "/srv/conf/c.toml" does not exist' },
  ]);
});

Deno.test("loadConfig() refuses a file that is there and cannot be read", () => {
  const faults = faultsFrom({
    env: () => undefined,
    readTextFile: () => {
      throw new Deno.errors.PermissionDenied("secret detail");
    },
    cwd: "/srv",
  });
  assertEquals(faults.map(({ key }) => key), ["countersign.toml"]);
  assertStringIncludes(faults[0]?.problem ?? "", "may not be read");
});

Deno.test("loadConfig() gives names with units, canonical addresses and borrowed texts", () => {
  const { radius, http, telephony } = configOf(
    `[radius]\nconversation_ttl_s = 60\n[[radius.client]]\nname = "vpn"\n` +
      `address = ["10.1.2.3/16", "::ffff:192.0.2.7", "2001:DB8::1/128"]\nsecret = "env:VPN_SECRET"\n` +
      `first_factor = "radius"\nfirst_factor_server = ${UPSTREAM}\nhold_s = 40\n` +
      `[radius.reply.default]\nSession-Timeout = 28800\n"26.9.1" = "file:avpair"\n` +
      `[telephony]\nurl = "https://api.example.com/base/"\naccount_id = "a"\nauth_token = "t"\nfrom = "+1"\n` +
      `[http]\nlisten = "[::1]:0"\ntls_cert = "cert.pem"\ntls_key = "key.pem"\npublic_url = "https://h.example.com:8443/"\n`,
    { env: { VPN_SECRET: "env:not-again" }, files: { ...PEM_FILES, "/srv/avpair": "shell:priv-lvl=15\n" } },
  );
  const [client] = radius.clients;
  assertEquals(radius.conversationTtlMs, 60_000);
  assertEquals(client?.address, ["10.1.0.0/16", "192.0.2.7", "2001:db8::1"]);
  assertEquals(client?.secret, "env:not-again");
  assertEquals(client?.holdMs, 40_000);
  assertEquals(client?.firstFactorServer?.address, { hostname: "192.0.2.20", port: 1812 });
  assertEquals(client?.firstFactorServer?.timeoutMs, 3000);
  assertEquals({ ...radius.replyDefault }, { "Session-Timeout": 28800, "26.9.1": "shell:priv-lvl=15" });
  assertEquals(http.listen.hostname, "::1");
  assertEquals(http.publicUrl, "https://h.example.com:8443");
  assertEquals(http.tls?.keyPem, PEM_FILES["/srv/key.pem"]);
  assertEquals(telephony.url, "https://api.example.com/base");
});

Deno.test("loadConfig() makes links that carry the address and port listened on, while http.public_url is not set", () => {
  const cases: readonly (readonly [listen: string, publicUrl: string])[] = [
    ["127.0.0.1:9090", "http://127.0.0.1:9090"],
    ["0.0.0.0:9090", "http://127.0.0.1:9090"],
    ["[::]:9090", "http://127.0.0.1:9090"],
    ["[::1]:9090", "http://[::1]:9090"],
    ["192.0.2.7:80", "http://192.0.2.7"],
    ["gate.example.org:9090", "http://gate.example.org:9090"],
    ["127.0.0.1:0", "http://127.0.0.1:8080"],
  ];
  for (const [listen, publicUrl] of cases) {
    assertEquals(configOf(`http.listen = "${listen}"`).http.publicUrl, publicUrl, listen);
  }
  const tls = `[http]\nlisten = "[::]:8443"\ntls_cert = "cert.pem"\ntls_key = "key.pem"\n`;
  assertEquals(configOf(tls, { files: PEM_FILES }).http.publicUrl, "https://127.0.0.1:8443");
  const given = `[http]\nlisten = "0.0.0.0:9090"\npublic_url = "http://127.0.0.1:8080"\n`;
  assertEquals(configOf(given).http.publicUrl, "http://127.0.0.1:8080");
});

Deno.test("loadConfig() lets clients share an address when nas_identifier or nas_ip_address differs", () => {
  const other = (name: string, key: string) => CLIENT.replace("vpn", name) + key;
  assertEquals(
    faultsOf(CLIENT + other("b", 'nas_identifier = "b"\n') + other("c", 'nas_ip_address = "192.0.2.9"\n')),
    [],
  );
});

Deno.test("loadConfig() shows no secret in a fault, borrowed or not", () => {
  const secret = "planted-secret";
  const toml =
    `radius.secret = ["${secret}"]\nserver.log_level = "env:S"\nfactors.country_codes = ["env:S"]\n` +
    `[radius.reply.default]\nClass = "env:S"\n[[console.admin]]\nname = "a"\npassword = "plant"\n`;
  const faults = faultsOf(toml, { env: { S: secret }, checkReplyAttribute: (_, value) => `bad ${value}` });
  assertEquals(faults.length, 5);
  assert(!JSON.stringify(faults).includes("plant"), JSON.stringify(faults));
  for (const broken of [`a = "${secret}`, `a = "${secret}" x`, `${secret}`]) {
    assert(!JSON.stringify(faultsOf(broken)).includes(secret), broken);
  }
});

const WARNED: readonly { toml: string; key: string; world?: World }[] = [
  { toml: "radius.secret = 'short'", key: "radius.secret" },
  { toml: CLIENT.replace("0123456789abcdef", "0123456789abcde"), key: "radius.client[0].secret" },
  { toml: "radius.message_authenticator = 'off'", key: "radius.message_authenticator" },
  { toml: `${CLIENT}message_authenticator = 'off'`, key: "radius.client[0].message_authenticator" },
  { toml: `${CLIENT}first_factor='directory'\nunknown_users='allow'`, key: "radius.client[0].unknown_users" },
  { toml: `${CLIENT}append_separator = ':'`, key: "radius.client[0].append_separator" },
  {
    toml:
      `${CLIENT}first_factor = 'radius'\nfirst_factor_server = { address = '192.0.2.20:1812', secret = 's', message_authenticator = 'auto' }`,
    key: "radius.client[0].first_factor_server.message_authenticator",
  },
  { toml: `${CLIENT}first_factor_server = ${UPSTREAM}`, key: "radius.client[0].first_factor_server" },
  {
    toml:
      `radius.first_factor = 'radius'\nradius.first_factor_server = { address = '192.0.2.20:1812', secret = 'short' }`,
    key: "radius.first_factor_server.secret",
  },
  { toml: `radius.secret = '0123456789abcdef'\n${CLIENT}`, key: "radius.secret" },
  { toml: `radius.append_mode = true\n${CLIENT}`, key: "radius.append_mode" },
  { toml: "factors.phone_numbers = 'any'", key: "factors.phone_numbers" },
  { toml: "factors.phone_numbers = 'any'", key: "factors.country_codes" },
  { toml: "factors.enrol_at_login = 'always'", key: "factors.enrol_at_login" },
  { toml: "factors.enabled = []", key: "factors.enabled" },
  { toml: "factors.lockout.failures = 101", key: "factors.lockout.hard_limit" },
  { toml: "", key: "telephony.url" },
  { toml: "second_factor.consumer_key = 'k'", key: "second_factor.consumer_key" },
  {
    toml:
      "second_factor.url = 'http://192.0.2.1'\nsecond_factor.consumer_key = 'k'\nsecond_factor.consumer_secret = 's'",
    key: "second_factor.url",
  },
  { toml: `${CLIENT}first_factor_backend = 'x'`, key: "radius.client[0].first_factor_backend" },
  { toml: "http.listen = '0.0.0.0:9090'", key: "http.public_url" },
  { toml: "http.public_url = 'http://gate.example.org:8080'", key: "http.public_url" },
  {
    toml: "http = { tls_cert = 'cert.pem', tls_key = 'key.pem', public_url = 'http://127.0.0.1:8080' }",
    key: "http.public_url",
    world: { files: PEM_FILES },
  },
];

Deno.test("loadConfig() warns of what is allowed and should be known", () => {
  for (const { toml, key, world } of WARNED) {
    const keys = warnedKeys(toml, world);
    assert(keys.includes(key), `${toml}: ${JSON.stringify(keys)}`);
  }
});

Deno.test("loadConfig() warns of nothing when everything is as it should be", () => {
  assertEquals(
    warnedKeys(
      `${CLIENT}message_authenticator = "require"\n[telephony]\nurl = "https://api.example.com"\n` +
        `account_id = "a"\nauth_token = "t"\nfrom = "+15005550006"\n`,
    ),
    [],
  );
});
