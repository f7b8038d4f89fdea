// Tests of the reply checker: with packets of the RFCs, a minimal server, and forged replies.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { buildRequest, CODES, readReply, TYPES } from "./radius_packets.ts";
import { openRadiusClient } from "./radius_client.ts";
import { startChallengeServer } from "./challenge_server.ts";

const SECRET = "a shared secret";
const USER = { userName: "alice", password: "first password", nasPort: 7 };

interface Vector {
  readonly id: string;
  readonly secret: string;
  readonly hex: string;
}

async function vector(id: string): Promise<Vector> {
  const path = new URL("../vectors/radius-rfc.json", import.meta.url);
  const all: Vector[] = JSON.parse(await Deno.readTextFile(path));
  const found = all.find((one) => one.id === id);
  if (found === undefined) throw new Error(`There is no vector ${id}`);
  return found;
}

Deno.test("buildRequest() makes the request of RFC 2865 §7.1 octet for octet", async () => {
  const { hex, secret } = await vector("rfc2865-7.1-request");
  const built = buildRequest(secret, {
    identifier: 0,
    authenticator: Uint8Array.fromHex("0f403f9473978057bd83d5cb98f4227a"),
    userName: "nemo",
    password: "arctangent",
    more: [{ type: 4, value: new Uint8Array([192, 168, 1, 16]) }, {
      type: 5,
      value: new Uint8Array([0, 0, 0, 3]),
    }],
    messageAuthenticator: "none",
  });
  assertEquals(built.bytes.toHex(), hex);
});

Deno.test("readReply() finds the reply of RFC 2865 §7.3 authentic, and unsigned", async () => {
  const request = await vector("rfc2865-7.3-request");
  const challenge = await vector("rfc2865-7.3-challenge");
  const bytes = Uint8Array.fromHex(request.hex);
  const reply = readReply(Uint8Array.fromHex(challenge.hex), {
    bytes,
    identifier: 2,
    authenticator: bytes.slice(4, 20),
    proxyStates: [],
  }, challenge.secret);
  assertEquals(reply.problems, ["Message-Authenticator is not the first attribute"]);
  assertEquals(reply.message, "Challenge 32769430.  Enter response at prompt.");
});

Deno.test("openRadiusClient() completes a challenge and copies Proxy-State", async () => {
  using server = startChallengeServer({ secret: SECRET, code: "012345" });
  using client = openRadiusClient({ port: server.port, secret: SECRET });
  const proxyState = { type: TYPES.proxyState, value: new Uint8Array([1, 2, 3]) };
  const challenge = await client.ask({ ...USER, more: [proxyState] });
  assertEquals([challenge.code, challenge.problems], [CODES.accessChallenge, []]);
  const state = challenge.state ?? new Uint8Array(0);
  const wrong = await client.ask({ ...USER, password: "999999", state });
  assertEquals([wrong.code, wrong.problems], [CODES.accessReject, []]);
  const right = await client.ask({ ...USER, password: "012345", state });
  assertEquals([right.code, right.problems], [CODES.accessAccept, []]);
});

Deno.test("openRadiusClient() sends the same datagram again without an answer", async () => {
  using server = startChallengeServer({ secret: SECRET, code: "1", deafFor: 1 });
  using client = openRadiusClient({ port: server.port, secret: SECRET });
  await client.ask(USER, { timeoutMs: 50, tries: 40 });
  assert(server.received.length >= 2);
  assertEquals(server.received[0], server.received[1]);
});

Deno.test("openRadiusClient() throws when no answer arrives", async () => {
  using server = startChallengeServer({ secret: SECRET, code: "1", deafFor: 1000 });
  using client = openRadiusClient({ port: server.port, secret: SECRET });
  await assertRejects(() => client.ask(USER, { timeoutMs: 20, tries: 2 }), Error, "No reply after 2 tries");
});

Deno.test("readReply() reports a forged authenticator, a forged signature and an invalid structure", async () => {
  using server = startChallengeServer({ secret: SECRET, code: "1" });
  using client = openRadiusClient({ port: server.port, secret: SECRET });
  const request = client.build(USER);
  const good = await client.exchange(request);
  const alter = (at: number) => {
    const bytes = Uint8Array.from(good.bytes);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return readReply(bytes, request, SECRET).problems;
  };
  assertEquals(alter(4), ["the Response Authenticator is wrong"]);
  assertEquals(alter(22), [
    "the Response Authenticator is wrong",
    "the Message-Authenticator is wrong",
  ]);
  assertEquals(alter(3), ["the packet's structure is broken"]);
  assert(readReply(good.bytes, request, "another secret").problems.length === 2);
});
