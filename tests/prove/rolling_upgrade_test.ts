// Two nodes of version 0.2.0 become nodes of this version, one after the other, on one denokv, while users sign in: no login is lost, and
// each one has one push. The store keeps its format until the last node of version 0.2.0 is gone.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FORMAT, FORMAT_KEY, type FormatRecord } from "../../platform/upgrade/store_format.ts";
import { type FakeSecondFactor, startFakeSecondFactor } from "../fakes/second_factor_server.ts";
import { DENOKV_TOKEN, DENOKV_TOKEN_VARIABLE, startDenokv } from "../support/denokv.ts";
import { hasPreviousRelease, previousRelease } from "../support/previous_release.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { openRadiusClient, type RadiusClient } from "../support/radius_client.ts";
import { CODES, type Reply, type RequestParts } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const SECRET = "secret-of-the-vpn-and-the-nodes";
const USERS = ["ada", "bea"] as const;
type User = typeof USERS[number];
/** A node starts while the machine is busy. */
const START_MS = 300_000;

/** A gateway whose program changes at the next restart. */
interface Node {
  readonly options: { root: string };
  readonly program: RunningProgram;
  readonly client: RadiusClient;
}

interface World {
  readonly secondFactor: FakeSecondFactor;
  readonly nodes: readonly [Node, Node];
}

const settingsOf = ({ url, consumerKey, consumerSecret }: FakeSecondFactor) => `
[second_factor]
url = "${url}"
consumer_key = "${consumerKey}"
consumer_secret = "${consumerSecret}"
[factors.pushes]
per_user = 1000
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "${SECRET}"
unknown_users = "allow"
[[radius.client]]
name = "held"
address = ["127.0.0.1"]
secret = "${SECRET}"
nas_identifier = "held"
unknown_users = "allow"
device = "hold"
hold_s = 50
`;
const HELD = { more: [{ type: 32, value: new TextEncoder().encode("held") }] };

async function openNode(stack: AsyncDisposableStack, toml: string, root: string): Promise<Node> {
  const env = { [DENOKV_TOKEN_VARIABLE]: DENOKV_TOKEN, COUNTERSIGN_MASTER_KEY: "c1".repeat(32) };
  const options = { toml, env, root, readyTimeoutMs: START_MS };
  const program = stack.use(await startProgram(options));
  const client = stack.use(openRadiusClient({ port: program.radiusPort, secret: SECRET }));
  return { options, program, client };
}

/** Asks a node, and the other one if there is no answer, as a VPN does. */
async function ask({ nodes }: World, first: 0 | 1, parts: RequestParts): Promise<Reply> {
  const order = [first, 1 - first, first, 1 - first] as const;
  for (const at of order) {
    const reply = await nodes[at === 0 ? 0 : 1].client.ask(parts, { timeoutMs: 3000, tries: 2 })
      .catch(() => null);
    if (reply !== null) return reply;
  }
  throw new Error("Neither node answered");
}

const pushesOf = ({ secondFactor }: World, user: User) =>
  secondFactor.initiated().filter(({ pairingId }) => pairingId === `phone-of-${user}`);

/** The first packet of a login. @returns what ends it at another node, or at the same one */
async function begin(
  world: World,
  user: User,
  at: 0 | 1,
  place: string,
): Promise<(at: 0 | 1) => Promise<number>> {
  const before = pushesOf(world, user).length;
  const parts = { userName: user, callingStationId: place };
  const { code, state } = await ask(world, at, { ...parts, password: "anything" });
  assertEquals(code, CODES.accessChallenge);
  return async (next) => {
    for (const { id, pending } of pushesOf(world, user)) {
      if (pending) world.secondFactor.decide(id, { granted: true });
    }
    const reply = await ask(world, next, { ...parts, password: "", state: state ?? new Uint8Array() });
    assertEquals(reply.code, CODES.accessAccept);
    return pushesOf(world, user).length - before;
  };
}

/** A login whose request is held until the approval. Its first node stops answering after the push. */
async function heldLogin(world: World, change: () => Promise<void>): Promise<void> {
  const before = pushesOf(world, "ada").length;
  const asked = ask(world, 0, { userName: "ada", password: "anything", callingStationId: "held", ...HELD });
  asked.catch(() => undefined);
  await eventually("the push", () => pushesOf(world, "ada").length > before);
  await change();
  for (const { id, pending } of pushesOf(world, "ada")) {
    if (pending) world.secondFactor.decide(id, { granted: true });
  }
  assertEquals((await asked).code, CODES.accessAccept);
  assertEquals(pushesOf(world, "ada").length, before + 1);
}

async function formatIn(kv: Deno.Kv): Promise<FormatRecord | null> {
  try {
    return (await kv.get<FormatRecord>(FORMAT_KEY)).value;
  } finally {
    kv.close();
  }
}

async function saveSetting({ program }: Node): Promise<{ code: number; stderr: string }> {
  return await program.command("cli/settings.ts", "set", "factors.pushes.window_s", "1200");
}

/**
 * Signs in one login after another, at one node or across both. `more` waits until each node has begun another one. `end` fails if a login
 * failed, or returns their number.
 */
