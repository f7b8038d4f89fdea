// The data of version 0.2.0 in today's program: upgraded at the start, after a backup, and everything in it still works. A store of a later
// version is refused, unchanged.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { readBackupFile } from "../../platform/backup/backup_format.ts";
import { FORMAT, FORMAT_KEY, type FormatRecord, newestRecord } from "../../platform/upgrade/store_format.ts";
import { askControl } from "../support/control_call.ts";
import { type ProgramOptions, type RunningProgram, startProgram } from "../support/program.ts";
import { openRadiusClient } from "../support/radius_client.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { CODES } from "../support/radius_packets.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { readUpgradeFacts, UPGRADE_DATA, writeUpgradeData } from "../fakes/upgrade_data.ts";

const { masterKeyHex, client, secret, user, totp, token, destination, settings } = UPGRADE_DATA;
const SHIFTED_CLOCK = new URL("../support/shifted_clock.ts", import.meta.url).pathname;

interface World extends AsyncDisposable {
  readonly dataDir: string;
  readonly store: string;
  /** Starts the program at the moment of the backup, or a little later. */
  start(options?: ProgramOptions): Promise<RunningProgram>;
  nowMs(): number;
}

async function openWorld(): Promise<World> {
  const dataDir = await Deno.makeTempDir({ prefix: "countersign-upgrade-" });
  const store = `${dataDir}/countersign.kv`;
  await writeUpgradeData(store);
  const offsetMs = readUpgradeFacts().createdMs - Date.now();
  const env = { COUNTERSIGN_MASTER_KEY: masterKeyHex, TEST_CLOCK_OFFSET_MS: String(offsetMs) };
  return {
    ...{ dataDir, store },
    start: (options = {}) => startProgram({ dataDir, env, program: SHIFTED_CLOCK, ...options }),
    nowMs: () => Date.now() + offsetMs,
    [Symbol.asyncDispose]: () => Deno.remove(dataDir, { recursive: true }),
  };
}

const get = <T>({ dataDir }: RunningProgram, path: string) =>
  askControl<T>(dataDir, path, null, { method: "GET" });

async function formatOf(store: string): Promise<FormatRecord | null> {
  using kv = await Deno.openKv(store);
  return (await kv.get<FormatRecord>(FORMAT_KEY)).value;
}

Deno.test("the data of version 0.2.0: backup, upgrade, and every part of it works", async () => {
  await using world = await openWorld();
  await using gateway = await world.start();
  using radius = openRadiusClient({ port: gateway.radiusPort, secret });
  const state = Uint8Array.fromHex(readUpgradeFacts().state);
  const answer = totpCode(fromBase32(totp), world.nowMs());
  const place = { userName: user, callingStationId: "198.51.100.7" };
  // The login waited for this code when the backup was made.
  assertEquals((await radius.ask({ ...place, password: answer, state })).code, CODES.accessAccept);
  const saved = await get<{ settings: { key: string; value: unknown; isSet: boolean }[] }>(
    gateway,
    "/settings",
  );
  const view = (key: string) => saved.settings.find((one) => one.key === key);
  assertEquals(view("radius.first_factor_server.secret")?.isSet, true);
  assertEquals(view("console.audit_days")?.value, settings["console.audit_days"]);
  assertEquals(view("factors.pushes.per_user")?.value, settings["factors.pushes.per_user"]);
  const text = JSON.stringify({
    address: view("radius.first_factor_server.address")?.value,
    clients: await get(gateway, "/clients"),
    users: await get(gateway, "/users"),
    tokens: await get(gateway, "/hardware-tokens"),
    export: await get(gateway, "/log-export"),
    factors: await get(gateway, "/users/bea"),
  });
  for (
    const part of [client, user, token, destination, "192.0.2.20:1812", "phone-of-bea", "+1****100", "staff"]
  ) assertStringIncludes(text, part);
  await gateway.stop();
  const record = await formatOf(world.store);
  assertEquals([record?.format, record?.reader, record?.cursor], [FORMAT, FORMAT, null]);
  const { backup = "" } = record ?? {};
  assert(backup.startsWith(`${world.dataDir}/backups/before-`), backup);
  assertEquals(((await Deno.stat(backup)).mode ?? 0) & 0o777, 0o600);
  let entries = 0;
  const { header, totals } = await readBackupFile(backup, { onRecord: () => void entries++ });
  // So that version 0.2.0 restores it.
  assertEquals([header.version, totals.isExact, entries], ["0.2.0", true, readUpgradeFacts().entries]);
});

