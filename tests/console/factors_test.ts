// Second factors of administrators: codes after the password, used once, locked after five failures; recovery codes.

import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { decodeBase32, encodeBase32, TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";
import { auditRecordsOf } from "../fakes/audited.ts";
import { createManualClock, PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";

const SESSION = "/console/api/session";
const FACTORS = "/console/api/factors";
type ManualClock = ReturnType<typeof createManualClock>;

async function json(response: Response) {
  return { status: response.status, headers: response.headers, body: await response.json() };
}

function post(
  site: TestConsole,
  path: string,
  { json: body = {}, cookie }: { json?: unknown; cookie?: string },
) {
  return site.call(path, { method: "POST", json: body, cookie }).then(json);
}

const signIn = (site: TestConsole, code?: string) =>
  post(site, SESSION, {
    json: { name: "owner", password: PASSWORD, ...(code === undefined ? {} : { code }) },
  });

/** Sets up an app for the owner; returns its code at a time, and the recovery codes. */
async function withApp(site: TestConsole, clock: ManualClock) {
  const cookie = await site.signIn("owner");
  const { body } = await post(site, `${FACTORS}/totp`, { cookie });
  const seed = decodeBase32(body.secret);
  if (seed === null) throw new Error("The seed is not base32");
  const code = () => totpAt(seed, Math.floor(clock.nowMs() / TOTP_STEP_MS), 6);
  const confirmed = await post(site, `${FACTORS}/totp/confirm`, { json: { code: code() }, cookie });
  clock.advance(2 * TOTP_STEP_MS);
  const codeAt = (steps: number) => totpAt(seed, Math.floor(clock.nowMs() / TOTP_STEP_MS) + steps, 6);
  return { cookie, code, codeAt, uri: String(body.uri), recovery: confirmed.body.codes as string[] };
}

Deno.test("encodeBase32() writes the vectors of RFC 4648 §10, and decodeBase32() reads them", () => {
  const vectors = [["f", "MY"], ["fo", "MZXQ"], ["foo", "MZXW6"], ["foob", "MZXW6YQ"], [
    "foobar",
    "MZXW6YTBOI",
  ]];
  for (const [plain = "", text = ""] of vectors) {
    assertEquals(encodeBase32(new TextEncoder().encode(plain)), text);
  }
  const octets = crypto.getRandomValues(new Uint8Array(20));
  assertEquals(decodeBase32(encodeBase32(octets)), octets);
});

Deno.test("createSignIn() requires a code after an app is set up, and accepts each code once", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const { code, uri } = await withApp(site, clock);
  assertMatch(uri, /^otpauth:\/\/totp\/Countersign%3Aowner\?secret=[A-Z2-7]{32}&issuer=Countersign$/);
  const asked = await signIn(site);
  assertEquals([asked.status, asked.body.error.code, asked.headers.get("set-cookie")], [
    401,
    "code_needed",
    null,
  ]);
  const right = await signIn(site, code());
  assertEquals([right.status, right.body.session.has], [200, { totp: true, passkey: false }]);
  const replayed = await signIn(site, code());
  assertEquals([replayed.status, replayed.body.error.code], [401, "wrong_code"]);
  clock.advance(TOTP_STEP_MS);
  assertEquals((await signIn(site, code())).status, 200);
});

Deno.test("createSignIn() learns the drift of an app, and still accepts a code of the right time", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const { codeAt } = await withApp(site, clock);
  const statuses: number[] = [];
  for (const steps of [-2, -1, -2, -3, 0, -2]) {
    clock.advance(10 * TOTP_STEP_MS);
    statuses.push((await signIn(site, codeAt(steps))).status);
  }
  assertEquals(statuses, [401, 200, 200, 200, 200, 401]);
});

Deno.test("createSignIn() accepts one of two simultaneous sign-ins with the same code", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const { code } = await withApp(site, clock);
  const typed = code();
  const answers = await Promise.all([signIn(site, typed), signIn(site, typed), signIn(site, typed)]);
  assertEquals(answers.map(({ status }) => status).toSorted(), [200, 401, 401]);
});

Deno.test("createSignIn() does not mention codes to a client that does not know the password", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const { code } = await withApp(site, clock);
  for (const name of ["owner", "nobody"]) {
    const answer = await post(site, SESSION, { json: { name, password: "wrong", code: code() } });
    assertEquals([answer.status, answer.body.error.code], [401, "wrong_sign_in"], name);
  }
});

