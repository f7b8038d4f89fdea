// `message_authenticator = "auto"`: source addresses that sign their requests must sign from then on.

import { assertEquals, assertMatch } from "@std/assert";
import { buildDatagram } from "./packet_vectors.ts";
import { openWholeGateway, until, type WholeGateway } from "./whole_gateway.ts";

const SECRET = "a-secret-for-the-gate";
const PLAIN_CLIENT = `
[[radius.client]]
name = "plain"
address = ["192.0.2.1"]
secret = "${SECRET}"
`;

Deno.test("auto stores the addresses that sign, and forget() removes them", async () => {
  await using gateway = await openWholeGateway(PLAIN_CLIENT);
  const from = { hostname: "192.0.2.1", port: 1024 };
  const play = (script: string, identifier: number) =>
    gateway.counted(async () => {
      await gateway.deliver(buildDatagram(script, { secret: SECRET, identifier }), from);
      await gateway.finish();
    });
  await play("user ada; password x; sign first", 1);
  await until(() => gateway.radius.signingClients.names.has("plain"));
  assertEquals((await gateway.store.get(["learnt", "plain", "192.0.2.1"])).value, true);
  assertEquals((await play("user ada; password x", 2)).dropped_missing_message_authenticator, 1);
  assertEquals(await gateway.radius.signingClients.forget("plain"), true);
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

/** Plays one packet and returns its counter. */
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

Deno.test("auto learns per source address, also of a client with several addresses or a network, and after a restart", async () => {
  await using gateway = await openWholeGateway(MANY_CLIENTS);
  for (const [name, signs, other] of MANY) {
    const play = player(gateway);
    assertEquals(await play(UNSIGNED, signs), "challenges");
    assertEquals(await play(SIGNED, signs), "challenges");
    assertEquals(await play(UNSIGNED, signs), MISSING);
    assertEquals(await play(UNSIGNED, other), "challenges");
    assertEquals(gateway.radius.signingClients.addressesOf(name), [signs]);
    const { signing } = gateway.radius.register.find(name) ?? {};
    assertEquals(signing, { required: "learnt", addresses: [signs], count: 1, acceptsUnsigned: true });
  }
  await until(async () => (await gateway.store.get(["learnt", "net", "10.1.0.7"])).value === true);
  const again = await gateway.reopen();
  assertEquals([...again.signingClients.names].sort(), ["net", "pair"]);
  assertEquals(again.signingClients.addressesOf("net"), ["10.1.0.7"]);
});

Deno.test("auto learns nothing from Status-Server and from EAP", async () => {
  await using gateway = await openWholeGateway(MANY_CLIENTS);
  const play = player(gateway);
  assertEquals(await play("code 12; sign first", "192.0.2.1"), "status_answers");
  assertEquals(await play("user ada; attr 79 0201000501; sign first", "192.0.2.1"), "rejects");
  assertEquals(await play(UNSIGNED, "192.0.2.1"), "challenges");
  assertEquals(gateway.radius.signingClients.addressesOf("pair"), []);
});

Deno.test("auto learns nothing from an address whose unsigned logins succeeded in the last seven days", async () => {
  await using gateway = await openWholeGateway(MANY_CLIENTS, { unsigned: [["pair", "192.0.2.1"]] });
  const play = player(gateway);
  const warnings = async () =>
    (await gateway.logText()).split("sends signed and unsigned requests").length - 1;
  for (let count = 0; count < 3; count++) {
    assertEquals(await play(SIGNED, "192.0.2.1"), "challenges");
    assertEquals(await play(UNSIGNED, "192.0.2.1"), "challenges");
  }
  assertEquals([gateway.radius.signingClients.addressesOf("pair"), await warnings()], [[], 1]);
  // Another address of the client is not affected.
  await play(SIGNED, "192.0.2.2");
  assertEquals(await play(UNSIGNED, "192.0.2.2"), MISSING);
  gateway.clock.advance(7 * 24 * 3_600_000);
  assertEquals(await play(SIGNED, "192.0.2.1"), "challenges");
  assertEquals(await play(UNSIGNED, "192.0.2.1"), MISSING);
});

Deno.test("Status-Server, EAP and accounting do not teach auto that a client signs its logins", async () => {
  await using gateway = await openWholeGateway(PLAIN_CLIENT);
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
  assertEquals(gateway.radius.signingClients.names.size, 0);
});
