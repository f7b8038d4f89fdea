// Credentials of callers, their access, and their limits.

import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { createLog } from "../../../platform/log.ts";
import { createPasswordHasher, HasherBusy, type PasswordHasher } from "../../../platform/password_hasher.ts";
import { createSystemRandom, systemClock } from "../../../platform/runtime.ts";
import { readBasic, ScimRefusal } from "../../../scim/http/refusals.ts";
import { Credentials, SourceLimit } from "../../../scim/http/credentials.ts";
import { createStore } from "../../../platform/store.ts";
import { createVault } from "../../../platform/vault.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { basic, openSite, READER, STRANGER, WRITER } from "./site.ts";

// SCIM credentials: creation, checks, caching, revocation, and rate limits of guesses.

const ACTOR = { name: "command", source: "" };
const HERE = "192.0.2.1";
const SCOPE = { targets: ["default", "corp"], access: "write" } as const;
const SETTING = {
  name: "provisioner",
  password: "a password of the settings",
  targets: ["default"],
  access: "read",
} as const;

async function openStage() {
  const clock = createManualClock();
  const random = createSystemRandom();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const lines: string[] = [];
  const log = createLog({
    format: "text",
    level: "debug",
    clock: systemClock,
    write: (octets) => void lines.push(new TextDecoder().decode(octets)),
  });
  const sound = createPasswordHasher({ random, cost: { costLog2: 4 } });
  const hashed: (string | null)[] = [];
  let gate: Promise<unknown> = Promise.resolve();
  let fault: Error | null = null;
  const hasher: PasswordHasher = {
    ...sound,
    make: (password) => fault === null ? sound.make(password) : Promise.reject(fault),
    async check(password, hash) {
      hashed.push(hash === null ? null : hash.hash);
      await gate;
      if (fault !== null) throw fault;
      return await sound.check(password, hash);
    },
  };
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const settings = [SETTING, { ...SETTING, name: "unset", password: "" }];
  const open = () => new Credentials({ store, vault, clock, random, hasher, log, settings });
  return {
    clock,
    store,
    hashed,
    credentials: open(),
    open,
    holdHashes: (until: Promise<unknown>) => void (gate = until),
    failHashes: (next: Error | null) => void (fault = next),
    audits: () => Array.fromAsync(store.list<unknown>(["audit"]), ({ value }) => value),
    async dump() {
      await log.flush();
      const parts: string[] = [...lines];
      for await (const { key, value } of store.list<unknown>([])) {
        parts.push(Deno.inspect([key, value], { depth: 9 }));
      }
      return parts.join("\n");
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}
type Stage = Awaited<ReturnType<typeof openStage>>;

async function make(stage: Stage, name: string, password?: string): Promise<string> {
  const added = await stage.credentials.add({ name, ...SCOPE, password }, ACTOR);
  if (!added.ok) throw new Error(added.reason);
  return added.password;
}

/** The result of a check, refusals by their code. */
async function outcome(check: () => unknown): Promise<unknown> {
  try {
    return await check();
  } catch (fault) {
    if (fault instanceof ScimRefusal) return [fault.code, fault.headers["retry-after"]];
    throw fault;
  }
}

Deno.test("new Credentials() creates a password of 192 bits, checks it, and stores neither it nor its text", async () => {
  await using stage = await openStage();
  const password = await make(stage, "saas");
  assertEquals([password.length, /^[\w-]+$/.test(password)], [32, true]);
  assertNotEquals(await make(stage, "other"), password);
  const found = await stage.credentials.check({ name: "saas", password }, HERE);
  assertEquals(found, { name: "saas", ...SCOPE });
  for (const [name, wrong] of [["saas", `${password}x`], ["SAAS", password], ["other", password], ["", ""]]) {
    assertEquals(
      await stage.credentials.check({ name: name ?? "", password: wrong ?? "" }, "192.0.2.9"),
      null,
    );
  }
  assertEquals((await stage.dump()).includes(password), false);
  assertEquals(await stage.open().check({ name: "saas", password }, HERE), found);
});

Deno.test("new Credentials() does the same work for an unknown name", async () => {
  await using stage = await openStage();
  await make(stage, "saas");
  for (const name of ["saas", "nobody", "provisioner", "no such name/"]) {
    await stage.credentials.check({ name, password: "wrong" }, `source of ${name}`);
  }
  assertEquals(stage.hashed.map((hash) => hash !== null), [true, false, false, false]);
});

Deno.test("new Credentials() accepts a password of the settings without a hash, and never an empty one", async () => {
  await using stage = await openStage();
  const { password: _secret, ...credential } = SETTING;
  assertEquals(stage.credentials.check(SETTING, HERE), credential);
  assertEquals(stage.hashed, []);
  assertEquals(await stage.credentials.check({ name: "unset", password: "" }, HERE), null);
});

Deno.test("new Credentials() hashes once a minute", async () => {
  await using stage = await openStage();
  const password = await make(stage, "saas");
  const check = () => stage.credentials.check({ name: "saas", password }, HERE);
  await check();
  stage.clock.advance(59_999);
  assertEquals(check(), { name: "saas", ...SCOPE });
  stage.clock.advance(1);
  assert(check() instanceof Promise);
  await check();
  assertEquals(stage.hashed.length, 2);
});

Deno.test("new Credentials() hashes once for simultaneous checks of the same password", async () => {
  await using stage = await openStage();
  const password = await make(stage, "saas");
  const checks = Array.from(
    { length: 40 },
    (_, at) => stage.credentials.check({ name: "saas", password }, `192.0.2.${at}`),
  );
  const found = await Promise.all(checks);
  assertEquals([found.every((one) => one?.name === "saas"), stage.hashed.length], [true, 1]);
});

Deno.test("new Credentials() limits guesses for one name from one source; a proven credential and other names pass", async () => {
  await using stage = await openStage();
  const password = await make(stage, "saas");
  const right = { name: "saas", password };
  await stage.credentials.check(right, HERE);
  for (let guess = 0; guess < 5; guess++) {
    assertEquals(await stage.credentials.check({ name: "saas", password: `guess ${guess}` }, HERE), null);
  }
  const guess = { name: "saas", password: "guess" };
  assertEquals((await stage.credentials.check(right, HERE))?.name, "saas");
  assertEquals((await stage.credentials.check(SETTING, HERE))?.name, SETTING.name);
  const before = stage.hashed.length;
  assertEquals(await outcome(() => stage.credentials.check(guess, HERE)), ["too_many_failures", "60"]);
  assertEquals(await outcome(() => stage.credentials.check(guess, HERE)), ["too_many_failures", "60"]);
  assertEquals(stage.hashed.length, before + 1, "beyond the limit, one check a second");
  assertEquals(await stage.credentials.check(guess, "192.0.2.2"), null);
  stage.clock.advance(60_000);
  assertEquals(await stage.credentials.check(guess, HERE), null);
});

Deno.test("new Credentials() accepts a correct credential at its first use, with one check a second beyond the limit", async () => {
  await using stage = await openStage();
  const password = await make(stage, "saas");
  for (let at = 0; at < 5; at++) {
    await stage.credentials.check({ name: "saas", password: `guess ${at}` }, HERE);
  }
  assertEquals((await stage.credentials.check({ name: "saas", password }, HERE))?.name, "saas");
});

Deno.test("new Credentials() limits a source that tries many names", async () => {
  await using stage = await openStage();
  const outcomes: unknown[] = [];
  for (let at = 0; at < 40; at++) {
    outcomes.push(await outcome(() => stage.credentials.check({ name: `name ${at}`, password: "x" }, HERE)));
  }
  assertEquals(outcomes.filter((one) => one === null).length, 30);
});

Deno.test("new Credentials() evaluates no sixth guess, however many are sent at once", async () => {
  await using stage = await openStage();
  await make(stage, "saas");
  const guesses = Array.from(
    { length: 40 },
    (_, at) => outcome(() => stage.credentials.check({ name: "saas", password: `guess ${at}` }, HERE)),
  );
  const outcomes = await Promise.all(guesses);
  assertEquals(outcomes.filter((one) => one === null).length, 5);
  assertEquals(stage.hashed.length, 5);
});

Deno.test("new Credentials() refuses with busy when too many checks wait, and counts no failure", async () => {
  await using stage = await openStage();
  await make(stage, "saas");
  const wrong = { name: "saas", password: "wrong" };
  stage.failHashes(new HasherBusy());
  for (let round = 0; round < 6; round++) {
    assertEquals(await outcome(() => stage.credentials.check(wrong, HERE)), ["busy", "5"]);
  }
  stage.failHashes(null);
  assertEquals(await stage.credentials.check(wrong, HERE), null);
  const held = Promise.withResolvers<void>();
  stage.holdHashes(held.promise);
  const waiting = Array.from({ length: 64 }, () => stage.credentials.check(wrong, "192.0.2.3"));
  const refusal = assertThrows(() => stage.credentials.check(wrong, "192.0.2.3"), ScimRefusal);
  assertEquals(refusal.code, "busy");
  held.resolve();
  await Promise.allSettled(waiting);
});

Deno.test("new Credentials() revokes at once, also a cached credential or one that is being checked", async () => {
  await using stage = await openStage();
  const right = { name: "saas", password: await make(stage, "saas") };
  await stage.credentials.check(right, HERE);
  assertEquals(await stage.credentials.revoke("saas", ACTOR), "revoked");
  assertEquals(await stage.credentials.check(right, HERE), null);

  const second = { name: "saas", password: await make(stage, "saas") };
  const held = Promise.withResolvers<void>();
  stage.holdHashes(held.promise);
  const checking = stage.credentials.check(second, HERE);
  while (stage.hashed.length < 3) await new Promise((done) => setTimeout(done, 0));
  await stage.credentials.revoke("saas", ACTOR);
  held.resolve();
  assertEquals(await checking, null);
});

Deno.test("new Credentials() records the actor of a creation and a revocation, in the same commit", async () => {
  await using stage = await openStage();
  await make(stage, "saas", "a given password");
  await stage.credentials.revoke("saas", { name: "console:ann", source: HERE });
  const atMs = stage.clock.nowMs();
  const scope = { access: "write", targets: ["default", "corp"] };
  const objects = ["credential:default/saas", "credential:corp/saas"];
  assertEquals(await stage.audits(), [
    {
      atMs,
      actor: "command",
      action: "scim_credential.add",
      objects,
      after: { ...scope, password: "changed" },
    },
    {
      atMs,
      actor: "console:ann",
      source: HERE,
      action: "scim_credential.revoke",
      objects,
      before: scope,
    },
  ]);
  assertEquals((await stage.dump()).includes("a given password"), false);
});

Deno.test("new Credentials() returns the reason when it creates or revokes none", async () => {
  await using stage = await openStage();
  await make(stage, "saas");
  const wanted = { name: "new", ...SCOPE };
  const reasons: readonly (readonly [change: Record<string, unknown>, reason: string])[] = [
    [{ name: "" }, "bad_name"],
    [{ name: "a b" }, "bad_name"],
    [{ name: "a:b" }, "bad_name"],
    [{ name: "x".repeat(65) }, "bad_name"],
    [{ name: "provisioner" }, "in_settings"],
    [{ name: "saas" }, "taken"],
    [{ targets: [] }, "no_targets"],
    [{ password: "short" }, "bad_password"],
    [{ password: "x".repeat(1025) }, "bad_password"],
    [{ password: "with a line end\n" }, "bad_password"],
    [{ password: "half a pair \ud800 here" }, "bad_password"],
  ];
  for (const [change, reason] of reasons) {
    assertEquals(await stage.credentials.add({ ...wanted, ...change }, ACTOR), { ok: false, reason });
  }
  stage.failHashes(new HasherBusy());
  assertEquals(await stage.credentials.add(wanted, ACTOR), { ok: false, reason: "busy" });
  assertEquals(await stage.credentials.revoke("nobody", ACTOR), "unknown");
  assertEquals(await stage.credentials.revoke("a/b", ACTOR), "unknown");
  assertEquals(await stage.credentials.revoke("provisioner", ACTOR), "in_settings");
  assertEquals((await stage.audits()).length, 1);
});

Deno.test("new Credentials() lists all by name, without a password", async () => {
  await using stage = await openStage();
  await make(stage, "saas");
  const listed = await stage.credentials.list();
  assertEquals(listed, [
    { name: "provisioner", targets: ["default"], access: "read", from: "settings", createdMs: null },
    { name: "saas", ...SCOPE, targets: ["default", "corp"], from: "store", createdMs: stage.clock.nowMs() },
  ]);
});

// Permissions of SCIM credentials, over HTTP.

type Who = { name: string; password: string } | null;
const WRONG = { ...WRITER, password: "not it" };
const UNKNOWN = { name: "nobody", password: WRITER.password };

const MATRIX: readonly (readonly [title: string, who: Who, read: number, write: number])[] = [
  ["nobody", null, 401, 401],
  ["a wrong password", WRONG, 401, 401],
  ["an unknown name", UNKNOWN, 401, 401],
  ["a reader", READER, 200, 403],
  ["a writer", WRITER, 200, 201],
  ["a writer of another target", STRANGER, 403, 403],
];
for (const [title, as, read, write] of MATRIX) {
  Deno.test(`${title} reads: ${read}, writes: ${write}`, async () => {
    await using site = await openSite();
    assertEquals((await site.call("/Users", { as })).status, read);
    assertEquals((await site.call("/Users", { as, method: "POST", body: {} })).status, write);
  });
}

Deno.test("five failures for one name from one address lead to 429 with Retry-After, but the correct credential passes", async () => {
  const clock = createManualClock();
  await using site = await openSite({ clock });
  for (let guess = 0; guess < 5; guess++) {
    assertEquals((await site.call("/Users", { as: WRONG })).status, 401);
  }
  const stopped = await site.call("/Users", { as: WRONG });
  assertEquals([stopped.status, stopped.headers.get("retry-after")], [429, "60"]);
  assertEquals(stopped.json["status"], "429");
  clock.advance(1000);
  assertEquals((await site.call("/Users")).status, 200);
  assertEquals((await site.call("/Users", { as: WRONG })).status, 429);
  clock.advance(60_000);
  assertEquals((await site.call("/Users", { as: WRONG })).status, 401);
});

Deno.test("a header that is no credential gets 401, and counts as no failure", async () => {
  await using site = await openSite();
  for (const authorization of ["", "Basic", "Basic !!!", "Bearer abc", "Basic YQ==", `${basic(WRITER)}, x`]) {
    for (let round = 0; round < 2; round++) {
      const { status } = await site.call("/Users", { as: null, headers: { authorization } });
      assertEquals(status, 401);
    }
  }
  assertEquals((await site.call("/Users")).status, 200);
});

Deno.test("a revoked credential is refused at once", async () => {
  await using site = await openSite();
  const actor = { name: "command", source: "" };
  const added = await site.credentials.add({ name: "saas", targets: ["default"], access: "read" }, actor);
  const as = { name: "saas", password: added.ok ? added.password : "" };
  assertEquals((await site.call("/Users", { as })).status, 200);
  await site.credentials.revoke("saas", actor);
  assertEquals((await site.call("/Users", { as })).status, 401);
});

Deno.test("the log contains no password and no Authorization header", async () => {
  await using site = await openSite();
  await site.call("/Users");
  await site.call("/Users", { as: { name: WRITER.password, password: "planted-guess" } });
  await site.console.log.flush();
  const lines = site.console.lines.join("");
  for (const secret of [WRITER.password, "planted-guess", basic(WRITER).slice(6)]) {
    assertEquals(lines.includes(secret), false);
  }
});

// Parsing of valid and invalid Authorization headers.

const base64 = (text: string) => new TextEncoder().encode(text).toBase64();

const SOUND: readonly (readonly [header: string, name: string, password: string])[] = [
  // RFC 7617 §2.
  ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"],
  // RFC 7617 §2.1.
  ["Basic dGVzdDoxMjPCow==", "test", "123£"],
  [`bAsIc   ${base64("a:b")}`, "a", "b"],
  [`Basic ${base64("a:b:c::")}`, "a", "b:c::"],
  [`Basic ${base64("a:")}`, "a", ""],
  [`Basic ${base64(":b")}`, "", "b"],
  [`Basic ${base64("a:bb").replace(/=+$/, "")}`, "a", "bb"],
];
for (const [header, name, password] of SOUND) {
  Deno.test(`readBasic() reads ${header}`, () => assertEquals(readBasic(header), { name, password }));
}

const ODD: Readonly<Record<string, string | null>> = {
  "no header": null,
  "an empty header": "",
  "the scheme alone": "Basic",
  "the scheme and a blank": "Basic ",
  "another scheme": `Bearer ${base64("a:b")}`,
  "no blank": `Basic${base64("a:b")}`,
  "base64url": "Basic _-8=",
  "a blank inside": "Basic YTp i",
  "two credentials": `Basic ${base64("a:b")}, Basic ${base64("a:b")}`,
  "padding in the middle": "Basic YQ==Og==",
  "no colon": `Basic ${base64("ab")}`,
  "a line end": `Basic ${base64("a:b\n")}`,
  "a NUL": `Basic ${base64("a\0:b")}`,
  "a C1 control": `Basic ${base64("a:\u0085b")}`,
  "no UTF-8": `Basic ${new Uint8Array([0x61, 0x3a, 0xff]).toBase64()}`,
  "a surrogate in UTF-8": `Basic ${new Uint8Array([0x61, 0x3a, 0xed, 0xa0, 0x80]).toBase64()}`,
  "too much": `Basic ${base64(`a:${"b".repeat(8192)}`)}`,
};
for (const [what, header] of Object.entries(ODD)) {
  Deno.test(`readBasic() refuses ${what}`, () => assertEquals(readBasic(header), null));
}

// Counting of failures by source.

Deno.test("SourceLimit() allows a limited source one check a second", async () => {
  const clock = createManualClock();
  const limit = new SourceLimit({ clock });
  assertEquals([await limit.takeLimitedCheck("2001:db8::1"), await limit.takeLimitedCheck("2001:db8::2")], [
    true,
    false,
  ]);
  assertEquals(await limit.takeLimitedCheck("192.0.2.1"), true);
  clock.advance(1000);
  assertEquals(await limit.takeLimitedCheck("2001:db8::1"), true);
});

Deno.test("SourceLimit() runs the work of one source in order and of others in parallel, and 64 may wait", async () => {
  const limit = new SourceLimit({ clock: createManualClock() });
  const running: string[] = [];
  const gate = Promise.withResolvers<void>();
  const work = (name: string) => async () => {
    running.push(name);
    await gate.promise;
    if (name === "a0") throw new Error("failed");
    return name;
  };
  const started = Array.from({ length: 64 }, (_, at) => limit.inTurn("a", work(`a${at}`)));
  assertEquals([limit.inTurn("a", work("one too many")), started.includes(null)], [null, false]);
  const beside = limit.inTurn("b", work("b"));
  await Promise.resolve();
  assertEquals(running, ["a0", "b"]);
  gate.resolve();
  const outcomes = await Promise.allSettled(started);
  assertEquals(outcomes.map(({ status }) => status).slice(0, 3), ["rejected", "fulfilled", "fulfilled"]);
  assertEquals(
    running.filter((name) => name.startsWith("a")),
    Array.from({ length: 64 }, (_, at) => `a${at}`),
  );
  await beside;
  assertEquals(await limit.inTurn("a", () => Promise.resolve("room again")), "room again");
});
