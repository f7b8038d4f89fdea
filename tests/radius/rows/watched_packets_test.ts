// Captured packets: octets and rows without a secret, folded copies, and the reason of a drop.

import { assert, assertEquals } from "@std/assert";
import type { PacketRecord } from "../../../radius/ports.ts";
import { decodeLoginRecord } from "../../../radius/conversation/login_record.ts";
import { startInProcess } from "./in_process.ts";
import { becomes } from "./passing_time.ts";
import { appCode, startWith } from "./people.ts";

const PASSWORD = "planted-password-1";
const CLIENT = `[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "planted-shared-secret"
`;
const octets = (text: string) => new TextEncoder().encode(text);
const valueOf = (packet: PacketRecord | undefined, name: string) =>
  packet?.rows.find((row) => row.name === name);

Deno.test("packets() returns every packet of a login in order, with its rows, and masks secrets", async () => {
  await using world = await startWith("app", { toml: '[radius]\nstate = "token"' });
  const login = world.login({ user: "anna", callingStationId: "192.0.2.7" });
  await login.start(PASSWORD);
  await login.answer(appCode(world.clock.nowMs()));
  const [view] = world.radius.monitor.conversations(1);
  const packets = world.radius.monitor.packets(view?.id ?? "") ?? [];
  assertEquals(packets.map(({ inbound, verdict }) => [inbound, verdict]), [
    [true, "signed"],
    [false, "totp_picked"],
    [true, "signed"],
    [false, "totp_right"],
  ]);
  const [request, challenge, answer, accept] = packets;
  assertEquals(valueOf(request, "User-Name")?.value, "anna");
  assertEquals(valueOf(request, "Calling-Station-Id")?.value, "192.0.2.7");
  for (const packet of [request, answer]) {
    const password = valueOf(packet, "User-Password");
    assertEquals([password?.masked, password?.value], [true, ""]);
    const value = packet?.hex.slice(2 * (password?.at ?? 0) + 4, 2 * (password?.at ?? 0) + 36);
    assertEquals(value, "0".repeat(32), "the hidden password is zeroed, not only hidden from view");
  }
  assertEquals(valueOf(answer, "State")?.value, "GET_DEVICE_GENERATED_PASSCODE.");
  assertEquals(valueOf(answer, "State")?.masked, true);
  for (const packet of [challenge, accept]) {
    assertEquals(valueOf(packet, "Authenticator")?.masked, true);
    assertEquals(valueOf(packet, "Message-Authenticator")?.masked, true);
  }
  assertEquals(valueOf(accept, "Code")?.value, "2 (Access-Accept)");
});

Deno.test("packets() folds a retransmission into the first packet", async () => {
  await using world = await startInProcess();
  const login = world.login({ user: "anna" });
  const packet = login.buildStart("pw");
  await login.exchange(packet);
  await login.exchange(packet);
  await login.exchange(packet);
  const [view] = world.radius.monitor.conversations(1);
  const packets = world.radius.monitor.packets(view?.id ?? "") ?? [];
  assertEquals(packets.map(({ inbound, copies }) => [inbound, copies]), [[true, 3], [false, 1]]);
});

Deno.test("strays() lists a packet with another shared secret, and dropTallies() counts it", async () => {
  await using world = await startInProcess({ toml: CLIENT });
  const stranger = world.newClient("another secret");
  try {
    const since = world.clock.nowMs();
    for (let count = 1; count <= 3; count++) {
      await stranger.sendRaw(stranger.build({ userName: "eve", password: PASSWORD }).bytes);
      await becomes(`${count} dropped`, () => world.radius.monitor.strays(10).length === count);
    }
    const strays = world.radius.monitor.strays(10);
    assertEquals(strays.map(({ reason, client, answered }) => [reason, client, answered]), [
      ["wrong_message_authenticator", "vpn", false],
      ["wrong_message_authenticator", "vpn", false],
      ["wrong_message_authenticator", "vpn", false],
    ]);
    assertEquals(valueOf(strays[0], "User-Name")?.value, "eve");
    assertEquals(valueOf(strays[0], "User-Password")?.masked, true);
    const [tally] = world.radius.monitor.dropTallies();
    assertEquals([tally?.reason, tally?.client, tally?.count, tally?.firstMs], [
      "wrong_message_authenticator",
      "vpn",
      3,
      since,
    ]);
  } finally {
    stranger.close();
  }
});

