// What a first-factor server answers: its attributes in the Access-Accept, its text in the Access-Reject, and its questions as a step of the login.

import { assert, assertEquals } from "@std/assert";
import { type Attribute, hideSalted, revealSalted, TYPES } from "../../support/radius_packets.ts";
import type { Store } from "../../../platform/store.ts";
import { openDisk } from "./disk.ts";
import {
  type FirstFactorScript,
  type FirstFactorServer,
  startFirstFactorServer,
} from "./first_factor_server.ts";
import { type InProcess, type InProcessOptions, SECRET, startInProcess } from "./in_process.ts";
import { type Answer, brief, type Login, stepName } from "./login.ts";
import { appCode, give, giveDevice, SEED } from "./people.ts";
import { startTwoNodes } from "./two_nodes.ts";

const ACCEPT = 2;
const REJECT = 3;
const CHALLENGE = 11;
const QUESTION = "FIRSTFACTOR_GET_ANSWER";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const CANCEL = "Type cancel to start over. ";
const SALT = Uint8Array.of(0x80, 1);

const octets = (text: string) => new TextEncoder().encode(text);
const textOf = (value: Uint8Array) => new TextDecoder().decode(value);
const attribute = (type: number, value: string | Uint8Array): Attribute => ({
  type,
  value: typeof value === "string" ? octets(value) : value,
});
const vendor = (number: number, type: number, value: Uint8Array): Attribute =>
  attribute(26, Uint8Array.of(0, 0, number >> 8, number & 0xff, type, value.length + 2, ...value));
const avPair = (text: string) => vendor(9, 1, octets(text));

/** In the order of the server. Those of one hop and of another method are between them. */
const COPIED = [
  attribute(25, "class of anna"),
  attribute(11, "staff"),
  attribute(64, Uint8Array.of(1, 0, 0, 13)),
  attribute(81, Uint8Array.of(1, ...octets("10"))),
  attribute(64, Uint8Array.of(2, 0, 0, 13)),
  ...["a", "b", "c", "d", "e"].map((name) => avPair(`${name}=1`)),
  attribute(8, Uint8Array.of(10, 0, 0, 7)),
];
const NOT_COPIED = [
  attribute(24, "state of the server"),
  attribute(33, "proxy state"),
  attribute(18, "Welcome."),
  attribute(79, Uint8Array.of(3, 1, 0, 4)),
  vendor(311, 26, octets("S=1234")),
];

/** Accepts the password "right", with attributes. */
const accepting = (attributes: readonly Attribute[]): FirstFactorScript => ({ password }) =>
  password === "right" ? { code: ACCEPT, attributes } : { code: REJECT, attributes: [] };

/** The attributes of a reply, without those that every reply has. */
const given = ({ attributes }: Answer) =>
  attributes.filter(({ type }) => type !== TYPES.messageAuthenticator);

/** All octets and texts of a stored value. */
function hexOf(value: unknown): string {
  if (value instanceof Uint8Array) return value.toHex();
  if (typeof value === "string") return octets(value).toHex();
  return typeof value === "object" && value !== null ? Object.values(value).map(hexOf).join() : "";
}

async function open(
  server: FirstFactorServer,
  more: Pick<InProcessOptions, "toml" | "kvPath" | "after" | "between"> = {},
): Promise<InProcess> {
  const { toml = "", ...options } = more;
  const world = await startInProcess({ toml: `${server.toml}${toml}`, ...options });
  if (more.after === undefined) await give(world, "anna", { kind: "totp", seed: SEED });
  return world;
}

async function finish(world: InProcess, login: Login): Promise<Answer> {
  const reply = await login.answer(appCode(world.clock.nowMs()));
  assertEquals(reply.kind, "accept");
  return reply;
}

Deno.test("first factor: the attributes of its Accept reach the client after the second factor, in order", async () => {
  using server = startFirstFactorServer({ password: "right" });
  server.script = accepting([...NOT_COPIED, ...COPIED]);
  await using world = await open(server);
  const login = world.login({ user: "anna" });
  assertEquals((await login.start("right")).step, CODE);
  assertEquals(given(await finish(world, login)), COPIED);
});

