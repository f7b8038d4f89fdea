// The log of a login, and its audit records.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { type InProcess, SECRET, startInProcess } from "./in_process.ts";
import { appCode, give, giveDevice, NUMBER, otherThan, passcodeSentTo, startWith } from "./people.ts";
import { becomes, jump } from "./passing_time.ts";
import { pairPhone } from "./phone.ts";

// The log: a line for each request and each answer, and never a secret.

const octets = (text: string) => new TextEncoder().encode(text);
const CLIENT = `[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "secret-of-the-vpn-client"
`;

Deno.test("log: each request is one line, with its attributes by name and the password masked", async () => {
  await using world = await startInProcess();
  await world.begin(
    { user: "anna", nasPort: 1234, callingStationId: "192.0.2.7" },
    "hunter2hunter2",
  );
  const lines = (await world.logLines()).filter((line) => line.includes("info  Access-Request"));
  assertEquals(lines.length, 1);
  for (
    const part of [
      'User-Name=\\"anna\\"',
      "User-Password=***",
      "NAS-Port=1234",
      'Calling-Station-Id=\\"192.0.2.7\\"',
      "source=127.0.0.1",
    ]
  ) {
    assert(lines[0]?.includes(part), `${part} in ${lines[0]}`);
  }
});

Deno.test("log: each answer is one line, with the elapsed time in milliseconds", async () => {
  await using world = await startWith("app");
  const login = await world.begin({ user: "anna" });
  await login.answer(appCode(world.clock.nowMs()));
  await login.answer("x", { state: octets("NO_SUCH_STATE") });
  const lines = await world.logLines();
  for (const name of ["Access-Challenge", "Access-Accept", "Access-Reject"]) {
    const [line, ...more] = lines.filter((one) => one.includes(` ${name} `));
    assertEquals(more.length, 0, name);
    assertMatch(line ?? "", / took=\d+\.\d ms/);
  }
});

Deno.test("log: attribute 66 is unknown and skipped, with a line, and the request is handled", async () => {
  await using world = await startInProcess();
  const more = [{ type: 66, value: octets("198.51.100.9") }];
  const reply = await world.login({ user: "anna" }).start("", { more });
  assertEquals(reply.kind, "challenge");
  const lines = await world.logLines();
  assertEquals(lines.filter((line) => line.includes("attribute 66 is unknown, skipped")).length, 1);
});

Deno.test("log: every request of a client that is not configured is a warning", async () => {
  await using world = await startInProcess();
  const login = await world.begin({ user: "anna" }, "");
  await login.answer("x");
  await login.answer("x");
  const warnings = (await world.logLines()).filter((line) => line.includes("any client address is accepted"));
  assertEquals(warnings.map((line) => line.includes(" warn ")), [true, true, true]);
});

Deno.test("log: for a configured client, only the first signed request of an address is a warning", async () => {
  await using world = await startInProcess({ toml: CLIENT });
  await world.login({ user: "anna" }).start("");
  await world.login({ user: "anna" }).start("");
  const lines = await world.logLines();
  const warnings = lines.filter((line) => line.includes(" warn "));
  assertEquals(warnings.length, 1);
  assert(warnings[0]?.includes("this address signs its requests"));
  assert(lines.some((line) => line.includes("client=vpn")));
});

Deno.test("log: it contains no password, passcode, token, digest or secret of any login", async () => {
  await using world = await startInProcess({
    toml: '[server]\nlog_level = "debug"\n[factors.passcode]\nvoice_digits = 8\nsms_digits = 8',
  });
  await give(world, "anna", { kind: "sms", number: NUMBER });
  await give(world, "bert", { kind: "voice", number: NUMBER });
  const device = await giveDevice(world, "carl");
  world.secondFactor.setOtp(device.id, "86420975");
  const secrets = [
    "pass-word-of-the-login",
    SECRET,
    world.secondFactor.consumerSecret,
    world.telephony.authToken,
  ];
  for (const user of ["anna", "bert"]) {
    const login = world.login({ user, nasPort: undefined });
    const challenge = await login.start("pass-word-of-the-login");
    const passcode = passcodeSentTo(world, NUMBER);
    const wrong = otherThan(passcode);
    secrets.push(passcode, wrong, challenge.step.split(".")[1] ?? "no token");
    await login.answer(user === "anna" ? passcode : wrong);
    await login.answer(passcode);
  }
  const login = await world.begin({ user: "carl" }, "");
  await login.answer("D");
  await login.answer("86420975");
  const log = (await world.logLines()).join("\n");
  assert(log.includes("carl"), "the log is there");
  for (const secret of [...secrets, "86420975"]) assertEquals(log.includes(secret), false, secret);
});

Deno.test("log: the audit log and the console contain none of them either", async () => {
  await using world = await startWith("text", { toml: "[factors.passcode]\nsms_digits = 8" });
  const login = world.login({ user: "anna", nasPort: undefined });
  const { step } = await login.start("pass-word-of-the-login");
  const passcode = passcodeSentTo(world, NUMBER);
  await login.answer(passcode);
  const audit: unknown[] = [];
  for await (const { value } of world.store.list(["audit"])) audit.push(value);
  const shown = JSON.stringify([audit, world.radius.monitor.conversations(10)]);
  assert(shown.includes("login.accepted"));
  for (const secret of [passcode, "pass-word-of-the-login", step.split(".")[1] ?? "no token"]) {
    assertEquals(shown.includes(secret), false, secret);
  }
});

