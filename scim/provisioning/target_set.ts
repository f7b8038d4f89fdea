// The targets of the settings. Targets are added, changed and removed while requests are in progress: operations of a changed target wait
// until the earlier ones have ended, and then use the new backends. Reads and logins do not wait.

import type { TargetSettings } from "../../platform/config/config.ts";
import { isDeepEqual } from "../../platform/deep_equal.ts";
import type { Cluster } from "../../platform/cluster/cluster.ts";
import { createSingleFlight, RunningTasks } from "../../platform/semaphore.ts";
import { withTimeout } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import { openTargetLease, type TargetLease } from "../locks.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { Target, TargetDirectory, Targets } from "../ports.ts";
import { type OpenTarget, openTarget, type TargetDeps } from "./target.ts";

interface TargetsDeps extends Omit<TargetDeps, "lease" | "settings" | "directory" | "isLoginTarget"> {
  readonly settings: readonly TargetSettings[];
  /** Absent: only this process uses the store. */
  readonly cluster?: Pick<Cluster, "isShared" | "openLease">;
  openDirectory(target: string, lease: TargetLease): Promise<TargetDirectory>;
  /** The target that users sign in from. */
  readonly loginTarget?: () => string;
}

/** Targets that follow the settings. */
export interface LiveTargets extends Targets {
  /** Opens, changes and closes targets. Resolves when these settings, or later ones, are in use. */
  apply(settings: readonly TargetSettings[]): Promise<void>;
  /** Runs `task` while no node writes the target. @throws LeaseUnavailable */
  runAlone(name: string, task: () => Promise<void>): Promise<void>;
}

/** How long operations in progress may continue when their target changes. A refresh that takes longer fails. */
const DRAIN_MS = 70_000;
const RETRY_MS = 5000;

/** Opens every target. Rejects if the store fails. An unavailable backend is not an error. */
export async function createTargets(deps: TargetsDeps): Promise<LiveTargets> {
  const set = new TargetSet(deps);
  await set.open(deps.settings);
  return set;
}

class TargetSet implements LiveTargets {
  readonly #deps: TargetsDeps;
  readonly #slots = new Map<string, TargetSlot>();
  readonly #leases = new Map<string, SlotLease>();
  readonly #singleFlight = createSingleFlight<void>();
  #wanted: readonly TargetSettings[] = [];
  #isClosed = false;

  constructor(deps: TargetsDeps) {
    this.#deps = deps;
  }