Deno.test("first factor: a Tunnel-Password is hidden again for the packet of the client, and never stored in clear", async () => {
  using server = startFirstFactorServer({ password: "right" });
  const secret = "a tunnel password of 32 octets!!";
  server.script = (request, key) =>
    accepting([attribute(69, Uint8Array.of(3, ...hideSalted(octets(secret), { ...key, salt: SALT })))])(
      request,
      key,
    );
  await using world = await open(server);
  const login = await world.begin({ user: "anna" }, "right");
  const stored = (await Array.fromAsync(world.kv.list({ prefix: [] }))).map(({ value }) => hexOf(value))
    .join();
  assert(stored.includes(octets(CODE).toHex()));
  assert(!stored.includes(octets(secret).toHex()));
  const request = login.build(appCode(world.clock.nowMs()));
  const [tunnel] = given(await login.exchange(request));
  assertEquals(tunnel?.value[0], 3);
  const revealed = revealSalted(tunnel?.value.subarray(1) ?? new Uint8Array(0), {
    secret: SECRET,
    authenticator: request.authenticator,
  });
  assertEquals(textOf(revealed), secret);
});

for (
  const [setting, types] of [
    ['"all"', [25, 11, 64, 81, 64, 26, 26, 26, 26, 26, 8]],
    ['["all"]', [25, 11, 64, 81, 64, 26, 26, 26, 26, 26, 8]],
    ['"none"', []],
    ["[]", []],
    ['["Class", "cisco-avpair"]', [25, 26, 26, 26, 26, 26]],
    ['["26.9.1", "Framed-IP-Address", "Tunnel-Private-Group-Id"]', [81, 26, 26, 26, 26, 26, 8]],
    ['["26.9.2", "Session-Timeout"]', []],
  ] as const
) {
  Deno.test(`first factor: reply_from_first_factor = ${setting} selects what the client gets`, async () => {
    using server = startFirstFactorServer({ password: "right" });
    server.script = accepting([...NOT_COPIED, ...COPIED]);
    await using world = await open(server, { toml: `reply_from_first_factor = ${setting}\n` });
    const login = await world.begin({ user: "anna" }, "right");
    assertEquals(given(await finish(world, login)).map(({ type }) => type), [...types]);
  });
}

Deno.test("first factor: an attribute of the gateway replaces those of the same type, with any tag", async () => {
  using server = startFirstFactorServer({ password: "right" });
  server.script = accepting(COPIED);
  const own =
    `[radius.reply.default]\n"Filter-Id" = "gateway"\n"Tunnel-Type:3" = "VLAN"\n"Cisco-AVPair" = "own=1"\n`;
  await using world = await open(server, { toml: own });
  const login = await world.begin({ user: "anna" }, "right");
  assertEquals(given(await finish(world, login)), [
    attribute(25, "class of anna"),
    attribute(81, Uint8Array.of(1, ...octets("10"))),
    attribute(8, Uint8Array.of(10, 0, 0, 7)),
    attribute(11, "gateway"),
    attribute(64, Uint8Array.of(3, 0, 0, 13)),
    avPair("own=1"),
  ]);
  const [{ id, firstFactorServer } = { id: "" }] = world.radius.monitor.conversations(1);
  const rows = world.radius.monitor.packets(id)?.at(-1)?.rows ?? [];
  assertEquals(rows.flatMap(({ type, from }) => from === undefined ? [] : [`${type} ${from}`]), [
    "25 first_factor",
    "81 first_factor",
    "8 first_factor",
    "11 default",
    "64 default",
    "26 default",
  ]);
  assertEquals(firstFactorServer, `127.0.0.1:${server.port}`);
});

Deno.test("first factor: the server gets the attributes of the client's request, except those of one hop and of its password", async () => {
  using server = startFirstFactorServer({ password: "right" });
  const asked: (readonly Attribute[])[] = [];
  server.script = (request, key) => {
    asked.push(request.attributes);
    return accepting([])(request, key);
  };
  await using world = await open(server);
  const ofClient = [
    attribute(4, Uint8Array.of(192, 0, 2, 9)),
    attribute(6, Uint8Array.of(0, 0, 0, 2)),
    avPair("client=1"),
    avPair("client=2"),
    attribute(66, "endpoint"),
  ];
  const dropped = [
    attribute(33, "of a proxy"),
    attribute(60, "challenge"),
    attribute(3, ""),
    vendor(14823, 44, new Uint8Array(18)),
  ];
  const login = world.login({ user: "anna", nasPort: 7, callingStationId: "192.0.2.77" });
  await login.start("right", { more: [...ofClient, ...dropped] });
  const hidden = asked[0]?.find(({ type }) => type === TYPES.userPassword)?.value;
  assertEquals(
    asked[0]?.slice(1).map((one) => one.type === TYPES.userPassword ? attribute(2, "hidden") : one),
    [
      attribute(TYPES.userName, "anna"),
      attribute(TYPES.userPassword, "hidden"),
      attribute(TYPES.nasPort, Uint8Array.of(0, 0, 0, 7)),
      attribute(TYPES.callingStationId, "192.0.2.77"),
      ...ofClient,
    ],
  );
  assertEquals(hidden?.length, 16);
  await world.login({ user: "anna" }).start("right");
  assertEquals(asked.at(-1)?.at(-1), attribute(32, "countersign"));
});

