// Attributes of an Accept, from groups and users.

import { assert, assertEquals } from "@std/assert";
import { openDisk } from "./disk.ts";
import { type Attribute, TYPES } from "../../support/radius_packets.ts";
import { ACCEPT_PATHS } from "./accept_paths.ts";
import { SECRET, startInProcess } from "./in_process.ts";
import type { Answer } from "./login.ts";
import { appCode, give, NUMBER, register, SEED, startWith } from "./people.ts";
import { openRecorder } from "./recorder.ts";

// Properties of every reply: attribute order, copied attributes, texts, and the attributes of an Accept.

const octets = (text: string) => new TextEncoder().encode(text);
const proxyStates = (...texts: string[]): Attribute[] =>
  texts.map((text) => ({ type: TYPES.proxyState, value: octets(text) }));

const ACCEPT = `[radius.reply.default]
"Class" = "staff"
"Filter-Id" = "vpn-users"
"Session-Timeout" = 3600
`;

for (const [title, play] of Object.entries(ACCEPT_PATHS)) {
  Deno.test(`accept: after ${title} it has the configured attributes, always the same`, async () => {
    await using world = await startInProcess({ toml: `[radius]\nappend_mode = true\n${ACCEPT}` });
    const reply = await play(world);
    assertEquals(reply.kind, "accept");
    const shown = reply.attributes.slice(1).map(({ type, value }) => [type, new TextDecoder().decode(value)]);
    assertEquals(shown, [[25, "staff"], [11, "vpn-users"], [27, "\0\0\x0e\x10"]]);
  });
}

Deno.test("accept: a challenge and a Reject have none of those attributes", async () => {
  await using world = await startInProcess({ toml: ACCEPT });
  const login = world.login({ user: "anna" });
  const challenge = await login.start("");
  const reject = await login.answer("x", { state: octets("NO_SUCH_STATE") });
  for (const { attributes } of [challenge, reject]) {
    assertEquals(attributes.filter(({ type }) => [11, 25, 27].includes(type)), []);
  }
});

Deno.test("replies: all Proxy-States are copied in order, on Accept, Challenge and Reject", async () => {
  await using world = await startWith("app");
  const more = proxyStates("b", "a", "", "b", "x".repeat(253));
  const login = world.login({ user: "anna", more });
  const replies = [
    await login.start(),
    await login.answer(appCode(world.clock.nowMs())),
    await login.answer("x", { state: octets("NO_SUCH_STATE") }),
  ];
  assertEquals(replies.map(({ kind }) => kind), ["challenge", "accept", "reject"]);
  for (const { attributes } of replies) {
    const copied = attributes.filter(({ type }) => type === TYPES.proxyState).map(({ value }) => value);
    assertEquals(copied, more.map(({ value }) => value));
  }
});

Deno.test("replies: each has the identifier of its request", async () => {
  await using world = await startInProcess();
  for (const identifier of [0, 1, 255]) {
    assertEquals((await world.login({ user: "anna", identifier }).start("")).identifier, identifier);
  }
});

Deno.test("replies: Message-Authenticator is the first attribute of each, also to an unsigned request", async () => {
  await using world = await startInProcess();
  const login = world.login({ user: "anna", messageAuthenticator: "none" });
  const replies = [await login.start(""), await login.answer("x", { state: octets("NO_SUCH_STATE") })];
  for (const { attributes } of replies) assertEquals(attributes[0]?.type, TYPES.messageAuthenticator);
});

Deno.test("replies: only a challenge has State, and every reply except an Accept has a Reply-Message", async () => {
  await using world = await startWith("app");
  const login = world.login({ user: "anna" });
  const replies = [
    await login.start(),
    await login.answer(appCode(world.clock.nowMs())),
    await login.answer("x", { state: octets("NO_SUCH_STATE") }),
  ];
  assertEquals(replies.map(({ state, message }) => [state !== null, message !== ""]), [
    [true, true],
    [false, false],
    [false, true],
  ]);
});

Deno.test("replies: the longest prompt, with nine numbers, fits one Reply-Message, because some clients show only the first", async () => {
  await using world = await startInProcess();
  const phoneNumbers = Array.from({ length: 9 }, (_, at) => `+1500555012345${at}`);
  await register(world, "anna", { phoneNumbers });
  const login = await world.begin({ user: "anna" }, "");
  const reply = await login.answer("T");
  const parts = reply.attributes.filter(({ type }) => type === TYPES.replyMessage).map(({ value }) => value);
  assertEquals(parts.length, 1);
  assertEquals(reply.message.split("\n").length, 11);
});

Deno.test("replies: every challenge of a walk through the menu fits and ends with the way to start over", async () => {
  await using world = await startInProcess({
    toml: `[factors]\nphone_numbers = "any"\nenrol_at_login = "always"`,
  });
  world.secondFactor.offerPhrase("maple river");
  const walks = [
    [],
    ["S"],
    ["S", "unknown"],
    ["S", "maple river"],
    ["D"],
    ["T"],
    ["T", "bad"],
    ["T", NUMBER],
    ["P"],
    ["P", "bad"],
    ["P", NUMBER],
    ["x"],
  ];
  for (const walk of walks) {
    const login = world.login({ user: "anna" });
    let reply = await login.start("");
    for (const answer of walk) reply = await login.answer(answer);
    assertEquals(reply.kind, "challenge", walk.join());
    assert(reply.message.endsWith("\nType cancel to start over. "), reply.message);
  }
});

