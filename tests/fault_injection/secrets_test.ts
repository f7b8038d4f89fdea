// Planted secrets appear in no log, answer or file, and credentials cannot be guessed.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { totpAt } from "../../radius/factors/totp.ts";
import { MAX_FAILURES_PER_SOURCE } from "../../platform/limit_table.ts";
import { CODES, type Reply } from "../support/radius_packets.ts";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { runProgram } from "../support/child.ts";
import { freeTcpPort } from "../support/free_port.ts";
import { PROGRAM_FLAGS, type RunningProgram, startProgram } from "../support/program.ts";
import { basic, type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, READER, STRANGER, WRITER } from "../scim/rows/rows_world.ts";
import { sendRaw } from "./identity_world.ts";

// Searches logs, answers and files for planted secrets.

/** The encodings in which a secret could appear. */
const ENCODINGS: Readonly<Record<string, (octets: Uint8Array) => Uint8Array>> = {
  "as it is": (octets) => octets,
  "in UTF-16": (octets) => Uint8Array.from([...octets].flatMap((octet) => [octet, 0])),
  "in hexadecimal": (octets) => new TextEncoder().encode(octets.toHex()),
  "in base64": (octets) => new TextEncoder().encode(octets.toBase64().replace(/=+$/, "").slice(0, -1)),
  "in base64url": (octets) =>
    new TextEncoder().encode(octets.toBase64({ alphabet: "base64url", omitPadding: true }).slice(0, -1)),
};

/** Whether `text` is in the octets. */
export function holdsText(octets: Uint8Array, text: string): boolean {
  return holds(octets, new TextEncoder().encode(text));
}

/** Every secret that was found, with its encoding and its place. */
export function findSecrets(
  secrets: Readonly<Record<string, Uint8Array>>,
  written: readonly (readonly [place: string, octets: Uint8Array])[],
): { secret: string; encoding: string; place: string }[] {
  return Object.entries(secrets).flatMap(([secret, octets]) =>
    Object.entries(ENCODINGS).flatMap(([encoding, encode]) =>
      written.filter(([, content]) => holds(content, encode(octets)))
        .map(([place]) => ({ secret, encoding, place }))
    )
  );
}

function holds(hay: Uint8Array, needle: Uint8Array): boolean {
  for (let at = hay.indexOf(needle[0] ?? 0); at >= 0; at = hay.indexOf(needle[0] ?? 0, at + 1)) {
    let same = 1;
    while (same < needle.length && hay[at + same] === needle[same]) same++;
    if (same === needle.length) return true;
  }
  return false;
}

// Plants every kind of secret in the real program, and logs in with every factor. No secret may appear in its log, its
// pages, or in clear text in its data directory.

const PLANTED = {
  "shared secret": "planted-shared-secret-7261",
  "consumer secret": "planted-consumer-secret-9917",
  "telephony token": "planted-telephony-token-5540",
  "console password": "planted-console-password-3382",
  "user's password": "planted-user-password-1108",
  "wrong passcode": "planted-wrong-passcode-6027",
} as const;
const SEED = new TextEncoder().encode("planted-totp-seed-20");

interface Played {
  readonly seen: Readonly<Record<string, Uint8Array>>;
  /** The output of the program, by place. */
  readonly written: Readonly<Record<string, Uint8Array>>;
}

/** Logs in with every factor, rightly and wrongly; returns the secrets that were created. */
async function logIn(
  { gateway, secondFactor, telephony }: ProgramWithServices,
): Promise<Record<string, Uint8Array>> {
  using client = gateway.client();
  const utf8 = new TextEncoder();
  const seen: Record<string, Uint8Array> = {};
  const start = (userName: string) => client.ask({ userName, password: PLANTED["user's password"] });
  const answer = (userName: string, reply: Reply, password: string) =>
    client.ask({ userName, password, state: reply.state ?? undefined }, { timeoutMs: 4000, tries: 1 });
  const noteToken = (name: string, { state }: Reply) => {
    const token = new TextDecoder().decode(state ?? undefined).split(".")[1] ?? "";
    assertEquals(token.length, 22);
    seen[`State token of ${name}`] = utf8.encode(token);
  };

  const dora = await start("dora");
  noteToken("dora", dora);
  secondFactor.decide(secondFactor.initiated().at(-1)?.id ?? "", { granted: true });
  assertEquals((await answer("dora", dora, "")).code, CODES.accessAccept);

  for (const [user, number] of [["sam", "+15005550010"], ["vera", "+15005550011"]] as const) {
    const asked = await start(user);
    noteToken(user, asked);
    const passcode = telephony.lastPasscode(number) ?? "";
    // Four digits occur everywhere; the six of a text do not.
    if (passcode.length >= 6) seen[`passcode of ${user}`] = utf8.encode(passcode);
    assertEquals((await answer(user, asked, passcode)).code, CODES.accessAccept);
  }
  const wrong = await start("sam");
  assertEquals((await answer("sam", wrong, PLANTED["wrong passcode"])).code, CODES.accessReject);

  const tom = await start("tom");
  noteToken("tom", tom);
  const code = totpAt(SEED, Math.floor(Date.now() / 30_000), 6);
  seen["code of tom"] = utf8.encode(code);
  assertEquals((await answer("tom", tom, code)).code, CODES.accessAccept);

  // A login that does not end: its record is the last one that is written.
  noteToken("the one that is left", await start("nobody"));
  return seen;
}

