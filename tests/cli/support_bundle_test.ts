// `deno task support-bundle` with secrets and names in every place that an administrator, a user or another server can put them.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { readStoredSecrets } from "../../console/api/support/support_bundle.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { packBundle, SecretSweep, unpackBundle, withoutCredentials } from "../../platform/support_bundle.ts";
import { createStore } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { runProgram } from "../support/child.ts";
import { makeAuthority } from "../support/certificates.ts";
import { openOperator, openStandIn } from "./operator.ts";
import { callerOf, plantSecrets, SECRETS, secretsIn, VISIBLE } from "./planted_secrets.ts";
import { CREDENTIAL, CREDENTIAL_TOML, writeResource } from "./people_world.ts";

/** What {@link plantSecrets} does not enter, by its place. */
const OTHERS = {
  settingsFile: "secret-of-file-client-8d2k",
  environment: "value-of-variable-3m5q",
  smtp: "smtp-password-0y4z",
  webhook: "T0PLANTED/B0PLANTED/webhook-token-9c7v",
  receiverQuery: "query-token-of-receiver-5f2h",
  hec: "authorization-of-splunk-1r6j",
  header: "bearer-in-a-log-line-4k8s",
  userInfo: "password-in-a-url-7t3w",
  upstream: "token-in-an-answer-2x9e",
  webToken: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.c2lnbmF0dXJl",
} as const;
/** Personal data, by its place. */
const PERSONAL = {
  user: "ada.lovelace",
  mail: "ada.lovelace@people.example.org",
  phone: "+49 151 2345678",
  unknown: "somebody.unknown",
} as const;

const found = (text: string) => [
  ...secretsIn(text),
  ...Object.entries(OTHERS).flatMap(([place, secret]) => text.includes(secret) ? [place] : []),
];
const personal = (text: string) =>
  Object.entries(PERSONAL).flatMap(([place, name]) => text.includes(name) ? [place] : []);

/** Lines of the log with what other programs answer, and what users type. */
function writeLog({ log }: Awaited<ReturnType<typeof openStandIn>>): void {
  const { ldap, client, authToken } = SECRETS;
  log.warn("ldap backend unreachable", {
    backend: "ldap",
    detail: `bind failed, password ${ldap} was refused`,
  });
  log.error("an HTTP request failed", {
    error: `Authorization: Bearer ${OTHERS.header}`,
    stack: `at ${btoa(`u:${authToken}`)}`,
  });
  log.warn("a call failed", {
    url: `https://u:${OTHERS.userInfo}@push.example.org/?token=${OTHERS.upstream}`,
  });
  log.warn("answer of the server", {
    detail: `{"error":"bad token=${OTHERS.upstream}","jwt":"${OTHERS.webToken}"}`,
  });
  log.warn("hexadecimal", {
    detail: new TextEncoder().encode(client).toHex(),
    url: encodeURIComponent(OTHERS.smtp),
  });
  log.warn("sign-in refused", {
    user: PERSONAL.unknown,
    outer: `${PERSONAL.unknown}2`,
    detail: `uid=${PERSONAL.user},ou=people wrote to ${PERSONAL.mail}, ${PERSONAL.phone}`,
  });
  log.info("not kept", {});
}

