// Logins by another name of a user, such as a user principal name: they are logins of that user.

import { assertEquals } from "@std/assert";
import type { OtherNames } from "../../../radius/ports.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { startRelayServer } from "../../support/relay_server.ts";
import { msChapParts, relayOnce } from "../relay/relayed_peer.ts";
import { decideOnPush, openRelay } from "../relay/relay_world.ts";
import { brief, exchangeJudged } from "./login.ts";
import { becomes } from "./passing_time.ts";
import { createGtcPeer } from "./gtc_peer.ts";
import { appCode, give, SEED, startWith } from "./people.ts";

const UPN = "Anna.Smith@corp.example";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";

/** The gateway with "anna", and what the directory finds for other names. */
async function open(
  find: OtherNames["find"],
  prepare: OtherNames["prepare"] = () => null,
): Promise<InProcess & { readonly asked: string[] }> {
  const world = await startInProcess({ toml: '[radius]\nunknown_users = "reject"\n' });
  await give(world, "anna", { kind: "totp", seed: SEED });
  return giveOtherNames(world, find, prepare);
}

function giveOtherNames(
  world: InProcess,
  find: OtherNames["find"],
  prepare: OtherNames["prepare"] = () => null,
): InProcess & { readonly asked: string[] } {
  const asked: string[] = [];
  const otherNames: OtherNames = {
    isUsed: true,
    prepare,
    find(typed) {
      asked.push(typed);
      return find(typed);
    },
  };
  Object.assign(world.people.directory, { otherNames });
  return Object.assign(world, { asked });
}

const findAnna: OtherNames["find"] = (typed) => typed === UPN ? { name: "anna" } : null;

Deno.test("other names: a login by another name has the factors, the limits and the name of the user", async () => {
  await using world = await open(findAnna);
  const login = world.login({ user: UPN });
  assertEquals((await login.start("any")).step, CODE);
  assertEquals((await login.answer("000000")).kind, "reject");
  assertEquals(world.radius.limits.failures("anna").total, 1);
  const again = await world.begin({ user: UPN }, "any");
  assertEquals((await again.answer(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals(world.radius.monitor.conversations(1)[0]?.user, "anna");
});

Deno.test("other names: a name of the directory is never looked up, and an unknown one stays unknown", async () => {
  await using world = await open(findAnna);
  assertEquals((await world.login({ user: "Anna" }).start("any")).step, CODE);
  assertEquals(world.asked, []);
  assertEquals(brief(await world.login({ user: "nobody@corp.example" }).start("any")), [
    "reject",
    "Access denied.",
  ]);
  assertEquals(world.asked, ["nobody@corp.example"]);
});

Deno.test("other names: a name of several users is refused, and is no login of any of them", async () => {
  await using world = await open(() => "several");
  assertEquals(brief(await world.login({ user: UPN }).start("any")), ["reject", "Access denied."]);
  assertEquals(world.radius.monitor.counters().refused_several_users, 1);
  assertEquals(world.radius.monitor.conversations(1), []);
});

Deno.test("other names: a packet waits for the search, and gets no answer if the directory has none", async () => {
  const searches = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  let pending: Promise<void> | null = searches[0].promise;
  await using world = await open(findAnna, () => pending);
  const reply = exchangeJudged(world, world.login({ user: UPN }).buildStart("any"));
  await becomes("it waits", () => world.radius.server.working === 1);
  pending = null;
  searches[0].resolve();
  assertEquals((await reply).step, CODE);
  pending = searches[1].promise;
  await world.client.sendRaw(world.login({ user: UPN }).buildStart("any").bytes);
  await becomes("it waits", () => world.radius.server.working === 1);
  searches[1].reject(new Error("the directory is down"));
  await becomes("it is dropped", () => world.radius.monitor.counters().dropped_store_failed === 1);
});

Deno.test("other names: a relayed login by another name asks the phone of the user, and that of no other one", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  const { asked } = giveOtherNames(relay.world, (typed) => typed === "two" ? "several" : findAnna(typed));
  decideOnPush(relay, true);
  const { answer } = await relayOnce(relay.world, { userName: UPN, ...msChapParts(true) });
  assertEquals([answer.kind, new Set(asked)], ["accept", new Set([UPN])]);
  assertEquals(relay.world.radius.monitor.conversations(1)[0]?.user, "anna");
  const several = await relayOnce(relay.world, { userName: "two", ...msChapParts(true) });
  assertEquals([several.answer.kind, relay.world.secondFactor.initiated().length], ["reject", 1]);
  assertEquals(server.requests.length, 1);
});

Deno.test("other names: the server does not see the passwords of a locked user, whatever the name", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  let pending: Promise<void> | null = null;
  giveOtherNames(relay.world, findAnna, () => pending);
  const attempt = (isRight: boolean) =>
    relayOnce(relay.world, { userName: UPN, ...msChapParts(isRight) }).then(({ answer }) => answer.kind);
  await Promise.all(Array.from({ length: 10 }, () => attempt(false)));
  assertEquals([relay.world.radius.limits.isLocked("anna"), server.requests.length], [true, 10]);
  assertEquals([await attempt(true), server.requests.length], ["reject", 10]);
  // Nor while it is not known whom the name means.
  const search = Promise.withResolvers<void>();
  pending = search.promise;
  const waiting = attempt(true);
  await becomes("it waits", () => relay.world.radius.server.working === 1);
  pending = null;
  search.resolve();
  assertEquals([await waiting, server.requests.length], ["reject", 10]);
});

Deno.test("other names: the device of EAP-GTC names the user as the client does", async () => {
  await using world = await startWith("app", { toml: '[radius]\neap = "gtc"\n' });
  giveOtherNames(world, findAnna);
  const other = createGtcPeer(world.login, { user: UPN });
  assertEquals((await other.identify("anna")).kind, "reject");
  const peer = createGtcPeer(world.login, { user: UPN });
  await peer.identify();
  await peer.type("d");
  assertEquals((await peer.type(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals(world.radius.monitor.conversations(1)[0]?.user, "anna");
});

Deno.test("other names: a packet whose name must be loaded waits for the search, too", async () => {
  await using world = await open(
    findAnna,
    () => isKnown ? null : search.promise.then(() => void (isKnown = true)),
  );
  const search = Promise.withResolvers<void>();
  let isKnown = false;
  world.people.onPrepare(() => Promise.resolve());
  const reply = exchangeJudged(world, world.login({ user: UPN }).buildStart("any"));
  await becomes("it waits", () => world.radius.server.working === 1);
  search.resolve();
  assertEquals((await reply).step, CODE);
});

Deno.test("other names: a relayed login waits until its user is loaded", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  giveOtherNames(relay.world, findAnna);
  relay.world.people.onPrepare(() => Promise.resolve());
  for (const userName of ["anna", UPN]) {
    decideOnPush(relay, true);
    const { answer } = await relayOnce(relay.world, { userName, ...msChapParts(true) });
    assertEquals(answer.kind, "accept");
  }
});
