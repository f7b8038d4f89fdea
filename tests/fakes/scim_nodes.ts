// Several nodes with one SCIM target on one store in memory. A node can be frozen, and its clock runs much faster than the system's.

import { createOrderedIds } from "../../radius/conversation/conversation.ts";
import { Cluster } from "../../platform/cluster/cluster.ts";
import { SharedLog } from "../../platform/cluster/shared_log.ts";
import type { TargetSettings } from "../../platform/config/config.ts";
import { createLog } from "../../platform/log.ts";
import { type Clock, createSystemRandom } from "../../platform/runtime.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { NO_CHANGE } from "../../platform/write_batch.ts";
import type { Backend } from "../../scim/backend_port.ts";
import { createDirectory, type DirectoryDeps } from "../../scim/directory/directory.ts";
import type { Target, Targets } from "../../scim/ports.ts";
import { createTargets } from "../../scim/provisioning/target_set.ts";
import { settingsOf, type Shape } from "../scim/provisioning/stage.ts";
import { createMemoryBackend, type MemoryBackend } from "./memory_backend.ts";
import { describeNode } from "./shared_store.ts";

const random = createSystemRandom();

export interface ScimNode {
  readonly name: string;
  readonly store: Store;
  readonly cluster: Cluster;
  readonly targets: Targets;
  readonly target: Target;
  /** From now on, the store and the backends answer none of its calls. */
  freeze(): void;
  /** The calls continue. */
  thaw(): void;
  /** Ends it as a signal does. */
  stop(): Promise<void>;
}

export interface ScimNodes extends AsyncDisposable {
  readonly kv: Deno.Kv;
  backend(name: string): MemoryBackend;
  start(name: string, options?: NodeOptions): Promise<ScimNode>;
  /** All keys below a prefix. */
  below(...prefix: string[]): Promise<Deno.KvKey[]>;
}

interface NodeOptions {
  readonly directory?: Partial<DirectoryDeps>;
  /** The difference of its clock. */
  readonly skewMs?: number;
  /** Runs before the node reads the values of changed keys. */
  readonly beforeRead?: () => Promise<void>;
}

const SPEED = 25;

