// Loading of the settings file: all faults at once, unknown keys, secret references, and rules
// between settings.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { configFrom, configOf, faultsFrom, faultsOf, warnedKeys, type World } from "./samples.ts";
import { BETWEEN, BORROWED, CLIENT, PEM_FILES, STORE, UNKNOWN, UPSTREAM } from "./load_cases.ts";

for (
  const [name, cases] of Object.entries({
    "names what is unknown or misplaced": UNKNOWN,
    "refuses a KV Connect endpoint without its access token": STORE,
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

Deno.test("loadConfig() gives the same result for every default written out as for no file", () => {
  const empty = configOf("");
  const written = configOf(
    'store.kv = ""\nradius.directory = "default"\n[radius.reply.group]\n[targets.default]\npage_size = 100\n' +
      '[targets.default.mapping.user]\n[targets.default.mapping.group]\n[targets.default.backends.local]\nkind = "store"\n',
  );
  assertEquals(written, empty);
});

Deno.test("loadConfig() needs no file, and reports when a named one is missing", () => {
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

Deno.test("loadConfig() refuses a file that exists and cannot be read", () => {
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

Deno.test("loadConfig() returns names with units, canonical addresses and referenced texts", () => {
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
  assertEquals(client?.firstFactorServer?.address, [{ hostname: "192.0.2.20", port: 1812 }]);
  assertEquals(client?.firstFactorServer?.timeoutMs, 3000);
  assertEquals({ ...radius.replyDefault }, { "Session-Timeout": 28800, "26.9.1": "shell:priv-lvl=15" });
  assertEquals(http.listen.hostname, "::1");
  assertEquals(http.publicUrl, "https://h.example.com:8443");
  assertEquals(http.tls?.keyPem, PEM_FILES["/srv/key.pem"]);
  assertEquals(telephony.url, "https://api.example.com/base");
});

Deno.test("loadConfig() makes links with the bound address and port while http.public_url is not set", () => {
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

Deno.test("loadConfig() shows no secret in a fault, referenced or not", () => {
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
  {
    toml:
      `${CLIENT}first_factor = 'radius'\nfirst_factor_server = { address = '192.0.2.20:1812', secret = '0123456789abcdef' }\neap_outer_identity = 'trust'`,
    key: "radius.client[0].eap_outer_identity",
  },
  { toml: `${CLIENT}append_separator = ':'`, key: "radius.client[0].append_separator" },
  {
    toml:
      `${CLIENT}first_factor = 'radius'\nfirst_factor_server = { address = '192.0.2.20:1812', secret = 's', message_authenticator = 'auto' }`,
    key: "radius.client[0].first_factor_server.message_authenticator",
  },
  {
    toml: `${CLIENT}mode = 'shadow'\nfirst_factor = 'radius'\nfirst_factor_server = ${UPSTREAM}`,
    key: "radius.client[0].mode",
  },
  { toml: `${CLIENT}first_factor_server = ${UPSTREAM}`, key: "radius.client[0].first_factor_server" },
  ...[
    ["address", "address = '127.0.0.1:1812'"],
    ["address", "address = ['192.0.2.20:1812', '[::1]:1812']"],
    ["timeout_ms", "address = ['192.0.2.20:1812', '192.0.2.21:1812'], timeout_ms = 999"],
  ].map(([key, server]) => ({
    toml:
      `${CLIENT}first_factor = 'radius'\nfirst_factor_server = { ${server}, secret = '0123456789abcdef' }`,
    key: `radius.client[0].first_factor_server.${key}`,
  })),
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
  {
    toml: "store.kv = 'http://kv.example.com:4512'",
    key: "store.kv",
    world: { env: { DENO_KV_ACCESS_TOKEN: "t" } },
  },
  { toml: `${CLIENT}eap = 'gtc'`, key: "radius.client[0].eap" },
  { toml: `${CLIENT}eap = 'relay'`, key: "radius.client[0].eap" },
  { toml: `${CLIENT}first_factor_backend = 'x'`, key: "radius.client[0].first_factor_backend" },
  { toml: "http.listen = '0.0.0.0:9090'", key: "http.public_url" },
  { toml: "http.public_url = 'http://gate.example.org:8080'", key: "http.public_url" },
  {
    toml: "http = { tls_cert = 'cert.pem', tls_key = 'key.pem', public_url = 'http://127.0.0.1:8080' }",
    key: "http.public_url",
    world: { files: PEM_FILES },
  },
];

Deno.test("loadConfig() warns of risky but allowed settings", () => {
  for (const { toml, key, world } of WARNED) {
    const keys = warnedKeys(toml, world);
    assert(keys.includes(key), `${toml}: ${JSON.stringify(keys)}`);
  }
});

Deno.test("loadConfig() warns of nothing without risky settings", () => {
  assertEquals(
    warnedKeys(
      `${CLIENT}message_authenticator = "require"\n[telephony]\nurl = "https://api.example.com"\n` +
        `account_id = "a"\nauth_token = "t"\nfrom = "+15005550006"\n[store]\nkv = "http://127.0.0.1:4512"\n`,
      { env: { DENO_KV_ACCESS_TOKEN: "t" } },
    ),
    [],
  );
});
