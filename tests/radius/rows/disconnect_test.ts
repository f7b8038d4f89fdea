// The end of accounting sessions at their NAS (RFC 5176): after "This was not me", and ordered by an operator.

import { assert, assertEquals } from "@std/assert";
import { type NasConduct, startDisconnectNas } from "./disconnect_nas.ts";
import {
  account,
  orderAll,
  OWN_SECRET,
  reportNotMe,
  SECRET,
  sessionsOf,
  stateOf,
  STATUS,
  tomlOf,
  TYPES,
  untilState,
  utf8,
} from "./disconnect_world.ts";
import { startInProcess } from "./in_process.ts";
import { becomes, pass } from "./passing_time.ts";

const MRD_MS = 30_000;

Deno.test("a report ends each connected session of the user, and no other", async () => {
  using nas = startDisconnectNas(OWN_SECRET);
  await using world = await startInProcess({
    toml: tomlOf(nas.port, `disconnect_secret = "${OWN_SECRET}"`),
    users: ["anna", "bert"],
  });
  await account(world, { session: "s-1" });
  await account(world, { session: "s-2" });
  await account(world, { session: "s-3" });
  await account(world, { session: "s-3", status: STATUS.stop });
  await account(world, { user: "bert", session: "s-4" });
  assertEquals(await reportNotMe(world), 2);
  await becomes("two requests", () => nas.asked.length === 2);
  const ended = nas.asked.map(({ attributes }) => attributes.get(TYPES.session)?.[0] ?? "").sort();
  assertEquals(ended, ["s-1", "s-2"].map((id) => utf8.encode(id).toHex()));
  for (const { isSigned, attributes } of nas.asked) {
    assertEquals(isSigned, true);
    assertEquals(attributes.get(TYPES.userName), [utf8.encode("anna").toHex()]);
    assertEquals(attributes.get(TYPES.timestamp)?.length, 1);
    assertEquals(attributes.has(TYPES.proxyState), false);
  }
  await becomes(
    "both are acknowledged",
    () => sessionsOf(world).filter(({ disconnect }) => disconnect?.state === "acked").length === 2,
  );
  assertEquals(world.radius.sessions.manualSessions(9), []);
});

Deno.test("without an own secret, the shared secret of the client signs the requests", async () => {
  using nas = startDisconnectNas(SECRET);
  await using world = await startInProcess({ toml: tomlOf(nas.port) });
  await account(world);
  await reportNotMe(world);
  await untilState(world, "acked");
  assertEquals(nas.asked.map(({ isSigned }) => isSigned), [true]);
});

const REFUSALS: readonly (readonly [NasConduct, { errorCause: string; requests: number }])[] = [
  [504, { errorCause: "504 Session Context Not Removable", requests: 1 }],
  ["nak_without_cause", { errorCause: "", requests: 1 }],
  // A second request has Framed-IP-Address, too.
  [503, { errorCause: "503 Session Context Not Found", requests: 2 }],
  [402, { errorCause: "402 Missing Attribute", requests: 2 }],
];
for (const [how, { errorCause, requests }] of REFUSALS) {
  Deno.test(`a refusal of a reported session is shown, and needs an administrator: ${how}`, async () => {
    using nas = startDisconnectNas(SECRET);
    nas.conduct.set("anna", how);
    await using world = await startInProcess({ toml: tomlOf(nas.port) });
    await account(world);
    await reportNotMe(world);
    await untilState(world, "refused");
    const [session] = sessionsOf(world);
    assertEquals([session?.disconnect?.errorCause, session?.disconnect?.isManual], [errorCause, true]);
    assertEquals(
      nas.asked.map(({ attributes }) => attributes.has(TYPES.framed)),
      [false, true].slice(0, requests),
    );
    const manual = world.radius.sessions.manualSessions(9);
    assertEquals(manual.map(({ user, client, sessionId }) => [user, client, sessionId]), [[
      "anna",
      "vpn",
      "s-1",
    ]]);
    // The session ends at the NAS, so nothing is left to do.
    await account(world, { status: STATUS.stop });
    assertEquals(world.radius.sessions.manualSessions(9), []);
  });
}

Deno.test("after Error-Cause 401, a second request has User-Name and Acct-Session-Id alone", async () => {
  using nas = startDisconnectNas(SECRET);
  nas.conduct.set("anna", 401);
  await using world = await startInProcess({ toml: tomlOf(nas.port) });
  await account(world);
  await reportNotMe(world);
  await untilState(world, "refused");
  const asked = nas.asked.map(({ attributes }) => [...attributes.keys()].sort((a, b) => a - b));
  assertEquals(asked.length, 2);
  assert(asked[0]?.includes(TYPES.timestamp));
  // Message-Authenticator protects the request.
  assertEquals(asked[1], [1, 44, 80]);
  assertEquals(nas.asked.map(({ isSigned }) => isSigned), [true, true]);
});

