// The data directory: locked by one process, private to its user, with the master key, generated secrets and, unless store.kv names a
// KV Connect endpoint, the store.

import { COMMAND } from "./command_name.ts";
import { isTransient, RESTORE_MARKER } from "./backup/records.ts";
import { CommitObserver } from "./backup/server_backup.ts";
import { removeStaleHeads } from "./cluster/change_log.ts";
import { SharedLog } from "./cluster/shared_log.ts";
import { newestAuditId } from "./audit_names.ts";
import { faultMessage } from "./log.ts";
import { hasContent, type KvOpener, openKv, StoreFault } from "./open_kv.ts";
import { type Clock, type Random, systemClock, toBase64Url } from "./runtime.ts";
import { createStore, type Store } from "./store.ts";
import { followFormat } from "./upgrade/upgrade.ts";
import {
  FORMAT_KEY,
  formatProblem,
  newestRecord,
  readFormat,
  type StoredFormat,
  StoreFormat,
} from "./upgrade/store_format.ts";
import { createVault, type Vault } from "./vault.ts";

/** The data directory cannot be used; `message` contains the remedy. */
export class DataDirFault extends Error {}

/** Another process has the lock of the data directory. */
export class DataDirInUse extends DataDirFault {}

export interface DataDir {
  readonly path: string;
  readonly store: Store;
  /** What {@link store} reads and writes, and its commits, for a backup. */
  readonly kv: Deno.Kv;
  readonly commits: CommitObserver;
  readonly vault: Vault;
  /** The format of the store. It can be an earlier one. */
  readonly format: StoreFormat;
  /** The change log, if other nodes use the same store. */
  readonly shared: SharedLog | null;
  /** Whether this start created the master key. */
  readonly isNew: boolean;
  /** Closes the store and unlocks the directory. */
  close(): Promise<void>;
}

const KEY_OCTETS = 32;

interface DataDirOptions {
  readonly random: Random;
  /** 64 hexadecimal digits from the environment; "" to use the file `master.key`. */
  readonly masterKeyHex: string;
  /** Asked for each audit record. */
  readonly auditRetentionMs?: () => number;
  /** The URL of a KV Connect endpoint; "" for the file `countersign.kv` in the directory. */
  readonly kvUrl?: string;
  readonly open?: KvOpener;
  /** The store at `kvUrl` does not answer any more, or answers again. */
  readonly onLost?: () => void;
  readonly onReopened?: () => void;
  readonly clock?: Clock;
  /** The change log of another node no longer has everything that this node has not read. Only with `kvUrl`. */
  readonly onGap?: (lane: string) => void;
  /** Another node has upgraded the store, so this program must not use it any more. Only with `kvUrl`. */
  readonly onOutdated?: (problem: string) => void;
}

/**
 * Opens the data directory at `path` for this process: creates it (0700), locks it, opens the store, reads or creates the master key.
 *
 * @throws DataDirFault if another process uses it, or part of it or the store cannot be used.
 */
export async function openDataDir(path: string, options: DataDirOptions): Promise<DataDir> {
  const lock = await lockDataDir(path);
  let kv: Deno.Kv | null = null;
  try {
    const { random, auditRetentionMs, clock = systemClock, kvUrl = "", onOutdated = () => undefined } =
      options;
    const opened = await openWithKey(path, options);
    kv = opened.kv;
    const { isNew } = opened;
    const vault = createVault(opened.key, random);
    const audit = {
      // New ids follow the newest one, even if the clock was set back between two starts.
      newest: await newestAuditId(kv),
      ...(auditRetentionMs === undefined ? {} : { retentionMs: auditRetentionMs }),
    };
    const commits = new CommitObserver(kv, Date.now);
    const node = random.bytes(4).toHex();
    const shared = await openSharedLog(kv, node, options);
    const location = locationOf(path, options);
    const format = new StoreFormat(await openFormat(kv, { ...opened, location, nowMs: clock.nowMs() }));
    const store = createStore(kv, { node, audit, shared, format });
    const problemOf = (record: unknown) => formatProblem(record, location);
    if (kvUrl !== "") followFormat(store, { format, problemOf, onOutdated });
    if (!await isKeyOfStore(store, vault)) {
      // A node that lost the race for an empty store: its new key sealed nothing.
      if (isNew) await Deno.remove(masterKeyFile(path));
      throw new DataDirFault(wrongKeyMessage(path, options));
    }
    return {
      path,
      store,
      kv: opened.kv,
      commits,
      vault,
      format,
      shared,
      isNew,
      async close() {
        await store.close();
        lock.close();
      },
    };
  } catch (fault) {
    kv?.close();
    lock.close();
    throw fault instanceof StoreFault ? new DataDirFault(fault.message) : fault;
  }
}

