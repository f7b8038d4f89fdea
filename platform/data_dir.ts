// The data directory: one owner at a time, nothing readable by others, the master key and the secrets that the first start makes.

import type { Random } from "./runtime.ts";
import { toBase64Url } from "./runtime.ts";
import { createStore, type Store } from "./store.ts";
import { createVault, type Vault } from "./vault.ts";

/** Why a data directory cannot be used; `message` says what to do. */
export class DataDirFault extends Error {}

export interface DataDir {
  readonly path: string;
  readonly store: Store;
  readonly vault: Vault;
  /** Whether this start made the directory's master key. */
  readonly isNew: boolean;
  /** Closes the store and lets the directory go. */
  close(): Promise<void>;
}

const KEY_OCTETS = 32;

/**
 * Takes the data directory at `path` for this process: makes it (0700), locks it, opens the store, reads or makes the master key.
 *
 * @param masterKeyHex 64 hexadecimal digits from the environment instead of the file `master.key`; "" for the file.
 * @throws DataDirFault when another process holds it, or something in it cannot be used.
 */
export async function openDataDir(
  path: string,
  { random, masterKeyHex, auditKeptMs }: { random: Random; masterKeyHex: string; auditKeptMs?: number },
): Promise<DataDir> {
  await makePrivate(path);
  const lock = await takeLock(path);
  try {
    const hadStore = await hasContent(`${path}/countersign.kv`);
    // An old store is opened first, so that what is wrong with it is said; a new one after its key, so that it never stands without.
    const old = hadStore ? await openKv(`${path}/countersign.kv`) : null;
    const { key, isNew } = await readMasterKey(path, { masterKeyHex, hadStore, random });
    const vault = createVault(key, random);
    const kv = old ?? await openKv(`${path}/countersign.kv`);
    const audit = {
      newest: await newestAuditId(kv),
      ...(auditKeptMs === undefined ? {} : { keptMs: auditKeptMs }),
    };
    const store = createStore(kv, { node: random.bytes(4).toHex(), audit });
    await checkKey(store, vault);
    return {
      path,
      store,
      vault,
      isNew,
      async close() {
        await store.close();
        lock.close();
      },
    };
  } catch (fault) {
    lock.close();
    throw fault;
  }
}

async function makePrivate(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    await Deno.chmod(path, 0o700);
  } catch (fault) {
    throw new DataDirFault(
      `Cannot use the data directory "${path}": ${
        reasonOf(fault)
      }. Set server.data_dir to a directory that this user owns.`,
    );
  }
}

async function takeLock(path: string): Promise<Deno.FsFile> {
  let file: Deno.FsFile;
  try {
    file = await Deno.open(`${path}/lock`, { create: true, write: true, mode: 0o600 });
  } catch (fault) {
    throw new DataDirFault(`Cannot lock the data directory "${path}": ${reasonOf(fault)}`);
  }
  if (await file.tryLock(true)) return file;
  file.close();
  throw new DataDirFault(
    `Cannot use the data directory "${path}": another process holds it. Stop that one, or set server.data_dir to another directory.`,
  );
}

async function openKv(file: string): Promise<Deno.Kv> {
  // Deno KV would make its files readable for all; what is there already keeps its mode.
  for (const suffix of ["", "-wal", "-shm"]) await makeFile(`${file}${suffix}`, suffix === "");
  try {
    const kv = await Deno.openKv(file);
    await kv.get(["schema"]);
    return kv;
  } catch (fault) {
    throw new DataDirFault(
      `Cannot open the store "${file}": ${
        reasonOf(fault)
      }. Restore it from a backup, or move it away to begin with an empty one.`,
    );
  }
}

/** The audit goes on after its newest record, also when the clock was set back between two starts. */
async function newestAuditId(kv: Deno.Kv): Promise<string> {
  for await (const { key } of kv.list({ prefix: ["audit"] }, { reverse: true, limit: 1 })) {
    return String(key[1]);
  }
  return "";
}

