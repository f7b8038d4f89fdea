// The gate, in front of a whole gateway: every reason for silence has a vector, and what only looks odd is answered.

import { assertEquals, assertMatch } from "@std/assert";
import { DROP_REASONS } from "../../radius/protocol/drop_reasons.ts";
import type { Passwords } from "../../radius/ports.ts";
import { packetName } from "../../radius/protocol/codes.ts";
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

/** Has no room for another check. */
const BUSY: Passwords = {
  hasPassword: () => Promise.resolve(true),
  directory: () => Promise.resolve("busy"),
  ldap: () => Promise.resolve("busy"),
};

interface Delivery {
  readonly build: (identifier: number) => Uint8Array;
  readonly from: Source;
}

/** Packets that are answered before the flood is refused. */
const FLOOD = 100;

/** What happens around a delivery; the name stands in the vectors. */
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

/** What came of a vector: the reason of the drop, or the kind of reply. */
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
    // In these two the packet that is dropped stands beside one that is answered.
    const answered = scene === "twice" || scene === "reissued" ? ["challenge"] : [];
    assertEquals(await playVector(vector), [expected, ...answered]);
  });
}

const SIGNATURES: Readonly<Record<string, string>> = { good: "; sign first", none: "", bad: "; sign wrong" };
const TABLE = await readVectors("message_authenticator.txt", 7);

/**
 * One client a row: of those of kind `auto` it may be learnt, so that no two rows may share one. Of kind `static` nothing is learnt,
 * because unsigned logins of that address succeeded lately.
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

Deno.test("the gate treats Message-Authenticator and Proxy-State as tabled, in all 48 cases", async () => {
  assertEquals(new Set(TABLE.map((row) => row.slice(0, 5).join())).size, 48);
  const learnt = TABLE.flatMap(([kind, required], at) =>
    kind === "auto" && required === "yes" ? [`row-${at}`] : []
  );
  const unsigned = TABLE.flatMap(([kind], at) =>
    kind === "static" ? [[`row-${at}`, `10.0.${at}.1`] as const] : []
  );
  await using gateway = await openWholeGateway(tableSettings(), { learnt, unsigned });
  const outcomeOf = async (script: string, at: number, identifier: number): Promise<string> => {
    const risen = await gateway.counted(async () => {
      const from = { hostname: `10.0.${at}.1`, port: 1024 };
      await gateway.deliver(buildDatagram(script, { secret: SECRET, identifier }), from);
      await until(() => gateway.radius.server.gateway.working === 0);
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

Deno.test("the gate remembers what auto learnt in the store, and learnt.forget() takes it back", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const from = { hostname: "192.0.2.1", port: 1024 };
  const play = (script: string, identifier: number) =>
    gateway.counted(async () => {
      await gateway.deliver(buildDatagram(script, { secret: SECRET, identifier }), from);
      await gateway.finish();
    });
  await play("user ada; password x; sign first", 1);
  await until(() => gateway.radius.learnt.names.has("plain"));
  assertEquals((await gateway.store.get(["learnt", "plain", "192.0.2.1"])).value, true);
  assertEquals((await play("user ada; password x", 2)).dropped_missing_message_authenticator, 1);
  assertEquals(await gateway.radius.learnt.forget("plain"), true);
  assertEquals((await play("user ada; password x", 3)).challenges, 1);
  assertMatch(
    await gateway.logText(),
    /warn +this address signs its requests.* client=plain source=192\.0\.2\.1 forget="?deno task client forget plain/,
  );
});

/** A client of two addresses and one of a network, each with an address that signs. */
const MANY = [["pair", "192.0.2.1", "192.0.2.2"], ["net", "10.1.0.7", "10.1.9.9"]] as const;
const MANY_CLIENTS = `
[[radius.client]]
name = "pair"
address = ["192.0.2.1", "192.0.2.2"]
secret = "${SECRET}"
[[radius.client]]
name = "net"
address = ["10.1.0.0/16"]
secret = "${SECRET}"
`;

/** Plays one packet; what was counted of it. */
function player(gateway: WholeGateway) {
  let identifier = 0;
  return async (script: string, hostname: string): Promise<string> => {
    const octets = buildDatagram(script, { secret: SECRET, identifier: identifier++ & 0xff });
    const risen = await gateway.counted(async () => {
      await gateway.deliver(octets, { hostname, port: 1024 });
      await gateway.finish();
    });
    const names = Object.keys(risen);
    return names.find((name) => name.startsWith("dropped_"))?.slice(8) ??
      names.find((name) => ["challenges", "rejects", "accepts", "status_answers"].includes(name)) ?? "";
  };
}

const SIGNED = "user ada; password x; sign first";
const UNSIGNED = "user ada; password x";
const MISSING = "missing_message_authenticator";

