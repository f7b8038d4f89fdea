// The data directory: one owner, private files, and clear messages for every fault.

import { assert, assertEquals, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import { DataDirFault, loadSharedSecret, openDataDir, writePrivate } from "../../platform/data_dir.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { FIRST_FORMAT } from "../../platform/upgrade/migrations.ts";
import {
  FORMAT,
  FORMAT_KEY,
  newestRecord,
  NotUpgraded,
  requireUpgraded,
} from "../../platform/upgrade/store_format.ts";

const random = createSystemRandom();
const open = (path: string, masterKeyHex = "") => openDataDir(path, { random, masterKeyHex });

interface Scratch extends AsyncDisposable {
  readonly path: string;
}

async function scratch(): Promise<Scratch> {
  const home = await Deno.makeTempDir({ prefix: "countersign-data-" });
  return {
    path: `${home}/data`,
    [Symbol.asyncDispose]: () => Deno.remove(home, { recursive: true }),
  };
}

async function opened(path: string): Promise<Record<string, string>> {
  const modes: Record<string, string> = {};
  for await (const { name } of Deno.readDir(path)) {
    modes[name] = ((await Deno.stat(`${path}/${name}`)).mode ?? 0).toString(8).slice(-3);
  }
  return modes;
}

async function refusal(path: string, masterKeyHex = ""): Promise<string> {
  const fault = await assertRejects(() => open(path, masterKeyHex), DataDirFault);
  return fault.message;
}

Deno.test("openDataDir() creates the directory with 0700 and every file in it with 0600", async () => {
  await using place = await scratch();
  const dir = await open(place.path);
  await dir.store.commit({ mutations: [{ type: "set", key: ["x"], value: 1 }] });
  await writePrivate(`${place.path}/first-start.txt`, "secret");
  const modes = await opened(place.path);
  await dir.close();
  assertEquals(((await Deno.stat(place.path)).mode ?? 0) & 0o777, 0o700);
  assert(Object.keys(modes).length >= 5, Object.keys(modes).join());
  for (const [name, mode] of Object.entries(modes)) assertEquals(mode, "600", name);
});

Deno.test("openDataDir() removes further permissions of an existing directory and its files", async () => {
  await using place = await scratch();
  await (await open(place.path)).close();
  await Deno.chmod(place.path, 0o755);
  await Deno.chmod(`${place.path}/countersign.kv`, 0o644);
  const dir = await open(place.path);
  const modes = await opened(place.path);
  await dir.close();
  assertEquals(((await Deno.stat(place.path)).mode ?? 0) & 0o777, 0o700);
  assertEquals(modes["countersign.kv"], "600");
});

Deno.test("openDataDir() reports the first start, once, and keeps stored data", async () => {
  await using place = await scratch();
  const first = await open(place.path);
  await first.store.commit({ mutations: [{ type: "set", key: ["x"], value: 1 }] });
  const sealed = first.vault.seal(["x"], Uint8Array.of(7));
  await first.close();
  const second = await open(place.path);
  assertEquals([first.isNew, second.isNew], [true, false]);
  assertEquals((await second.store.get(["x"])).value, 1);
  assertEquals(second.vault.open(["x"], sealed), Uint8Array.of(7));
  await second.close();
});

Deno.test("openDataDir() refuses a directory in use with a reason, and opens it after its release", async () => {
  await using place = await scratch();
  const holder = await open(place.path);
  const message = await refusal(place.path);
  assert(message.includes(place.path) && message.includes("another process uses it"), message);
  await holder.close();
  await (await open(place.path)).close();
});

Deno.test("openDataDir() refuses a master key that does not belong to the store, and releases the directory", async () => {
  await using place = await scratch();
  await (await open(place.path)).close();
  const key = await Deno.readTextFile(`${place.path}/master.key`);
  await Deno.writeTextFile(`${place.path}/master.key`, "00".repeat(32));
  const message = await refusal(place.path);
  assert(message.includes("another key") && message.includes("master.key"), message);
  await Deno.writeTextFile(`${place.path}/master.key`, key);
  await (await open(place.path)).close();
});

Deno.test("openDataDir() reads the key from the environment, and then writes none", async () => {
  await using place = await scratch();
  const hex = "AB".repeat(32);
  await (await open(place.path, hex)).close();
  assert(!("master.key" in await opened(place.path)));
  assert((await refusal(place.path, "cd".repeat(32))).includes("COUNTERSIGN_MASTER_KEY"));
  await (await open(place.path, hex.toLowerCase())).close();
});

for (const hex of ["x", "ab", "g".repeat(64), "ab".repeat(33)]) {
  Deno.test(`openDataDir() refuses "${hex.slice(0, 9)}" as a master key without repeating it`, async () => {
    await using place = await scratch();
    const message = await refusal(place.path, hex);
    assert(message.includes("64 hexadecimal digits"), message);
    assert(hex.length < 3 || !message.includes(hex), message);
  });
}

for (const content of ["", "too short", "ab".repeat(31), "zz".repeat(32)]) {
  Deno.test(`openDataDir() refuses a master.key with "${content.slice(0, 9)}", and keeps the file`, async () => {
    await using place = await scratch();
    await Deno.mkdir(place.path);
    await Deno.writeTextFile(`${place.path}/master.key`, content);
    const message = await refusal(place.path);
    assert(message.includes("master.key") && message.includes("backup"), message);
    assert(content === "" || !message.includes(content), message);
    assertEquals(await Deno.readTextFile(`${place.path}/master.key`), content);
  });
}

Deno.test("openDataDir() refuses a broken store file, explains what to do, and does not change it", async () => {
  await using place = await scratch();
  await Deno.mkdir(place.path);
  const noise = "this is no database ".repeat(500);
  await Deno.writeTextFile(`${place.path}/countersign.kv`, noise);
  const message = await refusal(place.path);
  assert(message.includes("countersign.kv") && message.includes("backup"), message);
  assertEquals(await Deno.readTextFile(`${place.path}/countersign.kv`), noise);
});

Deno.test("openDataDir() refuses a store whose master key is missing, and creates no other one", async () => {
  await using place = await scratch();
  await (await open(place.path)).close();
  await Deno.remove(`${place.path}/master.key`);
  const message = await refusal(place.path);
  assert(message.includes("master.key") && message.includes("backup"), message);
  await assertRejects(() => Deno.stat(`${place.path}/master.key`), Deno.errors.NotFound);
});

Deno.test("openDataDir() gives a new store the newest format; a store of version 0.2 keeps its own", async () => {
  await using place = await scratch();
  const first = await open(place.path);
  assertEquals([first.store.format, first.format.stored.record.format], [FORMAT, FORMAT]);
  await first.close();
  const kv = await Deno.openKv(`${place.path}/countersign.kv`);
  await kv.delete(FORMAT_KEY);
  kv.close();
  const second = await open(place.path);
  assertEquals(second.store.format, FIRST_FORMAT);
  assertThrows(() => requireUpgraded(second.store), NotUpgraded);
  assertEquals((await second.kv.get(FORMAT_KEY)).value, null);
  await second.close();
});

Deno.test("openDataDir() refuses a store of a later version before it writes anything", async () => {
  await using place = await scratch();
  const first = await open(place.path);
  const later = { ...newestRecord(0), reader: FORMAT + 1, needs: "9.0.0" };
  await first.store.commit({ mutations: [{ type: "set", key: FORMAT_KEY, value: later }] });
  await first.close();
  const before = await Deno.readFile(`${place.path}/countersign.kv`);
  const message = await refusal(place.path);
  assert(message.includes("Install version 9.0.0 or later"), message);
  assertEquals(await Deno.readFile(`${place.path}/countersign.kv`), before);
});

Deno.test("openDataDir() refuses an endpoint that a later version upgraded, and leaves it as it is", async () => {
  await using place = await scratch();
  const kv = await Deno.openKv(":memory:");
  await kv.set(FORMAT_KEY, { ...newestRecord(0), reader: FORMAT + 1, needs: "9.0.0" });
  // What refuses the store closes it.
  const close = kv.close.bind(kv);
  kv.close = () => undefined;
  const options = { random, masterKeyHex: "07".repeat(32), kvUrl: "https://kv.example.org" };
  const fault = await assertRejects(
    () => openDataDir(place.path, { ...options, open: () => Promise.resolve(kv) }),
    DataDirFault,
  );
  const left = await Array.fromAsync(kv.list({ prefix: [] }), ({ key }) => [...key]);
  close();
  assert(fault.message.includes('the store "https://kv.example.org"'), fault.message);
  assert(fault.message.includes("Install version 9.0.0 or later"), fault.message);
  assertEquals(left, [[...FORMAT_KEY]]);
});

const NO_DIRECTORY: Readonly<Record<string, (path: string) => Promise<string>>> = {
  "below a file": async (path) => {
    await Deno.writeTextFile(path, "");
    return `${path}/data`;
  },
  "where a file is": async (path) => {
    await Deno.writeTextFile(path, "");
    return path;
  },
  "below /proc": () => Promise.resolve("/proc/countersign/data"),
};
for (const [where, make] of Object.entries(NO_DIRECTORY)) {
  Deno.test(`openDataDir() reports that a directory ${where} cannot be created`, async () => {
    await using place = await scratch();
    const path = await make(place.path);
    const message = await refusal(path);
    assert(message.includes(path) && message.includes("server.data_dir"), message);
  });
}

Deno.test("openDataDir() restores the permissions of its own directory that no user may enter", async () => {
  await using place = await scratch();
  await Deno.mkdir(place.path, { mode: 0o000 });
  await (await open(place.path)).close();
  assertEquals(((await Deno.stat(place.path)).mode ?? 0) & 0o777, 0o700);
});

Deno.test("loadSharedSecret() creates a secret once, encrypts it, and another directory has another", async () => {
  await using place = await scratch();
  await using other = await scratch();
  const first = await open(place.path);
  const made = await loadSharedSecret(first, random);
  await first.close();
  const second = await open(place.path);
  assertEquals(await loadSharedSecret(second, random), { secret: made.secret, isNew: false });
  const stored = (await second.store.get<Uint8Array>(["generated", "radius secret"])).value;
  assert(!new TextDecoder().decode(stored ?? undefined).includes(made.secret));
  await second.close();
  const elsewhere = await open(other.path);
  assertNotEquals((await loadSharedSecret(elsewhere, random)).secret, made.secret);
  await elsewhere.close();
  assert(made.isNew && /^[A-Za-z0-9_-]{32}$/.test(made.secret));
});

Deno.test("writePrivate() replaces a file completely, and removes further permissions", async () => {
  await using place = await scratch();
  await Deno.writeTextFile(place.path, "old and much longer", { mode: 0o644 });
  await writePrivate(place.path, "new");
  assertEquals(await Deno.readTextFile(place.path), "new");
  assertEquals(((await Deno.stat(place.path)).mode ?? 0) & 0o777, 0o600);
});