const ENTRIES = 2000;
/** How many entries are converted when the program is killed. */
const KILLED_AT = [1, 1000];

Deno.test("the program is killed twice while it converts the store, and continues", async () => {
  await using world = await openWorld();
  using kv = await Deno.openKv(world.store);
  for (let at = 0; at < ENTRIES; at += 500) {
    const some = kv.atomic();
    for (let one = at; one < at + 500; one++) some.set(["sample", one], `text ${one}`);
    await some.commit();
  }
  const preload = new URL("./sample_migration.ts", import.meta.url).pathname;
  const progress = async () => (await kv.get<FormatRecord>(FORMAT_KEY)).value?.cursor?.entries ?? 0;
  for (const at of KILLED_AT) {
    const ending = new AbortController();
    const starting = world.start({ preload, signal: ending.signal });
    starting.catch(() => undefined);
    await eventually(`${at} entries are converted`, async () => await progress() >= at, { withinMs: 60_000 });
    ending.abort();
    await assertRejects(() => starting, Error, "did not come up");
    assert(await progress() < ENTRIES);
  }
  await using gateway = await world.start({ preload });
  await gateway.logged("the upgrade of the store continues");
  await gateway.stop();
  const values = kv.list<unknown>({ prefix: ["sample"] }, { batchSize: 500 });
  assertEquals((await Array.fromAsync(values)).filter(({ value }) => Array.isArray(value)).length, ENTRIES);
  assertEquals((await kv.get<FormatRecord>(FORMAT_KEY)).value?.format, FORMAT + 1);
  // One backup, made before the first change.
  assertEquals((await Array.fromAsync(Deno.readDir(`${world.dataDir}/backups`))).length, 1);
});

Deno.test("an upgrade whose backup cannot be written does not begin, and says what to do", async () => {
  await using world = await openWorld();
  await Deno.writeTextFile(`${world.dataDir}/backups`, "a file where the directory should be");
  const message = await refusedStart(world);
  assertStringIncludes(message, "Cannot upgrade the store, because its backup cannot be written");
  assertStringIncludes(message, "store.upgrade_backup");
  assertEquals(await formatOf(world.store), null);
});

Deno.test("a store of a later version is refused with a sentence, and stays as it is", async () => {
  await using world = await openWorld();
  using kv = await Deno.openKv(world.store);
  const later: FormatRecord = {
    ...newestRecord(0),
    ...{ format: FORMAT + 1, reader: FORMAT + 1, needs: "9.0.0", backup: "/backups/before-9.0.0.backup" },
  };
  await kv.set(FORMAT_KEY, later);
  const before = await contentOf(kv);
  const message = await refusedStart(world);
  assertStringIncludes(message, `version 9.0.0 or later upgraded it to format ${FORMAT + 1}`);
  assertStringIncludes(
    message,
    "Install version 9.0.0 or later, or restore the backup that the upgrade made",
  );
  assertStringIncludes(message, "/backups/before-9.0.0.backup");
  assertEquals(await contentOf(kv), before);
});

async function refusedStart(world: World): Promise<string> {
  return await world.start().then(async (gateway) => {
    await gateway.dispose();
    return "it started";
  }, (fault: Error) => fault.message);
}

/** All keys with their versions. */
async function contentOf(kv: Deno.Kv): Promise<string[]> {
  const entries = kv.list({ prefix: [] }, { batchSize: 500 });
  return await Array.fromAsync(entries, ({ key, versionstamp }) => `${Deno.inspect(key)} ${versionstamp}`);
}
