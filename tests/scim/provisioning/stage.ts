// A target with backends in memory and a store that can fail or "crash" at any commit; a new process starts over the
// same store.

import { backendSettingsOf } from "../../fakes/backend_settings.ts";
import { createOrderedIds } from "../../../radius/conversation/conversation.ts";
import type { TargetSettings } from "../../../platform/config/config.ts";
import { createLog } from "../../../platform/log.ts";
import { NO_CHANGE } from "../../../platform/write_batch.ts";
import { createSystemRandom, type Random } from "../../../platform/runtime.ts";
import { createDirectory } from "../../../scim/directory/directory.ts";
import { ScimRefusal } from "../../../scim/http/refusals.ts";
import type { Actor, Target, Targets, TrashEntry } from "../../../scim/ports.ts";
import type { Backend } from "../../../scim/backend_port.ts";
import type { GroupContent, JsonObject, UserContent } from "../../../scim/schema/resource.ts";
import { createTargets } from "../../../scim/provisioning/target_set.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import { createVault } from "../../../platform/vault.ts";
import { createMemoryBackend, type MemoryBackend } from "../../fakes/memory_backend.ts";
import { settle, trackCalls } from "../../support/settle.ts";
import { createManualClock, type ManualClock } from "../../upstream/manual_clock.ts";

export const ACTOR: Actor = { name: "scim:hr", source: "192.0.2.7" };

/** The kind of a backend of the target: `store`, or an LDAP backend in memory that is `sync` or `async`. */
export type Shape = Readonly<Record<string, "store" | "sync" | "async">>;

export interface StageOptions {
  readonly shape: Shape;
  readonly maxDropPercent?: number;
  readonly random?: Random;
  /** The features of the backends. */
  readonly covers?: ReadonlySet<string> | null;
  /** Read-only attributes of the backends, by their names. */
  readonly readOnly?: Readonly<Record<string, readonly string[]>>;
  /** The backends with `access = "read"`. It can be changed before the next start. */
  readonly closed?: Set<string>;
  readonly holds?: { readonly groups: boolean; readonly active: boolean };
  /** The backends store only members that they have a user for. */
  readonly knownMembersOnly?: boolean;
  /** Whether the backends can rename. Default: they can. */
  readonly renames?: boolean;
}

export interface Process {
  readonly target: Target;
  readonly targets: Targets;
  /** Kills the process: the store receives none of its further commits. */
  kill(): void;
}

export interface Stage extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly kv: Deno.Kv;
  /** That of the present process. */
  target(): Target;
  backend(name: string): MemoryBackend;
  /** Starts a process over the same store and backends. `dieAt`: the number of commits after which it is killed. */
  start(options?: { dieAt?: number }): Promise<Process>;
  /** Lets time pass until `isSo` is true; fails after an hour. */
  becomes(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
  /** All entries of the store below a prefix. */
  below(...prefix: string[]): Promise<unknown[]>;
}

export const settingsOf = backendSettingsOf;

export async function openStage(options: StageOptions): Promise<Stage> {
  const clock = createManualClock();
  const kv = trackCalls(await Deno.openKv(":memory:"));
  const backends = createBackends(options, clock);
  const running: Process[] = [];
  const startProcess = createStarter(options, { clock, kv, backend: (name) => backendOf(backends, name) });
  return {
    clock,
    kv,
    async start({ dieAt = Number.POSITIVE_INFINITY } = {}) {
      const process = await startProcess(dieAt);
      running.push(process);
      return process;
    },
    target() {
      const last = running.at(-1);
      if (last === undefined) throw new Error("Cannot give the target: no process runs");
      return last.target;
    },
    backend: (name) => backendOf(backends, name),
    async becomes(what, isSo) {
      for (let second = 0; second < 3600; second++) {
        await settle();
        if (await isSo()) return;
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
      for (const process of running) await endProcess(process, clock);
      await settle();
      kv.close();
    },
  };
}

function createBackends(
  {
    shape,
    covers = null,
    holds = { groups: true, active: true },
    knownMembersOnly = false,
    readOnly,
    renames,
  }: StageOptions,
  clock: ManualClock,
): ReadonlyMap<string, MemoryBackend> {
  return new Map(
    Object.entries(shape).flatMap(([name, mode]) =>
      mode === "store" ? [] : [
        [
          name,
          createMemoryBackend({
            clock,
            name,
            mode,
            covers,
            holds,
            knownMembersOnly,
            ...(renames === undefined ? {} : { renames }),
            readOnly: readOnly?.[name] ?? [],
          }),
        ] as const,
      ]
    ),
  );
}

function backendOf(backends: ReadonlyMap<string, MemoryBackend>, name: string): MemoryBackend {
  const found = backends.get(name);
  if (found === undefined) throw new Error(`Cannot find the backend ${name}`);
  return found;
}

/** Starts processes over one store. */
function createStarter(
  { shape, maxDropPercent = 10, random = createSystemRandom(), closed }: StageOptions,
  { clock, kv, backend }: { clock: ManualClock; kv: Deno.Kv; backend: (name: string) => MemoryBackend },
): (dieAt: number) => Promise<Process> {
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const settings = (): TargetSettings => ({
    name: "corp",
    pageSize: 100,
    maxDropPercent,
    mapping: { user: {}, group: {} },
    backends: Object.entries(shape).map(([name, kind]) =>
      settingsOf(name, kind, { isReadOnly: closed?.has(name) === true })
    ),
  });
  return async (dieAt) => {
    const mortal = createMortalStore(createStore(kv, { nowMs: () => clock.nowMs() }), dieAt);
    const { store } = mortal;
    const targets = await createTargets({
      settings: [settings()],
      store,
      vault,
      clock,
      random,
      log,
      hashPassword: ({ length }) =>
        Promise.resolve({ algorithm: "scrypt", costLog2: 1, salt: "salt", hash: `hash of ${length}` }),
      openDirectory: (target) =>
        createDirectory({ store, clock, random, log, target, prepareOffboarding: () => NO_CHANGE }),
      openBackend: (_target, { name }) => ofProcess(backend(name), mortal),
      orderedId: createOrderedIds(clock, random),
    });
    const target = targets.get("corp");
    if (target === null) throw new Error("Cannot find the target");
    return { target, targets, kill: mortal.kill };
  };
}

async function endProcess({ targets, kill }: Process, clock: ManualClock): Promise<void> {
  kill();
  const closing = targets.close();
  for (let turn = 0; turn < 10; turn++) {
    await settle();
    clock.advance(10_000);
  }
  await closing.catch((_killed) => undefined);
}

/** A backend as one process sees it: it outlives the process, and a killed process no longer changes it. */
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
    ...(backend.rename === undefined ? {} : {
      rename: (...asked: Parameters<NonNullable<Backend["rename"]>>) =>
        process.isDead() || backend.rename === undefined ? Promise.resolve(gone) : backend.rename(...asked),
    }),
    close: () => Promise.resolve(),
  };
}

/** A store that rejects commits after a number of them, as if the process had ended. */
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

export async function settled(stage: Stage, target: Target): Promise<void> {
  await stage.becomes("nothing is pending", () => target.pendingWrites(1).length === 0);
}

export const trashOf = (target: Target): Promise<TrashEntry[]> =>
  Array.fromAsync(target.directory.trash.list());

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

/** The refusal of `operation`. */
export async function refusalOf(operation: Promise<unknown>): Promise<ScimRefusal> {
  try {
    await operation;
  } catch (fault) {
    if (fault instanceof ScimRefusal) return fault;
    throw fault;
  }
  throw new Error("It was not refused");
}