async function makeFile(file: string, create: boolean): Promise<void> {
  try {
    if (create) (await Deno.open(file, { create: true, append: true, mode: 0o600 })).close();
    await Deno.chmod(file, 0o600);
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound && !create) return;
    throw new DataDirFault(`Cannot make the store "${file}": ${reasonOf(fault)}`);
  }
}

async function readMasterKey(
  path: string,
  { masterKeyHex, hadStore, random }: { masterKeyHex: string; hadStore: boolean; random: Random },
): Promise<{ key: Uint8Array; isNew: boolean }> {
  if (masterKeyHex !== "") {
    if (!/^[0-9a-fA-F]{64}$/.test(masterKeyHex)) {
      throw new DataDirFault("Cannot use COUNTERSIGN_MASTER_KEY: it must be 64 hexadecimal digits");
    }
    return { key: Uint8Array.fromHex(masterKeyHex), isNew: false };
  }
  const file = `${path}/master.key`;
  try {
    const key = Uint8Array.fromHex((await Deno.readTextFile(file)).trim());
    if (key.length !== KEY_OCTETS) throw new SyntaxError("not 64 hexadecimal digits");
    return { key, isNew: false };
  } catch (fault) {
    if (!(fault instanceof Deno.errors.NotFound)) {
      throw new DataDirFault(
        `Cannot read "${file}": ${
          reasonOf(fault)
        }. Restore it from a backup; without it the sealed secrets are lost.`,
      );
    }
  }
  if (hadStore) {
    throw new DataDirFault(
      `Cannot find "${file}", the key of the store beside it. Restore it from a backup (or give COUNTERSIGN_MASTER_KEY); without it the sealed secrets are lost.`,
    );
  }
  const key = random.bytes(KEY_OCTETS);
  await writePrivate(file, `${key.toHex()}\n`);
  return { key, isNew: true };
}

async function hasContent(file: string): Promise<boolean> {
  try {
    return (await Deno.stat(file)).size > 0;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return false;
    throw new DataDirFault(`Cannot look at "${file}": ${reasonOf(fault)}`);
  }
}

/** A record sealed by the first start: another key than the one that made the store is found at once, not at some login. */
async function checkKey(store: Store, vault: Vault): Promise<void> {
  const recordKey: Deno.KvKey = ["vault", "check"];
  const { value } = await store.get<Uint8Array>(recordKey);
  if (value === null) {
    await store.commit({
      mutations: [{ type: "set", key: recordKey, value: vault.seal(recordKey, new Uint8Array(KEY_OCTETS)) }],
    });
  } else if (vault.open(recordKey, value) === null) {
    throw new DataDirFault(
      "Cannot open the store with this master key: it was made with another one. Restore master.key (or COUNTERSIGN_MASTER_KEY) from a backup.",
    );
  }
}

/** Writes a file that only its owner may read, whole or not at all. */
export async function writePrivate(file: string, content: string): Promise<void> {
  const temporary = `${file}.new`;
  await Deno.writeTextFile(temporary, content, { mode: 0o600 });
  await Deno.chmod(temporary, 0o600);
  await Deno.rename(temporary, file);
}

/**
 * The shared secret that serves while none is configured: made once, sealed in the store.
 *
 * @returns the secret, and whether this call made it.
 */
export async function sharedSecret(
  { store, vault }: DataDir,
  random: Random,
): Promise<{ secret: string; isNew: boolean }> {
  const recordKey: Deno.KvKey = ["generated", "radius secret"];
  const { value } = await store.get<Uint8Array>(recordKey);
  const opened = value === null ? null : vault.open(recordKey, value);
  if (opened !== null) return { secret: new TextDecoder().decode(opened), isNew: false };
  const secret = toBase64Url(random.bytes(24));
  const sealed = vault.seal(recordKey, new TextEncoder().encode(secret));
  await store.commit({ mutations: [{ type: "set", key: recordKey, value: sealed }] });
  return { secret, isNew: true };
}

function reasonOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}