/** Sign-ins with a code from an address. */
const signInFrom = (site: TestConsole, remoteAddress: string, typed: string) =>
  site.app(
    new Request(site.origin + SESSION, {
      method: "POST",
      headers: { origin: site.origin, host: new URL(site.origin).host, "content-type": "application/json" },
      body: JSON.stringify({ name: "owner", password: PASSWORD, code: typed }),
    }),
    { remoteAddress },
  ).then(json);

/** Wrong codes of strangers, each from another address; returns the last refusal. */
async function guess(site: TestConsole, count: number): Promise<string> {
  let code = "";
  for (let at = 0; at < count; at += 1) {
    code = (await signInFrom(site, `198.51.100.${at}`, "000000")).body.error.code;
  }
  return code;
}

Deno.test("AdminFactors locks codes after five wrong ones from any source, for twice as long each time", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const { code } = await withApp(site, clock);
  for (const minutes of [15, 30, 60, 120, 240, 480, 960, 1440, 1440]) {
    assertEquals(await guess(site, 4), "wrong_code");
    assertEquals(await guess(site, 1), "locked_out");
    const right = await signInFrom(site, "192.0.2.9", code());
    assertEquals([right.status, right.headers.get("retry-after")], [429, String(minutes * 60)]);
    clock.advance(minutes * 60_000);
  }
  assertEquals(await guess(site, 4), "wrong_code");
  assertEquals(await guess(site, 1), "codes_locked");
  // Ten times the longest lock. Each minute of the clock runs timers.
  clock.advance(10 * 24 * 3600_000);
  assertEquals((await signInFrom(site, "192.0.2.9", code())).body.error.code, "codes_locked");
});

Deno.test("AdminFactors counts from the start after a right code without a lock", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const { code } = await withApp(site, clock);
  await guess(site, 5);
  clock.advance(15 * 60_000);
  assertEquals((await signInFrom(site, "192.0.2.9", code())).status, 200);
  assertEquals(await guess(site, 5), "locked_out");
  assertEquals((await signInFrom(site, "192.0.2.10", code())).headers.get("retry-after"), "900");
});

for (const wrong of [5, 50]) {
  Deno.test(`a stranger who knows the password and enters ${wrong} wrong codes does not lock the owner out`, async () => {
    const clock = createManualClock();
    await using site = await startConsole({ clock });
    const { code, recovery, cookie } = await withApp(site, clock);
    const [home, elsewhere] = ["192.0.2.1", "192.0.2.2"];
    assertEquals((await signInFrom(site, home, code())).status, 200);
    for (let at = 0; at < wrong; at += 5) {
      await guess(site, 5);
      if (at + 5 < wrong) clock.advance(24 * 3600_000);
    }
    assertEquals((await signInFrom(site, elsewhere, code())).status, 429);
    // From a known address, a right code always passes; a wrong one only once an hour.
    for (let times = 0; times < 3; times += 1) {
      clock.advance(TOTP_STEP_MS);
      assertEquals((await signInFrom(site, home, code())).status, 200);
    }
    assertNotEquals((await signInFrom(site, home, "000000")).status, 200);
    clock.advance(TOTP_STEP_MS);
    assertEquals((await signInFrom(site, home, code())).status, 429);
    if (wrong === 5) {
      clock.advance(TOTP_STEP_MS);
      const stepUp = await post(site, `${SESSION}/step-up`, {
        json: { password: PASSWORD, code: code() },
        cookie,
      });
      assertEquals(stepUp.status, 200);
    }
    // Recovery codes have their own limit, for each address.
    for (let at = 0; at < 5; at += 1) await signInFrom(site, elsewhere, "aaaaa-aaaaa");
    assertEquals((await signInFrom(site, elsewhere, recovery[0] ?? "")).status, 429);
    assertEquals((await signInFrom(site, home, recovery[0] ?? "")).status, 200);
    // The strangers' lock stays.
    assertEquals((await signInFrom(site, "192.0.2.3", code())).status, 429);
  });
}

