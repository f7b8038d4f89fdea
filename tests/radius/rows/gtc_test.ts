// EAP-GTC (RFC 3748 §5.6): the conversation of a login inside EAP.

import { assert, assertEquals } from "@std/assert";
import type { Passwords } from "../../../radius/ports.ts";
import { startFirstFactorServer } from "./first_factor_server.ts";
import { createGtcPeer, EAP, eapOf, type GtcPeer, withEap } from "./gtc_peer.ts";
import { type InProcess, type InProcessOptions, SECRET, startInProcess } from "./in_process.ts";
import type { Answer } from "./login.ts";
import { jump } from "./passing_time.ts";
import { appCode, decide, give, giveDevice, SEED } from "./people.ts";
import { pairPhone } from "./phone.ts";
import { openRecorder } from "./recorder.ts";

const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const GTC = '[radius]\neap = "gtc"\n';
const WITH_PASSWORD = `${GTC}first_factor = "directory"\n`;

const PASSWORDS: Passwords = {
  hasPassword: () => Promise.resolve(true),
  directory: (_user, password) =>
    Promise.resolve(new TextDecoder().decode(password) === "right" ? "right" : "wrong"),
  ldap: () => Promise.resolve("unavailable"),
};

async function open(toml = WITH_PASSWORD, more: InProcessOptions = {}): Promise<InProcess> {
  const world = await startInProcess({ toml, passwords: PASSWORDS, ...more });
  if (more.after === undefined) await give(world, "anna", { kind: "totp", seed: SEED });
  return world;
}

function peerOf(world: InProcess, user = "anna"): GtcPeer {
  return createGtcPeer(world.login, { user });
}

/** The reply, its step, and the EAP packet with the first line of its prompt. */
function shown(answer: Answer): [string, string] {
  const { kind, text } = eapOf(answer);
  const prompt = kind === "request" ? `${kind} ${text.split("\n")[0]}` : kind;
  return [answer.kind === "challenge" ? answer.step : answer.kind, prompt];
}

const REJECTED = ["reject", "failure"];
const ASK_CODE = [CODE, "request Enter the passcode that your device generates."];

/** Refused requests of a reason. */
function refusedFor(world: InProcess, reason: string): number {
  return world.radius.monitor.counters()[`refused_${reason}`] ?? 0;
}

Deno.test("gtc: the password and the code are typed at EAP-GTC prompts, and State is the documented one", async () => {
  await using world = await open();
  const peer = peerOf(world);
  const password = await peer.identify();
  assertEquals([password.kind, eapOf(password).text], ["challenge", "Password: "]);
  const code = await peer.type("right");
  assertEquals(shown(code), ASK_CODE);
  const accepted = await peer.type(appCode(world.clock.nowMs()));
  assertEquals(shown(accepted), ["accept", "success"]);
  // Each Request has a new Identifier; EAP-Success has that of the Response (RFC 3748 §4.1 and §4.2).
  const identifiers = [password, code, accepted].map((answer) => eapOf(answer).identifier);
  assertEquals(identifiers, [42, 43, 43]);
  assertEquals([password, code].map((answer) => eapOf(answer).type), [EAP.gtc, EAP.gtc]);
  const [login] = world.radius.monitor.conversations(1);
  assertEquals(login?.relay, { method: "EAP-GTC", outer: "anna" });
});

Deno.test("gtc: a prompt has Session-Timeout, so that the client does not send it again too soon", async () => {
  await using world = await open();
  const { attributes } = await peerOf(world).identify();
  assertEquals(attributes.find(({ type }) => type === 27)?.value, Uint8Array.of(0, 0, 0, 60));
});

Deno.test("gtc: while nodes of version 0.2 use the store, EAP is refused, and PAP is not", async () => {
  await using world = await open(WITH_PASSWORD, { between: { store: (store) => ({ ...store, format: 1 }) } });
  assertEquals((await peerOf(world).identify()).kind, "reject");
  assertEquals(refusedFor(world, "mixed_versions"), 1);
  assertEquals((await world.login({ user: "anna", password: "right" }).start()).kind, "challenge");
});

