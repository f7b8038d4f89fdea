// A login that another password supersedes during its own commits: it stays over, also after a restart.

import { assertEquals } from "@std/assert";
import { type InProcess, startInProcess } from "../rows/in_process.ts";
import { exchangeJudged, stepName } from "../rows/login.ts";
import { whileTimePasses } from "../rows/passing_time.ts";
import { eventually } from "../../upstream/manual_clock.ts";
import { appCode, give, giveDevice, SEED } from "../rows/people.ts";
import { interceptCommits } from "./failing_commits.ts";

const TOKEN = '[radius]\nstate = "token"';
const CODE = "GET_DEVICE_GENERATED_PASSCODE";

/** Waits until the gateway handles so many packets. Datagrams that are sent at once may arrive in another order. */
function inProgress({ radius }: InProcess, packets: number): Promise<void> {
  return eventually(`${packets} in progress`, () => radius.server.working === packets);
}

Deno.test("a login that is superseded during its first commit does not come back", async () => {
  await using world = await startInProcess({ toml: TOKEN });
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = world.login({ user: "anna" });
  const older = login.buildStart("one");
  const newer = login.buildStart("two");
  const release = interceptCommits(world).hold();
  const first = exchangeJudged(world, older);
  await inProgress(world, 1);
  const second = exchangeJudged(world, newer);
  await inProgress(world, 2);
  release();
  const [challenge] = await Promise.all([first, second]);
  assertEquals(world.radius.monitor.alive(), 1);
  const state = challenge.state ?? new Uint8Array();
  const answer = await login.exchange(login.build(appCode(world.clock.nowMs()), { state }));
  assertEquals(answer.kind, "reject");
  assertEquals(world.radius.monitor.alive(), 1);
});

Deno.test("a login that was superseded during its commit is also over after a restart", async () => {
  const dir = await Deno.makeTempDir();
  const kvPath = `${dir}/store`;
  await using world = await startInProcess({ toml: TOKEN, kvPath });
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = world.login({ user: "anna" });
  const release = interceptCommits(world).hold();
  const first = exchangeJudged(world, login.buildStart("one"));
  await inProgress(world, 1);
  const second = exchangeJudged(world, login.buildStart("two"));
  await inProgress(world, 2);
  release();
  const [challenge] = await Promise.all([first, second]);
  await world.stop();
  await using next = await startInProcess({ toml: TOKEN, kvPath, after: world });
  assertEquals(next.radius.monitor.alive(), 1);
  login.moveTo(next);
  const state = challenge.state ?? new Uint8Array();
  const late = login.build(appCode(next.clock.nowMs()), { state });
  assertEquals((await login.exchange(late)).kind, "reject");
  await next.stop();
  await Deno.remove(dir, { recursive: true });
});

Deno.test("a login that supersedes another one during a later commit is answered at once", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = world.login({ user: "anna" });
  assertEquals((await login.start("one")).step, CODE);
  assertEquals((await login.answer("cancel")).step, "CHOOSE_WHICH_MULTIFACTOR");
  const release = interceptCommits(world).hold();
  const menu = exchangeJudged(world, login.build("x"));
  await inProgress(world, 1);
  const newer = exchangeJudged(world, login.buildStart("two"));
  await inProgress(world, 2);
  release();
  assertEquals(stepName(await newer), CODE);
  await whileTimePasses(world.clock, menu);
  assertEquals(world.radius.monitor.alive(), 1);
});

Deno.test("a login that is superseded before its push is sent sends none", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  const release = interceptCommits(world).hold();
  await world.client.sendRaw(login.buildStart("one").bytes);
  await inProgress(world, 1);
  const newer = exchangeJudged(world, login.buildStart("two"));
  await inProgress(world, 2);
  release();
  await newer;
  assertEquals(world.secondFactor.initiated().length, 1);
});
