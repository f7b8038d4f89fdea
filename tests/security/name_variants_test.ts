// Attack: a stolen password and another spelling of the user name. A password server accepts every spelling, so only
// the gateway can detect that the names differ.

import { assertEquals } from "@std/assert";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { CODES, type Reply } from "../support/radius_packets.ts";
import { totpCode } from "../support/totp.ts";
import { startFirstFactorServer } from "../radius/rows/first_factor_server.ts";
import { createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";

const SEED = "12345678901234567890";
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
    assertEquals((await login.answer(totpCode(SEED, Date.now()))).code, CODES.accessAccept);
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
