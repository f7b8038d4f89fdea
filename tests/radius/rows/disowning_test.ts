// "This was not me": pending logins of that name end, and new ones are refused for an hour.

import { assert, assertEquals } from "@std/assert";
import type { Store } from "../../../platform/store.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { becomes, jump } from "./passing_time.ts";
import { appCode, decide, give, giveDevice, SEED } from "./people.ts";
import { pairPhone } from "./phone.ts";

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const DENIED = ["reject", "Access denied."];
const HOUR_MS = 3600_000;

function withoutClose(store: Store): Store {
  return { ...store, close: () => Promise.resolve() };
}

async function disown({ radius, store }: InProcess, user: string): Promise<number> {
  const disowning = radius.prepareNotMeReport(user);
  assert((await store.commit({ mutations: disowning.mutations })).ok);
  return disowning.done();
}

Deno.test("disowning: a login that waits for its phone ends; an approval after it counts for nothing", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, DEVICE);
  assertEquals(await disown(world, "anna"), 1);
  decide(world, pairing, true);
  assertEquals((await login.answer("")).kind, "reject");
  const [ended] = world.radius.monitor.conversations(10).filter(({ moments }) =>
    moments.at(-1)?.row === "not_me"
  );
  assertEquals([ended?.user, ended?.outcome], ["anna", "rejected"]);
});

Deno.test("disowning: all waiting logins end at once, however many a thief began", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "totp", seed: SEED });
  for (let at = 0; at < 45; at++) await world.login({ user: "anna" }).start("");
  assertEquals(await disown(world, "anna"), 45);
  assertEquals(world.radius.monitor.alive(), 0);
  await becomes("the ends are recorded", async () => {
    const ended = await Array.fromAsync(world.store.list(["history"]));
    return ended.length === 45;
  });
  await using later = await startInProcess({
    after: world,
    between: { store: () => withoutClose(world.store) },
  });
  assertEquals(later.radius.monitor.alive(), 0);
  const outcomes = later.radius.monitor.conversations(50).map(({ outcome }) => outcome);
  assertEquals([outcomes.length, ...new Set(outcomes)], [45, "rejected"]);
});

Deno.test("disowning: the phone has no request any more", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  await world.login({ user: "anna" }).start();
  assertEquals((await phone.requests()).length, 1);
  await disown(world, "anna");
  await becomes("nothing waits", () => world.services.embedded?.admin.pendingCount() === 0);
});

Deno.test("disowning: a held login gets its Reject at once, even if the phone approves", async () => {
  await using world = await startInProcess({
    embedded: true,
    toml: '[radius]\ndevice = "hold"\nhold_s = 30\n',
  });
  await pairPhone(world, "anna");
  world.clock.after(1000, () => void disown(world, "anna"));
  const answer = await world.login({ user: "anna" }).start();
  assertEquals(brief(answer), DENIED);
  assert(answer.tookMs < 5000, `${answer.tookMs} ms`);
});

Deno.test("disowning: logins of that name are refused for an hour, and others are not", async () => {
  await using world = await startInProcess();
  for (const user of ["anna", "bert"]) await give(world, user, { kind: "totp", seed: SEED });
  await disown(world, "anna");
  assertEquals(brief(await world.login({ user: "Anna" }).start()), DENIED);
  const bert = world.login({ user: "bert" });
  await bert.start();
  assertEquals((await bert.answer(appCode(world.clock.nowMs()))).kind, "accept");
  await jump(world.clock, HOUR_MS - 60_000);
  assertEquals(brief(await world.login({ user: "anna" }).start()), DENIED);
  await jump(world.clock, 61_000);
  const anna = world.login({ user: "anna" });
  await anna.start();
  assertEquals((await anna.answer(appCode(world.clock.nowMs()))).kind, "accept");
});

Deno.test("disowning: an administrator can end the lock", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "totp", seed: SEED });
  await disown(world, "anna");
  const cleared = world.radius.limits.clear("anna");
  assert(cleared !== null);
  assertEquals((await world.login({ user: "anna" }).start()).kind, "challenge");
});

Deno.test("disowning: a report that could not be recorded locks no user and ends nothing", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  world.radius.prepareNotMeReport("anna").undo();
  assertEquals(world.radius.limits.isLocked("anna"), false);
  decide(world, pairing, true);
  assertEquals((await login.answer("")).kind, "accept");
});

Deno.test("disowning: a longer existing lock is not shortened", async () => {
  await using world = await startInProcess();
  world.radius.limits.lockFor("anna", 5 * HOUR_MS);
  const { lockedUntilMs } = world.radius.prepareNotMeReport("anna");
  assertEquals(lockedUntilMs, world.clock.nowMs() + 5 * HOUR_MS);
});