Deno.test("auto learns per source address, also of a client with several addresses or a network, and over a restart", async () => {
  await using gateway = await openWholeGateway(MANY_CLIENTS);
  for (const [name, signs, other] of MANY) {
    const play = player(gateway);
    assertEquals(await play(UNSIGNED, signs), "challenges");
    assertEquals(await play(SIGNED, signs), "challenges");
    assertEquals(await play(UNSIGNED, signs), MISSING);
    assertEquals(await play(UNSIGNED, other), "challenges");
    assertEquals(gateway.radius.learnt.addressesOf(name), [signs]);
    const { signing } = gateway.radius.register.find(name) ?? {};
    assertEquals(signing, { required: "learnt", addresses: [signs], count: 1, acceptsUnsigned: true });
  }
  await until(async () => (await gateway.store.get(["learnt", "net", "10.1.0.7"])).value === true);
  const again = await gateway.reopen();
  assertEquals([...again.learnt.names].sort(), ["net", "pair"]);
  assertEquals(again.learnt.addressesOf("net"), ["10.1.0.7"]);
});

Deno.test("auto learns nothing from Status-Server and from EAP", async () => {
  await using gateway = await openWholeGateway(MANY_CLIENTS);
  const play = player(gateway);
  assertEquals(await play("code 12; sign first", "192.0.2.1"), "status_answers");
  assertEquals(await play("user ada; attr 79 0201000501; sign first", "192.0.2.1"), "rejects");
  assertEquals(await play(UNSIGNED, "192.0.2.1"), "challenges");
  assertEquals(gateway.radius.learnt.addressesOf("pair"), []);
});

Deno.test("auto learns nothing of an address whose unsigned logins succeeded in the last seven days", async () => {
  await using gateway = await openWholeGateway(MANY_CLIENTS, { unsigned: [["pair", "192.0.2.1"]] });
  const play = player(gateway);
  const warnings = async () =>
    (await gateway.logText()).split("sends signed and unsigned requests").length - 1;
  for (let count = 0; count < 3; count++) {
    assertEquals(await play(SIGNED, "192.0.2.1"), "challenges");
    assertEquals(await play(UNSIGNED, "192.0.2.1"), "challenges");
  }
  assertEquals([gateway.radius.learnt.addressesOf("pair"), await warnings()], [[], 1]);
  // Another address of the client is not meant.
  await play(SIGNED, "192.0.2.2");
  assertEquals(await play(UNSIGNED, "192.0.2.2"), MISSING);
  gateway.clock.advance(7 * 24 * 3_600_000);
  assertEquals(await play(SIGNED, "192.0.2.1"), "challenges");
  assertEquals(await play(UNSIGNED, "192.0.2.1"), MISSING);
});

Deno.test("what 0.1.0 learnt of a client's name counts for its one address, and is stored for that address", async () => {
  await using gateway = await openWholeGateway(CLIENTS, { learnt: ["plain"] });
  const play = player(gateway);
  assertEquals(gateway.radius.register.find("plain")?.signing, {
    required: "learnt",
    addresses: ["192.0.2.1"],
    count: 1,
    acceptsUnsigned: false,
  });
  assertEquals(await play(UNSIGNED, "192.0.2.1"), MISSING);
  await until(async () => (await gateway.store.get(["learnt", "plain", "192.0.2.1"])).value === true);
  assertEquals((await gateway.store.get(["learnt", "plain"])).value, null);
  assertEquals(await gateway.radius.learnt.forget("plain"), true);
  assertEquals(await play(UNSIGNED, "192.0.2.1"), "challenges");
});

Deno.test("Status-Server, EAP and accounting do not teach auto that a client signs its logins", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const from = { hostname: "192.0.2.1", port: 1024 };
  const play = (script: string, identifier: number) =>
    gateway.counted(async () => {
      await gateway.deliver(buildDatagram(script, { secret: SECRET, identifier }), from);
      await gateway.finish();
    });
  await play("code 12; sign first", 1);
  await play("user ada; attr 79 0201000601; sign first", 2);
  await play("acct right; attr 40 00000007; sign first", 3);
  assertEquals((await play("user ada; password x", 4)).challenges, 1);
  assertEquals(gateway.radius.learnt.names.size, 0);
});

Deno.test("the gate writes a drop once a minute and source, and counts every one", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const stranger = { hostname: "198.51.100.1", port: 1024 };
  const said = async () => (await gateway.logText()).split("no configured client").length - 1;
  for (let i = 0; i < 5; i++) await gateway.deliver(Uint8Array.of(1), stranger);
  assertEquals(await said(), 1);
  await gateway.deliver(Uint8Array.of(1), { ...stranger, hostname: "198.51.100.2" });
  assertEquals(await said(), 2);
  gateway.clock.advance(60_000);
  await gateway.deliver(Uint8Array.of(1), stranger);
  assertEquals(await said(), 3);
  assertEquals(gateway.radius.watch.counters().dropped_unknown_client, 7);
});
