// The gate for packets: known clients, duplicates, and limits of a source.

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { DROP_REASONS } from "../../radius/protocol/drop_reasons.ts";
import type { Passwords } from "../../radius/ports.ts";
import { packetName } from "../../radius/protocol/packet.ts";
import { readReply } from "../support/radius_packets.ts";
import { asBuilt, buildDatagram, readSource, readVectors } from "./packet_vectors.ts";
import { openWholeGateway, type Source, until, type WholeGateway } from "./whole_gateway.ts";
import fc from "../packages/fast_check.ts";
import { DuplicateCache, type PacketPlace, REPLY_RETENTION_MS } from "../../radius/server/duplicate_cache.ts";
import { SourceRateLimit } from "../../radius/server/unsigned_requests.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

// The packet gate of a whole gateway: every drop reason has a vector, and unusual but valid packets are answered.

const SECRET = "a-secret-for-the-gate";
const DROPS = await readVectors("drops.txt", 5);

const CLIENTS = `
[[radius.client]]
name = "plain"
address = ["192.0.2.1"]
secret = "${SECRET}"
[[radius.client]]
name = "strict"
address = ["192.0.2.2"]
secret = "${SECRET}"
message_authenticator = "require"
[[radius.client]]
name = "limited"
address = ["192.0.2.3"]
secret = "${SECRET}"
limit_proxy_state = true
[[radius.client]]
name = "named"
address = ["192.0.2.4"]
secret = "${SECRET}"
nas_identifier = "vpn-a"
[[radius.client]]
name = "unchecked"
address = ["192.0.2.5"]
secret = "${SECRET}"
message_authenticator = "off"
[[radius.client]]
name = "relayed"
address = ["192.0.2.7"]
secret = "${SECRET}"
first_factor = "radius"
first_factor_server = { address = "192.0.2.99:1812", secret = "${SECRET}" }
[[radius.client]]
name = "overloaded"
address = ["192.0.2.6"]
secret = "${SECRET}"
first_factor = "directory"
unknown_users = "allow"
[[radius.client]]
name = "shadow"
address = ["192.0.2.8"]
secret = "${SECRET}"
first_factor = "radius"
first_factor_server = { address = "192.0.2.20:1812", secret = "the secret of the present server" }
mode = "shadow"
`;

/** Accepts no further password check. */
const BUSY: Passwords = {
  hasPassword: () => Promise.resolve(true),
  directory: () => Promise.resolve("busy"),
  ldap: () => Promise.resolve("busy"),
};

interface Delivery {
  readonly build: (identifier: number) => Uint8Array;
  readonly from: Source;
}

/** The number of packets that are answered before the flood is refused. */
const FLOOD = 100;

/** The steps before and after a delivery, by the name that the vectors use. */
const SCENES: Readonly<Record<string, (gateway: WholeGateway, delivery: Delivery) => Promise<void>>> = {
  "-": (gateway, { build, from }) => gateway.deliver(build(1), from),
  "accounting port": (gateway, { build, from }) => gateway.account(build(1), from),
  async "twice"(gateway, { build, from }) {
    const release = gateway.store.hold();
    await gateway.deliver(build(1), from);
    await gateway.deliver(build(1), from);
    release();
  },
  async "reissued"(gateway, { build, from }) {
    const release = gateway.store.hold();
    await gateway.deliver(build(1), from);
    await gateway.deliver(build(2), from);
    release();
  },
  async "flood"(gateway, { build, from }) {
    for (let identifier = 0; identifier <= FLOOD; identifier++) {
      await gateway.deliver(build(identifier), from);
    }
  },
  async "silent server"(gateway, { build, from }) {
    await gateway.deliver(build(1), from);
    await until(() => {
      gateway.clock.advance(1000);
      return gateway.radius.server.working === 0;
    });
  },
  async "silent store"(gateway, { build, from }) {
    gateway.store.silentSince(gateway.clock.nowMs() - 5001);
    await gateway.deliver(build(1), from);
  },
  async "broken store"(gateway, { build, from }) {
    gateway.store.breakWith(new Error("the disk is full"));
    await gateway.deliver(build(1), from);
  },
};