Deno.test("first factor: its attributes survive Cancel, a restart, and a repeated packet", async () => {
  await using disk = await openDisk();
  using server = startFirstFactorServer({ password: "right" });
  server.script = accepting(COPIED);
  await using first = await open(server, { kvPath: disk.path });
  const login = await first.begin({ user: "anna" }, "right");
  await login.answer("cancel");
  assertEquals((await login.answer("D")).step, CODE);
  await first.stop();
  server.script = () => ({ code: REJECT, attributes: [] });
  await using second = await open(server, { kvPath: disk.path, after: first });
  login.moveTo(second);
  const request = login.build(appCode(second.clock.nowMs()));
  for (let copies = 0; copies < 2; copies++) assertEquals(given(await login.exchange(request)), COPIED);
});

Deno.test("first factor: its attributes are sent by another node than the one that asked it", async () => {
  using server = startFirstFactorServer({ password: "right" });
  server.script = accepting(COPIED);
  await using nodes = await startTwoNodes({ toml: server.toml });
  await give(nodes.a, "anna", { kind: "totp", seed: SEED });
  await nodes.b.store.catchUp();
  const login = nodes.a.login({ user: "anna" });
  assertEquals((await login.start("right")).step, CODE);
  login.moveTo(nodes.b);
  assertEquals(given(await finish(nodes.b, login)), COPIED);
});

const REFUSED: FirstFactorScript = () => ({
  code: REJECT,
  attributes: [attribute(25, "class"), attribute(18, "Your account is closed."), attribute(18, "Ask HR.")],
});

for (
  const [setting, message] of [
    ['"all"', "Your account is closed.Ask HR."],
    ['["Reply-Message"]', "Your account is closed.Ask HR."],
    ['"none"', "Access denied."],
    ['["Class"]', "Access denied."],
  ] as const
) {
  Deno.test(`first factor: with reply_from_first_factor = ${setting} a Reject of the server says "${message}"`, async () => {
    using server = startFirstFactorServer({ password: "right" });
    server.script = REFUSED;
    await using world = await open(server, { toml: `reply_from_first_factor = ${setting}\n` });
    const login = world.login({ user: "anna" });
    const request = login.buildStart("wrong");
    for (let copies = 0; copies < 2; copies++) {
      const reply = await login.exchange(request);
      assertEquals([reply.kind, reply.message], ["reject", message]);
    }
    assertEquals(world.radius.limits.failures("anna").total, 1);
  });
}

/** Asks for a new PIN twice after the password "right", then accepts. Each State is that of the question before. */
function askingForPin(seen: string[]): FirstFactorScript {
  return ({ attributes, password }) => {
    const state = attributes.find(({ type }) => type === TYPES.state)?.value;
    const at = state === undefined ? "" : textOf(state);
    seen.push(`${at}:${password}`);
    if (at === "" && password === "right") {
      return {
        code: CHALLENGE,
        attributes: [
          attribute(18, "Your PIN has expired."),
          attribute(18, "Enter a new PIN:"),
          attribute(24, "pin-1"),
          attribute(27, Uint8Array.of(0, 0, 0, 60)),
          attribute(25, "not in a challenge"),
        ],
      };
    }
    if (at === "pin-1" && password === "4711") {
      const echo = attribute(76, Uint8Array.of(0, 0, 0, 1));
      return { code: CHALLENGE, attributes: [attribute(24, "pin-2"), attribute(18, "Again:"), echo] };
    }
    const isRight = at === "pin-2" && password === "4711";
    return isRight
      ? { code: ACCEPT, attributes: COPIED }
      : { code: REJECT, attributes: [attribute(18, "The PINs differ.")] };
  };
}

Deno.test("first factor: questions of the server are steps before the second factor", async () => {
  using server = startFirstFactorServer({ password: "right" });
  const seen: string[] = [];
  server.script = askingForPin(seen);
  await using world = await open(server);
  const login = world.login({ user: "anna" });
  const first = await login.start("right");
  assertEquals([first.step, first.message], [
    QUESTION,
    `Your PIN has expired.\nEnter a new PIN:\n${CANCEL}`,
  ]);
  const prompts = ({ attributes }: Answer) =>
    attributes.filter(({ type }) => type === 76 || type === 27).map(({ type, value }) => [type, value[3]]);
  assertEquals(prompts(first), [[76, 0], [27, 60]]);
  const second = await login.answer("4711");
  assertEquals([second.step, second.message], [QUESTION, `Again:\n${CANCEL}`]);
  assertEquals(prompts(second), [[76, 1]]);
  assertEquals((await login.answer("4711")).step, CODE);
  assertEquals(given(await finish(world, login)), COPIED);
  assertEquals(seen, [":right", "pin-1:4711", "pin-2:4711"]);
  assertEquals(world.radius.limits.failures("anna").total, 0);
});

