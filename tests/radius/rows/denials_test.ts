// Refused, denied and disowned logins.

import { assert, assertEquals } from "@std/assert";
import { decodeLoginRecord, type LoginRecord } from "../../../radius/conversation/login_record.ts";
import { explainLogin } from "../../../console/api/conversations/explain_login.ts";
import { type InProcess, SECRET, startInProcess } from "./in_process.ts";
import { appCode, decide, give, giveDevice, otherThan, SEED, startWith } from "./people.ts";
import { becomes, jump } from "./passing_time.ts";
import { pairPhone } from "./phone.ts";
import type { Attribute, RequestParts } from "../../support/radius_packets.ts";
import { brief } from "./login.ts";
import { openRecorder } from "./recorder.ts";
import type { Store } from "../../../platform/store.ts";

// A rejected push: the history and the audit log have the actor who denied it, or the reason for its end.

/** Every login in the history. */
async function finishedLogins({ store }: InProcess): Promise<LoginRecord[]> {
  const finished: LoginRecord[] = [];
  for await (const { value } of store.list<unknown>(["history"])) {
    const login = decodeLoginRecord(value);
    if (login !== null) finished.push(login);
  }
  return finished;
}

/** The same, when there is at least one: an expiry is recorded after the deadline. */
async function oneFinished(world: InProcess): Promise<LoginRecord[]> {
  await becomes("a login ends", async () => (await finishedLogins(world)).length > 0);
  return await finishedLogins(world);
}

function reasonOf(login: LoginRecord) {
  return explainLogin(login, { refusedFor: login.refusedFor, denial: login.denial })?.code;
}

/** The end of the only rejected login: its reason, its actor, and the entry in the audit log. */
async function ending(world: InProcess) {
  const finished = (await finishedLogins(world)).filter(({ outcome }) => outcome === "rejected");
  const audited: Record<string, unknown>[] = [];
  for await (const { value } of world.store.list<Record<string, unknown>>(["audit"])) {
    if (value?.action === "login.rejected") audited.push(value);
  }
  assertEquals([finished.length, audited.length], [1, 1]);
  const [login] = finished;
  if (login === undefined) throw new Error("No login ended");
  const explanation = explainLogin(login, { refusedFor: login.refusedFor, denial: login.denial });
  return {
    reason: explanation?.code,
    by: explanation?.values.by,
    audited: [audited[0]?.because, audited[0]?.by],
  };
}

async function waitingRequest(world: InProcess): Promise<string> {
  const waiting = world.services.embedded?.admin.pendingApprovals() ?? [];
  assertEquals(waiting.length, 1);
  return await Promise.resolve(waiting[0]?.requestId ?? "");
}

Deno.test("denials: the phone", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = await world.begin({ user: "anna" });
  await phone.deny();
  assertEquals((await login.answer("")).kind, "reject");
  assertEquals(await ending(world), {
    reason: "denied_on_phone",
    by: undefined,
    audited: ["phone", undefined],
  });
});

Deno.test("denials: an administrator, by name, also while the client waits", async () => {
  for (const device of ["challenge", "hold"]) {
    await using world = await startInProcess({
      embedded: true,
      toml:
        `[[radius.client]]\nname = "vpn"\naddress = ["127.0.0.1"]\nsecret = "of-vpn"\ndevice = "${device}"`,
    });
    await pairPhone(world, "anna");
    const login = world.login({ user: "anna" });
    const secondFactorAdmin = world.services.embedded?.admin;
    const deny = async () => await secondFactorAdmin?.deny(await waitingRequest(world), { by: "root-owner" });
    if (device === "hold") {
      world.clock.after(2000, () => void deny());
      assertEquals((await login.start()).kind, "reject");
    } else {
      await login.start();
      await deny();
      assertEquals((await login.answer("")).kind, "reject");
    }
    assertEquals(await ending(world), {
      reason: "denied_by_administrator",
      by: "root-owner",
      audited: ["administrator", "root-owner"],
    }, device);
  }
});

