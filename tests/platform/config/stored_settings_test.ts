// Stored settings that no console wrote, and secrets that an undo must not send to another address.

import { assertEquals } from "@std/assert";
import { LiveSettings } from "../../../platform/config/live_settings.ts";
import { loadConfig } from "../../../platform/config/load.ts";
import type { SaveResult, SettingChanges } from "../../../platform/config/setting_writer.ts";
import { createLog } from "../../../platform/log.ts";
import { createSystemRandom } from "../../../platform/runtime.ts";
import { createStore } from "../../../platform/store.ts";
import { createVault } from "../../../platform/vault.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";

async function openSettings(
  records: readonly (readonly [Deno.KvKey, unknown])[] = [],
  file: { toml?: string; env?: (name: string) => string | undefined } = {},
) {
  const kv = await Deno.openKv(":memory:");
  for (const [key, value] of records) await kv.set(key, value);
  const clock = createManualClock();
  const store = createStore(kv, { nowMs: () => clock.nowMs() });
  const unreadable: string[] = [];
  store.onUnreadable((key) => unreadable.push(key.join(" ")));
  const loaded = loadConfig({
    env: file.env ?? (() => undefined),
    readTextFile: () => file.toml ?? "",
    cwd: "/",
  });
  if (!loaded.ok) throw new Error("The settings of the test are at fault");
  const settings = new LiveSettings({
    ...{ file: loaded.settingsFile, store, clock },
    vault: createVault(new Uint8Array(32).fill(9), createSystemRandom()),
    log: createLog({ format: "text", level: "error", clock, write: () => undefined }),
  });
  await settings.load();
  const save = (changes: SettingChanges) =>
    settings.writer.change(changes, { actor: "ada", version: settings.version });
  return { settings, unreadable, save, [Symbol.asyncDispose]: () => store.close() };
}

const HEAD = { revision: 1, atMs: 1, by: "ada" };
const VALUE: Deno.KvKey = ["setting", "factors.terminal_name"];
const TARGET: Deno.KvKey = ["setting_target", "other"];

/** Records that are no records of settings. */
const MALFORMED: Readonly<Record<string, readonly [Deno.KvKey, unknown]>> = {
  "a text": [VALUE, "VPN"],
  "no revision": [VALUE, { value: "VPN" }],
  "a revision that is no number": [VALUE, { ...HEAD, revision: Number.NaN }],
  "no administrator": [VALUE, { ...HEAD, by: undefined }],
  "a value that is no setting": [VALUE, { ...HEAD, value: 1n }],
  "a secret that is no octets": [VALUE, { ...HEAD, sealed: "x" }],
  "a directory without secrets": [TARGET, { ...HEAD, table: {} }],
  "a directory that is a list": [TARGET, { ...HEAD, table: [], sealed: {} }],
  "a directory with a secret that is no octets": [TARGET, { ...HEAD, table: {}, sealed: { "a.token": 1 } }],
};

for (const [title, record] of Object.entries(MALFORMED)) {
  Deno.test(`stored settings: ${title} is reported and not used, and can be replaced`, async () => {
    await using opened = await openSettings([record]);
    assertEquals(opened.unreadable, [record[0].join(" ")]);
    const done = await opened.save({ "factors.terminal_name": "Office" });
    assertEquals([done.ok, opened.settings.config.factors.terminalName], [true, "Office"]);
    assertEquals(opened.settings.targets.list().map(({ name }) => name), ["default"]);
  });
}

/** The revision of a save that was made. */
function revisionOf({ settings }: { settings: LiveSettings }, result: SaveResult): number {
  if (!result.ok) throw new Error(`It was not saved: ${JSON.stringify(result)}`);
  return settings.version;
}

const ADDRESS = "radius.first_factor_server.address";
const SECRET = "radius.first_factor_server.secret";
const FIRST_SECRET = "a secret of the first server";

Deno.test("stored settings: an undo does not restore a secret for an address that was set after it", async () => {
  await using opened = await openSettings();
  const { settings, save } = opened;
  await save({ [ADDRESS]: "192.0.2.1:1812", [SECRET]: FIRST_SECRET });
  const removal = revisionOf(opened, await save({ [SECRET]: null }));
  revisionOf(opened, await save({ [ADDRESS]: "198.51.100.66:1812" }));
  const undone = await settings.writer.undo(removal, { actor: "mallory" });
  assertEquals(undone?.ok === false && undone.reason, "conflict");
  assertEquals(settings.config.radius.anyClient.firstFactorServer?.secret ?? "", "");
});

Deno.test("stored settings: an undo restores an address with its secret", async () => {
  await using opened = await openSettings();
  const { settings, save } = opened;
  revisionOf(
    opened,
    await save({ "radius.first_factor": "radius", [ADDRESS]: "192.0.2.1:1812", [SECRET]: FIRST_SECRET }),
  );
  const change = revisionOf(opened, await save({ [ADDRESS]: "192.0.2.2:1812", [SECRET]: "another secret" }));
  assertEquals((await settings.writer.undo(change, { actor: "ada" }))?.ok, true);
  assertEquals(settings.config.radius.anyClient.firstFactorServer?.secret, FIRST_SECRET);
});

Deno.test("LiveSettings evaluates the settings once for the check of a change, its save and its use", async () => {
  let evaluations = 0;
  // Each evaluation resolves the references of the file.
  const env = (name: string) => name === "FROM" ? `number ${++evaluations}` : undefined;
  await using opened = await openSettings([], { toml: 'telephony.from = "env:FROM"', env });
  const { settings, save } = opened;
  for (const minutes of [20, 30]) {
    const changes = { "factors.lockout.minutes": minutes };
    const before = evaluations;
    assertEquals(settings.draft({ changes }).faults, []);
    assertEquals((await save(changes)).ok, true);
    assertEquals([settings.config.factors.lockout.lockMs, evaluations - before], [minutes * 60_000, 1]);
  }
  const options = { actor: "ada", version: settings.version };
  for (const [name, size] of [["a", 10], ["b", 10], ["a", 20]] as const) {
    const before = evaluations;
    const table = { page_size: size };
    assertEquals(settings.targets.draft(name, table).faults, []);
    const saved = await settings.targets.put(name, table, { ...options, version: settings.version });
    assertEquals([saved.ok, evaluations - before], [true, 1]);
    assertEquals(settings.config.targets.find((one) => one.name === name)?.pageSize, size);
  }
});
