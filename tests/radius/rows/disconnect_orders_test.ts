// Orders to end accounting sessions: restarts, several nodes, concurrent orders, late sessions, and the audit log.

import { assertEquals } from "@std/assert";
import { openDisk } from "./disk.ts";
import type { ClientContent } from "../../../platform/client_settings.ts";
import { startDisconnectNas } from "./disconnect_nas.ts";
import {
  account,
  orderAll,
  OWN_SECRET,
  reportNotMe,
  SECRET,
  sessionsOf,
  stateOf,
  tomlOf,
  untilState,
} from "./disconnect_world.ts";
import { startInProcess } from "./in_process.ts";
import { becomes, pass } from "./passing_time.ts";
import { startTwoNodes } from "./two_nodes.ts";

Deno.test("an order survives a restart", async () => {
  using nas = startDisconnectNas(SECRET);
  nas.conduct.set("anna", "silent");
  await using disk = await openDisk();
  const toml = tomlOf(nas.port);
  await using first = await startInProcess({ toml, kvPath: disk.path });
  await account(first);
  await reportNotMe(first);
  await becomes("the first copy", () => nas.asked.length === 1);
  await first.stop();
  nas.conduct.clear();
  await using second = await startInProcess({ toml, kvPath: disk.path, after: first });
  await untilState(second, "acked");
});

Deno.test("with two nodes, the node of the report asks; if it stops, the other one takes over", async () => {
  using nas = startDisconnectNas(SECRET);
  nas.conduct.set("anna", "silent");
  await using nodes = await startTwoNodes({ toml: tomlOf(nas.port) });
  const { a, b, known } = nodes;
  await account(a);
  await b.store.catchUp();
  await reportNotMe(a);
  await becomes("the first copy", () => nas.asked.length === 1);
  await b.store.catchUp();
  assertEquals(stateOf(b), "pending");
  await pass(a.clock, 3000);
  // Copies of one request, so only one node asked.
  assertEquals(new Set(nas.asked.map(({ hex }) => hex)).size, 1);
  await a.radius.close();
  known.dead.add("a");
  nas.conduct.clear();
  await untilState(b, "acked");
});

Deno.test("a report during an operator's request keeps its result", async () => {
  using nas = startDisconnectNas(SECRET);
  nas.conduct.set("anna", "silent");
  await using world = await startInProcess({ toml: tomlOf(nas.port) });
  await account(world);
  await orderAll(world);
  await becomes("the first copy", () => nas.asked.length === 1);
  await reportNotMe(world);
  nas.conduct.clear();
  await untilState(world, "acked");
  assertEquals(sessionsOf(world)[0]?.disconnect?.reason, "not_me");
});

Deno.test("a session whose Start arrives just after the report ends, too, as long as the user is locked", async () => {
  using nas = startDisconnectNas(SECRET);
  await using world = await startInProcess({ toml: tomlOf(nas.port), users: ["anna", "bert"] });
  assertEquals(await reportNotMe(world), 0);
  await account(world, { session: "late" });
  await account(world, { user: "bert", session: "other" });
  await untilState(world, "acked");
  assertEquals(nas.asked.length, 1);
  // An unlocked user can sign in again, and so can every user after two minutes.
  await reportNotMe(world, "bert");
  await becomes("the session of bert", () => nas.asked.length === 2);
  const { limits } = world.radius;
  const cleared = limits.clear("bert");
  await world.store.commit({ mutations: cleared === null ? [] : [cleared] });
  await account(world, { user: "bert", session: "new" });
  world.clock.advance(121_000);
  await account(world, { session: "later" });
  await pass(world.clock, 2000);
  assertEquals(nas.asked.length, 2);
});

Deno.test("the result is in the audit log", async () => {
  using nas = startDisconnectNas(SECRET);
  nas.conduct.set("anna", 504);
  await using world = await startInProcess({ toml: tomlOf(nas.port) });
  await account(world);
  await reportNotMe(world);
  await untilState(world, "refused");
  const records = await Array.fromAsync(world.store.list<Record<string, unknown>>(["audit"]));
  const found = records.map(({ value }) => value).filter((value) =>
    value?.action === "vpn_session.disconnect_failed"
  );
  assertEquals(
    found.map((
      value,
    ) => [value?.object, value?.client, value?.session, value?.because, value?.errorCause, value?.by]),
    [
      [
        "user:anna",
        "vpn",
        "s-1",
        "disconnect_refused",
        "504 Session Context Not Removable",
        "disconnect_not_me",
      ],
    ],
  );
});

Deno.test("a client of the console has its own port and secret, which apply from the next order on", async () => {
  using nas = startDisconnectNas(OWN_SECRET);
  await using world = await startInProcess({ toml: tomlOf(0) });
  const { register } = world.radius;
  const content: ClientContent = {
    ...{
      name: "wifi",
      address: ["127.0.0.1"],
      nasIdentifier: "wifi",
      disabled: false,
      holdMs: 0,
      disconnectPort: nas.port,
    },
    ...{
      messageAuthenticator: "auto",
      firstFactor: "settings",
      firstFactorBackend: "",
      firstFactorServer: null,
    },
    ...{ device: "challenge", appendMode: false, appendSeparator: ",", unknownUsers: "allow" },
    ...{ codePosition: "separated", healthCheckUsers: [], eap: "auto", eapOuterIdentity: "refuse" },
    ...{ stripDomains: [], stripRealms: [] },
    mode: "enforce",
    replyFromFirstFactor: ["all"],
    ...{ tlsSan: "", tlsFingerprint: "", tlsDisconnect: false },
  };
  const audit = { type: "delete", key: ["no audit record"] } as const;
  await register.add(content, { secret: SECRET, disconnectSecret: OWN_SECRET, audit });
  await account(world, { nas: "wifi" });
  await orderAll(world);
  await untilState(world, "acked");
  await register.change({ ...content, disconnectPort: 0 }, { version: 1, audit });
  assertEquals(sessionsOf(world)[0]?.disconnectProblem, "no_port");
  await register.change({ ...content, address: ["192.0.2.9"] }, { version: 2, audit });
  assertEquals(sessionsOf(world)[0]?.disconnectProblem, "no_address");
  await register.remove("wifi", { audit });
  assertEquals(sessionsOf(world)[0]?.disconnectProblem, "no_client");
  assertEquals(nas.asked.map(({ isSigned }) => isSigned), [true]);
});
