// Values that a login reads: of packets and of users.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { FirstFactorVerdict } from "../../../radius/ports.ts";
import type { Attribute, RequestParts } from "../../support/radius_packets.ts";
import { startFirstFactorServer } from "./first_factor_server.ts";
import { type InProcess, SECRET, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import {
  appCode,
  decide,
  give,
  giveDevice,
  lastRequest,
  NUMBER,
  passcodeSentTo,
  register,
  SEED,
  startWith,
} from "./people.ts";
import { turn } from "./passing_time.ts";

// How values of a request are read: without octets, with octets after a NUL, and in another encoding than UTF-8. Also requests that are no
// logins, health checks, and Prompt in challenges.

const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const DENIED = ["reject", "Access denied."];
const DIRECTORY = '[radius]\nfirst_factor = "directory"\n';
const octets = (text: string) => new TextEncoder().encode(text);
/** Each character is one octet. */
const latin = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const attribute = (type: number, value: Uint8Array): Attribute => ({ type, value });
const EMPTY = new Uint8Array(0);
const [USER_NAME, USER_PASSWORD, NAS_IP, NAS_PORT, SERVICE_TYPE, STATE] = [1, 2, 4, 5, 6, 24];
const [CALLING_STATION, NAS_ID, NAS_PORT_ID, MESSAGE_AUTHENTICATOR, PROMPT] = [31, 32, 87, 80, 76];
const BARE = { nasPort: undefined };

/** A directory in which "right" and Köln are the passwords of everybody. */
function passwordsOf(asked: string[]) {
  const judge = (user: string, password: Uint8Array): Promise<FirstFactorVerdict> => {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(password);
    asked.push(`${user} ${text}`);
    return Promise.resolve(text === "right" || text === "K\u00f6ln" ? "right" : "wrong");
  };
  return {
    hasPassword: () => Promise.resolve(true),
    directory: judge,
    ldap: (_backend: string, user: string, password: Uint8Array) => judge(user, password),
  };
}

for (
  const [name, type] of Object.entries({
    "User-Password": USER_PASSWORD,
    State: STATE,
    "Calling-Station-Id": CALLING_STATION,
    "NAS-Port": NAS_PORT,
    "NAS-Port-Id": NAS_PORT_ID,
    "NAS-Identifier": NAS_ID,
    "NAS-IP-Address": NAS_IP,
    "Service-Type": SERVICE_TYPE,
  })
) {
  Deno.test(`empty: ${name} without octets in front of a login counts as absent in both steps`, async () => {
    await using world = await startWith("text");
    const more = [attribute(type, EMPTY)];
    const login = world.login({ user: "anna", nasPort: 7 });
    const first = await login.start("pw", { more });
    assertEquals(first.step, "AWAIT_SMS_DELIVERED_PASSCODE");
    assertEquals((await login.answer(passcodeSentTo(world, NUMBER), { more })).kind, "accept");
  });
}

Deno.test("empty: User-Name without octets before the real one counts as absent", async () => {
  await using world = await startInProcess();
  const login = world.login({ user: "anna" });
  const parts = { userName: EMPTY, more: [attribute(USER_NAME, octets("anna"))] };
  assertEquals((await login.start("", parts)).step, MENU);
});

Deno.test("empty: a Message-Authenticator without octets is a wrong one", async () => {
  await using world = await startInProcess();
  const { bytes } = world.client.build({ userName: "anna", password: "pw", messageAuthenticator: "none" });
  const packet = Uint8Array.of(...bytes, MESSAGE_AUTHENTICATOR, 2);
  packet[3] = packet.length;
  await world.client.sendRaw(packet);
  await world.login({ user: "bert" }).start("");
  assertEquals(world.radius.monitor.counters().dropped_wrong_message_authenticator, 1);
});

Deno.test("NUL: an answer, a password and a forwarded password end at the first NUL", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startWith("app", { toml: server.toml });
  const login = world.login({ user: "anna" });
  assertEquals((await login.start("right\0noise")).step, CODE);
  assertEquals((await login.answer(`${appCode(world.clock.nowMs())}\0noise\x01`)).kind, "accept");
});