Deno.test("gtc: without a first factor, the first prompt is the menu", async () => {
  await using world = await open(GTC);
  const peer = peerOf(world);
  assertEquals(shown(await peer.identify()), [MENU, "request Choose a second factor:"]);
  assertEquals(shown(await peer.type("d")), ASK_CODE);
  assertEquals(shown(await peer.type(appCode(world.clock.nowMs()))), ["accept", "success"]);
});

Deno.test("gtc: a wrong password is EAP-Failure and one failure, and so is a wrong code", async () => {
  await using world = await open();
  const wrongPassword = peerOf(world);
  await wrongPassword.identify();
  assertEquals(shown(await wrongPassword.type("wrong")), REJECTED);
  const wrongCode = peerOf(world);
  await wrongCode.identify();
  await wrongCode.type("right");
  assertEquals(shown(await wrongCode.type("000000")), REJECTED);
  assertEquals(world.radius.limits.failures("anna").total, 2);
});

Deno.test("gtc: with hold, the answer to the password prompt waits for the phone", async () => {
  await using world = await startInProcess({
    toml: `${WITH_PASSWORD}device = "hold"\nhold_s = 5`,
    passwords: PASSWORDS,
  });
  const pairing = await giveDevice(world, "anna");
  const peer = peerOf(world);
  await peer.identify();
  world.clock.after(2000, () => decide(world, pairing, true));
  const accepted = await peer.type("right");
  assertEquals(shown(accepted), ["accept", "success"]);
  assert(accepted.tookMs >= 2000, `${accepted.tookMs} ms`);
});

Deno.test("gtc: without hold, the user approves on the phone and answers the prompt", async () => {
  await using world = await startInProcess({ toml: WITH_PASSWORD, passwords: PASSWORDS });
  const pairing = await giveDevice(world, "anna");
  const peer = peerOf(world);
  await peer.identify();
  const prompt = await peer.type("right");
  assertEquals(prompt.step, DEVICE);
  assertEquals((await peer.type("ok")).step, DEVICE);
  decide(world, pairing, true);
  assertEquals(shown(await peer.type("ok")), ["accept", "success"]);
});

Deno.test("gtc: the EAP identity must be User-Name, with the realm of the client stripped", async () => {
  await using world = await open(`${WITH_PASSWORD}strip_realms = ["corp.example"]`);
  assertEquals(shown(await peerOf(world).identify("bob")), REJECTED);
  assertEquals(refusedFor(world, "eap_names_differ"), 1);
  assertEquals((await peerOf(world).identify("Anna@corp.example")).kind, "challenge");
});

Deno.test("gtc: a device that refuses EAP-GTC gets EAP-Failure with a reason", async () => {
  await using world = await open();
  const peer = peerOf(world);
  await peer.identify();
  const nak = peer.build(Uint8Array.of(21), { type: EAP.nak });
  assertEquals(shown(await peer.login.exchange(nak)), REJECTED);
  assertEquals(refusedFor(world, "eap_gtc_refused"), 1);
  assert((await world.logLines()).some((line) => line.includes("eap_gtc_refused")));
});

for (
  const [name, change] of [
    ["another method", { type: EAP.md5 }],
    ["a notification", { type: EAP.notification }],
    ["an Identifier that was not asked", { identifier: 7 }],
    ["a State that is no prompt", { more: { state: new TextEncoder().encode("x") } }],
    ["the name of another user", { more: { userName: "bob" } }],
  ] as const
) {
  Deno.test(`gtc: an answer to the password prompt with ${name} is refused`, async () => {
    await using world = await open();
    const peer = peerOf(world);
    await peer.identify();
    assertEquals(shown(await peer.login.exchange(peer.build("right", change))), REJECTED);
    assertEquals(refusedFor(world, "eap_unasked"), 1);
    assertEquals(world.radius.limits.failures("anna").total, 0);
  });
}

