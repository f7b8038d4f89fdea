// Findings 6 and 17: a flood of small unsigned datagrams evicted the login in progress, filled memory, log and disk, and made the gateway
// send ten times as many octets to an invented source address.

import { assert, assertEquals } from "@std/assert";
import { buildRequest } from "../ground/radius_packets.ts";
import { startFaultWorld } from "../faults/fault_world.ts";
import { becomes, metric, openSession } from "./gateway_sessions.ts";

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const FLOOD = 20_000;
const MIB = 1024 * 1024;

Deno.test("06: a flood of unsigned logins is refused for its source, and harms no login in progress", async () => {
  const pairings = [["alice", { kind: "device", id: "pairing-of-alice", totpLength: 6 }]] as const;
  await using world = await startFaultWorld({ pairings });
  const { gateway } = world;
  using alice = openSession(gateway, { userName: "alice", nasPort: 7 });
  assertEquals((await alice.login()).step, DEVICE);

  const to: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port: gateway.radiusPort };
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  using barrier = gateway.client();
  for (let count = 0; count < FLOOD; count++) {
    const userName = `u${count.toString(36).padStart(4, "0")}`;
    const identifier = count & 255;
    await socket.send(
      buildRequest("unknown", { userName, identifier, messageAuthenticator: "none" }).bytes,
      to,
    );
    // The kernel drops what does not fit into its buffer: the flood must arrive.
    if (count % 200 === 199) await barrier.ask({ code: 12 });
  }
  socket.close();
  const limited = await metric(gateway, "dropped_rate_limited_total");
  assert(limited > FLOOD * 0.8, `${limited} of ${FLOOD} were refused`);
  assert(await metric(gateway, "conversations_live") < FLOOD * 0.1);
  assert(await metric(gateway, "resident_memory_bytes") < 300 * MIB);
  assert(gateway.logLines().length < FLOOD * 0.3, `${gateway.logLines().length} lines`);
  await gateway.logged("too many unsigned requests came from this source address");

  world.secondFactor.decide(world.secondFactor.initiated()[0]?.id ?? "", { granted: true });
  assertEquals((await alice.answer("")).kind, "accept");
  // A client that knows the secret is served at once, also unsigned.
  using bob = openSession(gateway, { userName: "bob", nasPort: 9, messageAuthenticator: "none" });
  assertEquals((await bob.login("open sesame")).kind, "challenge");
});

Deno.test("17: a reply to an invented source address is small, and few are sent to it", async () => {
  await using world = await startFaultWorld();
  const { gateway } = world;
  // A packet with a password comes first: what it proves is not carried over to the next one.
  using known = openSession(gateway, { userName: "known", messageAuthenticator: "none" });
  assertEquals((await known.login("open sesame")).kind, "challenge");
  using reflected = gateway.client();
  const packets = Array.from(
    { length: 256 },
    (_, identifier) =>
      buildRequest("unknown", { userName: "a", identifier, messageAuthenticator: "none" }).bytes,
  );
  const replies: Uint8Array[] = [];
  const pump = reflected.collect(3000).then((seen) => replies.push(...seen));
  let sentOctets = 0;
  for (let round = 0; round < 8; round++) {
    for (const bytes of packets) {
      await reflected.sendRaw(bytes);
      sentOctets += bytes.length;
    }
    await becomes("the round arrived", async () => {
      const arrived = await metric(gateway, "dropped_rate_limited_total") +
        await metric(gateway, "requests_total");
      return arrived >= (round + 1) * packets.length * 0.9;
    });
  }
  await pump;
  const largest = Math.max(...replies.map(({ length }) => length));
  assertEquals([replies.length > 0, packets[0]?.length], [true, 23]);
  assert(largest <= 23 * 6.6, `${largest} octets for 23`);
  const octets = replies.reduce((sum, reply) => sum + reply.length, 0);
  assert(octets < sentOctets, `${octets} octets were sent for ${sentOctets}`);
  console.log(
    `17: one reply has ${largest} octets for 23; in all ${sentOctets} octets in, ${octets} out`,
  );
});