Deno.test("first factor: while nodes of version 0.2 use the store, a question of the server ends the login", async () => {
  using server = startFirstFactorServer({ password: "right" });
  server.script = askingForPin([]);
  await using world = await open(server, { between: { store: (store) => ({ ...store, format: 1 }) } });
  assertEquals((await world.login({ user: "anna" }).start("right")).kind, "reject");
});

Deno.test("first factor: a wrong answer to its question counts as a wrong password, and its text reaches the user", async () => {
  using server = startFirstFactorServer({ password: "right" });
  server.script = askingForPin([]);
  await using world = await open(server);
  const login = await world.begin({ user: "anna" }, "right");
  await login.answer("4711");
  const reply = await login.answer("4712");
  assertEquals([reply.kind, reply.message], ["reject", "The PINs differ."]);
  assertEquals(world.radius.limits.failures("anna").total, 1);
});

Deno.test("first factor: Cancel at its question ends the login, because the password was not accepted", async () => {
  using server = startFirstFactorServer({ password: "right" });
  const seen: string[] = [];
  server.script = askingForPin(seen);
  await using world = await open(server);
  const login = await world.begin({ user: "anna" }, "right");
  assertEquals(brief(await login.answer("Cancel")), ["reject", "This login is over. Start a new one."]);
  assertEquals((await login.answer("D")).kind, "reject");
  assertEquals(seen, [":right"]);
});

for (const step of ["CHOOSE_WHICH_MULTIFACTOR", "SECONDFACTOR_AWAIT_DEVICE_APPROVAL", CODE]) {
  Deno.test(`first factor: at its question, the State ${step} reaches no second factor`, async () => {
    using server = startFirstFactorServer({ password: "right" });
    server.script = askingForPin([]);
    await using world = await open(server);
    await giveDevice(world, "anna");
    const login = await world.begin({ user: "anna" }, "right");
    const code = appCode(world.clock.nowMs());
    for (const text of [code, "S", ""]) {
      assertEquals((await login.answer(text, { state: octets(step) })).kind, "reject");
    }
    assertEquals(world.secondFactor.initiated().length, 0);
    assertEquals((await login.answer("4711", { state: octets(QUESTION) })).step, QUESTION);
  });
}

Deno.test("first factor: a server that asks without an end is stopped after eight questions", async () => {
  using server = startFirstFactorServer({ password: "right" });
  let questions = 0;
  server.script = () => {
    questions++;
    return { code: CHALLENGE, attributes: [attribute(24, "again"), attribute(18, "Again?")] };
  };
  await using world = await open(server);
  const login = world.login({ user: "anna" });
  let reply = await login.start("right");
  while (reply.kind === "challenge") reply = await login.answer("once more");
  assertEquals([questions, ...brief(reply)], [9, "reject", "Access denied."]);
  assertEquals(world.radius.limits.failures("anna").total, 0);
});

Deno.test("first factor: its question is answered after a restart, and repeated for a repeated packet", async () => {
  await using disk = await openDisk();
  using server = startFirstFactorServer({ password: "right" });
  const seen: string[] = [];
  server.script = askingForPin(seen);
  await using first = await open(server, { kvPath: disk.path });
  const login = first.login({ user: "anna" });
  const start = login.buildStart("right");
  await login.exchange(start);
  await first.stop();
  await using second = await open(server, { kvPath: disk.path, after: first });
  login.moveTo(second);
  assertEquals((await login.exchange(start)).message, `Your PIN has expired.\nEnter a new PIN:\n${CANCEL}`);
  const again = login.build("4711");
  for (let copies = 0; copies < 2; copies++) {
    assertEquals((await login.exchange(again)).message, `Again:\n${CANCEL}`);
  }
  assertEquals((await login.answer("4711")).step, CODE);
  assertEquals(seen, [":right", "pin-1:4711", "pin-2:4711"]);
});

