// The five tables of the embedded second-factor service, and one commit over any of them.

import type { Check, Mutation, Store } from "../../store.ts";
import {
  type InvitationRow,
  pairingExpiresMs,
  type PairingRow,
  type PhoneRow,
  type PhraseRow,
  requestExpiresMs,
  type RequestRow,
} from "./rows.ts";
import { type Change, commitChanges, createTable, type Table } from "./table.ts";

/** Index keys of requests that still wait, of phones without a pairing, of invitations that are open. */
export const WAITING = "waiting";
export const UNPAIRED = "unpaired";
export const OPEN = "open";

export interface Shelves {
  readonly pairings: Table<PairingRow>;
  readonly requests: Table<RequestRow>;
  readonly phones: Table<PhoneRow>;
  readonly phrases: Table<PhraseRow>;
  readonly invitations: Table<InvitationRow>;
  /** Commits all changes together with `also`, or none; `false` when another writer committed first. */
  commit(
    changes: readonly Change[],
    options?: { also?: readonly Mutation[] | undefined; checks?: readonly Check[] },
  ): Promise<boolean>;
  load(): Promise<void>;
}

const SWEEP_EVERY_MS = 60_000;

export function createShelves(store: Store, nowMs: () => number): Shelves {
  const deps = { store, nowMs };
  const tables = {
    pairings: createTable<PairingRow>(deps, {
      name: "pairing",
      expiresMs: pairingExpiresMs,
      index: (row) => [byPhone(row.phone)],
    }),
    requests: createTable<RequestRow>(deps, {
      name: "request",
      expiresMs: requestExpiresMs,
      index: (row) => row.decision === null ? [WAITING, byPairing(row.pairingId)] : [],
    }),
    phones: createTable<PhoneRow>(deps, {
      name: "phone",
      expiresMs: (row) => row.deadlineMs,
      index: (row) => row.deadlineMs === null ? [] : [UNPAIRED],
    }),
    phrases: createTable<PhraseRow>(deps, {
      name: "phrase",
      expiresMs: (row) => row.deadlineMs,
      index: (row) => [byPhone(row.phone)],
    }),
    invitations: createTable<InvitationRow>(deps, {
      name: "invitation",
      expiresMs: (row) => row.deadlineMs,
      index: (row) => row.usedMs === null ? [OPEN] : [],
    }),
  };
  const all = Object.values(tables);
  let sweptMs = nowMs();

  return {
    ...tables,
    commit(changes, options) {
      if (nowMs() - sweptMs >= SWEEP_EVERY_MS) {
        sweptMs = nowMs();
        for (const table of all) table.sweep(sweptMs);
      }
      return commitChanges(store, changes, options);
    },
    async load() {
      for (const table of all) await table.load(nowMs());
    },
  };
}

/** Index key of what belongs to a phone. */
export function byPhone(phone: string): string {
  return `phone ${phone}`;
}

/** Index key of the requests of a pairing that wait. */
export function byPairing(pairingId: string): string {
  return `pairing ${pairingId}`;
}