async function filesIn(path: string): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  for await (const { name, isFile } of Deno.readDir(path)) {
    if (isFile) files[`data directory: ${name}`] = await Deno.readFile(`${path}/${name}`);
  }
  return files;
}

async function play(): Promise<Played> {
  await using world = await startProgramWithServices({
    toml: `
[server]
log_level = "debug"
[radius]
secret = "${PLANTED["shared secret"]}"
[[console.admin]]
name = "owner"
password = "${PLANTED["console password"]}"
role = "owner"
`,
    consumerSecret: PLANTED["consumer secret"],
    authToken: PLANTED["telephony token"],
    pairings: [
      ["dora", { kind: "device", id: "phone-of-dora", totpLength: 6 }],
      ["sam", { kind: "sms", number: "+15005550010" }],
      ["vera", { kind: "voice", number: "+15005550011" }],
      ["tom", { kind: "totp", seed: SEED }],
    ],
  });
  const { gateway } = world;
  const seen = await logIn(world);
  const pages = await Promise.all(
    ["metrics", "readyz", "healthz", "", "api/nothing"].map(async (path) =>
      [`/${path}`, new Uint8Array(await (await fetch(`${gateway.httpUrl}/${path}`)).arrayBuffer())] as const
    ),
  );
  // Killed first, so that the files keep the state of a running program. Then started and stopped normally.
  await gateway.kill9();
  const afterCrash = await filesIn(gateway.dataDir);
  await gateway.restart();
  await gateway.stop();
  const log = new TextEncoder().encode(gateway.logLines().join("\n"));
  const renamed = Object.entries(afterCrash).map(([name, octets]) =>
    [`${name} after kill -9`, octets] as const
  );
  return {
    seen,
    written: {
      "log and standard output": log,
      ...Object.fromEntries(pages),
      ...await filesIn(gateway.dataDir),
      ...Object.fromEntries(renamed),
    },
  };
}

Deno.test("no secret is in log, standard output, metrics or pages, nor in clear in the data directory", async () => {
  const { seen, written } = await play();
  const masterKey = written["data directory: master.key"] ?? new Uint8Array(0);
  assert(masterKey.length >= 64 && Object.keys(written).some((name) => name.includes("countersign.kv")));
  assert(holdsText(written["log and standard output"] ?? new Uint8Array(0), "dora"));
  const secrets: Record<string, Uint8Array> = {
    ...Object.fromEntries(
      Object.entries(PLANTED).map(([name, text]) => [name, new TextEncoder().encode(text)]),
    ),
    "TOTP seed": SEED,
    "master key": Uint8Array.fromHex(new TextDecoder().decode(masterKey).trim()),
    ...seen,
  };
  const found = findSecrets(secrets, Object.entries(written))
    .filter(({ secret, place }) => !(secret === "master key" && place.includes("master.key")));
  assertEquals(found, []);
});

// Plants secrets of SCIM in the real program: passwords of users, credentials and backends. None may appear in its
// log, its answers, or in clear text in its data directory, even while a write with a password waits for an unreachable
// backend.

const PLANTED_IN_SCIM = {
  "credential of the settings": "planted-settings-credential-5127",
  "credential of the command": "planted-command-credential-8810",
  "wrong credential": "planted-wrong-credential-3391",
  "bind password": "planted-bind-password-6642",
  "token of a backend": "planted-backend-token-7754",
  "user's first password": "planted-user-password-1-9023",
  "user's second password": "planted-user-password-2-4418",
  "password that waits for slapd": "planted-queued-password-2276",
  "password in a wrong place": "planted-misplaced-password-6105",
  "password of a refused body": "planted-refused-password-1879",
} as const;

