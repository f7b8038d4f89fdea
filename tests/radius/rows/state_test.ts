// State on the wire: the name of the step, when a token follows it, and what a State cannot do.

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { openDisk } from "./disk.ts";
import type { RequestParts } from "../../support/radius_packets.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import { jump } from "./passing_time.ts";
import { decide, giveDevice, lastRequest, NUMBER, passcodeSentTo, startWith } from "./people.ts";

const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const GONE = ["reject", "This login is over. Start a new one."];
const NOT_GIVEN = ["reject", "Device approval was not given."];

const octets = (text: string) => new TextEncoder().encode(text);
const NAS_PORT_ID = 87;
const bare = { nasPort: undefined } as const;

/** Requests, and whether they have attributes that distinguish two logins of a user. */
const TUPLES: readonly [title: string, parts: RequestParts, distinct: boolean][] = [
  ["a NAS-Port", { nasPort: 7 }, true],
  ["a Calling-Station-Id", { ...bare, callingStationId: "192.0.2.7" }, true],
  ["a NAS-Port-Id", { ...bare, more: [{ type: NAS_PORT_ID, value: octets("ether1") }] }, true],
  ["none of the three", bare, false],
  ["a NAS-Port of 0", { nasPort: 0 }, false],
  ["an empty Calling-Station-Id", { ...bare, callingStationId: "" }, false],
  ["an empty NAS-Port-Id", { ...bare, more: [{ type: NAS_PORT_ID, value: octets("") }] }, false],
];

for (const [title, parts, distinct] of TUPLES) {
  Deno.test(`state auto: with ${title} State is ${distinct ? "exactly the name" : "the name and a token"}`, async () => {
    await using world = await startInProcess();
    const { step } = await world.login({ user: "anna", ...parts }).start("");
    if (distinct) assertEquals(step, MENU);
    else assertMatch(step, /^CHOOSE_WHICH_MULTIFACTOR\.[A-Za-z0-9_-]{22}$/);
  });

  Deno.test(`state: a login with ${title} continues to its end`, async () => {
    await using world = await startInProcess();
    const pairing = await giveDevice(world, "anna");
    const login = await world.begin({ user: "anna", ...parts });
    decide(world, pairing, true);
    assertEquals((await login.answer("")).kind, "accept");
  });
}

Deno.test("state name: only the name, also if nothing distinguishes two logins", async () => {
  await using world = await startInProcess({ toml: `[radius]\nstate = "name"` });
  assertEquals((await world.login({ user: "anna", ...bare }).start("")).step, MENU);
});

Deno.test("state token: a token, also if there is a NAS-Port", async () => {
  await using world = await startInProcess({ toml: `[radius]\nstate = "token"` });
  const login = world.login({ user: "anna" });
  const first = await login.start("");
  assertMatch(first.step, /^CHOOSE_WHICH_MULTIFACTOR\.[A-Za-z0-9_-]{22}$/);
  const second = await login.answer("T");
  assertMatch(second.step, /^GET_SMS_PHONE_NUMBER\.[A-Za-z0-9_-]{22}$/);
  assertNotEquals(second.step.split(".")[1], first.step.split(".")[1]);
});

Deno.test("state: the token of one step is valid for no other step, and no longer for its own after the answer", async () => {
  await using world = await startInProcess({ toml: `[radius]\nstate = "token"` });
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  const [menu, token] = (await login.start("")).step.split(".");
  assertEquals(menu, MENU);
  const { step } = await login.answer("S");
  decide(world, pairing, true);
  assertEquals(brief(await login.answer("", { state: octets(`${DEVICE}.${token}`) })), NOT_GIVEN);
  assertEquals(brief(await login.answer("T", { state: octets(`${MENU}.${token}`) })), GONE);
  assertEquals(brief(await login.answer("T", { state: octets(`${MENU}.${step.split(".")[1]}`) })), GONE);
  assertEquals((await login.answer("", { state: octets(step) })).kind, "accept");
});

Deno.test("state: two logins have two tokens", async () => {
  await using world = await startInProcess();
  const tokens = new Set<string>();
  for (const user of ["anna", "bert", "carl"]) {
    tokens.add((await world.login({ user, ...bare }).start("")).step);
  }
  assertEquals(tokens.size, 3);
});

Deno.test("state: with a token, one login of a user cannot collect the approval of another", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  await world.begin({ user: "anna", ...bare }, "right");
  const stranger = world.login({ user: "anna", ...bare });
  const own = await stranger.start("guess");
  decide(world, pairing, true);
  // The second password superseded the first login, so the approval belongs to the attacker's own request or to no
  // request.
  const forged = `${DEVICE}.${"A".repeat(22)}`;
  assertEquals(brief(await stranger.answer("", { state: octets(forged) })), NOT_GIVEN);
  assertEquals(brief(await stranger.answer("", { state: octets(DEVICE) })), NOT_GIVEN);
  assertNotEquals(own.step, forged);
});