/** The result of a vector: the drop reason, or the kind of reply. */
async function playVector([, from = "", script = "", scene = ""]: readonly string[]): Promise<string[]> {
  await using gateway = await openWholeGateway(CLIENTS, { passwords: BUSY });
  const play = SCENES[scene];
  if (play === undefined) throw new Error(`There is no scene "${scene}"`);
  const build = (identifier: number) => buildDatagram(script, { secret: SECRET, identifier });
  const risen = await gateway.counted(async () => {
    await play(gateway, { build, from: readSource(from) });
    await gateway.finish();
  });
  const drops = Object.keys(risen).flatMap((name) => name.startsWith("dropped_") ? [name.slice(8)] : []);
  const request = asBuilt(build(scene === "reissued" ? 2 : 1));
  const before = scene === "flood" ? FLOOD : 0;
  const replies = gateway.sent.slice(before).map(({ octets }) => {
    assertEquals(readReply(octets, request, SECRET).problems, []);
    if ((risen.status_answers ?? 0) > 0) return "status";
    if (octets[0] === 5) return "accounting";
    return (packetName(octets[0] ?? 0) ?? "").replace("Access-", "").toLowerCase();
  });
  return [...drops, ...replies];
}

Deno.test("drops.txt has a vector for every row of DROP_REASONS, and names no other reason", () => {
  const named = new Set(DROPS.map(([expected]) => expected));
  for (const answer of ["challenge", "reject", "status", "accounting"]) named.delete(answer);
  assertEquals([...named].sort(), Object.keys(DROP_REASONS).sort());
});

for (const vector of DROPS) {
  const [expected = "", from, script, scene, why] = vector;
  const title = `${from}, ${scene === "-" ? "" : `${scene}, `}${why}: ${script?.slice(0, 80)}`;
  Deno.test(`the gate: ${expected} for ${title}`, async () => {
    // In these two scenes, one packet is dropped and another one is answered.
    const answered = scene === "twice" || scene === "reissued" ? ["challenge"] : [];
    assertEquals(await playVector(vector), [expected, ...answered]);
  });
}

/** The `dropped:` lines of a vector, at log level `debug`. */
async function dropLines([, from = "", script = "", scene = ""]: readonly string[]): Promise<string[]> {
  await using gateway = await openWholeGateway(CLIENTS, { passwords: BUSY });
  const build = (identifier: number) => buildDatagram(script, { secret: SECRET, identifier });
  await SCENES[scene]?.(gateway, { build, from: readSource(from) });
  await gateway.finish();
  return (await gateway.logText()).split("\n").filter((line) => line.includes("dropped: "));
}

Deno.test("a drop of each reason has one `dropped:` line with its reason and its source", async () => {
  const vectors = new Map(DROPS.map((vector) => [vector[0], vector]));
  for (const reason of Object.keys(DROP_REASONS)) {
    // The last vector of too_busy leaves no room for the reply. Only the log names this reason.
    const logged = reason === "too_busy" ? "reply_not_written" : reason;
    const vector = vectors.get(reason) ?? [];
    const { hostname } = readSource(vector[1] ?? "");
    const lines = await dropLines(vector);
    assertEquals(lines.length, 1, reason);
    assertMatch(lines[0] ?? "", new RegExp(`reason=${logged} .*source=${hostname}( |$)`));
  }
});

const SIGNATURES: Readonly<Record<string, string>> = { good: "; sign first", none: "", bad: "; sign wrong" };
const TABLE = await readVectors("message_authenticator.txt", 7);

/**
 * One client per row, because a row of kind `auto` may change what is learned about its client. For kind `static`
 * nothing is learned, because unsigned logins of that address succeeded recently.
 */
function tableSettings(): string {
  return TABLE.map(([kind, required, limited], at) => `
[[radius.client]]
name = "row-${at}"
address = ["10.0.${at}.1"]
secret = "${SECRET}"
message_authenticator = "${kind === "static" && required === "yes" ? "require" : "auto"}"
limit_proxy_state = ${limited === "yes"}
`).join("");
}