Deno.test("a support bundle has no secret and no name, from a running server", async () => {
  const folder = await Deno.makeTempDir();
  Deno.env.set("COUNTERSIGN_TEST_SECRET", OTHERS.environment);
  try {
    const { certFile, keyFile } = await (await makeAuthority(folder)).issue(["DNS:localhost"]);
    const toml = `${CREDENTIAL_TOML}
[http]
tls_cert = ${JSON.stringify(certFile)}
tls_key = ${JSON.stringify(keyFile)}
public_url = "https://localhost"
[mail]
host = "mail.example.org"
user = "gate"
password = ${JSON.stringify(OTHERS.smtp)}
from = "Gate <gate@example.org>"
[[radius.client]]
name = "vpn-${OTHERS.environment}"
address = ["192.0.2.77"]
secret = ${JSON.stringify(OTHERS.settingsFile)}
`;
    await using operator = await openOperator({ toml });
    const files = Object.fromEntries([certFile, keyFile].map((path) => [path, Deno.readTextFileSync(path)]));
    const file = `${operator.home}/bundle.tar.gz`;
    const key = (await Deno.readTextFile(keyFile)).split("\n")[1] ?? "";
    {
      await using server = await openStandIn(operator, { toml, files });
      await plantSecrets(server);
      const send = callerOf(server);
      await writeResource(server, "POST", {
        path: "Users",
        body: {
          schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
          userName: PERSONAL.user,
          emails: [{ value: PERSONAL.mail }],
          phoneNumbers: [{ value: PERSONAL.phone.replaceAll(" ", "") }],
        },
      });
      await send("POST", "/alerts/receivers", {
        name: "chat",
        kind: "webhook",
        url: `https://hooks.example.org/${OTHERS.webhook}`,
      });
      await send("POST", "/log-export", {
        name: "siem",
        kind: "webhook",
        url: `https://log.example.org/in?key=${OTHERS.receiverQuery}`,
        authorization: `Splunk ${OTHERS.hec}`,
      });
      writeLog(server);
      const done = await operator.run("support_bundle", file);
      assertEquals([done.code, done.stderr], [0, ""]);
      assertStringIncludes(done.stdout, "log.json");
      assertStringIncludes(done.stdout, file);
      const named = `${operator.home}/named.tar.gz`;
      assertEquals((await operator.run("support_bundle", named, "--with-names")).code, 0);
      const text = Object.values(await unpackBundle(await Deno.readFile(named))).join("");
      assertEquals([found(text), personal(text)], [[], Object.keys(PERSONAL)]);
    }
    assertEquals(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);
    const listed = await runProgram("tar", { args: ["-xzOf", file], timeoutMs: 20_000 });
    assertEquals(listed.code, 0, listed.stderr);
    const text = listed.stdout;
    assertEquals([found(text), personal(text)], [[], []]);
    assertEquals([CREDENTIAL.password, key].filter((secret) => text.includes(secret)), []);
    const master = (await Deno.readTextFile(`${operator.dataDir}/master.key`)).trim();
    assert(!text.includes(master));
    const packed = await unpackBundle(await Deno.readFile(file));
    for (const [name, content] of Object.entries(EXPECTED)) {
      assertStringIncludes(packed[name] ?? "", content, name);
    }
    assert(!(packed["log.json"] ?? "").includes("not kept"));
  } finally {
    Deno.env.delete("COUNTERSIGN_TEST_SECRET");
    await Deno.remove(folder, { recursive: true });
  }
});

/** A part of each file. */
const EXPECTED = {
  "readme.txt": "support bundle",
  "check-config.txt": "countersign.toml is valid.",
  "host.txt": "Deno 2",
  "data-dir.txt": "master.key",
  "metrics.txt": "countersign_logins_total",
  "versions.json": '"runtime"',
  "settings.json": VISIBLE,
  "clients.json": '"name": "vpn-1"',
  "connections.json": "hooks.example.org",
  "status.json": '"kind": "store"',
  "nodes.json": "[",
  "store.json": '"isComplete": true',
  "log.json": "ldap backend unreachable",
};

Deno.test("a support bundle works without a server, with settings that cannot be used, and does not replace a file", async () => {
  await using operator = await openOperator({ toml: '[radius]\nsecret = "a-shared-secret-6h2"\n' });
  const [first, second] = [`${operator.home}/a.tar.gz`, `${operator.home}/b.tar.gz`];
  assertEquals((await operator.run("support_bundle", first)).code, 0);
  const again = await operator.run("support_bundle", first);
  assertEquals(again.code, 1);
  assertStringIncludes(again.stderr, "it exists already");
  const files = await unpackBundle(await Deno.readFile(first));
  assertStringIncludes(files["settings.json"] ?? "", "[secret]");
  assert(!Object.values(files).join("").includes("a-shared-secret-6h2"));

  await Deno.writeTextFile(`${operator.home}/countersign.toml`, "[radius]\nsecrett = 1\n");
  assertEquals((await operator.run("support_bundle", second)).code, 0);
  const { "server.txt": why = "", "check-config.txt": check = "" } = await unpackBundle(
    await Deno.readFile(second),
  );
  assertStringIncludes(why, "The settings cannot be used.");
  assertStringIncludes(check, "secrett");
});