Deno.test("state: a token of one user is useless with another name", async () => {
  await using world = await startInProcess({ toml: `[radius]\nstate = "token"` });
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  const { state } = await login.start();
  decide(world, pairing, true);
  const other = world.login({ user: "bert" });
  assertEquals(brief(await other.answer("", { state: state ?? undefined })), NOT_GIVEN);
  assertEquals((await login.answer("")).kind, "accept");
});

/** The attributes of the first and the second step. A number is a NAS-Port, a letter a Calling-Station-Id, "#" a NAS-Port-Id. */
function partsOf(text: string): RequestParts {
  const parts = text.split(" ").filter((one) => one !== "");
  const station = parts.find((one) => /^[a-z]$/.test(one));
  const port = parts.find((one) => /^[0-9]$/.test(one));
  return {
    nasPort: port === undefined ? undefined : Number(port),
    ...(station === undefined ? {} : { callingStationId: station }),
    more: parts.includes("#") ? [{ type: NAS_PORT_ID, value: octets("port") }] : [],
  };
}

for (
  const [first, second, form, isFound, named] of [
    ["a 7", "7", "auto", true, "missing=Calling-Station-Id"],
    ["a 7", "a", "auto", true, "missing=NAS-Port"],
    ["a 7", "", "auto", true, 'missing="Calling-Station-Id, NAS-Port"'],
    ["a # 7", "a", "auto", true, 'missing="NAS-Port-Id, NAS-Port"'],
    ["7", "a 7", "auto", true, "added=Calling-Station-Id"],
    ["7", "a", "auto", false, "added=Calling-Station-Id"],
    ["a 7", "8", "auto", false, "different=NAS-Port"],
    ["a 7", "b 7", "auto", false, "different=Calling-Station-Id"],
    ["a 7", "b", "name", false, "different=Calling-Station-Id"],
    ["", "7", "auto", true, "added=NAS-Port"],
    ["a 7", "b 8", "token", true, 'different="Calling-Station-Id, NAS-Port"'],
    ["a 7", "", "token", true, 'missing="Calling-Station-Id, NAS-Port"'],
  ] as const
) {
  Deno.test(`state (${form}): step 1 with "${first}", step 2 with "${second}" is ${isFound ? "the same" : "no"} login`, async () => {
    await using world = await startInProcess({ toml: `[radius]\nstate = "${form}"` });
    const pairing = await giveDevice(world, "anna");
    const { state } = await world.login({ user: "anna", ...partsOf(first) }).start();
    decide(world, pairing, true);
    const again = world.login({ user: "anna", ...partsOf(second) });
    const reply = await again.answer("", { state: state ?? undefined });
    assertEquals(brief(reply), isFound ? ["accept", ""] : NOT_GIVEN);
    const lines = (await world.logLines()).filter((line) => line.includes("than in the first step"));
    assertEquals(lines.length, 1);
    assert(lines[0]?.includes(named), lines[0]);
  });
}

for (
  const [title, prepare] of Object.entries<(world: InProcess) => Promise<unknown>>({
    "another login at another port": (world) => world.login({ user: "anna", ...partsOf("a 8") }).start(),
    "another login at the same port": (world) => world.login({ user: "anna", ...partsOf("b 7") }).start(),
    "a login of another user there": (world) => world.login({ user: "bert", ...partsOf("a 7") }).start(""),
  })
) {
  const isFound = title.includes("user");
  Deno.test(`state: an answer without attributes, and ${title}: ${isFound ? "found" : "not found"}`, async () => {
    await using world = await startInProcess();
    const pairing = await giveDevice(world, "anna");
    await world.begin({ user: "anna", ...partsOf("a 7") });
    const { id } = lastRequest(world, pairing);
    await prepare(world);
    world.secondFactor.decide(id, { granted: true });
    const reply = await world.login({ user: "anna", ...bare }).answer("", { state: octets(DEVICE) });
    assertEquals(brief(reply), isFound ? ["accept", ""] : NOT_GIVEN);
  });
}

Deno.test("state: after a restart, the retransmission of an answer that left attributes out gets the Accept again", async () => {
  await using disk = await openDisk();
  await using world = await startInProcess({ kvPath: disk.path });
  const pairing = await giveDevice(world, "anna");
  await world.login({ user: "anna", ...partsOf("a 7") }).start();
  decide(world, pairing, true);
  const again = world.login({ user: "anna", ...partsOf("a") });
  const packet = again.build("ok", { state: octets(DEVICE) });
  assertEquals((await again.exchange(packet)).kind, "accept");
  await world.stop();
  await using next = await startInProcess({ kvPath: disk.path, after: world });
  again.moveTo(next);
  assertEquals((await again.exchange(packet)).kind, "accept");
});