Deno.test("replies: Proxy-States that fill a request leave room for the answer", async () => {
  await using world = await startInProcess();
  const more = proxyStates(...Array.from({ length: 15 }, () => "p".repeat(253)));
  const reply = await world.login({ user: "anna", more }).start("");
  assertEquals(reply.attributes.filter(({ type }) => type === TYPES.proxyState).length, 15);
});

// Attributes of an Access-Accept by the user's groups.

const TOML = `[radius]
append_mode = true
[radius.reply.default]
"Class" = "staff"
"Session-Timeout" = 3600
"Tunnel-Type:1" = "VLAN"
"Cisco-AVPair" = "shell:priv-lvl=1"
[radius.reply.group."VPN Admins"]
"Class" = "admins"
"26.9.1" = "shell:priv-lvl=15"
[radius.reply.group."guests"]
"Class" = "guests"
"Filter-Id" = "guests"
"Tunnel-Type:2" = "VLAN"
`;

/** The attributes of an Accept by type, text values as text. */
function shown({ attributes }: Answer): [number, string][] {
  return attributes.slice(1).map(({ type, value }) => {
    const text = type === 26 ? value.subarray(6) : value;
    return [type, type === 27 || type === 64 ? text.join() : new TextDecoder().decode(text)];
  });
}

const DEFAULTS: [number, string][] = [
  [25, "staff"],
  [27, "0,0,14,16"],
  [64, "1,0,0,13"],
  [26, "shell:priv-lvl=1"],
];
const ADMINS: [number, string][] = [
  [25, "admins"],
  [27, "0,0,14,16"],
  [64, "1,0,0,13"],
  [26, "shell:priv-lvl=15"],
];
const GUESTS: [number, string][] = [
  [25, "guests"],
  [27, "0,0,14,16"],
  [64, "1,0,0,13"],
  [26, "shell:priv-lvl=1"],
  [11, "guests"],
  [64, "2,0,0,13"],
];

/** The groups of a user, and the attributes of the Accept. */
const MEMBERS: readonly (readonly [title: string, groups: readonly string[], carries: [number, string][]])[] =
  [
    ["of no group", [], DEFAULTS],
    ["of groups that the settings do not have", ["staff", "constructor", ""], DEFAULTS],
    ["of a group, whatever its case", ["vpn ADMINS"], ADMINS],
    ["of another group", ["x", "Guests"], GUESTS],
    [
      "of two groups that disagree: the first of the file counts, not of the user",
      ["guests", "VPN Admins"],
      [...ADMINS, [11, "guests"], [64, "2,0,0,13"]],
    ],
  ];

for (const [title, groups, carries] of MEMBERS) {
  Deno.test(`groups: an Accept for a member ${title}`, async () => {
    await using world = await startWith("app", { toml: TOML });
    await register(world, "anna", { groups });
    const login = await world.begin({ user: "Anna" });
    const reply = await login.answer(appCode(world.clock.nowMs()));
    assertEquals([reply.kind, shown(reply)], ["accept", carries]);
  });
}

for (const title of ["an approval", "an appended code", "a held push"] as const) {
  Deno.test(`groups: after ${title} the Accept has them as well`, async () => {
    await using world = await startInProcess({ toml: TOML });
    await register(world, "anna", { groups: ["vpn admins"] });
    assertEquals(shown(await ACCEPT_PATHS[title](world)), ADMINS);
  });
}

Deno.test("groups: the same packet after a restart gets the same Accept", async () => {
  await using disk = await openDisk();
  const kvPath = disk.path;
  await using world = await startWith("app", { toml: TOML, kvPath });
  await register(world, "anna", { groups: ["guests"] });
  const login = world.login({ user: "anna" });
  const packet = login.buildStart(`pw,${appCode(world.clock.nowMs())}`);
  const before = await login.exchange(packet);
  await world.stop();
  await using next = await startInProcess({ toml: TOML, kvPath, after: world });
  login.moveTo(next);
  const after = await login.exchange(packet);
  assertEquals([before.kind, after.kind], ["accept", "accept"]);
  assertEquals(shown(after), shown(before));
});

Deno.test("groups: a challenge and a Reject have none of them", async () => {
  await using world = await startInProcess({ toml: TOML });
  await register(world, "anna", { groups: ["guests"] });
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = world.login({ user: "anna" });
  const replies = [await login.start(), await login.answer("000000")];
  assertEquals(replies.map(({ kind }) => kind), ["challenge", "reject"]);
  for (const { attributes } of replies) {
    assertEquals(attributes.filter(({ type }) => [11, 25, 26, 27, 64].includes(type)), []);
  }
});

Deno.test("groups: the retransmission of a request gets the same octets, even if the groups changed", async () => {
  await using world = await startWith("app", { toml: TOML });
  await register(world, "anna", { groups: ["guests"] });
  using recorder = openRecorder(world, SECRET);
  const packet = world.login({ user: "anna" }).buildStart(`pw,${appCode(world.clock.nowMs())}`);
  await recorder.send(packet);
  await recorder.replies(1);
  await register(world, "anna", { groups: [] });
  await recorder.send(packet);
  const [first, second] = await recorder.replies(2);
  assertEquals(second, first);
});