  get names(): readonly string[] {
    return [...this.#slots.keys()];
  }

  get(name: string): Target | null {
    return this.#slots.get(name)?.target ?? null;
  }

  async open(settings: readonly TargetSettings[]): Promise<void> {
    this.#wanted = settings;
    await this.#update();
  }

  async apply(settings: readonly TargetSettings[]): Promise<void> {
    this.#wanted = settings;
    try {
      await this.#singleFlight(() => this.#update());
    } catch (fault) {
      const { log, clock } = this.#deps;
      log.error("changed directories could not be opened; it is tried again", { fault: String(fault) });
      if (!this.#isClosed) clock.after(RETRY_MS, () => void this.apply(this.#wanted));
    }
  }

  async runAlone(name: string, task: () => Promise<void>): Promise<void> {
    await (await this.#leaseOf(name)).forTask().run(task);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#slots.values()].map((slot) => slot.close()));
  }

  async #update(): Promise<void> {
    const wanted = this.#wanted;
    const login = this.#deps.loginTarget?.();
    for (const [name, slot] of this.#slots) {
      // Users sign in from it until the gateway has loaded another target.
      if (name === login || wanted.some((settings) => settings.name === name)) continue;
      this.#slots.delete(name);
      await slot.remove();
    }
    const slots = new Map<string, TargetSlot>();
    // The interface itself follows the extensions.
    for (const { extensions: _, ...settings } of wanted) {
      if (this.#isClosed) return;
      const { name } = settings;
      const slot = this.#slots.get(name) ?? new TargetSlot(this.#deps, await this.#leaseOf(name));
      await slot.use(settings, { isLoginTarget: name === login });
      slots.set(name, slot);
      this.#slots.set(name, slot);
    }
    const left = [...this.#slots].filter(([name]) => !slots.has(name));
    // In the order of the settings.
    this.#slots.clear();
    for (const [name, slot] of [...slots, ...left]) this.#slots.set(name, slot);
  }

  async #leaseOf(target: string): Promise<SlotLease> {
    const known = this.#leases.get(target);
    if (known !== undefined) return known;
    const lease = new SlotLease(await openTargetLease({ ...this.#deps, target }));
    this.#leases.set(target, lease);
    return lease;
  }
}

type AcquiredTask = () => Promise<void>;

/** The lease of a target, which is opened once. Its tasks are those of the directory and of the target that are open now. */
class SlotLease {
  readonly #lease: TargetLease;
  #directoryTasks: AcquiredTask[] = [];
  #targetTasks: AcquiredTask[] = [];

  constructor(lease: TargetLease) {
    this.#lease = lease;
    lease.onAcquired(async () => {
      for (const task of [...this.#directoryTasks, ...this.#targetTasks]) await task();
    });
  }

  /** For a directory that is opened now. */
  forDirectory(): TargetLease {
    this.#targetTasks = [];
    return this.#withTasks(this.#directoryTasks = []);
  }

  /** For work on the data of a target that is not open. */
  forTask(): TargetLease {
    return this.#lease;
  }

  /** For a target that is opened now. */
  forTarget(): TargetLease {
    return this.#withTasks(this.#targetTasks = []);
  }

  #withTasks(tasks: AcquiredTask[]): TargetLease {
    const lease = this.#lease;
    return {
      ...lease,
      get isHeld() {
        return lease.isHeld;
      },
      get check() {
        return lease.check;
      },
      onAcquired: (task) => void tasks.push(task),
    };
  }
}

/** One target: its directory stays open, and its backends can be replaced. */
class TargetSlot {
  readonly target: Target;
  readonly #deps: TargetsDeps;
  readonly #lease: SlotLease;
  readonly #running = new RunningTasks();
  /** Ends what the target that is open follows, by prefix. */
  readonly #follows = new Map<string, () => void>();
  #directory: TargetDirectory | null = null;
  #open: OpenTarget | null = null;
  #settings: TargetSettings | null = null;
  #isLoginTarget = false;
  /** Operations wait for it while the target changes. */
  #gate: Promise<void> | null = null;
  #isRemoved = false;

  constructor(deps: TargetsDeps, lease: SlotLease) {
    this.#deps = deps;
    this.#lease = lease;
    this.target = this.#createTarget();
  }

  /** Opens the target with these settings, unless it has them. */
  async use(settings: TargetSettings, { isLoginTarget }: { isLoginTarget: boolean }): Promise<void> {
    const isSame = isDeepEqual(this.#settings, settings) && this.#isLoginTarget === isLoginTarget;
    if (this.#open !== null && isSame) return;
    const { promise: gate, resolve: openGate } = Promise.withResolvers<void>();
    this.#gate = gate;
    try {
      const before = this.#open;
      await this.#drain();
      await before?.stop();
      this.#directory ??= await this.#deps.openDirectory(settings.name, this.#lease.forDirectory());
      this.#open = await openTarget({
        ...{ ...this.#deps, settings, isLoginTarget, directory: this.#directory },
        store: this.#followingStore(),
        lease: this.#lease.forTarget(),
      });
      this.#settings = settings;
      this.#isLoginTarget = isLoginTarget;
      await before?.close();
    } finally {
      this.#gate = null;
      openGate();
    }
  }

  /** Ends the target. Its data and its pending writes stay in the store. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    await this.#drain();
    await this.close();
    for (const end of this.#follows.values()) end();
  }

  close(): Promise<void> {
    return this.#open?.close() ?? Promise.resolve();
  }

  async #drain(): Promise<void> {
    if (this.#open === null) return;
    await withTimeout(this.#running.settled(), { clock: this.#deps.clock, timeoutMs: DRAIN_MS });
  }

  /** Follows each prefix once, for the target that is open now. */
  #followingStore(): Store {
    const { store } = this.#deps;
    return {
      ...store,
      follow: (prefix, apply) => {
        const text = JSON.stringify(prefix);
        this.#follows.get(text)?.();
        const end = store.follow(prefix, apply);
        this.#follows.set(text, end);
        return end;
      },
    };
  }

  async #run<T>(operation: (target: OpenTarget) => Promise<T>): Promise<T> {
    await this.#gate;
    if (this.#isRemoved) throw new ScimRefusal("busy", { detail: "The directory was removed." });
    return await this.#running.run(() => operation(this.#current));
  }

  get #current(): OpenTarget {
    if (this.#open === null) throw new Error("Cannot use a target that is not open");
    return this.#open;
  }

  #createTarget(): Target {
    const current = (): OpenTarget => this.#current;
    return {
      get name() {
        return current().name;
      },
      get isLoginTarget() {
        return current().isLoginTarget ?? false;
      },
      get pageSize() {
        return current().pageSize;
      },
      get backends() {
        return current().backends;
      },
      get mapping() {
        return current().mapping;
      },
      get directory() {
        return current().directory;
      },
      get readOnly() {
        return current().readOnly ?? new Set();
      },
      create: (...given) => this.#run((target) => target.create(...given)),
      replace: (...given) => this.#run((target) => target.replace(...given)),
      rename: (...given) => this.#run((target) => target.rename(...given)),
      remove: (...given) => this.#run((target) => target.remove(...given)),
      changeMembers: (...given) => this.#run((target) => target.changeMembers(...given)),
      restoreUser: (...given) => this.#run((target) => target.restoreUser(...given)),
      purgeUser: (...given) => this.#run((target) => target.purgeUser(...given)),
      refreshOne: (...given) => this.#run((target) => target.refreshOne(...given)),
      refreshAll: (...given) => this.#run((target) => target.refreshAll(...given)),
      heldElsewhere: (...given) => current().heldElsewhere(...given),
      pendingWrites: (limit) => current().pendingWrites(limit),
      retryDeadLetters: (...given) => this.#run((target) => target.retryDeadLetters(...given)),
    };
  }
}