Deno.test("gtc: a password prompt expires, and is one of this client only", async () => {
  const clients = ["a", "b"].map((name) =>
    `[[radius.client]]\nname = "${name}"\naddress = ["127.0.0.1"]\nnas_identifier = "${name}"\n` +
    `secret = "${SECRET}"\neap = "gtc"\nfirst_factor = "directory"\n`
  );
  await using world = await open(clients.join(""));
  const nas = (name: string) => ({ more: [{ type: 32, value: new TextEncoder().encode(name) }] });
  const peer = peerOf(world);
  await peer.identify("anna", nas("a"));
  assertEquals(shown(await peer.type("right", nas("b"))), REJECTED);
  assertEquals((await peer.type("right", nas("a"))).step, CODE);
  const late = peerOf(world);
  await late.identify("anna", nas("a"));
  await jump(world.clock, world.config.radius.conversationTtlMs + 1000);
  assertEquals(shown(await late.type("right", nas("a"))), REJECTED);
  assertEquals(refusedFor(world, "eap_unasked"), 2);
});

Deno.test("gtc: EAP-Start is asked for the identity", async () => {
  await using world = await open();
  const peer = peerOf(world);
  const asked = await peer.login.exchange(peer.login.buildStart("", withEap(new Uint8Array(0))));
  assertEquals([asked.kind, eapOf(asked).type, asked.state], ["challenge", EAP.identity, null]);
  assertEquals(eapOf(await peer.identify()).text, "Password: ");
});

for (
  const [name, eap] of [
    ["a Request", Uint8Array.of(1, 1, 0, 5, 1)],
    ["a Length that is too long", Uint8Array.of(2, 1, 0, 9, 1)],
    ["a Response without a type", Uint8Array.of(2, 1, 0, 4)],
    [
      "an answer that is longer than a password",
      Uint8Array.of(2, 42, 0, 134, 6, ...new Uint8Array(129).fill(0x61)),
    ],
  ] as const
) {
  Deno.test(`gtc: ${name} is refused as malformed`, async () => {
    await using world = await open();
    const peer = peerOf(world);
    await peer.identify();
    assertEquals(shown(await peer.login.exchange(peer.login.build("", withEap(eap)))), REJECTED);
    assertEquals(refusedFor(world, "malformed_eap"), 1);
  });
}

Deno.test("gtc: EAP-Message and User-Password together are refused (RFC 3579 §3.3)", async () => {
  await using world = await open();
  const { more = [] } = withEap(Uint8Array.of(2, 1, 0, 9, 1, ...new TextEncoder().encode("anna")));
  assertEquals(shown(await world.login({ user: "anna" }).start("right", { more })), REJECTED);
  assertEquals(refusedFor(world, "two_passwords"), 1);
});

Deno.test("gtc: the same client still takes User-Password, and a login keeps its form", async () => {
  await using world = await open();
  const pap = world.login({ user: "anna" });
  const prompt = await pap.start("right");
  assertEquals([prompt.step, eapOf(prompt).kind], [CODE, "none"]);
  const asEap = withEap(Uint8Array.of(2, 1, 0, 11, 6, ...new TextEncoder().encode("123456")));
  assertEquals((await pap.exchange(pap.build("", asEap))).kind, "reject");
  assertEquals((await pap.answer(appCode(world.clock.nowMs()))).kind, "accept");
  const peer = peerOf(world);
  await peer.identify();
  await peer.type("right");
  assertEquals((await peer.login.answer("000000")).kind, "reject");
  assertEquals(world.radius.limits.failures("anna").total, 0);
});

Deno.test("gtc: without eap = gtc, EAP is refused", async () => {
  await using world = await open('[radius]\nfirst_factor = "directory"\n');
  assertEquals(shown(await peerOf(world).identify()), REJECTED);
  assertEquals(refusedFor(world, "eap"), 1);
});

Deno.test("gtc: a Response that is sent again with another Request Authenticator gets the same reply", async () => {
  await using world = await open();
  const pairing = await giveDevice(world, "anna");
  const peer = peerOf(world);
  await peer.identify();
  const asked = await peer.type("right");
  const waiting = peer.build("ok");
  assertEquals([asked.step, eapOf(await peer.login.exchange(waiting)).identifier], [DEVICE, 44]);
  assertEquals(eapOf(await peer.login.exchange(peer.build("ok"))).identifier, 44);
  decide(world, pairing, true);
  const last = { identifier: 44 };
  assertEquals(shown(await peer.login.exchange(peer.build("ok", last))), ["accept", "success"]);
  assertEquals(shown(await peer.login.exchange(peer.build("ok", last))), ["accept", "success"]);
  assertEquals(shown(await peer.login.exchange(peer.build("cancel", last))), REJECTED);
  assertEquals(world.secondFactor.initiated().length, 1);
  assertEquals(world.radius.monitor.counters().accepts, 2);
});