/** A clock whose timers keep the process alive, until it is stopped. */
function createFastClock(skewMs: number): Clock & { stop(): void } {
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const startMs = 1_800_000_000_000 + skewMs;
  let isStopped = false;
  return {
    nowMs: () => Math.round(startMs + performance.now() * SPEED),
    after(delayMs, task) {
      if (isStopped) return () => undefined;
      const timer = setTimeout(() => {
        timers.delete(timer);
        task();
      }, delayMs / SPEED);
      timers.add(timer);
      return () => {
        timers.delete(timer);
        clearTimeout(timer);
      };
    },
    stop() {
      isStopped = true;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

class Gate {
  #opened: PromiseWithResolvers<void> | null = null;

  close(): void {
    this.#opened ??= Promise.withResolvers<void>();
  }

  open(): void {
    this.#opened?.resolve();
    this.#opened = null;
  }

  async pass(): Promise<void> {
    while (this.#opened !== null) await this.#opened.promise;
  }
}

function gatedKv(kv: Deno.Kv, gate: Gate, beforeRead: () => Promise<void>): Deno.Kv {
  return new Proxy(kv, {
    get(target, name) {
      if (name === "close") return () => undefined;
      if (name === "atomic") {
        return () => {
          const atomic = target.atomic();
          const commit = atomic.commit.bind(atomic);
          atomic.commit = async () => {
            await gate.pass();
            return await commit();
          };
          return atomic;
        };
      }
      if (name === "list") {
        return async function* (...asked: Parameters<Deno.Kv["list"]>) {
          await gate.pass();
          yield* target.list(...asked);
        };
      }
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return async (...asked: unknown[]) => {
        await gate.pass();
        if (name === "getMany") await beforeRead();
        return await member.apply(target, asked);
      };
    },
  });
}

/** The backend as one node sees it. */
function gatedBackend(backend: MemoryBackend, gate: Gate): Backend {
  return {
    ...backend,
    read: (...asked) => gate.pass().then(() => backend.read(...asked)),
    put: (...asked) => gate.pass().then(() => backend.put(...asked)),
    remove: (...asked) => gate.pass().then(() => backend.remove(...asked)),
    list: (kind) => backend.list(kind),
    close: () => Promise.resolve(),
  };
}

export async function openScimNodes(shape: Shape = { local: "store" }): Promise<ScimNodes> {
  const kv = await Deno.openKv(":memory:");
  const backendClock = createFastClock(0);
  const backends = new Map(
    Object.entries(shape).flatMap(([name, mode]) =>
      mode === "store" ? [] : [[name, createMemoryBackend({ clock: backendClock, name, mode })] as const]
    ),
  );
  const backend = (name: string): MemoryBackend => {
    const found = backends.get(name);
    if (found === undefined) throw new Error(`Cannot find the backend ${name}`);
    return found;
  };
  const running: { node: ScimNode; gate: Gate; clock: ReturnType<typeof createFastClock> }[] = [];
  return {
    kv,
    backend,
    async start(name, { directory = {}, skewMs = 0, beforeRead = () => Promise.resolve() } = {}) {
      const gate = new Gate();
      const clock = createFastClock(skewMs);
      const node = await startNode({
        name,
        shape,
        kv: gatedKv(kv, gate, beforeRead),
        clock,
        gate,
        backend,
        directory,
      });
      running.push({ node, gate, clock });
      return node;
    },
    async below(...prefix) {
      const keys: Deno.KvKey[] = [];
      for await (const { key } of kv.list({ prefix })) keys.push(key);
      return keys;
    },
    async [Symbol.asyncDispose]() {
      for (const { clock } of running) clock.stop();
      backendClock.stop();
      await new Promise((resolve) => setTimeout(resolve, 5));
      kv.close();
    },
  };
}

interface NodeParts {
  readonly name: string;
  readonly shape: Shape;
  readonly kv: Deno.Kv;
  readonly clock: ReturnType<typeof createFastClock>;
  readonly gate: Gate;
  readonly backend: (name: string) => MemoryBackend;
  readonly directory: Partial<DirectoryDeps>;
}

async function startNode(parts: NodeParts): Promise<ScimNode> {
  const { name, shape, kv, clock, gate, backend } = parts;
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const shared = new SharedLog({ kv, node: name, clock, onGap: () => undefined });
  await shared.reader.start();
  const store = createStore(kv, { nowMs: () => clock.nowMs(), node: name, shared });
  const described = describeNode(name, clock.nowMs());
  const cluster = new Cluster({
    store,
    shared,
    clock,
    log,
    describe: () => described,
    secret: new Uint8Array(32),
  });
  await cluster.start();
  const settings: TargetSettings = {
    name: "corp",
    pageSize: 100,
    maxDropPercent: 10,
    mapping: { user: {}, group: {} },
    backends: Object.entries(shape).map(([name, kind]) => settingsOf(name, kind)),
  };
  const targets = await createTargets({
    ...{ settings: [settings], store, cluster, clock, random, log },
    vault: createVault(new Uint8Array(32).fill(7), random),
    hashPassword: ({ length }) =>
      Promise.resolve({ algorithm: "scrypt", costLog2: 1, salt: "salt", hash: `hash of ${length}` }),
    openDirectory: (target, lease) =>
      createDirectory({
        ...{ store, lease, clock, random, log, target, prepareOffboarding: () => NO_CHANGE },
        ...parts.directory,
      }),
    openBackend: (_target, settings) => gatedBackend(backend(settings.name), gate),
    orderedId: createOrderedIds(clock, random),
  });
  const target = targets.get("corp");
  if (target === null) throw new Error("Cannot find the target");
  return {
    ...{ name, store, cluster, targets, target },
    freeze: () => gate.close(),
    thaw: () => gate.open(),
    async stop() {
      await targets.close();
      await cluster.close();
      clock.stop();
    },
  };
}

/** Waits for something that needs time. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 6000; tries++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`It never comes about that ${what}`);
}
