// Attacks on the limits of users: locks, evicted counts, numbers, texts and calls, password floods, and other spellings of a name.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openDataDir } from "../../platform/data_dir.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { CODES, type Reply } from "../support/radius_packets.ts";
import { totpCode } from "../support/totp.ts";
import { startFirstFactorServer } from "../radius/rows/first_factor_server.ts";
import { createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { addUser, floodLogins, rightCode, SCIM_TOML, SEED, wrongCode } from "./attack_world.ts";

// Attack: locking a user with passcodes that were never sent.

const PATIENCE = { timeoutMs: 10_000, tries: 1 };

/** One login of alice with the given answers. Returns the code and text of the last reply. */
async function login(
  gateway: RunningProgram,
  { nasPort, answers }: { nasPort: number; answers: readonly string[] },
): Promise<readonly [code: number, message: string]> {
  using client = gateway.client();
  let last: Awaited<ReturnType<typeof client.ask>> | null = null;
  for (const password of answers) {
    const state = last?.state ?? undefined;
    last = await client.ask({ userName: "alice", password, nasPort, ...(state && { state }) }, PATIENCE);
  }
  return [last?.code ?? 0, last?.message ?? ""];
}

Deno.test("passcodes that were never sent, and refused numbers, lock no user", async () => {
  await using world = await startProgramWithServices({ pairings: [["alice", { kind: "totp", seed: SEED }]] });
  const { gateway, telephony } = world;
  const attacks = Array.from(
    { length: 12 },
    (_, at) => login(gateway, { nasPort: 100 + at, answers: ["", "P", `+15005550${100 + at}`, "0000"] }),
  );
  for (const reply of await Promise.all(attacks)) {
    assertEquals(reply, [CODES.accessReject, "The submitted passcode does not match."]);
  }
  assertEquals(telephony.requests.length, 0);
  assertEquals(await gateway.metric("failures_total"), 0);
  const [code] = await login(gateway, { nasPort: 1, answers: ["", "D", rightCode()] });
  assertEquals(code, CODES.accessAccept);
});

Deno.test("passcodes that were sent are guesses: ten wrong ones lock", async () => {
  await using world = await startProgramWithServices({
    toml: "[factors.sends]\nper_user = 50\nper_number = 50",
    pairings: [["alice", { kind: "voice", number: "+15005550010" }]],
  });
  const { gateway, telephony } = world;
  const guess = async (nasPort: number) => {
    const [code] = await login(gateway, { nasPort, answers: ["x", "no"] });
    assertEquals(code, CODES.accessReject);
  };
  await Promise.all(Array.from({ length: 10 }, (_, at) => guess(100 + at)));
  await gateway.logged("user locked after too many failures");
  assertEquals(telephony.taken().length, 10);
  assertEquals((await login(gateway, { nasPort: 1, answers: ["x"] }))[0], CODES.accessReject);
});

// Attack: nine wrong codes, then so many invented names that the count of the nine is evicted, then nine more.

Deno.test("invented names evict no failure of a user, and nothing is stored for them", async () => {
  await using world = await startProgramWithServices({
    toml: "[radius]\nappend_mode = true",
    pairings: [["alice", { kind: "totp", seed: SEED }]],
  });
  const { gateway } = world;
  let nasPort = 0;
  const append = async (code: string) => {
    using client = gateway.client();
    const parts = { userName: "alice", password: `x,${code}`, nasPort: ++nasPort };
    return (await client.ask(parts, PATIENCE)).code;
  };
  const nine = await Promise.all(Array.from({ length: 9 }, () => append(wrongCode())));
  assertEquals(nine, Array.from({ length: 9 }, () => CODES.accessReject));
  const names = Array.from({ length: 1500 }, (_, at) => `ghost${at}`);
  await floodLogins(gateway, { names, password: "x,123456" });
  assert(await gateway.metric("requests_total") >= 1509);
  assertEquals(await gateway.metric("failures_total"), 9);
  await gateway.restart();
  assertEquals(await append(wrongCode()), CODES.accessReject);
  await gateway.logged("user locked after too many failures");
  assertEquals(await append(rightCode()), CODES.accessReject);
  await gateway.stop();
  assertEquals(await storedLimits(gateway.dataDir), ["failures alice"]);
});

/** The stored records of limits. */
async function storedLimits(path: string): Promise<string[]> {
  const { store, close } = await openDataDir(path, { random: createSystemRandom(), masterKeyHex: "" });
  const found: string[] = [];
  for await (const { key } of store.list(["limit"])) found.push(key.slice(1).join(" "));
  await close();
  return found;
}

// Attack: typing another user's number until that user receives no texts any more.

const NUMBER = "+15005550010";

Deno.test("numbers that are refused to a stranger still work for their owner", async () => {
  await using world = await startProgramWithServices({
    pairings: [["bob", { kind: "sms", number: NUMBER }]],
  });
  const { gateway, telephony } = world;
  {
    using attacker = gateway.client();
    const login = { userName: "stranger", nasPort: 10 };
    let reply = await attacker.ask({ ...login, password: "" }, PATIENCE);
    reply = await attacker.ask({ ...login, password: "T", state: reply.state ?? undefined }, PATIENCE);
    for (let tries = 0; tries < 6; tries++) {
      reply = await attacker.ask({ ...login, password: NUMBER, state: reply.state ?? undefined }, PATIENCE);
      assertEquals(new TextDecoder().decode(reply.state ?? undefined), "GET_SMS_PHONE_NUMBER");
    }
  }
  const line = await gateway.logged("not sent: text");
  assertStringIncludes(line, "reason=number_not_allowed");
  assertEquals(telephony.requests.length, 0);
  using client = gateway.client();
  const reply = await client.ask({ userName: "bob", password: "x", nasPort: 1 }, PATIENCE);
  assertEquals(reply.code, CODES.accessChallenge);
  assertEquals(new TextDecoder().decode(reply.state ?? undefined), "AWAIT_SMS_DELIVERED_PASSCODE");
  assertEquals(telephony.requests.map(({ form }) => form.get("To")), [NUMBER]);
});

// Attack: logins with invented names at a client whose first factor is the directory's password, so that real users
// wait too long.

const USERS = ["ada", "bob", "cyd"];
const FLOOD_PASSWORD = "a right password";
/** Long, for a slow machine. The gateway drops and counts packets that wait too long: no drop is allowed here. */
const FLOOD_PATIENCE = { timeoutMs: 60_000, tries: 1 };

Deno.test("a flood of invented names blocks no user with the right password", async () => {
  await using gateway = await startProgram({
    toml: `[radius]\nfirst_factor = "directory"\nunknown_users = "allow"\n${SCIM_TOML}`,
  });
  for (const userName of USERS) await addUser(gateway, { userName, active: true, password: FLOOD_PASSWORD });
  using vpn = gateway.client();
  const names = Array.from({ length: 400 }, (_, at) => `ghost${at}`);
  await floodLogins(gateway, { names, password: "guess" });
  const logins = USERS.map((userName, at) =>
    vpn.ask({ userName, password: FLOOD_PASSWORD, nasPort: at + 1 }, FLOOD_PATIENCE)
  );
  const codes = (await Promise.all(logins)).map(({ code }) => code);
  assertEquals(codes, USERS.map(() => CODES.accessChallenge));
  assertEquals(await gateway.metric('dropped_total{reason="first_factor_busy"}'), 0);
  assertEquals(await gateway.metric("failures_total"), 0);
});

Deno.test("a flood of wrong SCIM credentials from many addresses blocks no user with the right password", async () => {
  await using gateway = await startProgram({
    toml: `[http]\ntrusted_proxies = ["127.0.0.1"]\n[radius]\nfirst_factor = "directory"\n${SCIM_TOML}`,
  });
  const users = Array.from({ length: 6 }, (_, at) => `user${at}`);
  for (const userName of users) await addUser(gateway, { userName, active: true, password: FLOOD_PASSWORD });
  let isOver = false;
  let guesses = 0;
  // More checks than a hasher runs and queues. Each guess has another name and another address.
  const guessing = Array.from({ length: 40 }, async (_, at) => {
    for (let count = 0; !isOver; count++) {
      const response = await fetch(`${gateway.httpUrl}/idm/scim/default/Users`, {
        headers: {
          authorization: `Basic ${btoa(`guess-${at}-${count}:wrong`)}`,
          "x-forwarded-for": `198.51.${at}.${count % 256}`,
        },
      });
      await response.body?.cancel();
      guesses += 1;
    }
  });
  while (guesses < 60) await new Promise((resolve) => setTimeout(resolve, 50));
  using vpn = gateway.client();
  const codes: number[] = [];
  try {
    for (const [at, userName] of users.entries()) {
      const request = { userName, password: FLOOD_PASSWORD, nasPort: at + 1 };
      codes.push((await vpn.ask(request, FLOOD_PATIENCE)).code);
    }
  } finally {
    isOver = true;
    await Promise.all(guessing);
  }
  assertEquals(codes, users.map(() => CODES.accessChallenge));
  assertEquals(await gateway.metric('dropped_total{reason="first_factor_busy"}'), 0);
});

// Attack: texts and calls to numbers from which the attacker earns, with a new name and a new number each time.

const ANY = '[factors]\nphone_numbers = "any"\n';
let nasPort = 0;

/** Requests a message to `number` as `userName`. */
async function order(
  { gateway }: ProgramWithServices,
  what: { userName: string; letter: "T" | "P"; number: string },
) {
  using client = gateway.client();
  const { userName, letter, number } = what;
  const login = { userName, nasPort: ++nasPort };
  const menu = await client.ask({ ...login, password: "" }, PATIENCE);
  const ask = await client.ask({ ...login, password: letter, state: menu.state ?? undefined }, PATIENCE);
  await client.ask({ ...login, password: number, state: ask.state ?? undefined }, PATIENCE);
}

function orders(
  world: ProgramWithServices,
  { count, prefix }: { count: number; prefix: string },
): Promise<unknown> {
  return Promise.all(
    Array.from(
      { length: count },
      (_, at) =>
        order(world, { userName: `${prefix}${at}`, letter: "T", number: `+4915112345${100 + nasPort + at}` }),
    ),
  );
}

Deno.test("all sends together have an hourly limit that a restart does not reset, and the reached limit is shown", async () => {
  await using world = await startProgramWithServices({ toml: `${ANY}[factors.sends]\ntotal_per_hour = 7` });
  const { gateway, telephony } = world;
  await orders(world, { count: 12, prefix: "ghost" });
  assertEquals(telephony.requests.length, 7);
  await gateway.logged("factors.sends.total_per_hour is reached");
  assertStringIncludes(await gateway.logged("not sent: text"), "reason=total_limit");
  assertEquals(await gateway.metric("sends_total"), 7);
  assertEquals(await gateway.metric('sends_refused_total{reason="total_limit"}'), 5);
  await gateway.restart();
  assertEquals(await gateway.metric("sends_last_hour"), 7, "what was stored before the restart");
  await orders(world, { count: 3, prefix: "later" });
  const numbers = telephony.requests.map(({ form }) => form.get("To"));
  assertEquals(numbers.length, 7, `${numbers}`);
  assertEquals(await gateway.metric("sends_limit_per_hour"), 7);
});

Deno.test("sends have an hourly limit per client", async () => {
  await using world = await startProgramWithServices({
    toml: `${ANY}[factors.sends]\nper_client_per_hour = 4`,
  });
  await orders(world, { count: 8, prefix: "ghost" });
  assertEquals(world.telephony.requests.length, 4);
  await world.gateway.logged("factors.sends.per_client_per_hour is reached");
});

Deno.test("satellite and premium-rate numbers receive nothing, and a call carries no message of the caller", async () => {
  await using world = await startProgramWithServices({ toml: ANY });
  const { telephony } = world;
  for (const number of ["+870773123456", "+881612345678", "+882161234567", "+979123456789"]) {
    await order(world, { userName: "ghost", letter: "T", number });
    await order(world, { userName: "ghost", letter: "P", number });
  }
  assertEquals(telephony.requests.length, 0);
  const scam = "Please call your bank at +1 900 555 0199 now";
  await order(world, { userName: scam, letter: "P", number: "+4915112345678" });
  await order(world, { userName: "19005550199", letter: "P", number: "+4915112345679" });
  await order(world, { userName: "carol", letter: "P", number: "+4915112345670" });
  const intros = telephony.requests.map(({ spoken }) => spoken[0] ?? "");
  assert(intros[0]?.includes("The passcode of this user for"));
  assert(intros[1]?.includes("The passcode of this user for"));
  // The specification: the sentence names the user. A plain login name carries no message.
  assert(intros[2]?.includes("The passcode of carol for"));
});

// Attack: a stolen password and another spelling of the user name. A password server accepts every spelling, so only
// the gateway can detect that the names differ.

const TOTP_SEED = "12345678901234567890";
const SEED_BASE32 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
const PASSWORD = "Winter2026!";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const NAS_IDENTIFIER = 32;
const VARIANTS = [
  "alice@corp.example",
  "CORP\\alice",
  "alice@other.example",
  "alice ",
  " alice",
  "alice\u00a0",
  "al\u200bice",
  "al\u00adice",
  "\ufeffalice",
  "alice\u202e",
  "alice\0",
] as const;
/** Names that the gateway refuses with any settings. */
const REFUSED = VARIANTS.slice(3);

let nasPorts = 1;

/** A client entry, by NAS-Identifier, that checks passwords at the server. */
function entry(name: string, { server, more = "" }: { server: string; more?: string }): string {
  return server.replace(
    "[radius]",
    `[[radius.client]]
name = "${name}"
address = ["127.0.0.1"]
secret = "a-secret-of-the-attack"
nas_identifier = "${name}"
${more}`,
  );
}

/** Starts a login through one of the client entries. */
async function start(gateway: RunningProgram, as: string, userName: string): Promise<Attempt> {
  const client = gateway.client();
  const more = [{ type: NAS_IDENTIFIER, value: new TextEncoder().encode(as) }];
  const nasPort = nasPorts++;
  const ask = async (password: string, state?: Uint8Array): Promise<Attempt> => {
    const reply = await client.ask({
      userName,
      password,
      nasPort,
      more,
      ...(state === undefined ? {} : { state }),
    });
    assertEquals(reply.problems, []);
    return {
      ...reply,
      step: reply.state === null ? "" : new TextDecoder().decode(reply.state),
      answer: (text) => ask(text, reply.state ?? new Uint8Array(0)),
      [Symbol.dispose]: () => client.close(),
    };
  };
  return await ask(PASSWORD);
}

interface Attempt extends Reply, Disposable {
  readonly step: string;
  answer(text: string): Promise<Attempt>;
}

Deno.test("a stolen password with another spelling of the name gives no second factor and no enrolment", async () => {
  using server = startFirstFactorServer({ password: PASSWORD, timeoutMs: 30_000 });
  await using gateway = await startProgram({
    toml: credentialsToml(["default"]) + entry("default", { server: server.toml }) +
      entry("allow", { server: server.toml, more: 'unknown_users = "allow"' }) +
      entry("strip", {
        server: server.toml,
        more: 'strip_domains = ["corp"]\nstrip_realms = ["Corp.Example"]',
      }),
  });
  const scim = createCaller(gateway, { account: WRITER, target: "default" });
  assertEquals((await scim.post("/Users", { userName: "alice", active: true })).status, 201);
  assertEquals((await gateway.pair("alice", "--totp", SEED_BASE32)).code, 0);

  const seen = async (as: string, name: string) => {
    using attempt = await start(gateway, as, name);
    return attempt.code === CODES.accessReject ? "reject" : attempt.step;
  };
  assertEquals(await seen("default", "alice"), CODE);
  const rejected = VARIANTS.map(() => "reject");
  assertEquals(await Promise.all(VARIANTS.map((name) => seen("default", name))), rejected);

  // Even if they are explicitly allowed, unknown users cannot enrol with a right password.
  assertEquals(await Promise.all(REFUSED.map((name) => seen("allow", name))), REFUSED.map(() => "reject"));
  for (const name of VARIANTS.slice(0, 3)) {
    using menu = await start(gateway, "allow", name);
    assertEquals(menu.step, MENU);
    const paired = await menu.answer("S");
    assertEquals([paired.step, paired.message.split("\n")[0]], [
      MENU,
      "No device is paired with your name. Choose another factor:",
    ]);
    const texted = await menu.answer("T");
    assertEquals((await texted.answer("+4915112345678")).step, "GET_SMS_PHONE_NUMBER");
  }

  // The listed forms belong to alice: her factor, her lock and her tombstone.
  for (const name of ["CORP\\alice", "alice@corp.example", "Corp\\Alice@CORP.example"]) {
    assertEquals(await seen("strip", name), CODE, name);
  }
  assertEquals(await seen("strip", "alice@other.example"), "reject");
  assertEquals(await seen("strip", "CORP\\ alice"), "reject");
  {
    using login = await start(gateway, "strip", "CORP\\alice");
    assertEquals((await login.answer(totpCode(TOTP_SEED, Date.now()))).code, CODES.accessAccept);
  }
  const asked = server.asked.length;
  assertEquals((await scim.put("/Users/alice", { userName: "alice", active: false })).status, 200);
  assertEquals(await seen("strip", "alice@corp.example"), "reject");
  assertEquals((await scim.remove("/Users/alice")).status, 204);
  assertEquals(await seen("strip", "CORP\\alice"), "reject");
  assertEquals(server.asked.length, asked);
  assertEquals(server.asked.slice(-4).map((name) => name.toLowerCase()), new Array(4).fill("alice"));
});

Deno.test("a lock counts for every listed form of the name", async () => {
  using server = startFirstFactorServer({ password: PASSWORD, timeoutMs: 30_000 });
  await using gateway = await startProgram({
    toml: `[factors.lockout]\nfailures = 2\n${credentialsToml(["default"])}` +
      entry("strip", { server: server.toml, more: 'strip_realms = ["corp.example"]' }),
  });
  const scim = createCaller(gateway, { account: WRITER, target: "default" });
  assertEquals((await scim.post("/Users", { userName: "alice", active: true })).status, 201);
  assertEquals((await gateway.pair("alice", "--totp", SEED_BASE32)).code, 0);
  for (const name of ["alice", "alice@corp.example"]) {
    using login = await start(gateway, "strip", name);
    assertEquals((await login.answer("000000")).code, CODES.accessReject);
  }
  using locked = await start(gateway, "strip", "Alice@corp.example");
  assertEquals(locked.code, CODES.accessReject);
  await gateway.logged("because=locked");
});