Deno.test("NUL: a menu letter and an appended code end at the first NUL, also in an unsigned request", async () => {
  await using world = await startWith("app", { toml: "[radius]\nappend_mode = true" });
  const unsigned = { messageAuthenticator: "none" } as const;
  const login = world.login({ user: "anna" });
  await login.start("", unsigned);
  assertEquals((await login.answer("D\0\0D", unsigned)).step, CODE);
  const other = world.login({ user: "anna" });
  assertEquals((await other.start(`pw,${appCode(world.clock.nowMs())}\0,push`, unsigned)).kind, "accept");
});

Deno.test("NUL: nothing before a NUL is an empty answer", async () => {
  await using world = await startInProcess();
  assertEquals((await world.login({ user: "anna" }).start("\0secret")).step, MENU);
});

Deno.test("encoding: a name in Windows-1252 is the user of that name, and its password reaches the bind as UTF-8", async () => {
  const asked: string[] = [];
  await using world = await startInProcess({
    toml: DIRECTORY,
    passwords: passwordsOf(asked),
    users: ["k\u00f6lbel"],
  });
  await give(world, "k\u00f6lbel", { kind: "totp", seed: SEED });
  for (let times = 0; times < 2; times++) {
    const login = world.login({ user: "anna" });
    const userName = latin("K\xf6lbel");
    assertEquals((await login.start("", { userName, password: latin("K\xf6ln") })).step, CODE);
    assertEquals(brief(await login.answer("000000", { userName })), [
      "reject",
      "The submitted passcode does not match.",
    ]);
  }
  assertEquals(asked[0], "k\u00f6lbel K\u00f6ln");
  assertEquals(world.radius.limits.failures("k\u00f6lbel").total, 2);
  const lines = (await world.logLines()).filter((line) => line.includes("Windows-1252"));
  assertEquals(lines.length, 1);
  assert((await world.logLines()).some((line) => line.includes("K\u00f6lbel")));
});

Deno.test("encoding: a password in Windows-1252 reaches another RADIUS server as UTF-8", async () => {
  using server = startFirstFactorServer({ password: "K\u00f6ln" });
  await using world = await startWith("app", { toml: server.toml });
  const login = world.login({ user: "anna" });
  assertEquals((await login.start("", { password: latin("K\xf6ln") })).step, CODE);
  const long = await world.login({ user: "anna" }).start("", { password: latin("\xf6".repeat(128)) });
  assertEquals(brief(long), DENIED);
});

Deno.test("encoding: a password in Windows-1252 is read from an unsigned request too", async () => {
  const asked: string[] = [];
  await using world = await startWith("app", { toml: DIRECTORY, passwords: passwordsOf(asked) });
  const reply = await world.login({ user: "anna" }).start("", {
    password: latin("K\xf6ln"),
    messageAuthenticator: "none",
  });
  assertEquals(reply.step, CODE);
});

Deno.test("encoding: names of different octets are different users", async () => {
  await using world = await startInProcess({ toml: '[radius]\nfirst_factor = "none"' });
  const names = ["\xf6", "\xe4", "\x81", "\x8d", "\x8f", "\x90", "\x9d", "\x80", "\xff"];
  for (const name of names) {
    await world.login({ user: "anna", nasPort: 5 }).start("", { userName: latin(`a${name}`) });
  }
  const users = new Set(world.radius.monitor.conversations(50).map(({ user }) => user));
  assertEquals(users.size, names.length);
});

/** `\b\n\r\x7fINCORRECT`, cut or repeated to the length of the typed password (OpenSSH since 7.3), or as it is. */
for (
  const password of [
    "\b\n\r\x7fINCORRECT",
    "\b",
    "\b\n\r\x7fINC",
    "\b\n\r\x7fINCORRECT\b\n\r",
    "\b\n\r\x7fINCORRECT\0\0x",
  ]
) {
  for (const messageAuthenticator of ["first", "none"] as const) {
    Deno.test(`sshd: ${JSON.stringify(password)} (Message-Authenticator: ${messageAuthenticator}) is rejected without a push`, async () => {
      await using world = await startWith("device", { toml: "[radius]\nappend_mode = true" });
      const reply = await world.login({ user: "anna" }).start(password, { messageAuthenticator });
      assertEquals(brief(reply), DENIED);
      assertEquals(world.secondFactor.requests.length, 0);
      assertEquals(world.radius.limits.failures("anna").total, 0);
      assertEquals(world.radius.monitor.counters().refused_sshd_password, 1);
      const lines = await world.logLines();
      assertEquals(lines.filter((line) => line.includes("sshd asks")).length, 1);
      assert(!lines.some((line) => line.includes("is the shared secret of this client right?")));
    });
  }
}