Deno.test("the gate handles Message-Authenticator and Proxy-State as in the table, in all 48 cases", async () => {
  assertEquals(new Set(TABLE.map((row) => row.slice(0, 5).join())).size, 48);
  const signed = TABLE.flatMap(([kind, required], at) =>
    kind === "auto" && required === "yes" ? [[`row-${at}`, `10.0.${at}.1`] as const] : []
  );
  const unsigned = TABLE.flatMap(([kind], at) =>
    kind === "static" ? [[`row-${at}`, `10.0.${at}.1`] as const] : []
  );
  await using gateway = await openWholeGateway(tableSettings(), { signed, unsigned });
  const outcomeOf = async (script: string, at: number, identifier: number): Promise<string> => {
    const risen = await gateway.counted(async () => {
      const from = { hostname: `10.0.${at}.1`, port: 1024 };
      await gateway.deliver(buildDatagram(script, { secret: SECRET, identifier }), from);
      await until(() => gateway.radius.server.working === 0);
    });
    return Object.keys(risen).find((name) => name.startsWith("dropped_"))?.slice(8) ??
      (risen.challenges === 1 ? "answered" : `none, ${JSON.stringify(risen)}`);
  };
  for (const [at, row] of TABLE.entries()) {
    const [, , , signature = "", proxyState, expected, requiredAfter] = row;
    const proxy = proxyState === "yes" ? "; attr 33 aabb" : "";
    const script = `user ada; password x${proxy}${SIGNATURES[signature]}`;
    assertEquals(await outcomeOf(script, at, 1), expected, row.join(" | "));
    const unsigned = await outcomeOf("user ada; password x", at, 2);
    const then = requiredAfter === "yes" ? "missing_message_authenticator" : "answered";
    assertEquals(unsigned, then, `${row.join(" | ")}: an unsigned request afterwards`);
  }
});

Deno.test("the gate logs a drop once a minute per source, and counts every one", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const stranger = { hostname: "198.51.100.1", port: 1024 };
  const lines = async () => (await gateway.logText()).split("no configured client").length - 1;
  for (let i = 0; i < 5; i++) await gateway.deliver(Uint8Array.of(1), stranger);
  assertEquals(await lines(), 1);
  await gateway.deliver(Uint8Array.of(1), { ...stranger, hostname: "198.51.100.2" });
  assertEquals(await lines(), 2);
  gateway.clock.advance(60_000);
  await gateway.deliver(Uint8Array.of(1), stranger);
  assertEquals(await lines(), 3);
  const { dropped_unknown_client: dropped, failures, locks, sends } = gateway.radius.monitor.counters();
  // A counter is 0 before the first count.
  assertEquals({ dropped, failures, locks, sends }, { dropped: 7, failures: 0, locks: 0, sends: 0 });
});

// The duplicate cache (RFC 5080 §2.2.2).

/** A packet whose authenticator has 16 octets of the value `authenticator`. */
function packet(
  { socket = 0, hostname = "192.0.2.1", port = 1024, identifier = 7, authenticator = 1 }: {
    socket?: number;
    hostname?: string;
    port?: number;
    identifier?: number;
    authenticator?: number;
  } = {},
): PacketPlace {
  const octets = new Uint8Array(20).fill(authenticator, 4);
  octets[1] = identifier;
  return { socket, hostname, port, octets };
}

const OTHERS: Readonly<Record<string, PacketPlace>> = {
  "on another socket": packet({ socket: 1 }),
  "from another address": packet({ hostname: "192.0.2.2" }),
  "from another port": packet({ port: 1025 }),
  "under another identifier": packet({ identifier: 8 }),
  "with another authenticator": packet({ authenticator: 2 }),
};

Deno.test("DuplicateCache finds the same packet again, without a reply until one is set", () => {
  const duplicates = new DuplicateCache();
  assertEquals(duplicates.find(packet(), 0), null);
  const slot = duplicates.add(packet(), 0);
  assertEquals(duplicates.find(packet(), 0)?.reply, null);
  slot.reply = Uint8Array.of(1, 2, 3);
  assertEquals(duplicates.find(packet(), 0)?.reply, Uint8Array.of(1, 2, 3));
});