Deno.test("state: a login that was rejected does not hinder the next one, whose answer leaves attributes out", async () => {
  await using world = await startWith("text");
  const first = await world.begin({ user: "anna", ...partsOf("a 7") });
  assertEquals((await first.answer("000")).kind, "reject");
  await world.login({ user: "anna", ...partsOf("a 8") }).start();
  const again = world.login({ user: "anna", ...partsOf("a") });
  const state = octets("AWAIT_SMS_DELIVERED_PASSCODE");
  assertEquals((await again.answer(passcodeSentTo(world, NUMBER), { state })).kind, "accept");
});

Deno.test("state: the answer of a login that expired selects no other login of the user, which has other attributes", async () => {
  await using world = await startInProcess({ toml: "[radius]\nconversation_ttl_s = 60" });
  const pairing = await giveDevice(world, "anna");
  await world.login({ user: "anna", ...partsOf("a 7") }).start();
  await jump(world.clock, 59_000);
  await world.login({ user: "anna", ...partsOf("b 8") }).start();
  await jump(world.clock, 2000);
  decide(world, pairing, true);
  const late = world.login({ user: "anna", ...bare });
  assertEquals(brief(await late.answer("", { state: octets(DEVICE) })), NOT_GIVEN);
});

Deno.test("state: an answer that leaves attributes out finds no login of another client", async () => {
  const secret = "a-secret-that-two-clients-share";
  const client = (name: string) =>
    `[[radius.client]]\nname = "${name}"\naddress = ["127.0.0.1"]\nsecret = "${secret}"\nnas_identifier = "${name}"\n`;
  await using world = await startInProcess({ toml: client("one") + client("two") });
  const pairing = await giveDevice(world, "anna");
  const nas = (name: string) => ({ type: 32, value: octets(name) });
  await world.login({ user: "anna", nasPort: 9, more: [nas("one")] }).start();
  decide(world, pairing, true);
  const other = world.login({ user: "anna", ...bare, more: [nas("two")] });
  assertEquals(brief(await other.answer("", { state: octets(DEVICE) })), NOT_GIVEN);
});

Deno.test("state: a name in the place of a token is not a State of that conversation", async () => {
  await using world = await startInProcess({ toml: `[radius]\nstate = "token"` });
  const login = await world.begin({ user: "anna" }, "");
  assertEquals(brief(await login.answer("T", { state: octets(MENU) })), GONE);
});

/** Names of steps at which no conversation waits. */
for (
  const name of [
    MENU,
    "FIRSTFACTOR_GET_ANSWER",
    "SECONDFACTOR_GET_PAIRING_PHRASE",
    "SECONDFACTOR_AWAIT_PAIRING_APPROVAL",
    "GET_SMS_PHONE_NUMBER",
    "GET_VOICE_PHONE_NUMBER",
    "VERIFY_SMS_PHONE_NUMBER",
    "VERIFY_VOICE_PHONE_NUMBER",
    "AWAIT_VOICE_DELIVERED_PASSCODE",
    "GET_DEVICE_GENERATED_PASSCODE",
    DEVICE,
  ]
) {
  Deno.test(`state: ${name} selects no step of a login at another step, and that login continues`, async () => {
    await using world = await startWith("text");
    const login = world.login({ user: "anna" });
    assertEquals((await login.start()).step, "AWAIT_SMS_DELIVERED_PASSCODE");
    const passcode = passcodeSentTo(world, NUMBER);
    assertEquals(
      brief(await login.answer(passcode, { state: octets(name) })),
      name === DEVICE ? NOT_GIVEN : GONE,
    );
    assertEquals((await login.answer(passcode)).kind, "accept");
  });

  Deno.test(`state: ${name} of a login that never existed selects nothing`, async () => {
    await using world = await startWith("app");
    await giveDevice(world, "anna");
    const login = world.login({ user: "anna" });
    const reply = await login.answer("S", { state: octets(name) });
    assertEquals(brief(reply), name === DEVICE ? NOT_GIVEN : GONE);
    assertEquals(world.secondFactor.initiated(), []);
    assertEquals(world.radius.monitor.alive(), 0);
  });
}

for (
  const name of [
    "x",
    "choose_which_multifactor",
    "CHOOSE_WHICH_MULTIFACTOR2",
    "start",
    "factor",
    "accept",
    ".",
    "a.b",
    "ÿ\u0000",
  ]
) {
  Deno.test(`state: ${JSON.stringify(name)} was never issued here and is a Reject without a call`, async () => {
    await using world = await startInProcess();
    const login = world.login({ user: "anna" });
    assertEquals(brief(await login.answer("S", { state: octets(name) })), [
      "reject",
      "This login is not known here. Start a new one.",
    ]);
    assertEquals(world.secondFactor.requests.length, 0);
  });
}