Deno.test("denials: cancelled by an administrator", async () => {
  await using world = await startInProcess({ embedded: true });
  await pairPhone(world, "anna");
  const login = await world.begin({ user: "anna" });
  await world.services.embedded?.admin.cancel(await waitingRequest(world), { by: "root-owner" });
  assertEquals((await login.answer("")).kind, "reject");
  assertEquals((await ending(world)).reason, "cancelled_by_administrator");
});

Deno.test("denials: a wrong number on the phone", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  const { message } = await login.start();
  await phone.approve(otherThan(/number (\d\d)/.exec(message)?.[1] ?? ""));
  assertEquals((await login.answer("")).kind, "reject");
  assertEquals((await ending(world)).reason, "wrong_number");
});

Deno.test("denials: a passcode for a request that an administrator denied", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = await world.begin({ user: "anna" }, "");
  await login.answer("D");
  await world.services.embedded?.admin.deny(await waitingRequest(world), { by: "root-owner" });
  assertEquals((await login.answer(await phone.passcode())).kind, "reject");
  assertEquals((await ending(world)).reason, "denied_by_administrator");
});

Deno.test("denials: a login that expires shows whether its push expired, or was denied before", async () => {
  for (const isDenied of [false, true]) {
    await using world = await startInProcess({ embedded: true, toml: "[radius]\nconversation_ttl_s = 60" });
    await pairPhone(world, "anna");
    await world.login({ user: "anna" }).start();
    if (isDenied) {
      await world.services.embedded?.admin.deny(await waitingRequest(world), { by: "root-owner" });
    }
    await jump(world.clock, 61_000);
    const [reason] = (await oneFinished(world)).map(reasonOf);
    assertEquals(reason, isDenied ? "denied_by_administrator" : "push_expired");
  }
});

Deno.test("denials: an approved login that did not continue did not expire on the phone", async () => {
  await using world = await startInProcess({
    embedded: true,
    toml: "[radius]\nconversation_ttl_s = 60\n[factors.device]\nnumber_matching = false",
  });
  const phone = await pairPhone(world, "anna");
  await world.login({ user: "anna" }).start();
  await phone.approve(null);
  await jump(world.clock, 61_000);
  assertEquals((await oneFinished(world)).map(reasonOf), ["expired"]);
});

Deno.test("denials: an external service reports that the request is over, and not who ended it", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" });
  decide(world, pairing, false);
  assertEquals((await login.answer("")).kind, "reject");
  assertEquals(await ending(world), {
    reason: "denied_at_service",
    by: undefined,
    audited: ["service", undefined],
  });
});

// Valid packets that cannot be handled: each gets a Reject, a counter and a log line with the reason.

/** The number of log lines of one reason before they are folded, and of requests in a flood. */
const [FOLDED_FROM, FLOOD] = [1000, 1200];
const octets = (text: string) => new TextEncoder().encode(text);
const attribute = (type: number, value: Uint8Array): Attribute => ({ type, value });
const [USER_PASSWORD, CHAP_PASSWORD, STATE, VENDOR, CHAP_CHALLENGE, EAP] = [2, 3, 24, 26, 60, 79];
const chap = attribute(CHAP_PASSWORD, new Uint8Array(17).fill(7));

