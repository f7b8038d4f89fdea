// The packet gate of a whole gateway: every drop reason has a vector, and unusual but valid packets are answered.

import { assertEquals, assertMatch } from "@std/assert";
import { DROP_REASONS } from "../../radius/protocol/drop_reasons.ts";
import type { Passwords } from "../../radius/ports.ts";
import { packetName } from "../../radius/protocol/packet.ts";
import { readReply } from "../support/radius_packets.ts";
import { asBuilt, buildDatagram, readSource, readVectors } from "./packet_vectors.ts";
import { openWholeGateway, type Source, until, type WholeGateway } from "./whole_gateway.ts";

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
name = "overloaded"
address = ["192.0.2.6"]
secret = "${SECRET}"
first_factor = "directory"
unknown_users = "allow"
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
  assertEquals(gateway.radius.monitor.counters().dropped_unknown_client, 7);
});