const PLANTED_WRITER = { name: "provisioner", password: PLANTED_IN_SCIM["credential of the settings"] };

const toml = (port: number) => `
[server]
log_level = "debug"
[[scim.credential]]
name = "${PLANTED_WRITER.name}"
password = "${PLANTED_WRITER.password}"
targets = ["default", "later"]
[targets.default]
[targets.later.backends.local]
kind = "store"
[targets.later.backends.directory]
kind = "ldap"
mode = "async"
url = "ldap://127.0.0.1:${port}"
bind_dn = "cn=admin,dc=example,dc=org"
bind_password = "${PLANTED_IN_SCIM["bind password"]}"
users_dn = "ou=people,dc=example,dc=org"
[targets.later.backends.saas]
kind = "scim"
mode = "async"
url = "http://127.0.0.1:${port}/scim/v2"
token = "${PLANTED_IN_SCIM["token of a backend"]}"
`;

/** Sends every call that contains a secret; returns the answers. */
async function playScim(gateway: RunningProgram): Promise<string> {
  const said: string[] = [];
  const scim = createCaller(gateway, { account: PLANTED_WRITER, target: "default" });
  const call = async (...args: Parameters<typeof scim.call>) => {
    const { status, headers, text } = await scim.call(...args);
    said.push(`${status} ${[...headers].join(" ")} ${text}`);
    return status;
  };
  const add = await runProgram(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      ...PROGRAM_FLAGS,
      "cli/scim_credential.ts",
      ...["add", "okta", "--target", "default", "--access", "write", "--password-stdin"],
    ],
    env: { COUNTERSIGN_CONFIG: gateway.configPath, NO_COLOR: "1" },
    stdin: `${PLANTED_IN_SCIM["credential of the command"]}\n`,
  });
  assertEquals(add.code, 0, add.stderr);
  said.push(add.stdout, add.stderr);
  const okta = { name: "okta", password: PLANTED_IN_SCIM["credential of the command"] };
  assertEquals(await call("/Users", { as: okta }), 200);
  assertEquals(await call("/Users", { as: { ...okta, password: PLANTED_IN_SCIM["wrong credential"] } }), 401);
  // The password in the place of the name.
  assertEquals(
    await call("/Users", { as: { name: PLANTED_IN_SCIM["wrong credential"], password: "x" } }),
    401,
  );

  const [first, second] = [
    PLANTED_IN_SCIM["user's first password"],
    PLANTED_IN_SCIM["user's second password"],
  ];
  assertEquals(await call("/Users", { method: "POST", body: { userName: "ann", password: first } }), 201);
  assertEquals(await call("/Users/ann", { method: "PUT", body: { password: second } }), 200);
  assertEquals(await call("/Users", { method: "POST", body: { userName: "ann", password: second } }), 409);
  const misplaced = {
    name: { password: PLANTED_IN_SCIM["password in a wrong place"] },
    emails: [{ password: first }],
  };
  assertEquals(await call("/Users", { method: "POST", body: { userName: "bob", ...misplaced } }), 201);
  const refused = PLANTED_IN_SCIM["password of a refused body"];
  for (
    const body of [
      { password: { value: refused } },
      { password: refused, title: 7 },
      `{"password":"${refused}"`,
    ]
  ) {
    assertEquals(await call("/Users", { method: "POST", body }), 400);
  }
  assertEquals(await call(`/Users?q=${encodeURIComponent(`password eq "${first}"`)}`), 400);

  const queued = { userName: "carla", password: PLANTED_IN_SCIM["password that waits for slapd"] };
  assertEquals(await call("/Users", { method: "POST", body: queued, target: "later" }), 201);
  assertEquals(await call("/Users?refresh=true", { target: "later" }), 503);
  assertEquals(await call("/Users/ann", { method: "DELETE" }), 204);
  await gateway.logged("is still pending");
  for (const path of ["!/metrics", "!/readyz", "!/healthz", "!/openapi.json"]) await call(path, { as: null });
  return said.join("\n");
}

async function contentsOf(path: string): Promise<[place: string, octets: Uint8Array][]> {
  const files: [string, Uint8Array][] = [];
  for await (const { name, isFile } of Deno.readDir(path)) {
    if (isFile) files.push([`data directory: ${name}`, await Deno.readFile(`${path}/${name}`)]);
  }
  return files;
}