/** The change log of a store that other nodes can use. Its position is remembered before anything is read into memory. */
async function openSharedLog(
  kv: Deno.Kv,
  node: string,
  { kvUrl = "", clock = systemClock, onGap = () => undefined }: DataDirOptions,
): Promise<SharedLog | null> {
  if (kvUrl === "") return null;
  const shared = new SharedLog({ kv, node, clock, onGap });
  await removeStaleHeads(kv, { nowMs: clock.nowMs() });
  await shared.reader.start();
  return shared;
}

interface OpenedStore {
  readonly kv: Deno.Kv;
  readonly key: Uint8Array;
  readonly isNew: boolean;
  /** Whether the store has no content. */
  readonly isEmpty: boolean;
}

function locationOf(path: string, { kvUrl = "" }: Pick<DataDirOptions, "kvUrl">): string {
  return kvUrl === "" ? `${path}/countersign.kv` : kvUrl;
}

/** The format of the store. An empty one gets the newest, once, also if several nodes start at the same moment. */
async function openFormat(
  kv: Deno.Kv,
  { isEmpty, location, nowMs }: { isEmpty: boolean; location: string; nowMs: number },
): Promise<StoredFormat> {
  if (isEmpty) {
    await kv.atomic().check({ key: FORMAT_KEY, versionstamp: null }).set(FORMAT_KEY, newestRecord(nowMs))
      .commit();
  }
  return await readFormat(kv, location);
}

/**
 * An existing store is opened before the key is read, so that its own fault is reported. A new file is created after its key is
 * written, so that no store lacks a key.
 */
async function openWithKey(
  path: string,
  { random, masterKeyHex, kvUrl = "", onLost, onReopened, ...options }: DataDirOptions,
): Promise<OpenedStore> {
  const file = `${path}/countersign.kv`;
  const location = locationOf(path, { kvUrl });
  const hooks = {
    ...(onLost === undefined ? {} : { onLost }),
    ...(onReopened === undefined ? {} : { onReopened }),
  };
  const open = options.open ?? ((at: string) => openKv(at, hooks));
  const hadFile = await hasContent(file);
  const old = kvUrl !== "" || hadFile ? await open(location) : null;
  try {
    if (old !== null && (await old.get(RESTORE_MARKER)).value !== null) {
      throw new DataDirFault(
        `Cannot use the store "${location}": a restore or move into it was interrupted, and its content is incomplete. ` +
          "Run that command again with --force.",
      );
    }
    // Before anything is written.
    if (old !== null) await readFormat(old, location);
    const isEmpty = old === null || !await hasEntries(old);
    const hadStore = kvUrl !== "" ? !isEmpty : hadFile;
    if (kvUrl !== "" && hadFile && !hadStore) {
      throw new DataDirFault(
        `Cannot use the empty store "${kvUrl}": this node already has the store "${file}". Copy that store with ` +
          `${COMMAND} move-store, or move the file away to start with an empty store.`,
      );
    }
    const { key, isNew } = await readMasterKey(path, { masterKeyHex, hadStore, random, kvUrl });
    return { kv: old ?? await open(location), key, isNew, isEmpty };
  } catch (fault) {
    old?.close();
    throw fault;
  }
}

/**
 * Creates the data directory, if necessary, and locks it for this process. Closing the file unlocks it.
 *
 * @throws DataDirInUse if another process uses it
 */
export async function lockDataDir(path: string): Promise<Deno.FsFile> {
  await makePrivate(path);
  return await takeLock(path);
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
  throw new DataDirInUse(
    `Cannot use the data directory "${path}": another process uses it. Stop that process, or set server.data_dir to another directory.`,
  );
}

function masterKeyFile(path: string): string {
  return `${path}/master.key`;
}

