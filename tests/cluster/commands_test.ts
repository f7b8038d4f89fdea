// Commands beside running nodes, and a new version beside an old one.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { DEFAULT_AUDIT_RETENTION_MS } from "../../platform/audit.ts";
import { expiryOf } from "../../platform/backup/expiry.ts";
import { isTransient, RESTORE_MARKER } from "../../platform/backup/records.ts";
import { openOperator, type Operator } from "../cli/operator.ts";
import { createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { startCluster } from "../support/cluster.ts";
import { type Denokv, DENOKV_TOKEN, DENOKV_TOKEN_VARIABLE, startDenokv } from "../support/denokv.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";
import {
  type ClusterWithServices,
  openClients,
  startClusterWithServices,
} from "../fakes/cluster_services.ts";
import { attributesOf, faultsOf, listed } from "../fakes/cluster_checks.ts";
import { type BuiltRequest, CODES, type Reply } from "../support/radius_packets.ts";

// `deno task backup`, `restore` and `move-store` with a real denokv, as an operator runs them: also beside running gateways, with a wrong token,
// without a server, and interrupted by Ctrl-C.

const NEEDS = { peers: [], denokv: true } as const;
const MASTER_KEY_HEX = "c1".repeat(32);

const openOn = ({ url }: Pick<Denokv, "url">, { token = DENOKV_TOKEN } = {}) =>
  openOperator({
    toml: `store.kv = "${url}"`,
    env: { [DENOKV_TOKEN_VARIABLE]: token, COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX },
  });

/** An operator whose store is a file. */
const openOnFile = () =>
  openOperator({ env: { [DENOKV_TOKEN_VARIABLE]: DENOKV_TOKEN, COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX } });

const fileOf = ({ dataDir }: Operator): string => `${dataDir}/countersign.kv`;

const filesOf = async ({ home }: Operator): Promise<string[]> =>
  (await Array.fromAsync(Deno.readDir(home), ({ name }) => name)).filter((name) => name !== "data").sort();

/** An entry whose time passed long ago, and which the store has not removed yet. */
const EXPIRED: Deno.KvKey = ["chart", "minute", Date.UTC(2020, 0, 1), "node"];
const LIFETIMES = { auditRetentionMs: DEFAULT_AUDIT_RETENTION_MS, conversationTtlMs: 300_000 };

function isExpired(key: Deno.KvKey, value: unknown): boolean {
  const nowMs = Date.now();
  return (expiryOf({ key, value }, { nowMs, settings: LIFETIMES }) ?? Infinity) <= nowMs;
}

/** All entries but those of running nodes. */
async function entriesOf(kv: Deno.Kv): Promise<(readonly [Deno.KvKey, unknown])[]> {
  const entries = await Array.fromAsync(kv.list({ prefix: [] }), ({ key, value }) => [key, value] as const);
  return entries.filter(([key]) => !isTransient(key));
}

async function entriesIn(store: Denokv | string): Promise<(readonly [Deno.KvKey, unknown])[]> {
  using kv = typeof store === "string" ? await Deno.openKv(store) : await store.open();
  return await entriesOf(kv);
}

async function fill(store: Denokv | string, write: (kv: Deno.Kv) => Promise<void>): Promise<void> {
  using kv = typeof store === "string" ? await Deno.openKv(store) : await store.open();
  await write(kv);
}

/** Entries of several kinds, also with octets. */
async function writeSome(kv: Deno.Kv): Promise<void> {
  for (let at = 0; at < 60; at++) {
    await kv.set(["user", "default", `u${at}`], { userName: `U${at}`, createdMs: at });
    await kv.set(["conversation", `c${at}`], Uint8Array.of(2, at));
  }
}

/** So many entries that a copy takes about a second. */
async function writeMany(kv: Deno.Kv): Promise<void> {
  for (let from = 0; from < 10_000; from += 1000) {
    const atomic = kv.atomic();
    for (let at = from; at < from + 1000; at++) {
      atomic.set(["word", "default", "user", `w${at}`, `u${at}`], 0);
    }
    await atomic.commit();
  }
}

/** Resolves when a copy into the endpoint has begun. */
async function copyBegun({ open }: Denokv): Promise<void> {
  using kv = await open();
  await eventually("the marker", async () => (await kv.get(RESTORE_MARKER)).value !== null);
}

type Command = readonly [command: string, ...args: string[]];

async function success(operator: Operator, ...[command, ...args]: Command): Promise<string> {
  const { code, stdout, stderr } = await operator.run(command, ...args);
  assertEquals([code, stderr.replace(/^Deleting .*\n/, "")], [0, ""]);
  return stdout;
}

/** Use `start` for a store that does not answer: the runtime retries until the process ends. */
async function failure(
  run: Operator["run" | "start"],
  ...[command, ...args]: Command
): Promise<string> {
  const { code, stdout, stderr } = await run(command, ...args);
  assertEquals([code, stdout], [1, ""], stderr);
  assertEquals(stderr.trim().split("\n").length, 1, stderr);
  assert(!stderr.includes(DENOKV_TOKEN));
  return stderr;
}

testNeeding(
  NEEDS,
  "move-store copies from a file to denokv, to another denokv, and back to a file, entry by entry, without expired ones",
  async () => {
    await using first = await startDenokv();
    await using second = await startDenokv();
    await using operator = await openOnFile();
    await using other = await openOnFile();
    await Deno.mkdir(operator.dataDir);
    await Deno.mkdir(other.dataDir);
    await fill(fileOf(operator), async (kv) => {
      await writeSome(kv);
      await kv.set(EXPIRED, { accepted: 1 });
    });
    const all = await entriesIn(fileOf(operator));
    const entries = all.filter(([key, value]) => !isExpired(key, value));
    assert(all.some(([key]) => String(key) === String(EXPIRED)));
    const users = entries.filter(([[table]]) => table === "user").length;
    for (
      const [from, to, target] of [
        [fileOf(operator), first.url, first],
        [first.url, second.url, second],
        [second.url, fileOf(other), fileOf(other)],
      ] as const
    ) {
      const out = await success(operator, "move_store", from, to);
      assertStringIncludes(out, `  user ${users}\n`);
      assertStringIncludes(out, "The counts of both stores are equal.");
      assertEquals(await entriesIn(target), entries);
    }
  },
);

testNeeding(
  NEEDS,
  "backup, restore and move-store refuse a store with content or a running gateway, a wrong token, and no server",
  async () => {
    await using cluster = await startCluster({ nodes: 1 });
    await using empty = await startDenokv();
    await using operator = await openOn(cluster.store);
    await using files = await openOnFile();
    const backup = `${operator.home}/a.backup`;
    await success(operator, "backup", backup);
    // One after another, because they lock the data directory.
    const refusals = async (run: Operator["run" | "start"], says: string, commands: readonly Command[]) => {
      for (const command of commands) {
        assertStringIncludes(await failure(run, ...command), says, command.join(" "));
      }
    };
    const beside: readonly Command[] = [
      ["restore", backup, "--force"],
      ["move_store", cluster.store.url, empty.url],
      ["move_store", empty.url, cluster.store.url, "--force"],
    ];
    // Each waits for signs of running nodes, so they run at the same time.
    await Promise.all(beside.map((command) => refusals(operator.start, "Stop all nodes first.", [command])));
    await cluster.node(0).stop();
    const before = await entriesIn(cluster.store);
    await refusals(operator.run, "it is not empty. It contains ", [
      ["restore", backup],
      ["move_store", empty.url, cluster.store.url],
    ]);
    await Deno.mkdir(operator.dataDir, { recursive: true });
    await fill(fileOf(operator), writeSome);
    await using stranger = await openOn(cluster.store, { token: "a wrong token" });
    await empty.stop();
    await using distant = await openOn(empty);
    for (
      const [one, says, { url }] of [
        [stranger, "refuses the access token", cluster.store],
        [distant, "Cannot open the store", empty],
      ] as const
    ) {
      await refusals(one.start, says, [
        ["backup", `${operator.home}/b.backup`],
        ["restore", backup, "--force"],
        ["move_store", url, fileOf(files)],
        ["move_store", fileOf(operator), url],
      ]);
    }
    assertEquals(await filesOf(operator), ["a.backup", "countersign.toml"]);
    assertEquals([await filesOf(files), await entriesIn(cluster.store)], [["countersign.toml"], before]);
  },
);

testNeeding(
  NEEDS,
  "a backup beside writing gateways has every write that was acknowledged before it, and can be restored",
  async () => {
    await using cluster = await startCluster({
      toml: `${credentialsToml(["default"])}[targets.default]\npage_size = 1000`,
    });
    const callers = cluster.nodes.map((node) => createCaller(node, { account: WRITER, target: "default" }));
    const acknowledged: string[] = [];
    let isEnded = false;
    const writing = Promise.all(callers.map(async (scim, node) => {
      for (let at = 0; !isEnded; at++) {
        const userName = `user${node}x${at}`;
        const { status, text } = await scim.post("/Users", { userName });
        assert(status === 201 || status === 503, text);
        if (status === 201) acknowledged.push(userName);
      }
    }));
    // Its fault is reported where it is awaited.
    writing.catch(() => undefined);
    await using operator = await openOn(cluster.store);
    await eventually("users", () => acknowledged.length >= 100);
    const early = [...acknowledged];
    const [moving, still] = [`${operator.home}/moving.backup`, `${operator.home}/still.backup`];
    // In its own process, so that the writers go on meanwhile.
    const done = await operator.start("backup", moving);
    assertEquals([done.code, done.stderr], [0, ""]);
    assertStringIncludes(done.stdout, "The store changed during the backup");
    isEnded = true;
    await writing;
    // Running nodes renew their leases and remove what expired, also between the backup and the comparison.
    await Promise.all(cluster.nodes.map((node) => node.stop()));
    assert(!(await success(operator, "backup", still)).includes("changed during the backup"));
    const entries = await entriesIn(cluster.store);

    await using files = await openOnFile();
    assertStringIncludes(
      await success(files, "restore", still),
      `Restored ${entries.length.toLocaleString("en-US")} entries`,
    );
    assertEquals(await entriesIn(fileOf(files)), entries);

    await success(operator, "restore", moving, "--force");
    await cluster.node(0).restart();
    const { json } = await (callers[0] as typeof callers[number]).get("/Users");
    const restored = new Set((json.Resources as { id: string }[]).map(({ id }) => id));
    assertEquals(early.filter((name) => !restored.has(name)), []);
  },
);

testNeeding(
  NEEDS,
  "a copy that is interrupted by Ctrl-C leaves no half store that a gateway uses, and succeeds when it is repeated",
  async () => {
    await using store = await startDenokv();
    await using source = await startDenokv();
    await fill(source, writeMany);
    const entries = await entriesIn(source);
    await using operator = await openOn(store);
    await using origin = await openOn(source);
    const backup = `${origin.home}/a.backup`;
    // A server that does not answer keeps each command in the middle of its work.
    const frozenWhen = (server: Denokv, isTime: () => Promise<void>) => async () => {
      await isTime();
      await server.freeze();
    };
    const begun = () => eventually("the file", async () => (await filesOf(origin)).length > 1);
    const broken = await origin.interrupt(frozenWhen(source, begun), "backup", backup);
    source.thaw();
    assertEquals([broken.code, broken.stderr.trim()], [1, "Interrupted."]);
    assertEquals(await filesOf(origin), ["countersign.toml"]);
    await success(origin, "backup", backup);
    const commands: readonly Command[] = [
      ["restore", backup],
      ["move_store", source.url, store.url, "--force"],
    ];
    for (const [command, ...args] of commands) {
      const { code, stderr } = await operator.interrupt(
        frozenWhen(store, () => copyBegun(store)),
        command,
        ...args,
      );
      store.thaw();
      assertEquals(code, 1, stderr);
      assertStringIncludes(stderr, "Interrupted. The store");
      assertStringIncludes(stderr, "Run the command again with --force.");
      assertStringIncludes(await failure(operator.run, "pair", "--list"), "was interrupted");
      const again = args.filter((one) => one !== "--force");
      assertStringIncludes(await failure(operator.run, command, ...again), "an interrupted restore with");
      await success(operator, command, ...again, "--force");
      assertEquals(await entriesIn(store), entries);
    }
  },
);

// A rolling upgrade: of two gateways on one store, one after the other is stopped and started again. Clients with two servers lose no login.

const NODES = [0, 1] as const;
const { accessChallenge, accessAccept } = CODES;
/** The users whose clients log in all the time. */
const BUSY = Array.from({ length: 8 }, (_, at) => `busy${at}`);

type Clients = ReturnType<typeof openClients>;

/** Longer than a packet waits on a busy machine. A copy that waits longer than its login takes would begin another login. */
const PATIENCE = { timeoutMs: 5000, tries: 1 } as const;

/** A client with two servers: it sends a packet to each, twice, the preferred one first. */
async function askBoth(
  clients: Clients,
  request: BuiltRequest,
  preferred: number,
): Promise<Reply> {
  for (const node of [preferred, 1 - preferred, preferred, 1 - preferred]) {
    try {
      return await clients.at(node).exchange(request, PATIENCE);
    } catch (fault) {
      if (!(fault instanceof Error) || !fault.message.startsWith("No reply")) throw fault;
    }
  }
  throw new Error("No server answers");
}

/** Logs in without a pause until it is ended. Each login has one push, which the user approves. */
function keepLoggingIn(world: ClusterWithServices, user: string, preferred: number) {
  const { secondFactor } = world;
  let isEnded = false;
  const outcomes: string[] = [];
  const logIn = async (clients: Clients): Promise<string> => {
    const attributes = attributesOf(user);
    const challenge = await askBoth(
      clients,
      clients.at(0).build({ ...attributes, password: "first" }),
      preferred,
    );
    if (challenge.code !== accessChallenge) return `code ${challenge.code} instead of a challenge`;
    for (const { id, pairingId, pending } of secondFactor.initiated()) {
      if (pairingId === user && pending) secondFactor.decide(id, { granted: true });
    }
    const answer = { ...attributes, password: "", state: challenge.state ?? new Uint8Array() };
    const last = await askBoth(clients, clients.at(0).build(answer), preferred);
    return last.code === accessAccept ? "accepted" : `code ${last.code} instead of an accept`;
  };
  const running = (async () => {
    using clients = openClients(world);
    while (!isEnded) outcomes.push(await logIn(clients).catch(String));
  })();
  return {
    outcomes,
    async end() {
      isEnded = true;
      await running;
    },
  };
}

/** Stops one gateway after the other, and starts it again, as an upgrade does. Returns the outcomes of all logins meanwhile. */
async function upgradeWhileBusy(world: ClusterWithServices): Promise<Map<string, number>> {
  const busy = BUSY.map((user, at) => keepLoggingIn(world, user, at % 2));
  const settled = async () => {
    const before = busy.map(({ outcomes }) => outcomes.length);
    await eventually(
      "each client logs in again",
      () => busy.every(({ outcomes }, at) => outcomes.length >= (before[at] as number) + 1),
    );
  };
  await settled();
  for (const node of world.cluster.nodes) {
    assertEquals((await node.stop()).code, 0);
    await settled();
    await node.restart();
    await settled();
  }
  await Promise.all(busy.map((one) => one.end()));
  const counts = new Map<string, number>();
  for (const outcome of busy.flatMap(({ outcomes }) => outcomes)) {
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  return counts;
}

const TOML = `
[factors]
enrol_at_login = "never"
[factors.pushes]
per_user = 1000000
`;
const BUSY_PAIRINGS = BUSY.map((user) => [user, { kind: "device", id: user, totpLength: 0 }] as const);

testNeeding(
  NEEDS,
  "two gateways share a store, and an upgrade of one after the other loses no login",
  async () => {
    await using world = await startClusterWithServices({ toml: TOML, pairings: BUSY_PAIRINGS });
    const scim = world.scim(world.cluster.node(1));
    for (const user of BUSY) assertEquals((await scim.post("/Users", { userName: user })).status, 201);
    const check = async (node: number) =>
      assertEquals(await listed(world, node, "/Users?q=busy"), BUSY.toSorted());
    await Promise.all(NODES.map(check));
    const outcomes = [...(await upgradeWhileBusy(world)).keys()];
    assertEquals(outcomes, ["accepted"], world.cluster.logLines().slice(-200).join("\n"));
    await Promise.all(NODES.map(check));
    assertEquals(world.cluster.nodes.flatMap(faultsOf), []);
  },
);
