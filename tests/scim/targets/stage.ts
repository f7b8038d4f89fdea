// A target over backends in memory and a store that can fail or "crash" at any commit; a new process starts over the same store.

import { createOrderedIds } from "../../../radius/conversation/sortable_ids.ts";
import type { BackendSettings, TargetSettings } from "../../../platform/config/config.ts";
import { createLog } from "../../../platform/log.ts";
import { NO_CHANGE } from "../../../platform/write_batch.ts";
import type { Random } from "../../../platform/runtime.ts";
import { createSystemRandom } from "../../../platform/runtime.ts";
import { createDirectory } from "../../../scim/directory/directory.ts";
import { ScimRefusal } from "../../../scim/http/refusals.ts";
import type { Actor, Directory, Target, Targets } from "../../../scim/ports.ts";
import type { Backend } from "../../../scim/backend_port.ts";
import type { GroupContent, JsonObject, UserContent } from "../../../scim/schema/resource.ts";
import { createTargets } from "../../../scim/provisioning/targets.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import { createVault } from "../../../platform/vault.ts";
import { createMemoryBackend, type MemoryBackend } from "../../fakes/memory_backend.ts";
import { createManualClock, type ManualClock } from "../../upstream/manual_clock.ts";

export const ACTOR: Actor = { name: "scim:hr", source: "192.0.2.7" };

/** What a backend of the target is: `store`, or an ldap one in memory that is `sync` or `async`. */
export type Shape = Readonly<Record<string, "store" | "sync" | "async">>;

export interface StageOptions {
  readonly shape: Shape;
  readonly maxDropPercent?: number;
  readonly random?: Random;
  /** Instead of the real one. */
  readonly openDirectory?: (deps: { store: Store; clock: ManualClock; target: string }) => Promise<Directory>;
  /** What the backends can hold. */
  readonly covers?: ReadonlySet<string> | null;
  /** What backends keep for themselves, by their names. */
  readonly readOnly?: Readonly<Record<string, readonly string[]>>;
  readonly holds?: { readonly groups: boolean; readonly active: boolean };
  /** The backends store only members that they have a user for. */
  readonly knownMembersOnly?: boolean;
}

export interface Process {
  readonly target: Target;
  readonly targets: Targets;
  /** The process ends without a word: nothing it does reaches the store any more. */
  kill(): void;
}

export interface Stage extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly kv: Deno.Kv;
  /** The present process's. */
  target(): Target;
  backend(name: string): MemoryBackend;
  /** Starts a process over the same store and backends. `dieAt`: the number of its commits after which it is killed. */
  start(options?: { dieAt?: number }): Promise<Process>;
  /** Lets time pass until `isSo`; fails after an hour. */
  becomes(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
  /** Everything in the store below a prefix. */
  below(...prefix: string[]): Promise<unknown[]>;
}

const settingsOf = (name: string, kind: "store" | "sync" | "async"): BackendSettings =>
  kind === "store" ? { name, kind, mode: "sync" } : {
    name,
    kind: "ldap",
    mode: kind,
    url: "ldap://127.0.0.1:1",
    startTls: false,
    caPem: "",
    bindDn: "",
    bindPassword: "",
    usersDn: "",
    groupsDn: "",
    schema: "openldap",
    attributes: {},
    connections: 4,
    timeoutMs: 5000,
  };