Deno.test("gtc: a Response that answers no open Request gets no reply, and changes nothing", async () => {
  await using world = await open();
  await giveDevice(world, "anna");
  const peer = peerOf(world);
  await peer.identify();
  await peer.type("right");
  await peer.type("ok");
  using recorder = openRecorder(world, SECRET);
  await recorder.send(peer.build("cancel", { identifier: 41 }), peer.build("cancel", { identifier: 45 }));
  assertEquals((await recorder.replies()).length, 0);
  assertEquals(world.radius.monitor.counters().dropped_overtaken, 2);
  assertEquals((await peer.type("ok")).step, DEVICE);
});

Deno.test("gtc: a long prompt is split into several EAP-Messages", async () => {
  await using world = await startInProcess({ toml: WITH_PASSWORD, passwords: PASSWORDS, embedded: true });
  for (const letter of ["a", "b", "c", "d", "e", "f"]) {
    await pairPhone(world, "anna", letter.repeat(60));
    await jump(world.clock, 1000);
  }
  const peer = peerOf(world);
  await peer.identify();
  const { kind, text, attributes } = eapOf(await peer.type("right"));
  assertEquals([kind, attributes], ["request", 2]);
  assert(text.startsWith("Authorize this login on ffff") && text.endsWith("Type cancel to start over. "));
});

Deno.test("gtc: a question of the first-factor server is a prompt, and the server gets no EAP and no State of the gateway", async () => {
  using server = startFirstFactorServer({ password: "right" });
  const text = (value: string) => new TextEncoder().encode(value);
  const received: (readonly [number[], string])[] = [];
  server.script = ({ attributes, password }) => {
    received.push([attributes.map(({ type }) => type), password]);
    if (password === "new pin") return { code: 2, attributes: [{ type: 25, value: text("staff") }] };
    const asked = [{ type: 18, value: text("Enter your new PIN: ") }, { type: 24, value: text("pin-1") }];
    return { code: 11, attributes: asked };
  };
  await using world = await open(`${server.toml}eap = "gtc"\n`);
  const peer = peerOf(world);
  await peer.identify();
  const question = await peer.type("expired");
  assertEquals(shown(question), ["FIRSTFACTOR_GET_ANSWER", "request Enter your new PIN:"]);
  assertEquals(shown(await peer.type("new pin")), ASK_CODE);
  const accepted = await peer.type(appCode(world.clock.nowMs()));
  assertEquals(shown(accepted), ["accept", "success"]);
  assertEquals(accepted.attributes.find(({ type }) => type === 25)?.value, text("staff"));
  assertEquals(received.map(([, password]) => password), ["expired", "new pin"]);
  assertEquals(received.map(([types]) => [types.includes(79), types.includes(24)]), [[false, false], [
    false,
    true,
  ]]);
});

Deno.test("gtc: the packets before the login belong to it", async () => {
  await using world = await open();
  const peer = peerOf(world);
  await peer.identify();
  await peer.type("right");
  const [login] = world.radius.monitor.conversations(1);
  const packets = world.radius.monitor.packets(login?.id ?? "") ?? [];
  assertEquals(packets.map(({ inbound }) => inbound), [true, false, true, false]);
  assert(!packets.some(({ hex }) => hex.includes(new TextEncoder().encode("right").toHex())));
});

Deno.test("gtc: a login continues after a restart", async () => {
  const kvPath = await Deno.makeTempFile();
  let world = await open(WITH_PASSWORD, { kvPath });
  const peer = createGtcPeer((who) => world.login(who), { user: "anna" });
  await peer.identify();
  await world.stop();
  world = await open(WITH_PASSWORD, { kvPath, after: world });
  peer.login.moveTo(world);
  assertEquals((await peer.type("right")).step, CODE);
  await world.stop();
  world = await open(WITH_PASSWORD, { kvPath, after: world });
  peer.login.moveTo(world);
  assertEquals(shown(await peer.type(appCode(world.clock.nowMs()))), ["accept", "success"]);
  await world.stop();
  await Promise.all([world.secondFactor.close(), world.telephony.close()]);
  await Deno.remove(kvPath);
});