function keepSigningIn(world: World): { more: () => Promise<void>; end: () => Promise<number> } {
  let isOver = false;
  let logins = 0;
  const run = (async () => {
    for (; !isOver; logins++) {
      const at = logins % 2 === 0 ? 0 : 1;
      const end = await begin(world, "bea", at, `station ${logins}`);
      assertEquals(await end(logins % 3 === 0 ? 0 : 1), 1);
    }
    return logins;
  })();
  // A failure is reported at the end; without this, it would end the process.
  run.catch(() => undefined);
  return {
    async more() {
      const before = logins;
      const further = eventually("further logins", () => logins >= before + 2, { withinMs: 60_000 });
      // A login that fails ends the loop.
      await Promise.race([further, run]);
    },
    end: () => {
      isOver = true;
      return run;
    },
  };
}

testNeeding(
  { peers: [], denokv: true },
  "two nodes are upgraded one after the other while users sign in",
  async (test) => {
    if (!hasPreviousRelease()) {
      throw new Error("This clone lacks the commit of version 0.2.0: git fetch --unshallow");
    }
    const old = await previousRelease();
    await using stack = new AsyncDisposableStack();
    const store = stack.use(await startDenokv());
    const secondFactor = await startFakeSecondFactor();
    stack.defer(() => secondFactor.close());
    const toml = `${settingsOf(secondFactor)}[store]\nkv = "${store.url}"\n`;
    const first = await openNode(stack, toml, old);
    const world: World = { secondFactor, nodes: [first, await openNode(stack, toml, old)] };
    const [a, b] = world.nodes;
    const format = async () => await formatIn(await store.open());
    for (const user of USERS) {
      assertEquals((await a.program.command("cli/pair.ts", user, "--device", `phone-of-${user}`)).code, 0);
    }

    const signingIn = keepSigningIn(world);
    const upgrade = async ({ options, program }: Node) => {
      options.root = ROOT;
      await program.restart();
    };
    const login = async (from: 0 | 1, to: 0 | 1, between: () => Promise<void> = async () => {}) => {
      const end = await begin(world, "ada", from, `${from} to ${to} ${Math.random()}`);
      await between();
      assertEquals(await end(to), 1);
    };

    const step = async (name: string, work: () => Promise<void>) => {
      assert(await test.step(name, work), name);
      await signingIn.more();
    };
    await step("a login begins at a node of 0.2.0, which is upgraded, and ends at it", async () => {
      await login(0, 0, () => upgrade(a));
      await a.program.logged("the store keeps its format until these nodes are upgraded");
      assertEquals(await format(), null);
    });
    await step("mixed: logins cross the versions in both directions", async () => {
      await login(0, 1);
      await login(1, 0);
    });
    await step("mixed: a held login whose node stops ends at the node of the other version", async () => {
      await heldLogin(world, async () => void await a.program.stop());
      await a.program.restart();
    });
    await step("mixed: what version 0.2.0 would misread is refused", async () => {
      const { code, stderr } = await saveSetting(a);
      assertEquals(code, 1);
      assertStringIncludes(stderr, "Upgrade and start all nodes");
    });
    await step("check-config names the node for which the upgrade waits", async () => {
      const { stdout } = await a.program.command("cli/check_config.ts", "--json");
      const { ok, upgrade: { waitsFor, isReversible } } = JSON.parse(stdout);
      assertEquals([ok, waitsFor.length, isReversible], [true, 1, false]);
      assertStringIncludes(waitsFor[0], "0.2.0");
    });
    await step("a login begins at the last node of 0.2.0, and ends at the other one", async () => {
      await login(1, 0, () => upgrade(b));
    });
    await step("the store is upgraded, after a backup, and settings can be changed", async () => {
      await eventually("the format", async () => (await format())?.format === FORMAT, {
        withinMs: 120_000,
      });
      const record = await format();
      assertStringIncludes(record?.backup ?? "", "/backups/before-");
      await eventually("the setting is saved", async () => (await saveSetting(b)).code === 0);
      await login(0, 1);
      await login(1, 0);
    });
    const logins = await signingIn.end();
    console.log(`${logins} logins during the upgrade, none lost, one push each`);
  },
);

Deno.test("back to version 0.2.0 with the backup that the upgrade made", async () => {
  if (!hasPreviousRelease()) {
    throw new Error("This clone lacks the commit of version 0.2.0: git fetch --unshallow");
  }
  const old = await previousRelease();
  await using stack = new AsyncDisposableStack();
  const secondFactor = await startFakeSecondFactor();
  stack.defer(() => secondFactor.close());
  const node = await openNode(stack, settingsOf(secondFactor), old);
  const { options, program } = node;
  const world: World = { secondFactor, nodes: [node, node] };
  const signIn = async () => assertEquals(await (await begin(world, "ada", 0, `${Math.random()}`))(0), 1);
  assertEquals((await program.command("cli/pair.ts", "ada", "--device", "phone-of-ada")).code, 0);
  await signIn();
  options.root = ROOT;
  await program.restart();
  await signIn();
  await program.stop();
  const record = await formatIn(await Deno.openKv(`${program.dataDir}/countersign.kv`));
  assertEquals(record?.format, FORMAT);
  options.root = old;
  const { code, stderr } = await program.command("cli/restore.ts", record?.backup ?? "", "--force");
  assertEquals(code, 0, stderr);
  await program.restart();
  await signIn();
  await program.stop();
  assertEquals(await formatIn(await Deno.openKv(`${program.dataDir}/countersign.kv`)), null);
});