/** Names and places of an attacker who wants to forge log lines. */
const HOSTILE = [
  "anna\r\n2027-01-01T00:00:00.000Z info  Access-Accept  user=root",
  "\u001b[2J\u001b[31mred",
  "\u202egnp.exe",
  "a\u2028b\u2029c",
  '" injected="yes',
  "<script>alert(1)</script>",
  "=cmd|' /C calc'!A0",
  "\u0000\u0007\u009b",
];

for (const [at, text] of HOSTILE.entries()) {
  Deno.test(`log: hostile text ${at + 1} in name and place stays on its line and shows no control character`, async () => {
    await using world = await startInProcess();
    await world.login({ user: text, callingStationId: text }).start("");
    const lines = await world.logLines();
    // A name with a format character or NUL is refused, which adds a line.
    assertEquals(lines.length, /[\p{Cf}\0]/u.test(text) ? 4 : 3);
    for (const line of lines) {
      assertMatch(line, /^\d{4}-\d\d-\d\dT[0-9:.]+Z (info|warn) /);
      // deno-lint-ignore no-control-regex
      assertEquals(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]/.test(line), false, line);
    }
  });
}

Deno.test("log: a User-Name that is not UTF-8 is logged and answered", async () => {
  await using world = await startInProcess();
  const login = world.login({ user: "anna" });
  const packet = login.buildStart("", { userName: new Uint8Array([0xff, 0xfe, 0x41]) });
  assertEquals((await login.exchange(packet)).kind, "challenge");
});

Deno.test("log: a drop is logged once a minute, with its reason and source", async () => {
  await using world = await startInProcess({ toml: CLIENT });
  using stranger = world.newClient("another-secret-altogether");
  for (let count = 0; count < 3; count++) {
    await stranger.sendRaw(stranger.build({ userName: "anna", password: "pw" }).bytes);
  }
  await world.login({ user: "anna" }).start("");
  const said = (await world.logLines()).filter((line) => line.includes("reason=wrong_message_authenticator"));
  assertEquals(said.length, 1);
  assert(said[0]?.includes("source=127.0.0.1"));
  assertEquals(world.radius.monitor.counters()["dropped_wrong_message_authenticator"], 3);
});

Deno.test("log: an unsigned request with an unreadable password has a hint at the secret", async () => {
  await using world = await startInProcess();
  using stranger = world.newClient("another-secret-altogether");
  const packet = stranger.build({ userName: "anna", password: "p".repeat(16), messageAuthenticator: "none" });
  await stranger.sendRaw(packet.bytes);
  await world.login({ user: "bert" }).start("");
  const lines = await world.logLines();
  // Sixteen random octets are valid UTF-8 about once in a hundred thousand times.
  assert(lines.some((line) => line.includes("is the shared secret of this client right?")));
});

const UNSENT = [
  { toml: "[factors.sends]\nper_user = 1\n", why: "the limit of factors.sends.per_user is reached" },
  { toml: `[factors]\ncountry_codes = ["41"]\n`, why: "factors.country_codes does not allow the number" },
];
for (const { toml, why } of UNSENT) {
  Deno.test(`log: the line about an unsent text has the reason: ${why}`, async () => {
    await using world = await startWith("text", { toml });
    await world.login({ user: "anna", nasPort: 1 }).start();
    await world.login({ user: "anna", nasPort: 2 }).start();
    const lines = (await world.logLines()).filter((line) => line.includes(why));
    assert(lines.length > 0);
    for (const line of lines) {
      assertMatch(line, /warn {2}not sent: text/);
      assert(!line.includes(NUMBER));
    }
  });
}

// Audit records of logins: the address of the RADIUS client and the caller (Calling-Station-Id, RFC 2865 §5.31).

const CALLER = "198.51.100.23";

/** The audit records of logins: the event, the address of the client, and the caller. */
async function audited(world: InProcess): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { value } of world.store.list<Record<string, unknown>>(["audit"])) {
    if (String(value?.action).startsWith("login.")) found.push([value?.action, value?.source, value?.caller]);
  }
  return found;
}

Deno.test("login audit: a decision and a login that expired have the caller beside the client", async () => {
  await using world = await startInProcess({ embedded: true, toml: "[radius]\nconversation_ttl_s = 60" });
  const phone = await pairPhone(world, "anna");
  const denied = await world.begin({ user: "anna", callingStationId: CALLER });
  await phone.deny();
  await denied.answer("");
  await world.login({ user: "anna", callingStationId: CALLER }).start();
  await jump(world.clock, 61_000);
  await becomes("the end is recorded", async () => (await audited(world)).length === 2);
  assertEquals(await audited(world), [
    ["login.rejected", "127.0.0.1", CALLER],
    ["login.expired", "127.0.0.1", CALLER],
  ]);
});

Deno.test("login audit: a login without a Calling-Station-Id has no caller", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = await world.begin({ user: "anna" });
  await phone.deny();
  await login.answer("");
  assertEquals(await audited(world), [["login.rejected", "127.0.0.1", undefined]]);
});