Deno.test("another owner and a command unlock the codes of an administrator; the administrator cannot", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const { cookie, code, recovery } = await withApp(site, clock);
  for (let at = 0; at < 10; at += 1) {
    await guess(site, 5);
    clock.advance(24 * 3600_000);
  }
  const entered = await signInFrom(site, "192.0.2.1", recovery[0] ?? "");
  const again = entered.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const unlock = "/console/api/administrators/owner/unlock";
  assertEquals((await post(site, unlock, { cookie: again })).body.error.code, "own_lock");
  assertEquals(
    (await post(site, unlock, { cookie: await site.signIn("user_manager") })).body.error.code,
    "role",
  );
  assertEquals((await post(site, unlock, { cookie })).status, 401);
  const asCommand = await site.app.answerControlSocket(
    new Request(`http://localhost${unlock}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    }),
  );
  assertEquals((await asCommand.json()).codesLocked, false);
  assertEquals((await signInFrom(site, "192.0.2.9", code())).status, 200);
  const records = (await auditRecordsOf(site.store)).map(({ value }) => value)
    .filter((record) => record?.action === "administrator.unlock");
  assertEquals(records.map((record) => [record?.actor, record?.before]), [["command", "50 wrong codes"]]);
});

Deno.test("AdminFactors accepts each recovery code once, in any spelling, and stores none in clear", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const { recovery, cookie } = await withApp(site, clock);
  assertEquals([recovery.length, new Set(recovery).size], [10, 10]);
  const kept = JSON.stringify(
    await Array.fromAsync(site.store.list(["console_factors"])),
    (_key, value) => value instanceof Uint8Array ? value.toHex() : value,
  );
  for (const code of recovery) assertEquals(kept.includes(code), false);
  const [first = "", second = ""] = recovery;
  assertEquals((await signIn(site, ` ${first.toUpperCase().replace("-", " ")} `)).status, 200);
  assertEquals((await signIn(site, first)).body.error.code, "wrong_code");
  const renewed = await post(site, `${FACTORS}/recovery-codes`, { cookie });
  // The session is old enough that a factor is required again.
  assertEquals([renewed.status, renewed.body.factors?.recoveryCodesLeft ?? renewed.body.error.code], [
    200,
    10,
  ]);
  assertEquals((await signIn(site, second)).body.error.code, "wrong_code");
  assertEquals((await signIn(site, renewed.body.codes[0])).status, 200);
});

Deno.test("createFactorRoutes() activates no app without a typed code, nor one that waited too long", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const cookie = await site.signIn("owner");
  const first = await post(site, `${FACTORS}/totp`, { cookie });
  const wrong = await post(site, `${FACTORS}/totp/confirm`, { json: { code: "000000" }, cookie });
  assertEquals(wrong.body.error.code, "wrong_code");
  assertEquals((await signIn(site)).status, 200);
  const second = await post(site, `${FACTORS}/totp`, { cookie });
  assertNotEquals(first.body.secret, second.body.secret);
  clock.advance(16 * 60_000);
  const late = await post(site, `${FACTORS}/totp/confirm`, {
    json: { code: "000000" },
    cookie: await site.signIn("owner"),
  });
  assertEquals(late.body.error.code, "no_totp");
});

Deno.test("createFactorRoutes() removes an app with its recovery codes, and records each change without a secret", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const { cookie, recovery } = await withApp(site, clock);
  const removed = await site.call(`${FACTORS}/totp`, { method: "DELETE", cookie }).then(json);
  assertEquals([removed.body.totpSinceMs, removed.body.recoveryCodesLeft], [null, 0]);
  assertEquals((await signIn(site)).status, 200);
  const records = await auditRecordsOf(site.store);
  assertEquals(records.map(({ value }) => [value?.actor, value?.action, value?.object]), [
    ["owner", "administrator.totp_add", "administrator:owner"],
    ["owner", "administrator.totp_remove", "administrator:owner"],
  ]);
  await site.log.flush();
  assertMatch(site.lines.join(), /console sign-in/);
  const said = JSON.stringify(records) + site.lines.join();
  for (const code of recovery) assertEquals(said.includes(code), false);
});

Deno.test("createSignIn() reads full-width digits of a code, and its blanks and dashes", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const { code } = await withApp(site, clock);
  const wide = code().replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
  assertEquals((await signIn(site, `${wide.slice(0, 3)}\u2011${wide.slice(3)} `)).status, 200);
});
