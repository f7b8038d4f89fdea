// Limits around a backend: concurrent operations and connections, deadlines, a circuit breaker, and the state for health.

import {
  type BreakerLimits,
  type CallOptions,
  type CallRefusal,
  createGuardedCaller,
} from "../../platform/guarded_caller.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Backend, BackendFault, BackendOutcome, RemoteResource, ServerStatus } from "../backend_port.ts";
import { NO_READ_ONLY } from "../schema/merge.ts";
import { type BackendError, BackendListError, localError, unreachableError } from "./backend_error.ts";
import { Semaphore, type SemaphoreRefusal } from "../../platform/semaphore.ts";

/** The state of one backend since the start. */
export interface BackendHealth {
  readonly lastGoodMs: number | null;
  readonly lastFault:
    | { readonly atMs: number; readonly kind: BackendFault["kind"]; readonly detail: string }
    | null;
  /** Of a backend with several servers: the state of each one, in order of preference. */
  readonly servers?: readonly ServerStatus[];
}

export interface GuardedBackend {
  readonly backend: Backend;
  health(): BackendHealth;
}

const BREAKER: BreakerLimits = {
  failures: 3,
  windowMs: Infinity,
  firstPauseMs: 500,
  longestPauseMs: 15_000,
  jitter: 0,
};
/** An operation uses a connection only for a part of its time. */
const OPERATIONS_PER_CONNECTION = 8;
const MAX_WAITING = 2000;
/** The deadlines of a backend cover single requests. An operation without an end would hold the lock of the resource for ever. */
const OPERATION: CallOptions = { timeoutMs: 60_000 };
/** Pages of a refresh and health checks do not wait behind writes. */
const DIRECT: CallOptions = { limited: false };
/** Sign-ins do not wait behind writes. Their results do not count for the health, because they concern one user. */
const SIGN_IN: CallOptions = { limited: false, reported: false };
/** The detail of a fault is the backend's own text. */
const MAX_DETAIL_CHARACTERS = 300;
const PEERS: Readonly<Record<Backend["kind"], string>> = { ldap: "directory", scim: "server" };

export function guardBackend(
  inner: Backend,
  { connections, clock, random, log }: { connections: number; clock: Clock; random: Random; log: Log },
): GuardedBackend {
  let lastGoodMs: number | null = null;
  let lastFault: BackendHealth["lastFault"] = null;

  const noteHealth = (outcome: BackendOutcome<unknown>): void => {
    // A backend that refuses is reachable and works: the request was wrong.
    if (outcome.ok || outcome.fault.kind === "refused") lastGoodMs = clock.nowMs();
    if (outcome.ok) return;
    const { kind, detail } = outcome.fault;
    lastFault = { atMs: clock.nowMs(), kind, detail: detail.slice(0, MAX_DETAIL_CHARACTERS) };
  };

  const caller = createGuardedCaller<BackendFault>({
    clock,
    random,
    limit: { concurrent: Math.max(1, connections) * OPERATIONS_PER_CONNECTION, waiting: MAX_WAITING },
    breaker: BREAKER,
    toFault: (refusal) => faultOfRefusal(refusal, inner.kind),
    isDown: ({ kind }) => kind === "unreachable",
    isLocal: (fault) => fault.isLocal === true,
    onOpen: ({ detail }) => log.warn(`${inner.kind} backend unreachable`, { backend: inner.name, detail }),
    onHealth: noteHealth,
  });

  const { verify, findNames, changePassword, rename, showsMembers, size } = inner;
  const backend: Backend = {
    name: inner.name,
    kind: inner.kind,
    mode: inner.mode,
    covers: inner.covers,
    readOnly: inner.readOnly ?? NO_READ_ONLY,
    holds: inner.holds,
    read: (kind, name, hint) => caller.call(() => inner.read(kind, name, hint), OPERATION),
    put: (desired, hint) => caller.call(() => inner.put(desired, hint), OPERATION),
    remove: (kind, name, hint) => caller.call(() => inner.remove(kind, name, hint), OPERATION),
    ...rename !== undefined && {
      rename: (from, desired, hint) => caller.call(() => rename.call(inner, from, desired, hint), OPERATION),
    },
    async *list(kind) {
      const pages = inner.list(kind)[Symbol.asyncIterator]();
      try {
        // The circuit breaker decides about the first page only. It must not cut off a listing that makes progress.
        const first = await caller.call(() => nextPage(pages), DIRECT);
        for (let page = first;; page = await nextPage(pages)) {
          if (!page.ok && page !== first && page.fault.isLocal !== true) noteHealth(page);
          if (!page.ok) throw new BackendListError(page.fault);
          if (page.value === null) return;
          yield page.value;
        }
      } finally {
        await pages.return?.();
      }
    },
    ...verify !== undefined &&
      { verify: (name, password) => caller.call(() => verify.call(inner, name, password), SIGN_IN) },
    ...findNames !== undefined &&
      { findNames: (typed) => caller.call(() => findNames.call(inner, typed), SIGN_IN) },
    ...changePassword !== undefined && {
      changePassword: (name, change) => caller.call(() => changePassword.call(inner, name, change), SIGN_IN),
    },
    ...size !== undefined && { size: (kind) => caller.call(() => size.call(inner, kind), DIRECT) },
    ...showsMembers !== undefined &&
      { showsMembers: () => caller.call(() => showsMembers.call(inner), OPERATION) },
    probe: () => caller.call(() => inner.probe(), DIRECT),
    async close() {
      await Promise.all([caller.close(), inner.close()]);
    },
  };
  return {
    backend,
    health() {
      const servers = inner.servers?.() ?? [];
      return { lastGoodMs, lastFault, ...servers.length > 1 && { servers } };
    },
  };
}

