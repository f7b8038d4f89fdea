// Finding 24: an external service returned one approval to two logins, and the second one got no reply at all. Finding
// 29: one reply for one identifier and authenticator, whatever the packet contains.

import { assertEquals } from "@std/assert";
import { writePairings } from "../fakes/program_services.ts";
import { startProgram } from "../support/program.ts";
import { openSession } from "./gateway_sessions.ts";

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const ID = "0f8fad5b-d9cb-469f-a165-70867728950e";

/** A second-factor service that knows one request, which is approved. */
function startOneRequest(): Deno.HttpServer<Deno.NetAddr> {
  const record = { id: ID, pending: false, granted: true, cancelled: false, reason: "", reason_code: 0 };
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
    () => Response.json(record),
  );
}

Deno.test("24: of two logins with one approval, one is accepted and the other rejected", async () => {
  const service = startOneRequest();
  const dataDir = await Deno.makeTempDir({ prefix: "countersign-approval-" });
  const id = "pairing-of-alice";
  await writePairings(dataDir, [["alice", { kind: "device", id, totpLength: 6 }]]);
  {
    await using gateway = await startProgram({
      dataDir,
      toml: `
[second_factor]
url = "http://127.0.0.1:${service.addr.port}"
consumer_key = "key"
consumer_secret = "secret"
`,
    });
    using first = openSession(gateway, { userName: "alice", nasPort: 1 });
    using second = openSession(gateway, { userName: "alice", nasPort: 2 });
    assertEquals([(await first.login()).step, (await second.login()).step], [DEVICE, DEVICE]);
    const kinds = [(await first.answer("")).kind, (await second.answer("")).kind];
    assertEquals(kinds, ["accept", "reject"]);
  }
  await service.shutdown();
  await Deno.remove(dataDir, { recursive: true });
});

Deno.test("29: a packet with other content and the same identifier, authenticator and port gets the same reply", async () => {
  await using gateway = await startProgram();
  using client = gateway.client();
  const authenticator = new Uint8Array(16).fill(7);
  const ask = (userName: string) =>
    client.ask({ userName, password: "x", nasPort: 3, identifier: 9, authenticator });
  const replies = [await ask("alice"), await ask("mallory"), await ask("alice")];
  assertEquals(replies.map(({ bytes }) => bytes), replies.map(() => replies[0]?.bytes));
});