const serviceType = (value: number): RequestParts => ({
  more: [attribute(SERVICE_TYPE, Uint8Array.of(0, 0, 0, value))],
});
for (
  const [name, value] of Object.entries({
    "Call-Check": 10,
    Voice: 12,
    Fax: 13,
    "Modem-Relay": 14,
    "IAPP-Register": 15,
    "IAPP-AP-Check": 16,
    "Authorize-Only": 17,
    "Additional-Authorization": 19,
  })
) {
  Deno.test(`Service-Type: ${name} is no login: a Reject, no menu and no push`, async () => {
    await using world = await startWith("device");
    for (const password of ["", "anna"]) {
      const reply = await world.login({ user: "anna" }).start(password, serviceType(value));
      assertEquals(brief(reply), ["reject", "This way of signing in is not supported here."]);
    }
    assertEquals(world.secondFactor.requests.length, 0);
    assertEquals(world.radius.monitor.counters().refused_no_login, 2);
  });
}
for (
  const [name, value] of Object.entries({
    Login: 1,
    Framed: 2,
    "Callback-Login": 3,
    "Callback-Framed": 4,
    Outbound: 5,
    Administrative: 6,
    "NAS-Prompt": 7,
    "Authenticate-Only": 8,
    "Callback-NAS-Prompt": 9,
    "Callback-Administrative": 11,
    "Framed-Management": 18,
  })
) {
  Deno.test(`Service-Type: ${name} is a login`, async () => {
    await using world = await startInProcess();
    assertEquals((await world.login({ user: "anna" }).start("", serviceType(value))).step, MENU);
  });
}

for (
  const [userName, callingStationId, isLogin] of [
    ["0050568a1b2c", "00-50-56-8A-1B-2C", false],
    ["00:50:56:8a:1b:2c", "0050.568a.1b2c", false],
    ["0050568a1b2c", "00-50-56-8A-1B-2D", true],
    ["0050568a1b2c", undefined, true],
    ["anna", "anna", true],
  ] as const
) {
  Deno.test(`MAC authentication: ${userName} from ${callingStationId} is ${isLogin ? "a" : "no"} login`, async () => {
    await using world = await startInProcess();
    const reply = await world.login({ user: userName }).start(userName, { callingStationId });
    assertEquals(reply.kind, isLogin ? "challenge" : "reject");
    assertEquals(world.radius.monitor.counters().refused_no_login ?? 0, isLogin ? 0 : 1);
  });
}

const CHECKS = `[[radius.client]]\nname = "lb"\naddress = ["127.0.0.1"]\nsecret = "${SECRET}"\n` +
  'health_check_users = ["probe", "K\u00f6ln-check"]\nstrip_realms = ["corp.example"]\n';
for (
  const [title, parts] of [
    ["its name", { userName: "probe" }],
    ["its name in capitals and with a realm", { userName: "PROBE@corp.example" }],
    ["no password", { userName: "probe", password: undefined }],
    ["CHAP", { userName: "probe", password: undefined, more: [attribute(3, new Uint8Array(17))] }],
    ["no Message-Authenticator", { userName: "probe", messageAuthenticator: "none" }],
    ["Windows-1252", { userName: latin("k\xf6ln-CHECK") }],
  ] as const
) {
  Deno.test(`health check: a request with ${title} is rejected at once and leaves no trace`, async () => {
    await using world = await startInProcess({ toml: CHECKS });
    const login = world.login({ user: "anna" });
    const reply = await login.exchange(login.buildStart("pw", parts));
    assertEquals(brief(reply), DENIED);
    assert(reply.tookMs < 500, `${reply.tookMs} ms`);
    const counters = world.radius.monitor.counters();
    assertEquals([counters.health_checks, counters.requests, counters.rejects], [1, 0, 0]);
    assertEquals(world.radius.monitor.conversations(5), []);
    const lines = (await world.logLines()).filter((line) =>
      /probe|check|Access-|dropped|refused/i.test(line)
    );
    assertEquals(lines, []);
  });
}