/** The next page of a listing, or `null` at its end. */
async function nextPage(
  pages: AsyncIterator<readonly RemoteResource[]>,
): Promise<BackendOutcome<readonly RemoteResource[] | null>> {
  try {
    const { done, value } = await pages.next();
    return { ok: true, value: done === true ? null : value };
  } catch (thrown) {
    if (thrown instanceof BackendListError) return { ok: false, fault: thrown.fault };
    throw thrown;
  }
}

function faultOfRefusal(refusal: CallRefusal, kind: Backend["kind"]): BackendFault {
  switch (refusal.reason) {
    case "circuit_open":
      return unreachableError(`the ${PEERS[kind]} did not answer recently and is not called for a moment`, {
        retryAfterMs: refusal.retryAfterMs,
      }).fault;
    case "queue_full":
    case "wait_timeout":
      return localError("busy", "too many calls to this backend are waiting").fault;
    case "closed":
      return localError("unreachable", "the gateway is stopping").fault;
    case "call_timeout":
      return unreachableError("the backend did not answer in time", { unsure: true }).fault;
    case "call_threw": {
      const { error } = refusal;
      const name = error instanceof Error ? error.name : "an error";
      return unreachableError(`the call ended with ${name}`, { unsure: true }).fault;
    }
  }
}

const MAX_WAITING_FOR_CONNECTION = 10_000;

const ERRORS: Readonly<Record<SemaphoreRefusal, () => BackendError>> = {
  queue_full: () => localError("busy", "too many operations are waiting for the backend"),
  wait_timeout: () => localError("busy", "no connection to the backend became free in time"),
  closed: () => localError("unreachable", "the gateway is stopping"),
};

export class ConnectionLimit {
  readonly #semaphore: Semaphore;

  constructor({ clock, connections }: { clock: Clock; connections: number }) {
    this.#semaphore = new Semaphore({
      clock,
      limits: { concurrent: connections, waiting: MAX_WAITING_FOR_CONNECTION },
    });
  }

  /** Runs `task` when a connection is free. @throws BackendError if none is free before `deadlineMs` */
  async run<T>(task: () => Promise<T>, deadlineMs: number): Promise<T> {
    const turn = await this.#semaphore.run(task, deadlineMs);
    if (!turn.ran) throw ERRORS[turn.reason]();
    return turn.value;
  }

  /** Refuses the waiting tasks, and waits for the running ones. */
  close(): Promise<void> {
    return this.#semaphore.close();
  }
}
