// Held requests, and cancelled logins.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { type InProcess, SECRET, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import { pass } from "./passing_time.ts";
import { openRecorder } from "./recorder.ts";
import {
  decide,
  give,
  giveDevice,
  lastRequest,
  NUMBER,
  otherThan,
  passcodeSentTo,
  register,
  SEED,
  startWith,
} from "./people.ts";
import { pairPhone } from "./phone.ts";

// Hold mode: the Access-Request itself waits for the decision.

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const NOT_GIVEN = ["reject", "Device approval was not given."];
const HOLD = `[radius]\ndevice = "hold"\nhold_s = 5`;
const HOLD_THEN = `[radius]\ndevice = "hold_then_challenge"\nhold_s = 5`;

/** Decides `afterMs` from now, by the gateway's clock. */
function decideLater(world: InProcess, pairing: Parameters<typeof decide>[1], granted: boolean): void {
  world.clock.after(2000, () => decide(world, pairing, granted));
}

for (const [name, toml] of [["hold", HOLD], ["hold_then_challenge", HOLD_THEN]]) {
  Deno.test(`${name}: an approval while the request waits is an Accept`, async () => {
    await using world = await startInProcess({ toml });
    const pairing = await giveDevice(world, "anna");
    decideLater(world, pairing, true);
    const reply = await world.login({ user: "anna" }).start();
    assertEquals(reply.kind, "accept");
    assert(reply.tookMs >= 2000 && reply.tookMs < 4500, `${reply.tookMs} ms`);
  });

  Deno.test(`${name}: a denial while the request waits is a Reject`, async () => {
    await using world = await startInProcess({ toml });
    const pairing = await giveDevice(world, "anna");
    decideLater(world, pairing, false);
    assertEquals(brief(await world.login({ user: "anna" }).start()), NOT_GIVEN);
  });

  Deno.test(`${name}: a user who is deactivated while the request waits is refused`, async () => {
    await using world = await startInProcess({ toml });
    const pairing = await giveDevice(world, "anna");
    await register(world, "anna");
    world.clock.after(1000, () => void register(world, "anna", { active: false }));
    decideLater(world, pairing, true);
    assertEquals(brief(await world.login({ user: "anna" }).start()), ["reject", "Access denied."]);
  });

  Deno.test(`${name}: a held request and its re-issued copies all get the answer`, async () => {
    await using world = await startInProcess({ toml });
    const pairing = await giveDevice(world, "anna");
    const login = world.login({ user: "anna" });
    const packets = [login.buildStart("pw"), login.buildStart("pw"), login.buildStart("pw")];
    using recorder = openRecorder(world, SECRET);
    for (const packet of packets) {
      await recorder.send(packet);
      await pass(world.clock, 400);
    }
    decide(world, pairing, true);
    await pass(world.clock, 3000);
    const replies = await recorder.replies(3);
    assertEquals(
      replies.map(([code, identifier]) => [code, identifier]),
      packets.map(({ identifier }) => [2, identifier]),
    );
    assertEquals(world.secondFactor.initiated().length, 1);
  });

  Deno.test(`${name}: factors without a push are asked for as usual`, async () => {
    await using world = await startInProcess({ toml });
    await give(world, "anna", { kind: "sms", number: "+4915112345678" });
    assertEquals((await world.login({ user: "anna" }).start()).step, "AWAIT_SMS_DELIVERED_PASSCODE");
  });

  Deno.test(`${name}: the phone shows client and location instead of a number`, async () => {
    await using world = await startInProcess({ toml, embedded: true });
    const phone = await pairPhone(world, "anna");
    const seen: unknown[] = [];
    world.clock.after(1000, async () => {
      const [request] = await phone.requests();
      seen.push(request?.asksNumber, request?.client, request?.place);
      await phone.approve(null);
    });
    const reply = await world.login({ user: "anna", callingStationId: "192.0.2.77" }).start();
    assertEquals(reply.kind, "accept");
    assertEquals(seen, [false, "127.0.0.1", "192.0.2.77"]);
    assert(reply.tookMs < 2500, `the phone's decision is heard at once, not after ${reply.tookMs} ms`);
  });

  Deno.test(`${name}: the request does not wait if the approval request cannot be opened`, async () => {
    await using world = await startWith("device", { toml });
    world.secondFactor.failNext({ kind: "status", status: 500 });
    const reply = await world.login({ user: "anna" }).start();
    assertEquals(
      brief(reply)[0],
      name === "hold" ? "reject" : DEVICE,
    );
    assert(reply.tookMs < 2000, `${reply.tookMs} ms`);
  });
}