Deno.test("health check: a wrong Message-Authenticator gets no answer, and the names of others are users", async () => {
  await using world = await startInProcess({ toml: CHECKS });
  const wrong = { userName: "probe", password: "pw", messageAuthenticator: "wrong" } as const;
  await world.client.sendRaw(world.client.build(wrong).bytes);
  assertEquals((await world.login({ user: "probe2" }).start("")).step, MENU);
  const counters = world.radius.monitor.counters();
  assertEquals([counters.health_checks, counters.dropped_wrong_message_authenticator], [0, 1]);
});

Deno.test("health check: an answer for which Proxy-State leaves no room is dropped, and the gateway continues", async () => {
  await using world = await startInProcess({ toml: CHECKS });
  // The MS-CHAP-Error of the answer is longer than the MS-CHAP2-Response of the request.
  const response = attribute(26, Uint8Array.of(0, 0, 1, 55, 25, 52, ...new Uint8Array(50)));
  const proxies = [...new Array<number>(15).fill(253), 165].map((size) =>
    attribute(33, new Uint8Array(size))
  );
  const full = { userName: "probe", password: undefined, more: [response, ...proxies] };
  await world.client.sendRaw(world.client.build(full).bytes);
  assertEquals((await world.login({ user: "probe2" }).start("")).step, MENU);
  assertEquals(world.radius.monitor.counters().health_checks, 0);
  assert((await world.logLines()).some((line) => line.includes("the reply could not be written")));
});

Deno.test("Prompt: each challenge has one, No-Echo for codes and Echo for anything else", async () => {
  await using world = await startWith("device");
  await register(world, "anna", { phoneNumbers: [NUMBER] });
  const login = world.login({ user: "anna", ...BARE });
  const echo = ({ attributes }: { attributes: readonly Attribute[] }) =>
    attributes.filter(({ type }) => type === PROMPT).map(({ value }) => value.toHex()).join();
  const [no, yes] = ["00000000", "00000001"];
  assertEquals(echo(await login.start("")), yes);
  const phone = await login.answer("S");
  assertEquals([phone.step.split(".")[0], echo(phone)], ["SECONDFACTOR_AWAIT_DEVICE_APPROVAL", yes]);
  await login.answer("cancel");
  const code = await login.answer("D");
  assertEquals([code.step.split(".")[0], echo(code)], [CODE, no]);
  await login.answer("cancel");
  const text = await login.answer("T");
  assertNotEquals(text.step, "");
  assertEquals(echo(text), no);
});

// Who may log in: comparison of names, the state of the directory at every packet, unknown users.

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

Deno.test("who: an active user of the directory continues", async () => {
  await using world = await startInProcess();
  await register(world, "anna");
  assertEquals((await world.login({ user: "anna" }).start()).kind, "challenge");
});