/** The fault, its counter, and the message for the user. */
const REFUSED: readonly [title: string, parts: RequestParts, counter: string, message: string][] = [
  ["no User-Name", { userName: undefined }, "no_user_name", "Access denied."],
  ["an empty User-Name", { userName: "" }, "no_user_name", "Access denied."],
  ...["anna ", " anna", "an\u200bna", "anna\0", "\ufeffanna"].map((
    userName,
  ): [string, RequestParts, string, string] => [
    `the User-Name ${JSON.stringify(userName)}`,
    { userName },
    "refused_user_name",
    "Access denied.",
  ]),
  [
    "two States",
    { more: [attribute(STATE, octets("CHOOSE_WHICH_MULTIFACTOR")), attribute(STATE, octets("x"))] },
    "two_states",
    "Access denied.",
  ],
  [
    "two User-Passwords",
    { more: [attribute(USER_PASSWORD, new Uint8Array(16))] },
    "two_passwords",
    "Access denied.",
  ],
  ["a User-Password and a CHAP-Password", { more: [chap] }, "two_passwords", "Access denied."],
  [
    "CHAP",
    { password: undefined, more: [chap, attribute(CHAP_CHALLENGE, new Uint8Array(16))] },
    "chap",
    "This way of signing in is not supported here.",
  ],
  ...[1, 25].map((kind): [string, RequestParts, string, string] => [
    `an MS-CHAP response of kind ${kind}`,
    {
      password: undefined,
      more: [attribute(VENDOR, Uint8Array.of(0, 0, 1, 55, kind, 52, ...new Uint8Array(50)))],
    },
    "chap",
    "This way of signing in is not supported here.",
  ]),
  ...[1, 15, 17, 129, 144].map((length): [string, RequestParts, string, string] => [
    `a User-Password of ${length} octets`,
    { password: undefined, more: [attribute(USER_PASSWORD, new Uint8Array(length))] },
    "bad_password_length",
    "Access denied.",
  ]),
  [
    "a State that was never issued here",
    { state: octets("SOMETHING_ELSE") },
    "unknown_state",
    "This login is not known here. Start a new one.",
  ],
];

for (const [title, parts, counter, message] of REFUSED) {
  Deno.test(`refusal: ${title} is a Reject, and no service is called`, async () => {
    await using world = await startWith("device");
    const login = world.login({ user: "anna" });
    const reply = await login.exchange(login.buildStart("pw", parts));
    assertEquals(brief(reply), ["reject", message]);
    assertEquals(world.radius.monitor.counters()[`refused_${counter}`], 1);
    assertEquals(world.secondFactor.requests.length, 0);
    assertEquals(world.radius.monitor.alive(), 0);
    const lines = await world.logLines();
    assert(lines.some((line) => line.includes("request refused") && line.includes(`reason=${counter}`)));
  });
}

Deno.test("refusal: a flood of refused requests is counted in one log line", async () => {
  await using world = await startInProcess({ toml: '[server]\nlog_level = "warn"' });
  const more = [attribute(STATE, octets("CHOOSE_WHICH_MULTIFACTOR")), attribute(STATE, octets("x"))];
  const refused = () => world.radius.monitor.counters().refused_two_states ?? 0;
  for (let sent = 0; sent < FLOOD;) {
    for (const end = sent + 50; sent < end; sent++) {
      await world.client.sendRaw(world.client.build({ userName: "anna", password: "pw", more }).bytes);
    }
    await becomes(`${sent} are refused`, () => refused() === sent);
  }
  world.clock.advance(1000);
  const lines = (await world.logLines()).filter((line) => line.includes("reason=two_states"));
  const counts = lines.map((line) => Number(/ folded=(\d+)/.exec(line)?.[1] ?? 1));
  assertEquals(counts.reduce((sum, count) => sum + count, 0), FLOOD);
  assertEquals(counts.filter((count) => count > 1), [FLOOD - FOLDED_FROM]);
});

Deno.test("refusal: EAP is rejected in one round trip, with EAP-Failure for the identifier of its message", async () => {
  await using world = await startInProcess();
  const identity = new Uint8Array([2, 77, 0, 9, 1, 97, 110, 110, 97]);
  const login = world.login({ user: "anna" });
  const packet = login.buildStart("", { password: undefined, more: [attribute(EAP, identity)] });
  const reply = await login.exchange(packet);
  assertEquals(reply.kind, "reject");
  assertEquals(reply.attributes.filter(({ type }) => type === EAP).map(({ value }) => [...value]), [
    [4, 77, 0, 4],
  ]);
});

Deno.test("refusal: passwords of EAP and CHAP are not in the log", async () => {
  await using world = await startInProcess();
  const login = world.login({ user: "anna" });
  await login.exchange(login.buildStart("", { password: undefined, more: [chap] }));
  const lines = (await world.logLines()).join("\n");
  assertEquals(lines.includes("07070707"), false);
});