Deno.test("no secret of SCIM is in logs, answers or files, during the wait and afterwards", async () => {
  // No process listens there: the kernel assigns this port to no process.
  await using gateway = await startProgram({ toml: toml(freeTcpPort()) });
  const said = await playScim(gateway);
  await gateway.kill9();
  const crashed = await contentsOf(gateway.dataDir);
  await gateway.restart();
  await gateway.logged("is still pending");
  await gateway.stop();
  const written: [string, Uint8Array][] = [
    ["answers", new TextEncoder().encode(said)],
    ["log and standard output", new TextEncoder().encode(gateway.logLines().join("\n"))],
    ...crashed.map(([name, octets]): [string, Uint8Array] => [`${name}, after kill -9`, octets]),
    ...await contentsOf(gateway.dataDir),
  ];
  // The store is among them, and data that is not secret is found in it.
  const stores = written.filter(([place]) => place.includes("countersign.kv"));
  assert(stores.some(([, octets]) => holdsText(octets, "carla")));
  const secrets = Object.entries(PLANTED_IN_SCIM).map((
    [secret, text],
  ) => [secret, new TextEncoder().encode(text)]);
  assertEquals(findSecrets(Object.fromEntries(secrets), written), []);
});

// Credentials with the real listener: fast guesses, malformed and revoked credentials; and an administrator elsewhere
// who is not affected.

let gateway: RunningProgram;
let scim: Caller;
Deno.test.beforeAll(async () => {
  gateway = await startProgram({ toml: credentialsToml(["default", "small"]) + "[targets.small]\n" });
  scim = createCaller(gateway, { account: WRITER, target: "default" });
});
Deno.test.afterAll(() => gateway.dispose());

const ask = (authorization: string | null, { from = "127.0.0.1", path = "/idm/scim/default/Users" } = {}) =>
  sendRaw({
    httpUrl: gateway.httpUrl,
    head: `GET ${path} HTTP/1.1\r\n${authorization === null ? "" : `Authorization: ${authorization}\r\n`}`,
    from,
    // Checks of one source run one after another, and each takes seconds on a busy machine.
    timeoutMs: 300_000,
  });

const base64 = (text: string) => new TextEncoder().encode(text).toBase64();
const RIGHT = base64(`${WRITER.name}:${WRITER.password}`);

/** Headers that are no credential; a request with one is no guess. */
const MALFORMED: readonly (string | null)[] = [
  null,
  "",
  "Basic",
  "Basic ",
  "Basic !!!!",
  `Basic ${RIGHT}=`,
  `Basic ${RIGHT} ${RIGHT}`,
  `Basic ${base64("no colon")}`,
  `Basic ${new Uint8Array([0xff, 0x3a, 0xff]).toBase64()}`,
  `Basic ${base64("a\u0000:b")}`,
  `Bearer ${RIGHT}`,
  `Digest username="${WRITER.name}"`,
  `Basic${RIGHT}`,
  `"Basic ${RIGHT}"`,
  `Basic ${base64("x".repeat(9000))}`,
];
for (const [at, given] of MALFORMED.entries()) {
  Deno.test(`credential ${at}, ${given?.slice(0, 24) ?? "none"}: 401 with a challenge, and nothing about the target`, async () => {
    for (
      const path of [
        "/idm/scim/default/Users",
        "/idm/scim/nowhere/Users",
        "/idm/scim/default/Me",
        "/idm/scim",
      ]
    ) {
      const { status, text } = await ask(given, { path });
      assertEquals(status, 401);
      assertMatch(text, /^www-authenticate: Basic realm="[^"]+", charset="UTF-8"\r$/im);
      assertMatch(text, /"status":"401"/);
      const body = text.slice(text.indexOf("\r\n\r\n"));
      assert(!body.includes("nowhere") && !body.includes("default"));
    }
  });
}

Deno.test("the scheme is case-insensitive, and two headers are no credential", async () => {
  assertEquals((await ask(`bAsIc ${RIGHT}`)).status, 200);
  const twice = await ask(`Basic ${RIGHT}\r\nAuthorization: Basic ${base64("other:wrong")}`);
  assert(twice.status === 401 || twice.status === 400, String(twice.status));
});

