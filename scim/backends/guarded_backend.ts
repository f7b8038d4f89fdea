// A backend behind the guarded caller: bounded operations, a circuit breaker, a last deadline, and the state that health shows.

import type { BreakerLimits } from "../../platform/circuit_breaker.ts";
import { type CallOptions, type CallRefusal, createGuardedCaller } from "../../platform/guarded_caller.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Backend, BackendFault, BackendOutcome, Remote } from "../backend_port.ts";
import { NOTHING_KEPT } from "../schema/read_only_attributes.ts";
import { BackendListFault } from "./list_error.ts";
import { busy, unreachable } from "./backend_error.ts";

/** What is known of one backend since the start. */
export interface BackendStanding {
  readonly lastGoodMs: number | null;
  readonly lastFault:
    | { readonly atMs: number; readonly kind: BackendFault["kind"]; readonly detail: string }
    | null;
}

export interface GuardedBackend {
  readonly backend: Backend;
  standing(): BackendStanding;
}

const BREAKER: BreakerLimits = {
  failures: 3,
  windowMs: Infinity,
  firstPauseMs: 500,
  longestPauseMs: 15_000,
  jitter: 0,
};
/** An operation takes a connection for a part of its time only. */
const OPERATIONS_PER_CONNECTION = 8;
const MAX_WAITING = 2000;
/** A backend's own deadline covers single requests. A wait without an end would hold the lock of the resource for good. */
const OPERATION: CallOptions = { timeoutMs: 60_000 };
/** Pages of a refresh and health checks do not wait behind writes. */
const DIRECT: CallOptions = { limited: false };
/** Nor do sign-ins; and what a directory says of one user is not its health. */
const SIGN_IN: CallOptions = { limited: false, reported: false };
/** The detail of a fault is the backend's own text. */
const MAX_DETAIL_CHARACTERS = 300;
const PEERS: Readonly<Record<Backend["kind"], string>> = { ldap: "directory", scim: "server" };

export function guardBackend(
  inner: Backend,
  { connections, clock, random, log }: { connections: number; clock: Clock; random: Random; log: Log },
): GuardedBackend {
  let lastGoodMs: number | null = null;
  let lastFault: BackendStanding["lastFault"] = null;

  const caller = createGuardedCaller<BackendFault>({
    clock,
    random,
    limit: { concurrent: Math.max(1, connections) * OPERATIONS_PER_CONNECTION, waiting: MAX_WAITING },
    breaker: BREAKER,
    toFault: (refusal) => faultOfRefusal(refusal, inner.kind),
    isDown: ({ kind }) => kind === "unreachable",
    onOpen: ({ detail }) => log.warn(`${inner.kind} backend unreachable`, { backend: inner.name, detail }),
    onHealth(outcome) {
      // A backend that refuses is reachable and works: the request was wrong.
      if (outcome.ok || outcome.fault.kind === "refused") lastGoodMs = clock.nowMs();
      if (outcome.ok) return;
      const { kind, detail } = outcome.fault;
      lastFault = { atMs: clock.nowMs(), kind, detail: detail.slice(0, MAX_DETAIL_CHARACTERS) };
    },
  });

  const { verify } = inner;
  const backend: Backend = {
    name: inner.name,
    kind: inner.kind,
    mode: inner.mode,
    covers: inner.covers,
    keeps: inner.keeps ?? NOTHING_KEPT,
    holds: inner.holds,
    read: (kind, name, hint) => caller.call(() => inner.read(kind, name, hint), OPERATION),
    put: (desired, hint) => caller.call(() => inner.put(desired, hint), OPERATION),
    remove: (kind, name, hint) => caller.call(() => inner.remove(kind, name, hint), OPERATION),
    async *list(kind) {
      const pages = inner.list(kind)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const page = await caller.call(() => nextPage(pages), DIRECT);
          if (!page.ok) throw new BackendListFault(page.fault);
          if (page.value === null) return;
          yield page.value;
        }
      } finally {
        await pages.return?.();
      }
    },
    ...verify !== undefined &&
      { verify: (name, password) => caller.call(() => verify.call(inner, name, password), SIGN_IN) },
    probe: () => caller.call(() => inner.probe(), DIRECT),
    async close() {
      await Promise.all([caller.close(), inner.close()]);
    },
  };
  return { backend, standing: () => ({ lastGoodMs, lastFault }) };
}

/** The next page of a listing, or `null` at its end. */
async function nextPage(
  pages: AsyncIterator<readonly Remote[]>,
): Promise<BackendOutcome<readonly Remote[] | null>> {
  try {
    const { done, value } = await pages.next();
    return { ok: true, value: done === true ? null : value };
  } catch (thrown) {
    if (thrown instanceof BackendListFault) return { ok: false, fault: thrown.fault };
    throw thrown;
  }
}

function faultOfRefusal(refusal: CallRefusal, kind: Backend["kind"]): BackendFault {
  switch (refusal.reason) {
    case "circuit_open":
      return unreachable(`the ${PEERS[kind]} did not answer lately and is left alone for a moment`, {
        retryAfterMs: refusal.retryAfterMs,
      }).fault;
    case "queue_full":
    case "wait_timeout":
      return busy("too many calls to this backend wait already").fault;
    case "closed":
      return unreachable("the gateway is stopping").fault;
    case "call_timeout":
      return unreachable("the backend did not answer in time", { unsure: true }).fault;
    case "call_threw": {
      const { error } = refusal;
      const name = error instanceof Error ? error.name : "an error";
      return unreachable(`the call ended with ${name}`, { unsure: true }).fault;
    }
  }
}
