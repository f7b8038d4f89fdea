// Attributes of an Access-Accept by the user's groups.

import { assertEquals } from "@std/assert";
import { type InProcess, SECRET, startInProcess } from "./in_process.ts";
import type { Answer } from "./login.ts";
import { appCode, decide, give, giveDevice, register, SEED } from "./people.ts";
import { openRecorder } from "./recorder.ts";

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
    await using world = await startInProcess({ toml: TOML });
    await give(world, "anna", { kind: "totp", seed: SEED });
    await register(world, "anna", { groups });
    const login = world.login({ user: "Anna" });
    await login.start();
    const reply = await login.answer(appCode(world.clock.nowMs()));
    assertEquals([reply.kind, shown(reply)], ["accept", carries]);
  });
}

const PATHS: Readonly<Record<string, (world: InProcess) => Promise<Answer>>> = {
  async "an approval"(world) {
    const pairing = await giveDevice(world, "anna");
    const login = world.login({ user: "anna" });
    await login.start();
    decide(world, pairing, true);
    return await login.answer("");
  },
  async "an appended code"(world) {
    await give(world, "anna", { kind: "totp", seed: SEED });
    return await world.login({ user: "anna" }).start(`pw,${appCode(world.clock.nowMs())}`);
  },
  async "a held push"(world) {
    const pairing = await giveDevice(world, "anna");
    world.clock.after(1000, () => decide(world, pairing, true));
    return await world.login({ user: "anna" }).start("pw,push");
  },
};

for (const [title, play] of Object.entries(PATHS)) {
  Deno.test(`groups: after ${title} the Accept has them as well`, async () => {
    await using world = await startInProcess({ toml: TOML });
    await register(world, "anna", { groups: ["vpn admins"] });
    assertEquals(shown(await play(world)), ADMINS);
  });
}

Deno.test("groups: the same packet after a restart gets the same Accept", async () => {
  const dir = await Deno.makeTempDir();
  const kvPath = `${dir}/store`;
  await using world = await startInProcess({ toml: TOML, kvPath });
  await give(world, "anna", { kind: "totp", seed: SEED });
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
  await next.stop();
  await Deno.remove(dir, { recursive: true });
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
  await using world = await startInProcess({ toml: TOML });
  await give(world, "anna", { kind: "totp", seed: SEED });
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