Deno.test("DuplicateCache repeats no reply after 30 s, also if no other packet came, or if the clock was set back", () => {
  const duplicates = new DuplicateCache();
  const slot = duplicates.add(packet(), 0);
  assertNotEquals(duplicates.find(packet(), REPLY_RETENTION_MS), null);
  slot.reply = Uint8Array.of(1);
  for (const nowMs of [REPLY_RETENTION_MS, -REPLY_RETENTION_MS]) {
    assertEquals(duplicates.find(packet(), nowMs), null);
  }
  assertEquals(duplicates.find(packet(), REPLY_RETENTION_MS - 1)?.reply, Uint8Array.of(1));
});

for (const [what, other] of Object.entries(OTHERS)) {
  Deno.test(`DuplicateCache treats a packet ${what} as a new one`, () => {
    const duplicates = new DuplicateCache();
    duplicates.add(packet(), 0);
    assertEquals(duplicates.find(other, 0), null);
    assertNotEquals(duplicates.find(packet(), 0), null);
  });
}

Deno.test("DuplicateCache compares all sixteen octets of the authenticator", () => {
  const duplicates = new DuplicateCache();
  duplicates.add(packet(), 0);
  for (let at = 4; at < 20; at++) {
    const other = packet();
    other.octets[at] = 99;
    assertEquals(duplicates.find(other, 0), null, `octet ${at}`);
  }
});

Deno.test("DuplicateCache replaces the entry of the old authenticator by that of a new one", () => {
  const duplicates = new DuplicateCache();
  const old = duplicates.add(packet(), 0);
  const fresh = duplicates.add(packet({ authenticator: 2 }), 1);
  old.reply = Uint8Array.of(1);
  fresh.reply = Uint8Array.of(2);
  assertEquals(duplicates.find(packet(), 0), null);
  assertEquals(duplicates.find(packet({ authenticator: 2 }), 0)?.reply, Uint8Array.of(2));
  duplicates.forget(old);
  assertEquals(duplicates.find(packet({ authenticator: 2 }), 0)?.reply, Uint8Array.of(2));
  assertEquals(duplicates.size, 1);
});

Deno.test("DuplicateCache removes an entry on request, and a second removal is harmless", () => {
  const duplicates = new DuplicateCache();
  const slot = duplicates.add(packet(), 0);
  duplicates.forget(slot);
  duplicates.forget(slot);
  assertEquals([duplicates.find(packet(), 0), duplicates.size], [null, 0]);
});

Deno.test("DuplicateCache keeps answers for 30 s, and then frees room when new packets arrive", () => {
  const duplicates = new DuplicateCache();
  for (let identifier = 0; identifier < 8; identifier++) duplicates.add(packet({ identifier }), 0);
  duplicates.add(packet({ port: 1 }), REPLY_RETENTION_MS - 1);
  assertNotEquals(duplicates.find(packet({ identifier: 0 }), 0), null);
  for (let port = 2; port < 6; port++) duplicates.add(packet({ port }), REPLY_RETENTION_MS);
  for (let identifier = 0; identifier < 8; identifier++) {
    assertEquals(duplicates.find(packet({ identifier }), 0), null);
  }
  assertEquals(duplicates.size, 5);
});

Deno.test("DuplicateCache keeps at most 65,535 packets, the newest ones", () => {
  const duplicates = new DuplicateCache();
  for (let i = 0; i < 70_000; i++) {
    duplicates.add(packet({ port: i >> 8, identifier: i & 0xff, hostname: `h${i % 3}` }), 0);
  }
  assert(duplicates.size <= 65_536 && duplicates.size > 65_000, String(duplicates.size));
  assertEquals(duplicates.find(packet({ port: 0, identifier: 0, hostname: "h0" }), 0), null);
  const last = packet({ port: 69_999 >> 8, identifier: 69_999 & 0xff, hostname: `h${69_999 % 3}` });
  assertNotEquals(duplicates.find(last, 0), null);
});