for (
  const [what, texts, shown] of [
    ["nothing", [], "Enter the answer."],
    ["blanks", [" \n "], "Enter the answer."],
    ["placeholders of prompts", ["{menu}{numbers}{phones}{question}"], "{menu}{numbers}{phones}{question}"],
    ["a text in two attributes", ["x".repeat(252), "z"], `${"x".repeat(252)}\nz`],
    ["a text that continues", ["x".repeat(253), "y"], `${"x".repeat(253)}y`],
    ["4000 octets", Array.from({ length: 15 }, () => "\u20ac".repeat(84)), "\u20ac".repeat(84)],
  ] as const
) {
  Deno.test(`first factor: a question with ${what} is a valid challenge`, async () => {
    using server = startFirstFactorServer({ password: "right" });
    server.script = () => ({ code: CHALLENGE, attributes: texts.map((text) => attribute(18, text)) });
    await using world = await open(server);
    const reply = await world.login({ user: "anna" }).start("right");
    assertEquals(reply.step, QUESTION);
    assert(reply.message.startsWith(`${shown}\n`), reply.message);
    assert(reply.message.endsWith(`\n${CANCEL}`) && reply.message.length < 1100);
  });
}

Deno.test("first factor: an answer that loses a race is sent to the server once", async () => {
  using server = startFirstFactorServer({ password: "right" });
  const seen: string[] = [];
  server.script = askingForPin(seen);
  let races = 0;
  const store = (behind: Store): Store => ({
    ...behind,
    commit(transaction) {
      const isRecord = transaction.checks?.some(({ key }) => key[0] === "conversation");
      if (!isRecord || races === 2) return behind.commit(transaction);
      races++;
      return Promise.resolve({ ok: false, reason: "raced" });
    },
  });
  await using nodes = await startTwoNodes({ toml: server.toml, store });
  const login = nodes.a.login({ user: "anna" });
  await login.start("right");
  assertEquals((await login.answer("4711")).message, `Again:\n${CANCEL}`);
  assertEquals([races, ...seen], [2, ":right", "pin-1:4711"]);
});

Deno.test("first factor: a login with a question replaces an older one of the same place", async () => {
  using server = startFirstFactorServer({ password: "right" });
  server.script = accepting([]);
  await using world = await open(server);
  const older = world.login({ user: "anna", nasPort: 77 });
  assertEquals((await older.start("right")).step, CODE);
  server.script = askingForPin([]);
  const newer = world.login({ user: "anna", nasPort: 77 });
  assertEquals(stepName(await newer.start("right")), QUESTION);
  assertEquals(stepName(await newer.answer("4711")), QUESTION);
  assertEquals((await older.answer(appCode(world.clock.nowMs()))).kind, "reject");
});

Deno.test("first factor: while a user is locked, the answer to a question is not sent to the server", async () => {
  using server = startFirstFactorServer({ password: "right" });
  const seen: string[] = [];
  server.script = askingForPin(seen);
  await using world = await open(server, { toml: "[factors.lockout]\nfailures = 1\n" });
  const login = await world.begin({ user: "anna" }, "right");
  assertEquals((await world.login({ user: "anna" }).start("wrong")).kind, "reject");
  assertEquals(brief(await login.answer("4711")), ["reject", "Access denied."]);
  assertEquals(seen, [":right", ":wrong"]);
});

/** The vault of a gateway whose stored answers cannot be opened, as with another master key. */
function closeReplies({ vault }: InProcess): void {
  const { open: original } = vault;
  Object.assign(vault, {
    open: (key: Deno.KvKey, sealed: Uint8Array) =>
      key[0] === "first_factor_reply" ? null : original(key, sealed),
  });
}

Deno.test("first factor: the answer to a question that cannot be opened is not sent to the server as a password", async () => {
  using server = startFirstFactorServer({ password: "right" });
  const seen: string[] = [];
  server.script = askingForPin(seen);
  await using world = await open(server);
  const login = world.login({ user: "anna" });
  assertEquals((await login.start("right")).step, QUESTION);
  const before = seen.length;
  closeReplies(world);
  assertEquals(brief(await login.answer("4711")), ["reject", "Access denied."]);
  assertEquals([seen.length, world.radius.limits.failures("anna").total], [before, 0]);
});

Deno.test("first factor: without the attributes of the server, a right code ends in a Reject with a reason", async () => {
  using server = startFirstFactorServer({ password: "right" });
  server.script = accepting(COPIED);
  await using world = await open(server);
  const login = world.login({ user: "anna" });
  assertEquals(stepName(await login.start("right")), CODE);
  closeReplies(world);
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "reject");
  assertEquals(world.radius.monitor.conversations(1)[0]?.moments.at(-1)?.row, "reply_unreadable");
  assertEquals(world.radius.limits.failures("anna").total, 0);
});
