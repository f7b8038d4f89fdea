// Refreshes of targets that an administrator started: their progress and last report. Each node shows those of all nodes.

import { auditEntry } from "../../../platform/audit.ts";
import type { Cluster } from "../../../platform/cluster/cluster.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { Actor, Target } from "../../../scim/ports.ts";
import type { RefreshReport } from "../../../scim/pending_port.ts";
import type { RefreshState } from "./target_types.ts";

export interface TargetRefreshDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent: no other node can use the store. */
  readonly cluster?: Pick<Cluster, "list"> | undefined;
}

export interface TargetRefreshes {
  /** Does nothing while a refresh of the target runs on any node. */
  begin(target: Target, actor: Actor): void;
  state(target: string): RefreshState;
}

/** The value under ["console_refresh", target], if several nodes share the store. */
interface SharedRefresh {
  readonly node: string;
  readonly state: RefreshState;
}

const IDLE: RefreshState = { running: false, startedMs: null, read: [], report: null, problem: null };
const RETENTION_MS = 24 * 3600_000;
/** Other nodes see the progress of a refresh this often. */
const PROGRESS_MS = 1000;

/** One refresh a target at a time. The last report stays until the next refresh. */
export function createTargetRefreshes(deps: TargetRefreshDeps): TargetRefreshes {
  const { clock, log } = deps;
  const states = new RefreshStates(deps);
  return {
    state: (name) => states.get(name),
    begin(target, actor) {
      const { name } = target;
      if (states.get(name).running) return;
      const read = new Map<string, { backend: string; kind: string; read: number }>();
      const startedMs = clock.nowMs();
      const running: RefreshState = { ...IDLE, running: true, startedMs };
      const ended = (end: { report?: RefreshReport; problem?: string }): void => {
        states.set(name, { ...running, read: [...read.values()], ...end, running: false });
      };
      states.set(name, running);
      target.refreshAll(actor, {
        onProgress(progress) {
          read.set(`${progress.backend} ${progress.kind}`, { ...progress });
          states.set(name, { ...running, read: [...read.values()] });
        },
      }).then(
        (report) => ended({ report }),
        (fault: unknown) => {
          log.error("a refresh failed", { target: name, fault: String(fault) });
          ended({ problem: "The refresh failed. See the server log for details." });
          void recordFailure(deps, { target: name, actor });
        },
      );
    },
  };
}

async function recordFailure(
  { store, log }: TargetRefreshDeps,
  { target, actor: { name: asked, source } }: { target: string; actor: Actor },
): Promise<void> {
  const told = { actor: asked, source, action: "target.refresh_failed" as const, object: `target:${target}` };
  await store.commit({ mutations: [auditEntry(told)] }).catch((fault: unknown) =>
    log.error("the end of a refresh could not be recorded", { target, fault: String(fault) })
  );
}

/** The states of this node, and those that other nodes stored. */
class RefreshStates {
  readonly #deps: TargetRefreshDeps;
  readonly #states = new Map<string, SharedRefresh>();
  readonly #storedMs = new Map<string, number>();

  constructor(deps: TargetRefreshDeps) {
    this.#deps = deps;
    deps.store.follow(["console_refresh"], ({ key, value }) => {
      const name = String(key[1]);
      if (value === null) this.#states.delete(name);
      else if ((value as SharedRefresh).node !== deps.store.node) {
        this.#states.set(name, value as SharedRefresh);
      }
    });
  }

  get(name: string): RefreshState {
    const { store, cluster } = this.#deps;
    const found = this.#states.get(name);
    if (found === undefined) return IDLE;
    const { node, state } = found;
    const isAlive = node === store.node ||
      cluster?.list().some((one) => one.node === node && one.isAlive) === true;
    if (!state.running || isAlive) return state;
    return { ...state, running: false, problem: "The node that ran the refresh stopped. Start it again." };
  }

  set(name: string, state: RefreshState): void {
    const { store, clock, log } = this.#deps;
    const value: SharedRefresh = { node: store.node, state };
    this.#states.set(name, value);
    const isProgress = state.running && state.read.length > 0;
    const nowMs = clock.nowMs();
    if (!store.isShared || (isProgress && nowMs - (this.#storedMs.get(name) ?? 0) < PROGRESS_MS)) return;
    this.#storedMs.set(name, nowMs);
    const mutation = {
      type: "set",
      key: ["console_refresh", name],
      value,
      expireInMs: RETENTION_MS,
    } as const;
    store.commit({ mutations: [mutation] }).catch((fault: unknown) =>
      log.warn("other nodes do not see the state of a refresh", { target: name, fault: String(fault) })
    );
  }
}