Deno.test("hold: at the end of the wait without a decision the answer is a Reject, in time", async () => {
  await using world = await startWith("device", { toml: HOLD });
  const reply = await world.login({ user: "anna" }).start();
  assertEquals(brief(reply), NOT_GIVEN);
  assert(reply.tookMs >= 5000 && reply.tookMs < 7000, `${reply.tookMs} ms`);
});

Deno.test("hold: an embedded request is cancelled at the end of the wait", async () => {
  await using world = await startInProcess({ toml: HOLD, embedded: true });
  const phone = await pairPhone(world, "anna");
  await world.login({ user: "anna" }).start();
  await phone.untilRequests(0);
});

Deno.test("hold: an approval after the end of the wait counts for nothing", async () => {
  await using world = await startInProcess({ toml: HOLD });
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).kind, "reject");
  decide(world, pairing, true);
  const state = new TextEncoder().encode(DEVICE);
  assertEquals(brief(await login.answer("", { state })), NOT_GIVEN);
});

Deno.test("hold: S in the menu is not held, because a user at the menu has a prompt", async () => {
  await using world = await startWith("device", { toml: HOLD });
  const login = await world.begin({ user: "anna" }, "");
  const reply = await login.answer("S");
  assertEquals(reply.step, DEVICE);
  assert(reply.tookMs < 2000, `${reply.tookMs} ms`);
});

Deno.test("hold_then_challenge: at the end of the wait comes a challenge, with the same push", async () => {
  await using world = await startInProcess({ toml: HOLD_THEN });
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  const reply = await login.start();
  assertEquals(brief(reply), [
    DEVICE,
    "Authorize this login on your device, then press continue or type ok.",
  ]);
  assert(reply.tookMs >= 5000 && reply.tookMs < 6000, `${reply.tookMs} ms`);
  assertEquals(lastRequest(world, pairing).pending, true);
  decide(world, pairing, true);
  assertEquals((await login.answer("")).kind, "accept");
  assertEquals(world.secondFactor.initiated().length, 1);
});

Deno.test("hold_then_challenge: without an opened request the challenge reports it, and Cancel leads to the menu", async () => {
  await using world = await startWith("device", { toml: HOLD_THEN });
  world.secondFactor.failNext({ kind: "status", status: 500 });
  const login = await world.begin({ user: "anna" });
  assertEquals((await login.answer("cancel")).step, "CHOOSE_WHICH_MULTIFACTOR");
});

Deno.test("hold: the service is polled once a second, and never when no login waits", async () => {
  await using world = await startWith("device", { toml: HOLD });
  await world.login({ user: "anna" }).start();
  const asked = world.secondFactor.requests.filter(({ method }) => method === "GET").length;
  assert(asked >= 4 && asked <= 7, `${asked} checks in five seconds`);
  await pass(world.clock, 5000);
  assertEquals(world.secondFactor.requests.filter(({ method }) => method === "GET").length, asked);
});

Deno.test("challenge: the service is not polled between packets", async () => {
  await using world = await startWith("device");
  await world.login({ user: "anna" }).start();
  await pass(world.clock, 5000);
  assertEquals(world.secondFactor.requests.length, 1);
});

Deno.test("hold: each client has its own setting", async () => {
  const secret = "secret-of-the-held-client";
  await using world = await startInProcess({
    toml: `[[radius.client]]
name = "held"
address = ["127.0.0.1"]
secret = "${secret}"
nas_identifier = "held"
device = "hold"
hold_s = 2
[[radius.client]]
name = "asked"
address = ["127.0.0.1"]
secret = "${secret}"
`,
  });
  await giveDevice(world, "anna");
  const named = [{ type: 32, value: new TextEncoder().encode("held") }];
  assertEquals((await world.login({ user: "anna", more: named }).start()).kind, "reject");
  assertEquals((await world.login({ user: "anna" }).start()).step, DEVICE);
});