Deno.test("packBundle() refuses what the replacement missed", async () => {
  const sweep = new SecretSweep();
  sweep.add("planted-secret");
  const failing = Object.assign(Object.create(sweep), {
    replaceIn: (text: string) => text,
    isIn: (text: string) => sweep.isIn(text),
  });
  await packBundle({ "a.txt": "planted-secre" }, { sweep: failing, createdMs: 0 });
  let refused = "";
  await packBundle({ "a.txt": "planted-secret" }, { sweep: failing, createdMs: 0 }).catch((fault: Error) =>
    refused = fault.name
  );
  assertEquals(refused, "SecretLeft");
});

const SEARCHED: readonly (readonly [title: string, secret: string, text: string])[] = [
  ["as it is", "a b/c?d=é", "x a b/c?d=é y"],
  ["in JSON", 'quote"back\\slash', JSON.stringify({ a: 'quote"back\\slash' })],
  [
    "in JSON in JSON",
    'quote"back\\slash',
    JSON.stringify({ detail: JSON.stringify({ a: 'quote"back\\slash' }) }),
  ],
  ["the fragment of a link alone", "https://gate.example.org/setup#setup-token-1", "no link setup-token-1"],
  ["the user of a URL alone", "https://planted-user@chat.example.org/x", "no key planted-user"],
  ["URL-encoded", "a b/c?d=é", `x=${encodeURIComponent("a b/c?d=é")}`],
  ["in base64", "planted", btoa("planted")],
  ["in base64 behind a user", "planted-secret", btoa("user:planted-secret")],
  ["in hexadecimal", "planted", "706C616E746564"],
  [
    "the token of a webhook alone",
    "https://chat.example.org/services/T0/a-long-token",
    "404 for /a-long-token",
  ],
  ["the query of a webhook alone", "https://chat.example.org/in?key=abc123", "no key abc123"],
  [
    "a line of a private key",
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\nbbbbbbbbbbbbbbbb\n-----END",
    "at bbbbbbbbbbbbbbbb",
  ],
];

for (const [title, secret, text] of SEARCHED) {
  Deno.test(`SecretSweep finds a secret ${title}`, () => {
    const sweep = new SecretSweep();
    sweep.add(secret);
    assert(sweep.isIn(text));
    const replaced = sweep.replaceIn(text);
    assert(!sweep.isIn(replaced) && replaced.includes("[secret]"), replaced);
  });
}

const CREDENTIALS: readonly (readonly [text: string, expected: string])[] = [
  ["Authorization: Bearer abc.def", "Authorization: [secret] [secret]"],
  ["https://u:p@h.example/x?token=1#a", "https://[secret]@h.example/x?[secret]#[secret]"],
  ["ldap://h.example:389/dc=x", "ldap://h.example:389/dc=x"],
  ['{"password":"a\\"b","user":"ada"}', '{"password":[secret],"user":"ada"}'],
  ['{"password":"a b","user":"ada"}', '{"password":[secret],"user":"ada"}'],
  ["client_secret=xyz&grant=1", "client_secret=[secret]&grant=1"],
  ["api_key: 12", "api_key: [secret]"],
  ["the password is over", "the password is over"],
  ["-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----.", "[secret]."],
];

for (const [text, expected] of CREDENTIALS) {
  Deno.test(`withoutCredentials() of ${JSON.stringify(text)}`, () =>
    assertEquals(withoutCredentials(text), expected));
}

Deno.test("readStoredSecrets() reads every sealed value before the long tables", async () => {
  using kv = await Deno.openKv(":memory:");
  const random = createSystemRandom();
  const vault = createVault(random.bytes(32), random);
  const atLast = ["telephony", "token"];
  await kv.set(atLast, vault.seal(atLast, new TextEncoder().encode("planted-at-the-end")));
  for (let at = 0; at < 20; at++) await kv.set(["audit", at], {});
  let nowMs = 0;
  // Ten seconds for an entry.
  const clock = { ...systemClock, nowMs: () => nowMs += 10_000 };
  const { store, sweep } = await readStoredSecrets({ store: createStore(kv), vault, clock }, {
    secretsIn: () => [],
  });
  assert(sweep.isIn("planted-at-the-end"));
  assertEquals([store.isComplete, store.entries.telephony], [false, 1]);
  for (let at = 0; at < 20; at++) await kv.set(["sealed", at], {});
  const late = readStoredSecrets({ store: createStore(kv), vault, clock }, { secretsIn: () => [] });
  await assertRejects(() => late, Error, "could not be read in time");
});