Deno.test("state: the device step of an ended login requests null from the service twice", async () => {
  await using world = await startInProcess();
  const login = world.login({ user: "anna" });
  assertEquals(brief(await login.answer("", { state: octets(DEVICE) })), NOT_GIVEN);
  assertEquals(nullChecks(world), 2);
});

Deno.test("state: at most ten logins a minute cause requests for null", async () => {
  await using world = await startInProcess();
  const logins = Array.from({ length: 13 }, () => world.login({ user: "anna" }));
  const replies = await Promise.all(logins.map((login) => login.answer("", { state: octets(DEVICE) })));
  assert(replies.every((reply) => reply.message === "Device approval was not given."));
  assertEquals(nullChecks(world), 20);
  await jump(world.clock, 60_000);
  await world.login({ user: "anna" }).answer("", { state: octets(DEVICE) });
  assertEquals(nullChecks(world), 22);
});

Deno.test("state: any other step of an ended login calls no service, whatever was typed", async () => {
  await using world = await startWith("text", { toml: "[radius]\nconversation_ttl_s = 60" });
  const login: Login = world.login({ user: "anna" });
  await login.start();
  const passcode = passcodeSentTo(world, NUMBER);
  await jump(world.clock, 61_000);
  assertEquals(brief(await login.answer(passcode)), GONE);
  assertEquals([world.secondFactor.requests.length, world.telephony.requests.length], [0, 1]);
  assertEquals(world.radius.limits.failures("anna").total, 0);
});

Deno.test("state: a login is over at its deadline, not at the next sweep", async () => {
  await using world = await startWith("text", { toml: "[radius]\nconversation_ttl_s = 60" });
  // A sweep runs at each full second, so this deadline lies well before the next one.
  await jump(world.clock, 100);
  const login = await world.begin({ user: "anna" });
  const [conversation] = world.radius.monitor.conversations(1);
  await jump(world.clock, (conversation?.deadlineMs ?? 0) + 1 - world.clock.nowMs());
  assertEquals(world.radius.monitor.alive(), 1);
  assertEquals(brief(await login.answer(passcodeSentTo(world, NUMBER))), GONE);
});

Deno.test("state: source port and Service-Type may change from step to step", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const serviceType = (value: number) => [{ type: 6, value: new Uint8Array([0, 0, 0, value]) }];
  const login = world.login({ user: "anna", nasPort: 77 });
  const { state } = await login.start("pw", { more: serviceType(1) });
  decide(world, pairing, true);
  using client = world.newClient();
  const elsewhere = world.login({ user: "anna", nasPort: 77 });
  elsewhere.moveTo({ client, clock: world.clock });
  const reply = await elsewhere.answer("", { state: state ?? undefined, more: serviceType(8) });
  assertEquals(reply.kind, "accept");
});

for (
  const [title, first, second] of [
    ["NAS-Port", { nasPort: 1 }, { nasPort: 2 }],
    ["Calling-Station-Id", { ...bare, callingStationId: "a" }, { ...bare, callingStationId: "b" }],
    ["the place of the same octets", { ...bare, callingStationId: "12" }, {
      ...bare,
      more: [{ type: NAS_PORT_ID, value: octets("12") }],
    }],
  ] as const
) {
  Deno.test(`state: another ${title} is another login`, async () => {
    await using world = await startInProcess();
    const pairing = await giveDevice(world, "anna");
    await world.login({ user: "anna", ...first }).start();
    decide(world, pairing, true);
    const other = world.login({ user: "anna", ...second });
    assertEquals(brief(await other.answer("", { state: octets(DEVICE) })), NOT_GIVEN);
  });
}

Deno.test("state: the same user at the same port of another client is another login", async () => {
  const secret = "a-secret-that-two-clients-share";
  const client = (name: string) =>
    `[[radius.client]]\nname = "${name}"\naddress = ["127.0.0.1"]\nsecret = "${secret}"\nnas_identifier = "${name}"\n`;
  await using world = await startInProcess({ toml: client("one") + client("two") });
  const pairing = await giveDevice(world, "anna");
  const at = (name: string) =>
    world.login({ user: "anna", nasPort: 9, more: [{ type: 32, value: octets(name) }] });
  await at("one").start();
  decide(world, pairing, true);
  assertEquals(brief(await at("two").answer("", { state: octets(DEVICE) })), NOT_GIVEN);
  assertEquals((await at("one").answer("", { state: octets(DEVICE) })).kind, "accept");
});

function nullChecks(world: InProcess): number {
  return world.secondFactor.requests.filter(({ target }) => target === "/v1/authentication_requests/null")
    .length;
}
