// The data directory: locked by one process, private to its user, with the store, the master key and generated secrets.

import type { SharedLog } from "./cluster/shared_log.ts";
import { faultMessage } from "./log_line.ts";
import { type Random, toBase64Url } from "./runtime.ts";
import { createStore, type Store } from "./store.ts";
import { createVault, type Vault } from "./vault.ts";

/** The data directory cannot be used; `message` contains the remedy. */
export class DataDirFault extends Error {}

export interface DataDir {
  readonly path: string;
  readonly store: Store;
  readonly vault: Vault;
  /** The change log, if other nodes use the same store. */
  readonly shared: SharedLog | null;
  /** Whether this start created the master key. */
  readonly isNew: boolean;
  /** Closes the store and unlocks the directory. */
  close(): Promise<void>;
}

const KEY_OCTETS = 32;

/**
 * Opens the data directory at `path` for this process: creates it (0700), locks it, opens the store, reads or creates the master key.
 *
 * @param masterKeyHex 64 hexadecimal digits from the environment; "" to use the file `master.key`.
 * @throws DataDirFault if another process uses it, or part of it cannot be used.
 */
export async function openDataDir(
  path: string,
  { random, masterKeyHex, auditRetentionMs }: {
    random: Random;
    masterKeyHex: string;
    auditRetentionMs?: number;
  },
): Promise<DataDir> {
  await makePrivate(path);
  const lock = await takeLock(path);
  try {
    const hadStore = await hasContent(`${path}/countersign.kv`);
    // An existing store is opened before the key is read, so that its own fault is reported. A new store is opened after its key is
    // written, so that no store lacks a key.
    const old = hadStore ? await openKv(`${path}/countersign.kv`) : null;
    const { key, isNew } = await readMasterKey(path, { masterKeyHex, hadStore, random });
    const vault = createVault(key, random);
    const kv = old ?? await openKv(`${path}/countersign.kv`);
    const audit = {
      newest: await newestAuditId(kv),
      ...(auditRetentionMs === undefined ? {} : { retentionMs: auditRetentionMs }),
    };
    const store = createStore(kv, { node: random.bytes(4).toHex(), audit });
    await checkKey(store, vault);
    return {
      path,
      store,
      vault,
      shared: null,
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
        faultMessage(fault)
      }. Set server.data_dir to a directory that this user owns.`,
    );
  }
}

async function takeLock(path: string): Promise<Deno.FsFile> {
  let file: Deno.FsFile;
  try {
    file = await Deno.open(`${path}/lock`, { create: true, write: true, mode: 0o600 });
  } catch (fault) {
    throw new DataDirFault(`Cannot lock the data directory "${path}": ${faultMessage(fault)}`);
  }
  if (await file.tryLock(true)) return file;
  file.close();
  throw new DataDirFault(
    `Cannot use the data directory "${path}": another process uses it. Stop that process, or set server.data_dir to another directory.`,
  );
}

async function openKv(file: string): Promise<Deno.Kv> {
  // Deno KV creates files that all users can read, but existing files keep their mode.
  for (const suffix of ["", "-wal", "-shm"]) await makeFile(`${file}${suffix}`, suffix === "");
  try {
    const kv = await Deno.openKv(file);
    await kv.get(["schema"]);
    return kv;
  } catch (fault) {
    throw new DataDirFault(
      `Cannot open the store "${file}": ${
        faultMessage(fault)
      }. Restore it from a backup, or move it away to start with an empty store.`,
    );
  }
}

/** New audit ids follow the newest record, even if the clock was set back between two starts. */
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
    throw new DataDirFault(`Cannot create the store "${file}": ${faultMessage(fault)}`);
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
          faultMessage(fault)
        }. Restore it from a backup; without it the sealed secrets are lost.`,
      );
    }
  }
  if (hadStore) {
    throw new DataDirFault(
      `Cannot find "${file}", the key of the store beside it. Restore it from a backup (or set COUNTERSIGN_MASTER_KEY); without it the sealed secrets are lost.`,
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
    throw new DataDirFault(`Cannot read "${file}": ${faultMessage(fault)}`);
  }
}

/** Checks the master key against a record that the first start sealed. */
async function checkKey(store: Store, vault: Vault): Promise<void> {
  const recordKey: Deno.KvKey = ["vault", "check"];
  const { value } = await store.get<Uint8Array>(recordKey);
  if (value === null) {
    await store.commit({
      mutations: [{ type: "set", key: recordKey, value: vault.seal(recordKey, new Uint8Array(KEY_OCTETS)) }],
    });
  } else if (vault.open(recordKey, value) === null) {
    throw new DataDirFault(
      "Cannot open the store with this master key: it was created with another key. Restore master.key (or COUNTERSIGN_MASTER_KEY) from a backup.",
    );
  }
}

/** Writes a file that only its owner can read, atomically. */
export async function writePrivate(file: string, content: string): Promise<void> {
  const temporary = `${file}.new`;
  await Deno.writeTextFile(temporary, content, { mode: 0o600 });
  await Deno.chmod(temporary, 0o600);
  await Deno.rename(temporary, file);
}

/** The generated shared secret, used while the settings have none. `isNew`: this call created it. */
export async function loadSharedSecret(
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
