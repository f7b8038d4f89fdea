// `deno task unlock` and `deno task client` as an operator runs them.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { forget, planClient } from "../../cli/client.ts";
import { planUnlock, unlock } from "../../cli/unlock.ts";
import { openDataDir } from "../../platform/data_dir.ts";
import { Limits } from "../../radius/factors/limits.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { configOf } from "../platform/config/samples.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { openOperator, openStandIn, type Operator } from "./operator.ts";

const CLIENT =
  '[[radius.client]]\nname = "vpn"\naddress = ["192.0.2.1"]\nsecret = "a secret of this length"\n';

async function lockOut({ dataDir }: Operator, user: string): Promise<void> {
  const { store, close } = await openDataDir(dataDir, { random: createSystemRandom(), masterKeyHex: "" });
  const limits = new Limits({ store, clock: systemClock, settings: configOf("").factors });
  for (let at = 0; at < 100; at++) await store.commit({ mutations: [limits.countFailure(user).mutation] });
  await store.commit({ mutations: [{ type: "set", key: ["learnt", "vpn", "192.0.2.1"], value: true }] });
  await close();
}

Deno.test("deno task unlock shows a lock, and removes it", async () => {
  await using operator = await openOperator();
  await lockOut(operator, "ann");
  const shown = await operator.run("unlock", "Ann", "--show");
  assertEquals([shown.code, shown.stderr], [0, ""]);
  for (const part of ['"Ann" is locked.', "an administrator unlocks", "100"]) {
    assertStringIncludes(shown.stdout, part);
  }
  const unlocked = await operator.run("unlock", "Ann");
  assertEquals([unlocked.code, unlocked.stdout], [0, '"Ann" is unlocked; 100 failures are reset.\n']);
  assertStringIncludes((await operator.run("unlock", "ann", "--show")).stdout, '"ann" is not locked.');
});

Deno.test("deno task client forget works with and without a server", async () => {
  await using operator = await openOperator({ toml: CLIENT });
  await lockOut(operator, "ann");
  const forgotten = await operator.run("client", "forget", "vpn");
  assertEquals([forgotten.code, forgotten.stderr], [0, ""]);
  assertStringIncludes(forgotten.stdout, 'Client "vpn" can send unsigned requests again');
  await using _standIn = await openStandIn(operator, { toml: CLIENT });
  assertEquals(
    (await operator.run("client", "forget", "vpn")).stdout,
    'Client "vpn" has no address that must sign requests.\n',
  );
  const unknown = await operator.run("client", "forget", "nas");
  assertEquals([unknown.code, unknown.stdout], [1, ""]);
  assertStringIncludes(unknown.stderr, 'The clients are "vpn".');
});

/** The state before, and the result of the command. */
const UNLOCKED: readonly {
  readonly what: string;
  readonly before: (gateway: TestComposition) => Promise<unknown>;
  readonly out: string;
}[] = [
  {
    what: "nothing",
    before: () => Promise.resolve(),
    out: '"ann" is not locked and has no failures.\n',
  },
  {
    what: "one failure",
    before: ({ store, radius: { limits } }) =>
      store.commit({ mutations: [limits.countFailure("ann").mutation] }),
    out: '"ann" was not locked; 1 failure is reset.\n',
  },
  {
    what: "as many pushes as the limit allows",
    async before({ store, radius: { limits } }) {
      for (let at = 0; at < 5; at++) await store.commit({ mutations: [limits.countPush("ann")] });
    },
    out:
      '"ann" is not locked and has no failures.\n\nNote: The rate limit factors.pushes is reached. It ends by itself. ' +
      "To reset it now, use the user page of the console.\n",
  },
];
for (const { what, before, out } of UNLOCKED) {
  Deno.test(`unlock() reports its result after ${what}`, async () => {
    await using gateway = await openComposition();
    await before(gateway);
    assertEquals(await unlock(gateway.api, { user: "ann", isShown: false }), { out, err: "", exitCode: 0 });
  });
}

Deno.test("forget() notes that a client which it forgets no longer exists", async () => {
  await using gateway = await openComposition(CLIENT);
  const key = ["learnt", "old", "192.0.2.1"];
  await gateway.store.commit({ mutations: [{ type: "set", key, value: true }] });
  await gateway.radius.signingClients.load();
  const { out, exitCode } = await forget(gateway.api, { name: "old" });
  assertEquals(exitCode, 0);
  assertStringIncludes(out, "Note: There is no client with this name.");
});

/** Wrong arguments. */
const WRONG_UNLOCKS = [[], ["ann", "bob"], ["ann", "--force"], ["--show"]];
const WRONG_CLIENTS = [[], ["forget"], ["remember", "vpn"], ["forget", "vpn", "nas"], ["forget", "--all"]];

Deno.test("planUnlock() requires one user, and explains what is wrong with anything else", () => {
  assertEquals(planUnlock(["ann"]), { user: "ann", isShown: false });
  assertEquals(planUnlock(["ann", "--show"]), { user: "ann", isShown: true });
  assertEquals(planUnlock(["--administrator", "ann"]), {
    user: "ann",
    isShown: false,
    isAdministrator: true,
  });
  for (const args of WRONG_UNLOCKS) assertEquals(typeof planUnlock(args), "string");
});

Deno.test("planClient() requires one client to forget, and explains what is wrong with anything else", () => {
  assertEquals(planClient(["forget", "vpn"]), { name: "vpn" });
  for (const args of WRONG_CLIENTS) assertEquals(typeof planClient(args), "string");
});

for (const command of ["unlock", "client"]) {
  Deno.test(`deno task ${command} with wrong arguments ends with exit code 2 and the usage`, async () => {
    await using operator = await openOperator();
    const { code, stdout, stderr } = await operator.run(command);
    assertEquals([code, stdout], [2, ""]);
    assertStringIncludes(stderr, `deno task ${command}`);
  });
}

for (const command of ["pair", "unlock", "client"]) {
  Deno.test(`deno task ${command} --help explains it and does nothing`, async () => {
    await using operator = await openOperator();
    const { code, stdout, stderr } = await operator.run(command, "--help");
    assertEquals([code, stderr], [0, ""]);
    assertStringIncludes(stdout, `deno task ${command}`);
    assertEquals([...Deno.readDirSync(operator.home)].length, 1);
  });
}
