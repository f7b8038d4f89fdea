// Findings 6 and 17: a flood of small unsigned datagrams evicted the login in progress, filled memory, log and disk,
// and made the gateway send ten times as many octets to an invented source address.

import { assert, assertEquals } from "@std/assert";
import { buildRequest } from "../support/radius_packets.ts";
import { startProgramWithServices } from "../fakes/program_services.ts";
import { openSession } from "./gateway_sessions.ts";
import { eventually } from "../upstream/manual_clock.ts";

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const FLOOD = 20_000;
/**
 * The limits of a source that does not prove the secret: a burst, and a rate per second
 * (radius/server/unsigned_requests.ts).
 */
const BURST = 100;
const PER_SECOND = 50;
/** Datagrams that the kernel may lose. */
const MAX_LOST = FLOOD * 0.1;
const MIB = 1024 * 1024;

Deno.test("06: a flood of unsigned logins is refused for its source, and does not affect a login in progress", async () => {
  const pairings = [["alice", { kind: "device", id: "pairing-of-alice", totpLength: 6 }]] as const;
  await using world = await startProgramWithServices({ pairings });
  const { gateway } = world;
  using alice = openSession(gateway, { userName: "alice", nasPort: 7 });
  assertEquals((await alice.login()).step, DEVICE);

  const to: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port: gateway.radiusPort };
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  using barrier = gateway.client();
  const startedMs = performance.now();
  for (let count = 0; count < FLOOD; count++) {
    const userName = `u${count.toString(36).padStart(4, "0")}`;
    const identifier = count & 255;
    await socket.send(
      buildRequest("unknown", { userName, identifier, messageAuthenticator: "none" }).bytes,
      to,
    );
    // The kernel drops datagrams that do not fit into its buffer, but the flood must arrive.
    if (count % 200 === 199) await barrier.ask({ code: 12 });
  }
  socket.close();
  // A slow machine needs longer for the flood, so more of it is within the limit.
  const allowed = BURST + PER_SECOND * Math.ceil((performance.now() - startedMs) / 1000);
  const limited = await gateway.metric("dropped_rate_limited_total");
  assert(limited >= FLOOD - allowed - MAX_LOST, `${limited} of ${FLOOD} were refused, ${allowed} may pass`);
  assert(await gateway.metric("conversations_live") <= allowed + 1, "and the login of alice");
  assert(await gateway.metric("resident_memory_bytes") < 300 * MIB);
  assert(gateway.logLines().length < 5 * allowed, `${gateway.logLines().length} lines, ${allowed} may pass`);
  await gateway.logged("too many unsigned requests came from this source address");

  world.secondFactor.decide(world.secondFactor.initiated()[0]?.id ?? "", { granted: true });
  assertEquals((await alice.answer("")).kind, "accept");
  // A client with the secret is served at once, also unsigned.
  using bob = openSession(gateway, { userName: "bob", nasPort: 9, messageAuthenticator: "none" });
  assertEquals((await bob.login("open sesame")).kind, "challenge");
});

Deno.test("17: a reply to an invented source address is small, and few replies are sent to it", async () => {
  await using world = await startProgramWithServices();
  const { gateway } = world;
  // A packet with a password comes first: its proof does not apply to the next one.
  using known = openSession(gateway, { userName: "known", messageAuthenticator: "none" });
  assertEquals((await known.login("open sesame")).kind, "challenge");
  using reflected = gateway.client();
  const packets = Array.from(
    { length: 256 },
    (_, identifier) =>
      buildRequest("unknown", { userName: "a", identifier, messageAuthenticator: "none" }).bytes,
  );
  using heard = reflected.listen();
  let sentOctets = 0;
  for (let round = 0; round < 8; round++) {
    for (const bytes of packets) {
      await reflected.sendRaw(bytes);
      sentOctets += bytes.length;
    }
    await eventually("the round arrived", async () => {
      const arrived = await gateway.metric("dropped_rate_limited_total") +
        await gateway.metric("requests_total");
      return arrived >= (round + 1) * packets.length * 0.9;
    });
  }
  // A challenge is sent after its commit, which a slow disk delays.
  await eventually("a reply to an invented address", () => Promise.resolve(heard.datagrams.length > 0));
  using barrier = gateway.client();
  await barrier.ask({ code: 12 });
  const replies = heard.datagrams;
  const largest = Math.max(...replies.map(({ length }) => length));
  assertEquals([replies.length > 0, packets[0]?.length], [true, 23]);
  assert(largest <= 23 * 6.6, `${largest} octets for 23`);
  const octets = replies.reduce((sum, reply) => sum + reply.length, 0);
  assert(octets < sentOctets, `${octets} octets were sent for ${sentOctets}`);
  console.log(
    `17: one reply has ${largest} octets for 23; in all ${sentOctets} octets in, ${octets} out`,
  );
});
