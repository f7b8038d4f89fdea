// The five tables of the embedded second-factor service, and a commit over any of them.

import type { Check, Mutation, Store } from "../../../platform/store.ts";
import { commitChanges, createMirroredTable, type MirroredTable, type TableChange } from "../table.ts";
import {
  type ApprovalRecord,
  pairingExpiresMs,
  type PairingInvitation,
  type PairingRecord,
  type PhoneRecord,
  type PhraseRecord,
  requestExpiresMs,
} from "./records.ts";

/** Index keys of pending requests, of phones without a pairing, and of open invitations. */
export const WAITING = "waiting";
export const UNPAIRED = "unpaired";
export const OPEN = "open";

export interface SecondFactorTables {
  readonly pairings: MirroredTable<PairingRecord>;
  readonly requests: MirroredTable<ApprovalRecord>;
  readonly phones: MirroredTable<PhoneRecord>;
  readonly phrases: MirroredTable<PhraseRecord>;
  readonly invitations: MirroredTable<PairingInvitation>;
  /** Commits all changes together with `also`, or none; `false` if another writer committed first. */
  commit(
    changes: readonly TableChange[],
    options?: { also?: readonly Mutation[] | undefined; checks?: readonly Check[] },
  ): Promise<boolean>;
  load(): Promise<void>;
}

const SWEEP_EVERY_MS = 60_000;

export function createTables(store: Store, nowMs: () => number): SecondFactorTables {
  const deps = { store, nowMs };
  const tables = {
    pairings: createMirroredTable<PairingRecord>(deps, {
      name: "pairing",
      expiresMs: pairingExpiresMs,
      index: (record) => [byPhone(record.phone)],
    }),
    requests: createMirroredTable<ApprovalRecord>(deps, {
      name: "request",
      expiresMs: requestExpiresMs,
      index: (record) => record.decision === null ? [WAITING, byPairing(record.pairingId)] : [],
    }),
    phones: createMirroredTable<PhoneRecord>(deps, {
      name: "phone",
      expiresMs: (record) => record.deadlineMs,
      index: (record) => record.deadlineMs === null ? [] : [UNPAIRED],
    }),
    phrases: createMirroredTable<PhraseRecord>(deps, {
      name: "phrase",
      expiresMs: (record) => record.deadlineMs,
      index: (record) => [byPhone(record.phone)],
    }),
    invitations: createMirroredTable<PairingInvitation>(deps, {
      name: "invitation",
      expiresMs: (record) => record.deadlineMs,
      index: (record) => record.usedMs === null ? [OPEN] : [],
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

/** Index key of the records of a phone. */
export function byPhone(phone: string): string {
  return `phone ${phone}`;
}

/** Index key of the pending requests of a pairing. */
export function byPairing(pairingId: string): string {
  return `pairing ${pairingId}`;
}