Deno.test("who: an inactive user is refused, and no service is called", async () => {
  await using world = await startInProcess();
  await register(world, "anna", { active: false });
  await giveDevice(world, "anna");
  assertEquals(brief(await world.login({ user: "anna" }).start()), DENIED);
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("who: the log contains the reason of a refusal, the reply does not", async () => {
  await using world = await startInProcess({ toml: `[radius]\nunknown_users = "reject"` });
  await register(world, "inactive", { active: false });
  await register(world, "deleted");
  await world.people.remove("deleted");
  for (const user of ["inactive", "deleted", "unknown"]) {
    assertEquals(brief(await world.login({ user }).start()), DENIED);
    const line = (await world.logLines()).find((line) =>
      line.includes("Access-Reject") && line.includes(`user=${user}`)
    );
    assertEquals(/ because=(\S+)/.exec(line ?? "")?.[1], user);
  }
});

Deno.test("who: a deleted user is refused until created again", async () => {
  await using world = await startInProcess();
  await register(world, "anna");
  await world.people.remove("anna");
  assertEquals(brief(await world.login({ user: "anna" }).start()), DENIED);
  await register(world, "anna");
  assertEquals((await world.login({ user: "anna" }).start()).kind, "challenge");
});

Deno.test("who: with unknown_users allow an unknown user reaches the menu, and no further step", async () => {
  await using world = await startInProcess();
  const login = world.login({ user: "nobody" });
  assertEquals((await login.start()).step, "CHOOSE_WHICH_MULTIFACTOR");
  for (const letter of ["S", "D"]) {
    assertEquals((await login.answer(letter)).step, "CHOOSE_WHICH_MULTIFACTOR");
  }
  await login.answer("T");
  assertEquals((await login.answer(NUMBER)).step, "GET_SMS_PHONE_NUMBER");
  assertEquals([world.secondFactor.requests.length, world.telephony.requests.length], [0, 0]);
});

Deno.test("who: with unknown_users reject an unknown user is refused at once", async () => {
  await using world = await startInProcess({ toml: `[radius]\nunknown_users = "reject"` });
  await register(world, "anna");
  assertEquals(brief(await world.login({ user: "nobody" }).start()), DENIED);
  assertEquals((await world.login({ user: "anna" }).start()).kind, "challenge");
});

Deno.test("who: unknown, inactive and deleted users receive the same message", async () => {
  await using world = await startInProcess({ toml: `[radius]\nunknown_users = "reject"` });
  await register(world, "inactive", { active: false });
  await register(world, "deleted");
  await world.people.remove("deleted");
  const replies = await Promise.all(
    ["inactive", "deleted", "unknown"].map((user) => world.login({ user }).start()),
  );
  const shapes = replies.map(({ attributes }) => attributes.slice(1));
  assertEquals(shapes[1], shapes[0]);
  assertEquals(shapes[2], shapes[0]);
});

for (
  const [title, kept, typed] of [
    ["case", "Anna.Muster", "aNNA.mUSTER"],
    ["the form of its accents (NFC)", "Zoe\u0308", "zo\u00eb"],
    ["case beyond ASCII", "ÄRZTIN", "ärztin"],
  ] as const
) {
  Deno.test(`who: a name is found whatever ${title}`, async () => {
    await using world = await startInProcess({ toml: `[radius]\nunknown_users = "reject"` });
    await register(world, kept);
    assertEquals((await world.login({ user: typed }).start()).kind, "challenge");
  });
}

Deno.test("who: another spelling of the name is the same login, pairing and count", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "ANNA", nasPort: 42 });
  const { state } = await login.start();
  decide(world, pairing, true);
  const other = world.login({ user: "Anna", nasPort: 42 });
  assertEquals((await other.answer("", { state: state ?? undefined })).kind, "accept");
});

/** The possible states of the directory while a login waits. */
const CHANGES: readonly [string, (world: InProcess) => Promise<unknown>][] = [
  ["deactivated", (world) => register(world, "anna", { active: false })],
  ["deleted", (world) => world.people.remove("anna")],
];

for (const [title, change] of CHANGES) {
  Deno.test(`who: a user who is ${title} while the device is awaited is refused, although it approved`, async () => {
    await using world = await startInProcess();
    await register(world, "anna");
    const pairing = await giveDevice(world, "anna");
    const login = await world.begin({ user: "anna" });
    decide(world, pairing, true);
    await change(world);
    assertEquals(brief(await login.answer("")), DENIED);
  });

  Deno.test(`who: a user who is ${title} during a call to the service is refused, although the device approved`, async () => {
    const held: { release: () => void } = { release: () => {} };
    const released = new Promise<void>((resolve) => held.release = resolve);
    await using world = await startInProcess({
      between: {
        secondFactor: (service) => ({
          ...service,
          async status(id) {
            const answer = await service.status(id);
            await released;
            return answer;
          },
        }),
      },
    });
    await register(world, "anna");
    const pairing = await giveDevice(world, "anna");
    const login = await world.begin({ user: "anna" });
    decide(world, pairing, true);
    const reply = login.answer("");
    while (!world.secondFactor.requests.some(({ method }) => method === "GET")) await turn();
    await change(world);
    held.release();
    assertEquals(brief(await reply), DENIED);
  });

  Deno.test(`who: a user who is ${title} while a passcode is awaited is refused, although it is right`, async () => {
    await using world = await startInProcess();
    await register(world, "anna");
    await give(world, "anna", { kind: "sms", number: NUMBER });
    const login = await world.begin({ user: "anna" });
    await change(world);
    assertEquals(brief(await login.answer(passcodeSentTo(world, NUMBER))), DENIED);
  });
}

Deno.test("who: Cancel does not bypass a refusal", async () => {
  await using world = await startInProcess();
  await register(world, "anna");
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, DEVICE);
  assertEquals(lastRequest(world, pairing).pending, true);
  await register(world, "anna", { active: false });
  assertEquals(brief(await login.answer("cancel")), DENIED);
});