async function readMasterKey(
  path: string,
  { masterKeyHex, hadStore, random, kvUrl }: {
    masterKeyHex: string;
    hadStore: boolean;
    random: Random;
    kvUrl: string;
  },
): Promise<{ key: Uint8Array; isNew: boolean }> {
  const found = await findMasterKey(path, masterKeyHex);
  if (found !== null) return { key: found, isNew: false };
  const file = masterKeyFile(path);
  if (hadStore && kvUrl !== "") {
    throw new DataDirFault(
      `Cannot find "${file}", the master key of the store "${kvUrl}". ${copyKeyText(path)}`,
    );
  }
  if (hadStore) {
    throw new DataDirFault(
      `Cannot find "${file}", the key of the store beside it. Copy it from where you keep it (a backup of the store does not contain it), or set COUNTERSIGN_MASTER_KEY. Without it, the sealed secrets are lost.`,
    );
  }
  const key = random.bytes(KEY_OCTETS);
  await writePrivate(file, `${key.toHex()}\n`);
  return { key, isNew: true };
}

/** The master key of the environment or the directory, or `null`. @throws DataDirFault if it is invalid */
export async function findMasterKey(path: string, masterKeyHex: string): Promise<Uint8Array | null> {
  if (masterKeyHex !== "") {
    if (!KEY_DIGITS.test(masterKeyHex)) {
      throw new DataDirFault("Cannot use COUNTERSIGN_MASTER_KEY: it must be 64 hexadecimal digits");
    }
    return Uint8Array.fromHex(masterKeyHex);
  }
  const file = masterKeyFile(path);
  try {
    const text = (await Deno.readTextFile(file)).trim();
    if (!KEY_DIGITS.test(text)) throw new SyntaxError("it must be 64 hexadecimal digits");
    return Uint8Array.fromHex(text);
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return null;
    throw new DataDirFault(
      `Cannot read "${file}": ${
        faultMessage(fault)
      }. Copy it from where you keep it (a backup of the store does not contain it). Without it, the sealed secrets are lost.`,
    );
  }
}

const KEY_DIGITS = /^[0-9a-fA-F]{64}$/;

/** All nodes of a store seal with one key. */
function copyKeyText(path: string): string {
  return `Copy master.key from the first node to "${
    masterKeyFile(path)
  }" (mode 0600), or set COUNTERSIGN_MASTER_KEY to its content.`;
}

function wrongKeyMessage(path: string, { kvUrl = "" }: DataDirOptions): string {
  return kvUrl === ""
    ? "Cannot open the store with this master key: it was created with another key. Copy its master.key from where you keep it, or set COUNTERSIGN_MASTER_KEY."
    : `Cannot open the store "${kvUrl}" with this master key: it was created with another key. ${
      copyKeyText(path)
    }`;
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
  const create = () => vault.seal(recordKey, new TextEncoder().encode(toBase64Url(random.bytes(24))));
  const { value, isNew } = await readOrCreate(store, recordKey, create);
  const opened = vault.open(recordKey, value);
  if (opened !== null) return { secret: new TextDecoder().decode(opened), isNew };
  // The record is damaged; the check record proves that the key is right.
  const sealed = create();
  await store.commit({ mutations: [{ type: "set", key: recordKey, value: sealed }] });
  return { secret: new TextDecoder().decode(vault.open(recordKey, sealed) ?? undefined), isNew: true };
}

// Records that the first start creates, or that every start reads before anything else.

/** A record that the first start seals with the master key. */
export const MASTER_KEY_CHECK: Deno.KvKey = ["vault", "check"];
const CHECK_OCTETS = 32;

/** Whether a store has content. Records of running nodes are none. */
async function hasEntries(kv: Deno.Kv): Promise<boolean> {
  for await (const { key } of kv.list({ prefix: [] }, { batchSize: 100 })) if (!isTransient(key)) return true;
  return false;
}

/** Checks the master key against the record that the first start of the first node sealed. */
async function isKeyOfStore(store: Store, vault: Vault): Promise<boolean> {
  const key = MASTER_KEY_CHECK;
  const sealed = await readOrCreate(store, key, () => vault.seal(key, new Uint8Array(CHECK_OCTETS)));
  return vault.open(key, sealed.value) !== null;
}

/** Creates a record once, also if several nodes start at the same moment: all of them return the one that was stored. */
async function readOrCreate(
  store: Store,
  key: Deno.KvKey,
  create: () => Uint8Array,
): Promise<{ value: Uint8Array; isNew: boolean }> {
  const { value: stored } = await store.get<Uint8Array>(key);
  if (stored !== null) return { value: stored, isNew: false };
  const value = create();
  const { ok } = await store.commit({
    checks: [{ key, versionstamp: null }],
    mutations: [{ type: "set", key, value }],
  });
  return ok ? { value, isNew: true } : await readOrCreate(store, key, create);
}