Deno.test("strays() has a request that was refused outside a login, with the reason", async () => {
  await using world = await startInProcess();
  await world.login({ user: "anna" }).start("", { state: octets("NO_SUCH_STATE") });
  const [stray] = world.radius.monitor.strays(10);
  assertEquals([stray?.reason, stray?.answered], ["unknown_state", true]);
});

Deno.test("the history has a login in the commit that ended it, also one that expired or was superseded", async () => {
  await using world = await startWith("app");
  const accepted = await world.begin({ user: "anna" });
  await accepted.answer(appCode(world.clock.nowMs()));
  const replaced = await world.begin({ user: "bert", nasPort: 7 }, "one");
  await replaced.start("two");
  world.clock.advance(world.config.radius.conversationTtlMs + 2000);
  const found: (string | undefined)[] = [];
  for (const endMs = performance.now() + 10_000; found.length < 3 && performance.now() < endMs;) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    found.length = 0;
    for await (const { value } of world.store.list(["history"])) {
      const login = decodeLoginRecord(value);
      found.push(`${login?.user} ${login?.outcome} ${login?.moments.at(-1)?.row}`);
    }
  }
  assertEquals(found, [
    "anna accepted totp_right",
    "bert superseded superseded",
    "bert expired expired",
  ]);
});

Deno.test("takeFinishedCounts() counts each end once, by client, with its duration", async () => {
  await using world = await startWith("app");
  const login = await world.begin({ user: "anna" });
  await login.answer(appCode(world.clock.nowMs()));
  const [tally, ...more] = world.radius.monitor.takeFinishedCounts();
  assertEquals([tally?.outcomes, more.length], [{ accepted: 1 }, 0]);
  assertEquals(tally?.times.reduce((sum, count) => sum + count, 0), 1);
  assertEquals(world.radius.monitor.takeFinishedCounts(), []);
  // /metrics keeps its counts.
  const { outcomes, times } = world.radius.monitor.loginTotals();
  assertEquals([outcomes.accepted, outcomes.rejected], [1, 0]);
  assertEquals(times.reduce((sum, count) => sum + count, 0), 1);
});

Deno.test("captured packets contain no planted secret, in clear or in hexadecimal", async () => {
  await using world = await startInProcess({ toml: CLIENT });
  const state = octets("planted-state-of-another-server");
  const chap = { type: 3, value: octets("\x01planted-chap-res") };
  const microsoft = { type: 26, value: Uint8Array.of(0, 0, 1, 0x37, 1, 18, ...octets("planted-mschap-1")) };
  const tunnel = { type: 69, value: octets("planted-tunnel-pw") };
  await world.login({ user: "anna" }).start(PASSWORD);
  await world.login({ user: "bert" }).start(PASSWORD, { state });
  await world.login({ user: "carl" }).start(PASSWORD, { more: [chap, microsoft, tunnel] });
  const { monitor } = world.radius;
  const all = [
    ...monitor.conversations(100).flatMap(({ id }) => monitor.packets(id) ?? []),
    ...monitor.strays(100),
  ];
  assert(all.length >= 4);
  const text = JSON.stringify(all);
  const planted = [
    "planted-state",
    "planted-chap",
    "planted-mschap",
    "planted-tunnel",
    "planted-shared",
    PASSWORD,
  ];
  for (const secret of planted) {
    assert(!text.includes(secret), `${secret} in clear`);
    assert(!text.includes(octets(secret).toHex()), `${secret} in hexadecimal`);
  }
});