Deno.test("DuplicateCache agrees with a plain table for any sequence of calls", () => {
  const step = fc.record({
    act: fc.constantFrom("note", "find", "forget"),
    port: fc.integer({ min: 1, max: 2 }),
    identifier: fc.integer({ min: 0, max: 2 }),
    authenticator: fc.integer({ min: 0, max: 2 }),
    hostname: fc.constantFrom("a", "b"),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const duplicates = new DuplicateCache();
    const table = new Map<string, { authenticator: number; slot: ReturnType<typeof duplicates.add> }>();
    for (const { act, ...place } of steps) {
      const name = `${place.hostname} ${place.port} ${place.identifier}`;
      const known = table.get(name);
      if (act === "note") {
        const slot = duplicates.add(packet(place), 0);
        table.set(name, { authenticator: place.authenticator, slot });
      } else if (act === "forget" && known !== undefined) {
        duplicates.forget(known.slot);
        table.delete(name);
      }
      const now = table.get(name);
      const expected = now?.authenticator === place.authenticator ? now.slot : null;
      assert(duplicates.find(packet(place), 0) === expected);
      assertEquals(duplicates.size, table.size);
    }
  }));
});

// The token buckets of source addresses: limited in number, and independent of each other.

const taken = (limit: SourceRateLimit, source: string, times: number) => {
  let count = 0;
  for (let i = 0; i < times; i++) if (limit.take(source)) count++;
  return count;
};

Deno.test("SourceRateLimit allows a burst, then the rate, and never more than the burst again", () => {
  const clock = createManualClock();
  const limit = new SourceRateLimit(clock, { burst: 10, perSecond: 5 });
  assertEquals(taken(limit, "192.0.2.1", 50), 10);
  clock.advance(1000);
  assertEquals(taken(limit, "192.0.2.1", 50), 5);
  clock.advance(3_600_000);
  assertEquals(taken(limit, "192.0.2.1", 50), 10);
});

Deno.test("SourceRateLimit counts each source separately", () => {
  const limit = new SourceRateLimit(createManualClock(), { burst: 3, perSecond: 1 });
  assertEquals(taken(limit, "192.0.2.1", 1000), 3);
  assertEquals(taken(limit, "192.0.2.2", 2), 2);
});

Deno.test("SourceRateLimit counts an IPv6 network of 64 bits as one source", () => {
  const limit = new SourceRateLimit(createManualClock(), { burst: 3, perSecond: 1 });
  let count = 0;
  for (let i = 0; i < 100; i++) if (limit.take(`2001:db8:0:1::${i.toString(16)}`)) count++;
  assertEquals([count, limit.sources], [3, 1]);
  assertEquals([limit.take("2001:db8:0:2::1"), limit.sources], [true, 2]);
  assertEquals([limit.take("::1"), limit.take("fe80::1%eth0"), limit.sources], [true, true, 4]);
});

Deno.test("SourceRateLimit: invented sources beyond the table share one bucket, and the table is reused later", () => {
  const clock = createManualClock();
  const limit = new SourceRateLimit(clock, { burst: 2, perSecond: 1, maxSources: 100 });
  for (let i = 0; i < 100; i++) limit.take(`10.0.0.${i}`);
  let beyond = 0;
  for (let i = 0; i < 10_000; i++) if (limit.take(`10.1.${i >> 8}.${i & 255}`)) beyond++;
  assertEquals([beyond, limit.sources], [2, 100]);
  // A known source still has its own bucket.
  assertEquals(limit.take("10.0.0.7"), true);
  clock.advance(5000);
  assertEquals(taken(limit, "10.2.0.1", 9), 2);
  assertEquals(limit.sources, 1);
});

Deno.test("SourceRateLimit neither gains nor loses tokens when the clock is set back", () => {
  let nowMs = 1_000_000;
  const limit = new SourceRateLimit({ nowMs: () => nowMs }, { burst: 2, perSecond: 1 });
  assertEquals(taken(limit, "192.0.2.1", 9), 2);
  nowMs -= 500_000;
  assertEquals(taken(limit, "192.0.2.1", 9), 0);
  nowMs += 1000;
  assertEquals(taken(limit, "192.0.2.1", 9), 1);
});