Deno.test("a User-Password without octets is an empty password: a login reaches the menu, an answer continues", async () => {
  await using world = await startInProcess();
  const empty = { password: undefined, more: [attribute(USER_PASSWORD, new Uint8Array(0))] };
  const login = world.login({ user: "nobody-known" });
  assertEquals((await login.exchange(login.buildStart("", empty))).step, "CHOOSE_WHICH_MULTIFACTOR");
});

for (const length of [16, 32, 128]) {
  Deno.test(`refusal: a User-Password of ${length} octets is accepted`, async () => {
    await using world = await startInProcess();
    const reply = await world.login({ user: "anna" }).start("p".repeat(length));
    assertEquals(reply.kind, "challenge");
  });
}

/** Attributes that the decision does not need, with invalid sizes. */
for (
  const [title, more] of [
    ["a NAS-IP-Address of 3 octets", [attribute(4, new Uint8Array(3))]],
    ["a NAS-Port-Type of 2 octets", [attribute(61, new Uint8Array(2))]],
    ["a Framed-IP-Address of 0 octets", [attribute(8, new Uint8Array(0))]],
    ["a Vendor-Specific of 2 octets", [attribute(26, new Uint8Array(2))]],
    ["a Vendor-Specific whose inside runs over", [
      attribute(26, new Uint8Array([0, 0, 0, 9, 1, 200, 1])),
    ]],
    [
      "three Vendor-Specifics",
      [1, 2, 3].map((one) => attribute(26, new Uint8Array([0, 0, 0, 9, one, 3, 1]))),
    ],
    ["an attribute of a type that has no name", [attribute(253, octets("?"))]],
  ] as const
) {
  Deno.test(`refusal: ${title} is ignored, and the request is handled`, async () => {
    await using world = await startInProcess();
    const reply = await world.login({ user: "anna" }).start("", { more });
    assertEquals(reply.step, "CHOOSE_WHICH_MULTIFACTOR");
  });
}

Deno.test("refusal: a Reject is sent at least a second after its request, whatever the reason", async () => {
  await using world = await startInProcess();
  const replies = await Promise.all(
    REFUSED.map(([, parts]) => {
      const login = world.login({ user: "anna" });
      return login.exchange(login.buildStart("pw", parts));
    }),
  );
  for (const { tookMs } of replies) assert(tookMs >= 1000 && tookMs < 1400, `${tookMs} ms`);
});

Deno.test("refusal: a request with an EAP-Message and no Message-Authenticator gets no answer", async () => {
  await using world = await startInProcess();
  using recorder = openRecorder(world, SECRET);
  const login = world.login({ user: "anna" });
  await recorder.send(login.buildStart("", {
    messageAuthenticator: "none",
    more: [attribute(EAP, new Uint8Array([2, 1, 0, 4]))],
  }));
  assertEquals(await recorder.replies(), []);
  assertEquals(world.radius.monitor.counters()["dropped_unsigned_eap"], 1);
});

Deno.test("refusal: CHAP is logged as a warning once per client, and counted each time", async () => {
  await using world = await startInProcess();
  for (let count = 0; count < 3; count++) {
    const login = world.login({ user: "anna" });
    await login.exchange(login.buildStart("", { password: undefined, more: [chap] }));
  }
  const warned = (await world.logLines()).filter((line) => line.includes("set the client to PAP"));
  assertEquals(warned.length, 1);
  assertEquals(world.radius.monitor.counters()["refused_chap"], 3);
});

// "This was not me": pending logins of that name end, and new ones are refused for an hour.

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const DENIED = ["reject", "Access denied."];
const HOUR_MS = 3600_000;

function withoutClose(store: Store): Store {
  return { ...store, close: () => Promise.resolve() };
}

async function disown({ radius, store }: InProcess, user: string): Promise<number> {
  const disowning = radius.prepareNotMeReport(user);
  assert((await store.commit({ mutations: disowning.mutations })).ok);
  return disowning.done();
}