for (const device of ["hold", "hold_then_challenge"]) {
  Deno.test(`${device}: a wait that is longer than the deadline of a login ends with the login, in a Reject`, async () => {
    await using world = await startInProcess({
      embedded: true,
      toml: `[radius]\ndevice = "${device}"\nhold_s = 60\nconversation_ttl_s = 30`,
    });
    const phone = await pairPhone(world, "anna");
    const reply = await world.login({ user: "anna" }).start();
    assertEquals(brief(reply), ["reject", "This login is over. Start a new one."]);
    assert(reply.tookMs >= 30_000 && reply.tookMs < 38_000, `${reply.tookMs} ms`);
    await phone.untilRequests(0);
  });
}

Deno.test("device: a login that ends during a call to the service is answered with a Reject", async () => {
  await using world = await startWith("device", { toml: "[radius]\nconversation_ttl_s = 30" });
  const login = await world.begin({ user: "anna" });
  await pass(world.clock, 28_500);
  world.secondFactor.failAlways({ kind: "hang" });
  assertEquals(brief(await login.answer("")), ["reject", "This login is over. Start a new one."]);
});

// The flow rows of Cancel: it starts a new conversation, and the old one counts for nothing.

const MENU = ["CHOOSE_WHICH_MULTIFACTOR", "Choose a second factor:"];

/** Every step, and how a login reaches it. */
const STEPS: Readonly<Record<string, (world: InProcess) => Promise<Login>>> = {
  CHOOSE_WHICH_MULTIFACTOR: (world) => played(world, "", []),
  SECONDFACTOR_GET_PAIRING_PHRASE: (world) => played(world, "", ["S"]),
  async SECONDFACTOR_AWAIT_PAIRING_APPROVAL(world) {
    world.secondFactor.offerPhrase("maple river");
    return await played(world, "", ["S", "maple river"]);
  },
  async SECONDFACTOR_AWAIT_DEVICE_APPROVAL(world) {
    await giveDevice(world, "anna");
    return await played(world, "pw", []);
  },
  GET_SMS_PHONE_NUMBER: (world) => played(world, "", ["T"]),
  GET_VOICE_PHONE_NUMBER: (world) => played(world, "", ["P"]),
  VERIFY_SMS_PHONE_NUMBER: (world) => played(world, "", ["T", NUMBER]),
  VERIFY_VOICE_PHONE_NUMBER: (world) => played(world, "", ["P", NUMBER]),
  async AWAIT_SMS_DELIVERED_PASSCODE(world) {
    await give(world, "anna", { kind: "sms", number: NUMBER });
    return await played(world, "pw", []);
  },
  async AWAIT_VOICE_DELIVERED_PASSCODE(world) {
    await give(world, "anna", { kind: "voice", number: NUMBER });
    return await played(world, "pw", []);
  },
  async GET_DEVICE_GENERATED_PASSCODE(world) {
    await give(world, "anna", { kind: "totp", seed: SEED });
    return await played(world, "pw", []);
  },
};

async function played(world: InProcess, password: string, answers: readonly string[]): Promise<Login> {
  const login = world.login({ user: "anna" });
  await login.start(password);
  for (const answer of answers) await login.answer(answer);
  return login;
}

const OPEN = `[factors]\nphone_numbers = "any"\nenrol_at_login = "always"`;

for (const [step, get] of Object.entries(STEPS)) {
  Deno.test(`cancel at ${step} leads to the menu under a new conversation`, async () => {
    await using world = await startInProcess({ toml: OPEN });
    const login = await get(world);
    const [before] = world.radius.monitor.conversations(1);
    assertEquals(before?.step, step);
    assertEquals(brief(await login.answer("Cancel")), MENU);
    const [after, old] = world.radius.monitor.conversations(2);
    assertNotEquals(after?.id, before?.id);
    assertEquals([old?.id, old?.outcome], [before?.id, "cancelled"]);
  });
}