Deno.test("a request without an answer is repeated with the same octets, and tried again after a wait", async () => {
  using nas = startDisconnectNas(SECRET);
  nas.conduct.set("anna", "silent");
  await using world = await startInProcess({ toml: tomlOf(nas.port) });
  await account(world);
  await reportNotMe(world);
  await becomes("the first copy", () => nas.asked.length === 1);
  await pass(world.clock, MRD_MS + 2000);
  const [session] = sessionsOf(world);
  assertEquals([session?.disconnect?.state, session?.disconnect?.attempts], ["pending", 1]);
  assertEquals(session?.disconnect?.isManual, true);
  assertEquals(new Set(nas.asked.map(({ hex }) => hex)).size, 1);
  assert(nas.asked.length >= 4 && nas.asked.length <= 6, `${nas.asked.length} copies`);
  nas.conduct.clear();
  await untilState(world, "acked");
  assertEquals(sessionsOf(world)[0]?.disconnect?.isManual, false);
});

for (
  const how of [
    "wrong_secret",
    "wrong_identifier",
    "wrong_message_authenticator",
    "other_source",
    "other_code",
  ] as const
) {
  Deno.test(`an answer that is not valid does not count: ${how}`, async () => {
    using nas = startDisconnectNas(SECRET);
    nas.conduct.set("anna", how);
    await using world = await startInProcess({ toml: tomlOf(nas.port) });
    await account(world);
    await orderAll(world);
    await untilState(world, "no_answer");
  });
}

const UNSUPPORTED: readonly (readonly [string, string, string])[] = [
  ["the client has no port", "no_port", tomlOf(0)],
];
for (const [what, problem, toml] of UNSUPPORTED) {
  Deno.test(`a session that cannot be ended needs an administrator at once: ${what}`, async () => {
    await using world = await startInProcess({ toml });
    await account(world);
    assertEquals(sessionsOf(world)[0]?.disconnectProblem, problem);
    await reportNotMe(world);
    await untilState(world, "not_supported");
    assertEquals(world.radius.sessions.manualSessions(9).map(({ disconnect }) => disconnect?.problem), [
      problem,
    ]);
  });
}

Deno.test("an operator's request is tried once, and its session says that it must be ended by hand", async () => {
  using nas = startDisconnectNas(SECRET);
  nas.conduct.set("anna", 506);
  await using world = await startInProcess({ toml: tomlOf(nas.port) });
  await account(world);
  await orderAll(world);
  await untilState(world, "refused");
  assertEquals([nas.asked.length, world.radius.sessions.manualSessions(9).length], [1, 0]);
  assertEquals(sessionsOf(world)[0]?.disconnect?.isManual, true);
});

Deno.test("an operator's request for a reported session keeps its retries and its entry for administrators", async () => {
  using nas = startDisconnectNas(SECRET);
  nas.conduct.set("anna", 504);
  await using world = await startInProcess({ toml: tomlOf(nas.port) });
  await account(world);
  await reportNotMe(world);
  await untilState(world, "refused");
  nas.conduct.set("anna", 506);
  await orderAll(world);
  await becomes("the entry", async () => {
    await pass(world.clock, 40);
    return world.radius.sessions.manualSessions(9).length === 1;
  });
  assertEquals(stateOf(world), "pending");
  nas.conduct.clear();
  await untilState(world, "acked");
  assertEquals([nas.asked.length, world.radius.sessions.manualSessions(9).length], [3, 0]);
});

Deno.test("of several sessions, the refusal of one does not keep the others connected", async () => {
  using nas = startDisconnectNas(SECRET);
  nas.conduct.set("s-2", 504);
  await using world = await startInProcess({ toml: tomlOf(nas.port) });
  for (const session of ["s-1", "s-2", "s-3"]) await account(world, { session });
  await reportNotMe(world);
  await becomes("all results", async () => {
    await pass(world.clock, 40);
    return sessionsOf(world).every(({ disconnect }) => disconnect?.state !== "pending");
  });
  assertEquals(
    sessionsOf(world).map(({ sessionId, disconnect }) => [sessionId, disconnect?.state, disconnect?.isManual])
      .sort(),
    [["s-1", "acked", false], ["s-2", "refused", true], ["s-3", "acked", false]],
  );
});