export async function openStage(options: StageOptions): Promise<Stage> {
  const { shape, maxDropPercent = 10, random = createSystemRandom() } = options;
  const clock = createManualClock();
  const kv = await Deno.openKv(":memory:");
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const backends = new Map<string, MemoryBackend>();
  for (const [name, mode] of Object.entries(shape)) {
    if (mode === "store") continue;
    const { covers = null, holds = { groups: true, active: true }, knownMembersOnly = false } = options;
    backends.set(
      name,
      createMemoryBackend({
        clock,
        name,
        mode,
        covers,
        holds,
        knownMembersOnly,
        readOnly: options.readOnly?.[name] ?? [],
      }),
    );
  }
  const settings: TargetSettings = {
    name: "corp",
    pageSize: 100,
    maxDropPercent,
    mapping: { user: {}, group: {} },
    backends: Object.entries(shape).map(([name, kind]) => settingsOf(name, kind)),
  };
  const running: Process[] = [];

  const start = async ({ dieAt = Number.POSITIVE_INFINITY }: { dieAt?: number } = {}): Promise<Process> => {
    const mortal = createMortalStore(createStore(kv, { nowMs: () => clock.nowMs() }), dieAt);
    const { store } = mortal;
    const targets = await createTargets({
      settings: [settings],
      store,
      vault,
      clock,
      random,
      log,
      hashPassword: (password) =>
        Promise.resolve({
          algorithm: "scrypt",
          costLog2: 1,
          salt: "salt",
          hash: `hash of ${password.length}`,
        }),
      openDirectory: (target) =>
        options.openDirectory?.({ store, clock, target }) ??
          createDirectory({ store, clock, random, log, target, prepareLeaving: () => NO_CHANGE }),
      openBackend: (_target, { name }) => ofProcess(backendOf(name), mortal),
      orderedId: createOrderedIds(clock, random),
    });
    const target = targets.get("corp");
    if (target === null) throw new Error("Cannot find the target");
    const process: Process = { target, targets, kill: mortal.kill };
    running.push(process);
    return process;
  };
  const backendOf = (name: string): MemoryBackend => {
    const found = backends.get(name);
    if (found === undefined) throw new Error(`Cannot find the backend ${name}`);
    return found;
  };
  return {
    clock,
    kv,
    start,
    target() {
      const last = running.at(-1);
      if (last === undefined) throw new Error("Cannot give the target: no process runs");
      return last.target;
    },
    backend: backendOf,
    async becomes(what, isSo) {
      for (let second = 0; second < 3600; second++) {
        for (let turn = 0; turn < 3; turn++) {
          if (await isSo()) return;
          await settle();
          // The store works on a thread of its own, in order: the clock does not run ahead of what it was given before.
          await kv.get(["nothing"]);
        }
        clock.advance(1000);
      }
      throw new Error(`It never comes about that ${what}`);
    },
    async below(...prefix) {
      const found: unknown[] = [];
      for await (const { value } of kv.list({ prefix })) found.push(value);
      return found;
    },
    async [Symbol.asyncDispose]() {
      for (const { targets, kill } of running) {
        kill();
        const closing = targets.close();
        for (let turn = 0; turn < 10; turn++) {
          await settle();
          clock.advance(10_000);
        }
        await closing.catch((_killed) => undefined);
      }
      await settle();
      kv.close();
    },
  };
}

/** Lets everything run that waits for nothing but its turn, the store's thread included. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
}

/** A backend as one process sees it: it outlives the process, and a process that has ended does nothing to it. */
function ofProcess(backend: MemoryBackend, process: { isDead(): boolean }): Backend {
  const gone = {
    ok: false,
    fault: { kind: "unreachable", detail: "the process has ended", unsure: true, retry: true },
  } as const;
  return {
    ...backend,
    read: (...asked) => process.isDead() ? Promise.resolve(gone) : backend.read(...asked),
    put: (...asked) => process.isDead() ? Promise.resolve(gone) : backend.put(...asked),
    remove: (...asked) => process.isDead() ? Promise.resolve(gone) : backend.remove(...asked),
    close: () => Promise.resolve(),
  };
}

/** A store that takes no commit after a number of them, as if the process had ended. */
function createMortalStore(
  store: Store,
  dieAt: number,
): { store: Store; kill(): void; isDead(): boolean } {
  let left = dieAt;
  return {
    kill: () => void (left = -1),
    isDead: () => left < 0,
    store: {
      ...store,
      commit(transaction) {
        if (--left < 0) return Promise.reject(new Error("the process has ended"));
        return store.commit(transaction);
      },
    },
  };
}

export function user(name: string, attributes: JsonObject = {}): UserContent {
  return {
    kind: "user",
    name,
    active: true,
    attributes: { name: { familyName: "", givenName: "" }, ...attributes },
  };
}

export function group(name: string, members: readonly string[] = []): GroupContent {
  return { kind: "group", name, attributes: {}, members };
}

/** The refusal that `operation` ends with. */
export async function refusalOf(operation: Promise<unknown>): Promise<ScimRefusal> {
  try {
    await operation;
  } catch (fault) {
    if (fault instanceof ScimRefusal) return fault;
    throw fault;
  }
  throw new Error("It was not refused");
}
