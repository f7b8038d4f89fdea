// DELETE /clients/:id/signing: the gateway forgets which addresses of a client sign their requests.

import { assertEquals } from "@std/assert";
import { openComposition, type TestComposition } from "../fakes/composition.ts";

const CLIENT = `[[radius.client]]
name = "vpn"
address = ["192.0.2.1"]
secret = "a secret of this length"
`;
const ADDRESS = "192.0.2.1";

/** A gateway that learned that an address of the client signs its requests. */
async function openWith({ learnt }: { learnt: string | null }): Promise<TestComposition> {
  const gateway = await openComposition(CLIENT);
  if (learnt !== null) {
    const key = ["learnt", learnt, ADDRESS];
    await gateway.store.commit({ mutations: [{ type: "set", key, value: true }] });
    await gateway.radius.signingClients.load();
  }
  return gateway;
}

const requires = ({ radius }: TestComposition, name: string) =>
  radius.signingClients.requires({ client: { name }, source: ADDRESS });
const forget = ({ ask }: TestComposition, name: string) => ask("DELETE", `/clients/${name}/signing`);

/**
 * The client that was learned, the client in the request, and the response. A removed client can still be known to
 * sign.
 */
const FORGOTTEN = [
  { learnt: "vpn", name: "vpn", response: { hasSigned: true, isKnown: true } },
  { learnt: "old", name: "old", response: { hasSigned: true, isKnown: false } },
] as const;
for (const { learnt, name, response } of FORGOTTEN) {
  Deno.test(`DELETE /clients/${name}/signing removes the addresses from store and memory, with a record`, async () => {
    await using gateway = await openWith({ learnt });
    assertEquals(requires(gateway, name), true);
    assertEquals(JSON.parse((await forget(gateway, name)).text), response);
    assertEquals([requires(gateway, name), [...gateway.radius.signingClients.names]], [false, []]);
    assertEquals((await gateway.store.get(["learnt", name, ADDRESS])).value, null);
    assertEquals((await gateway.audits()).map(({ actor, action, object }) => [actor, action, object]), [
      ["command", "client.forget", `client:${name}`],
    ]);
  });
}

Deno.test("DELETE /clients/:id/signing changes and records nothing for a client without learned addresses", async () => {
  await using gateway = await openWith({ learnt: null });
  assertEquals(JSON.parse((await forget(gateway, "vpn")).text), { hasSigned: false, isKnown: true });
  assertEquals(await gateway.dump(), "");
});

Deno.test("DELETE /clients/:id/signing refuses a client that does not exist and has no learned addresses", async () => {
  await using gateway = await openWith({ learnt: null });
  assertEquals((await forget(gateway, "nas")).code, "unknown_client");
  assertEquals(await gateway.dump(), "");
});

Deno.test("DELETE /clients/:id/signing removes nothing when the store fails", async () => {
  await using gateway = await openWith({ learnt: "vpn" });
  gateway.breakStore();
  assertEquals((await forget(gateway, "vpn")).status, 500);
  assertEquals(requires(gateway, "vpn"), true);
});
