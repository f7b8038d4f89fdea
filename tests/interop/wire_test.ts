// The real program on the wire, checked by a client that shares no code with it: properties of every reply, and packets
// that get no answer or only one.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { type RunningProgram, startProgram } from "../support/program.ts";
import type { RadiusClient } from "../support/radius_client.ts";
import { type BuiltRequest, CODES, type RequestParts, TYPES } from "../support/radius_packets.ts";

let gateway: RunningProgram;
let nasPort = 0;

Deno.test.beforeAll(async () => {
  gateway = await startProgram();
});
Deno.test.afterAll(() => gateway.dispose());

/** A unique login; a user without a factor reaches the menu. */
function login(parts: RequestParts = {}): RequestParts {
  nasPort++;
  return { userName: `wire${nasPort}`, password: "first", nasPort, ...parts };
}

/** Packets that get no answer, each as a change of a packet that would be answered. */
const SILENCED: Readonly<Record<string, (client: RadiusClient) => Uint8Array>> = {
  "a wrong Message-Authenticator": (client) => client.build(login({ messageAuthenticator: "wrong" })).bytes,
  "an unsigned Status-Server": (client) =>
    client.build({ code: CODES.statusServer, messageAuthenticator: "none" }).bytes,
  "an Accounting-Request with a random Request Authenticator": (client) =>
    client.build(login({ code: CODES.accountingRequest })).bytes,
  "19 octets": (client) => client.build(login()).bytes.slice(0, 19),
  "a Length beyond what arrived": (client) => altered(client.build(login()), { at: 3, by: 1 }),
  "an attribute of length 0": (client) => altered(client.build(login()), { at: 39, to: 0 }),
  "an attribute of length 1": (client) => altered(client.build(login()), { at: 39, to: 1 }),
  "an attribute that runs over the end": (client) => altered(client.build(login()), { at: 39, to: 255 }),
};

function altered({ bytes }: BuiltRequest, change: { at: number; by?: number; to?: number }): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[change.at] = change.to ?? (copy[change.at] ?? 0) + (change.by ?? 0);
  return copy;
}

Deno.test("a login without a factor reaches the menu, in a valid reply", async () => {
  using client = gateway.client();
  const reply = await client.ask(login());
  assertEquals([reply.code, reply.problems], [CODES.accessChallenge, []]);
  assertEquals(new TextDecoder().decode(reply.state ?? undefined), "CHOOSE_WHICH_MULTIFACTOR");
});

Deno.test("State has a token where only the name distinguishes logins", async () => {
  using client = gateway.client();
  const reply = await client.ask(login({ nasPort: undefined }));
  const [name, token] = new TextDecoder().decode(reply.state ?? undefined).split(".");
  assertEquals([name, token?.length], ["CHOOSE_WHICH_MULTIFACTOR", 22]);
});

Deno.test("Proxy-State is copied in order, on a challenge and on a reject", async () => {
  using client = gateway.client();
  const more = [[1], [2, 2], [1]].map((value) => ({ type: TYPES.proxyState, value: new Uint8Array(value) }));
  const challenge = await client.ask(login({ more }));
  assertEquals([challenge.code, challenge.problems], [CODES.accessChallenge, []]);
  const state = new TextEncoder().encode("A_STATE_OF_NOBODY");
  const reject = await client.ask(login({ more, state }));
  assertEquals([reject.code, reject.problems], [CODES.accessReject, []]);
});

Deno.test("the same packet again gets the same octets", async () => {
  using client = gateway.client();
  const request = client.build(login());
  const first = await client.exchange(request);
  const second = await client.exchange(request);
  assertEquals(second.bytes, first.bytes);
});

Deno.test("another login with the same identifier gets its own reply", async () => {
  using client = gateway.client();
  const first = await client.ask(login({ identifier: 7 }));
  const second = await client.ask(login({ identifier: 7 }));
  assertEquals([first.problems, second.problems], [[], []]);
  assertNotEquals(second.bytes, first.bytes);
});

Deno.test("octets after the Length are padding and are ignored (RFC 2865 §3)", async () => {
  using client = gateway.client();
  const request = client.build(login());
  const padded = { ...request, bytes: Uint8Array.from([...request.bytes, 1, 2, 3, 4]) };
  assertEquals((await client.exchange(padded)).code, CODES.accessChallenge);
});

Deno.test("attribute 66 is skipped, and the request is handled", async () => {
  using client = gateway.client();
  const more = [{ type: 66, value: new TextEncoder().encode("198.51.100.1") }];
  assertEquals((await client.ask(login({ more }))).code, CODES.accessChallenge);
  await gateway.logged("attribute 66 is unknown, skipped");
});

Deno.test("a signed Status-Server is answered", async () => {
  using client = gateway.client();
  const reply = await client.ask({ code: CODES.statusServer });
  assertEquals([reply.code, reply.problems], [CODES.accessAccept, []]);
});

Deno.test("an EAP-Message is rejected in one round trip, with EAP-Failure inside (RFC 3579)", async () => {
  using client = gateway.client();
  const identity = new Uint8Array([2, 9, 0, 6, 1, 97]);
  const reply = await client.ask(login({ password: undefined, more: [{ type: 79, value: identity }] }));
  const failure = reply.attributes.find(({ type }) => type === 79)?.value;
  assertEquals([reply.code, reply.problems], [CODES.accessReject, []]);
  assertEquals([...failure ?? []], [4, 9, 0, 4]);
});

for (const [title, make] of Object.entries(SILENCED)) {
  Deno.test(`${title} gets no answer, and the next request is answered`, async () => {
    using client = gateway.client();
    using heard = client.listen();
    await client.sendRaw(make(client));
    // The program reads datagrams in order, so any reply to the first one comes before this answer.
    const next = await client.ask(login());
    assertEquals(next.code, CODES.accessChallenge);
    assertEquals(heard.datagrams.filter(([, identifier]) => identifier !== next.identifier), []);
  });
}

Deno.test("no secret of a login is in the log", async () => {
  using client = gateway.client();
  const password = "a-password-to-look-for";
  await client.ask(login({ password }));
  await gateway.logged(`wire${nasPort}`);
  const log = gateway.logLines().join("\n");
  assert(!log.includes(password) && !log.includes(gateway.secret));
});

Deno.test("SIGTERM ends the program with code 0", async () => {
  await using other = await startProgram();
  assertEquals((await other.stop()).code, 0);
});
