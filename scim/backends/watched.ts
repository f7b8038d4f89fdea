// A backend whose answers are noted as they come: when it last did what it was asked, and what it met last. For health; it changes nothing.

import type { Clock } from "../../runtime.ts";
import { NOTHING_KEPT } from "../pure/kept.ts";
import type { Backend, BackendFault, BackendOutcome } from "../ports.ts";

/** What is known of one backend since the start. */
export interface BackendStanding {
  readonly lastGoodMs: number | null;
  readonly lastFault:
    | { readonly atMs: number; readonly kind: BackendFault["kind"]; readonly detail: string }
    | null;
}

export interface Watched {
  readonly backend: Backend;
  standing(): BackendStanding;
}

/** What a backend says of a failure is its own text. */
const MOST_DETAIL_CHARACTERS = 300;

export function watchBackend(inner: Backend, { clock }: { clock: Pick<Clock, "nowMs"> }): Watched {
  let lastGoodMs: number | null = null;
  let lastFault: BackendStanding["lastFault"] = null;
  const note = <T>(outcome: BackendOutcome<T>): BackendOutcome<T> => {
    // Whoever refuses is there and works: it is the request that was wrong.
    if (outcome.ok || outcome.fault.kind === "refused") lastGoodMs = clock.nowMs();
    if (!outcome.ok) {
      const { kind, detail } = outcome.fault;
      lastFault = { atMs: clock.nowMs(), kind, detail: detail.slice(0, MOST_DETAIL_CHARACTERS) };
    }
    return outcome;
  };
  const { verify } = inner;
  const backend: Backend = {
    name: inner.name,
    kind: inner.kind,
    mode: inner.mode,
    covers: inner.covers,
    keeps: inner.keeps ?? NOTHING_KEPT,
    holds: inner.holds,
    read: async (kind, name, hint) => note(await inner.read(kind, name, hint)),
    put: async (desired, hint) => note(await inner.put(desired, hint)),
    remove: async (kind, name, hint) => note(await inner.remove(kind, name, hint)),
    list: (kind) => inner.list(kind),
    ...(verify === undefined ? {} : { verify: verify.bind(inner) }),
    probe: async () => note(await inner.probe()),
    close: () => inner.close(),
  };
  return { backend, standing: () => ({ lastGoodMs, lastFault }) };
}