for (const word of ["cancel", "CANCEL", "Cancel", " cAnCeL "]) {
  Deno.test(`cancel: "${word}" is read as Cancel`, async () => {
    await using world = await startWith("device");
    const login = await played(world, "pw", []);
    assertEquals(brief(await login.answer(word)), MENU);
  });
}

Deno.test("cancel: at the start of a login the word is an ordinary password", async () => {
  await using world = await startWith("device");
  const reply = await world.login({ user: "anna" }).start("cancel");
  assertEquals(reply.step, "SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
});

Deno.test("cancel: a late approval of the old request counts for nothing", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = await played(world, "pw", []);
  await login.answer("cancel");
  decide(world, pairing, true);
  assertEquals(brief(await login.answer("")), MENU);
  // A new request is a different one, which is not approved.
  await login.answer("S");
  assertEquals((await login.answer("")).step, "SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
  assertEquals(world.secondFactor.initiated().length, 2);
});

Deno.test("cancel: it makes no further calls to an external service", async () => {
  await using world = await startWith("device");
  const login = await played(world, "pw", []);
  const before = world.secondFactor.requests.length;
  await login.answer("cancel");
  assertEquals(world.secondFactor.requests.length, before);
});

Deno.test("cancel: an embedded request becomes cancelled and disappears from the phone", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = await played(world, "pw", []);
  assertEquals((await phone.requests()).length, 1);
  await login.answer("cancel");
  await phone.untilRequests(0);
  assertEquals(world.services.embedded?.admin.pendingApprovals(), []);
});

Deno.test("cancel: the old passcode is no longer valid, also at the prompt for the next one", async () => {
  await using world = await startWith("text");
  const login = await played(world, "pw", []);
  const old = passcodeSentTo(world, NUMBER);
  await login.answer("cancel");
  await login.answer("T");
  const fresh = passcodeSentTo(world, NUMBER);
  assertEquals((await login.answer(old === fresh ? otherThan(fresh) : old)).kind, "reject");
});

Deno.test("cancel: it does not reset the counts of pushes and sends", async () => {
  await using world = await startWith("device", { toml: "[factors.pushes]\nper_user = 2" });
  const login = await played(world, "pw", ["cancel", "S", "cancel"]);
  assertEquals(brief(await login.answer("S")), [
    "CHOOSE_WHICH_MULTIFACTOR",
    "Too many approval requests were sent lately. Choose another factor:",
  ]);
  assertEquals(world.secondFactor.initiated().length, 2);
});

Deno.test("cancel: it does not reset the count of failures", async () => {
  await using world = await startInProcess();
  await register(world, "anna", { phoneNumbers: [NUMBER] });
  const failing = await played(world, "", ["T"]);
  await failing.answer("000");
  assertEquals(world.radius.limits.failures("anna").total, 1);
  await played(world, "", ["cancel", "cancel"]);
  assertEquals(world.radius.limits.failures("anna").total, 1);
});

Deno.test("cancel: where State has a token, the new conversation has a new one", async () => {
  await using world = await startInProcess();
  const login = world.login({ user: "anna", nasPort: undefined });
  const first = await login.start("");
  const second = await login.answer("cancel");
  assertNotEquals(first.step, second.step);
  // The State of the old token belongs to no live conversation.
  assertEquals((await login.answer("T", { state: first.state ?? undefined })).kind, "reject");
  assert(
    (await login.answer("T", { state: second.state ?? undefined })).step.startsWith("GET_SMS_PHONE_NUMBER."),
  );
});

Deno.test("cancel: an approval in progress during Cancel accepts no login", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = await played(world, "pw", []);
  const first = lastRequest(world, pairing);
  const asking = login.build("");
  const cancelling = login.build("cancel");
  const [asked, cancelled] = await Promise.all([
    login.exchange(asking).catch((fault: unknown) => fault),
    login.exchange(cancelling),
  ]);
  world.secondFactor.decide(first.id, { granted: true });
  assertEquals(brief(cancelled), MENU);
  assertEquals((asked as { kind?: string }).kind, "challenge");
  assertEquals(brief(await login.answer("")), MENU);
});