Deno.test("disowning: a login that waits for its phone ends; an approval after it counts for nothing", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, DEVICE);
  assertEquals(await disown(world, "anna"), 1);
  decide(world, pairing, true);
  assertEquals((await login.answer("")).kind, "reject");
  const [ended] = world.radius.monitor.conversations(10).filter(({ moments }) =>
    moments.at(-1)?.row === "not_me"
  );
  assertEquals([ended?.user, ended?.outcome], ["anna", "rejected"]);
});

Deno.test("disowning: all waiting logins end at once, however many a thief began", async () => {
  await using world = await startWith("app");
  for (let at = 0; at < 45; at++) await world.login({ user: "anna" }).start("");
  assertEquals(await disown(world, "anna"), 45);
  assertEquals(world.radius.monitor.alive(), 0);
  await becomes("the ends are recorded", async () => {
    const ended = await Array.fromAsync(world.store.list(["history"]));
    return ended.length === 45;
  });
  await using later = await startInProcess({
    after: world,
    between: { store: () => withoutClose(world.store) },
  });
  assertEquals(later.radius.monitor.alive(), 0);
  const outcomes = later.radius.monitor.conversations(50).map(({ outcome }) => outcome);
  assertEquals([outcomes.length, ...new Set(outcomes)], [45, "rejected"]);
});

Deno.test("disowning: the phone has no request any more", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  await world.login({ user: "anna" }).start();
  assertEquals((await phone.requests()).length, 1);
  await disown(world, "anna");
  await becomes("nothing waits", () => world.services.embedded?.admin.pendingCount() === 0);
});

Deno.test("disowning: a held login gets its Reject at once, even if the phone approves", async () => {
  await using world = await startInProcess({
    embedded: true,
    toml: '[radius]\ndevice = "hold"\nhold_s = 30\n',
  });
  await pairPhone(world, "anna");
  world.clock.after(1000, () => void disown(world, "anna"));
  const answer = await world.login({ user: "anna" }).start();
  assertEquals(brief(answer), DENIED);
  assert(answer.tookMs < 5000, `${answer.tookMs} ms`);
});

Deno.test("disowning: logins of that name are refused for an hour, and others are not", async () => {
  await using world = await startInProcess();
  for (const user of ["anna", "bert"]) await give(world, user, { kind: "totp", seed: SEED });
  await disown(world, "anna");
  assertEquals(brief(await world.login({ user: "Anna" }).start()), DENIED);
  const bert = await world.begin({ user: "bert" });
  assertEquals((await bert.answer(appCode(world.clock.nowMs()))).kind, "accept");
  await jump(world.clock, HOUR_MS - 60_000);
  assertEquals(brief(await world.login({ user: "anna" }).start()), DENIED);
  await jump(world.clock, 61_000);
  const anna = await world.begin({ user: "anna" });
  assertEquals((await anna.answer(appCode(world.clock.nowMs()))).kind, "accept");
});

Deno.test("disowning: an administrator can end the lock", async () => {
  await using world = await startWith("app");
  await disown(world, "anna");
  const cleared = world.radius.limits.clear("anna");
  assert(cleared !== null);
  assertEquals((await world.login({ user: "anna" }).start()).kind, "challenge");
});

Deno.test("disowning: a report that could not be recorded locks no user and ends nothing", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" });
  world.radius.prepareNotMeReport("anna").undo();
  assertEquals(world.radius.limits.isLocked("anna"), false);
  decide(world, pairing, true);
  assertEquals((await login.answer("")).kind, "accept");
});

Deno.test("disowning: a longer existing lock is not shortened", async () => {
  await using world = await startInProcess();
  world.radius.limits.lockFor("anna", 5 * HOUR_MS);
  const { lockedUntilMs } = world.radius.prepareNotMeReport("anna");
  assertEquals(lockedUntilMs, world.clock.nowMs() + 5 * HOUR_MS);
});
