// A backend whose answers are noted as they come: when it last did what it was asked, and what it met last. For health; it changes nothing.

import type { Clock } from "../../runtime.ts";
import { NOTHING_KEPT } from "../pure/kept.ts";
import type { Backend, BackendFault, BackendOutcome, Remote } from "../backend_port.ts";
import type { ResourceKind } from "../resource.ts";
import { BackendListFault } from "./list_fault.ts";

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
  const noteFault = ({ kind, detail }: BackendFault): void => {
    // A backend that refuses is reachable and works: the request was wrong.
    if (kind === "refused") lastGoodMs = clock.nowMs();
    lastFault = { atMs: clock.nowMs(), kind, detail: detail.slice(0, MOST_DETAIL_CHARACTERS) };
  };
  const note = <T>(outcome: BackendOutcome<T>): BackendOutcome<T> => {
    if (outcome.ok) lastGoodMs = clock.nowMs();
    else noteFault(outcome.fault);
    return outcome;
  };
  /** A refresh lists everything: each page is an answer. */
  async function* list(kind: ResourceKind): AsyncGenerator<readonly Remote[]> {
    try {
      for await (const page of inner.list(kind)) {
        lastGoodMs = clock.nowMs();
        yield page;
      }
      lastGoodMs = clock.nowMs();
    } catch (fault) {
      if (fault instanceof BackendListFault) noteFault(fault.fault);
      throw fault;
    }
  }
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
    list,
    ...(verify === undefined ? {} : { verify: verify.bind(inner) }),
    probe: async () => note(await inner.probe()),
    close: () => inner.close(),
  };
  return { backend, standing: () => ({ lastGoodMs, lastFault }) };
}