Deno.test("a credential is valid for its targets: another is 403, one that does not exist 404", async () => {
  const path = "/idm/scim/small/Users";
  assertEquals((await ask(basic(STRANGER), { path })).status, 200);
  assertEquals((await ask(basic(STRANGER))).status, 403);
  assertEquals((await ask(basic(STRANGER), { path: "/idm/scim/nowhere/Users" })).status, 404);
  assertEquals((await ask(basic(READER), { path })).status, 200);
});

const GUESSES = 60;

Deno.test("fast guesses: soon 429 with Retry-After; the correct credential passes, from there and elsewhere", async () => {
  const from = "127.0.0.9";
  const wrong = (at: number) => basic({ name: WRITER.name, password: `guess-${at}` });
  const answers = await Promise.all(Array.from({ length: GUESSES }, (_, at) => ask(wrong(at), { from })));
  const limited = answers.filter(({ status }) => status === 429);
  assertEquals(answers.filter(({ status }) => status === 200), []);
  assert(limited.length >= GUESSES - 10, `${limited.length} of ${GUESSES} were slowed down`);
  for (const { text } of limited) {
    const [, seconds = "0"] = /^retry-after: (\d+)\r$/im.exec(text) ?? [];
    assert(Number(seconds) >= 1 && Number(seconds) <= 60, seconds);
    assertMatch(text, /"status":"429"/);
  }
  assertEquals((await ask(basic(WRITER), { from })).status, 200);
  assertEquals((await ask(basic(WRITER), { from: "127.0.0.2" })).status, 200);
  assertEquals((await scim.get("/Users")).status, 200);
});

Deno.test("guesses of unknown names have the same limit", async () => {
  const from = "127.0.0.10";
  const startedMs = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, at) => ask(basic({ name: `nobody${at}`, password: "x" }), { from })),
  );
  const minutes = Math.ceil((performance.now() - startedMs) / 60_000);
  const { 401: checked = [], 429: limited = [] } = Object.groupBy(answers, ({ status }) => status);
  assertEquals(checked.length + limited.length, answers.length);
  assert(checked.length <= MAX_FAILURES_PER_SOURCE * minutes, `${checked.length} in ${minutes} min`);
});

/** Runs the command for credentials beside the running gateway. */
async function command(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", ...PROGRAM_FLAGS, "cli/scim_credential.ts", ...args],
    env: { COUNTERSIGN_CONFIG: gateway.configPath, NO_COLOR: "1" },
  });
  if (code !== 0) throw new Error(`${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

Deno.test("a credential of the command works at once with its permissions, and is refused after it is revoked", async () => {
  const printed = await command("add", "okta", "--target", "default", "--access", "read");
  const words = printed.match(/[A-Za-z0-9_-]{30,}/g) ?? [];
  assert(words.length > 0, printed);
  const account = { name: "okta", password: words[0] ?? "" };
  assertEquals((await scim.call("/Users", { as: account })).status, 200);
  assertEquals((await scim.call("/Users", { as: account, method: "POST", body: {} })).status, 403);
  assert(!(await command("list")).includes(account.password));
  // From its own address, because the next request is a failure.
  assertEquals((await ask(basic(account), { from: "127.0.0.11" })).status, 200);
  await command("revoke", "okta");
  assertEquals((await ask(basic(account), { from: "127.0.0.11" })).status, 401);
});

Deno.test("the log has the guessed name and the source, twice, and never the guesses", async () => {
  await gateway.logged("127.0.0.9");
  const lines = gateway.logLines().join("\n");
  assert(lines.includes("127.0.0.9") && lines.includes(WRITER.name));
  assert(!/guess-\d/.test(lines) && !lines.includes(WRITER.password) && !lines.includes(RIGHT));
});

Deno.test("a limited source is told when to retry, and that time comes nearer", async () => {
  // Its own address: guesses of other tests count for a minute.
  const from = "127.0.0.12";
  const waitS = async () => {
    const guess = basic({ name: WRITER.name, password: "guess-again" });
    const { status, text } = await ask(guess, { from });
    const [, seconds = "0"] = /^retry-after: (\d+)\r$/im.exec(text) ?? [];
    return [status, Number(seconds)] as const;
  };
  for (let at = 0; at < 5; at++) assertEquals(await waitS(), [401, 0]);
  const [status, before] = await waitS();
  assertEquals(status, 429);
  // More attempts meanwhile do not extend it.
  for (const end = performance.now() + 2500; performance.now() < end;) {
    await ask(basic({ name: WRITER.name, password: "guess-late" }), { from });
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  const [, after] = await waitS();
  assert(after <= before - 2, `${before} s before, ${after} s after`);
});
