// The record of sign-ins that were refused: one for each name and minute, with how often and from where, so that a guesser
// fills nothing. A typed name is stored only if an administrator has it: it may have been a password.

import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import { auditEntry, type AuditSlot, createAuditSlot } from "../../../platform/audit.ts";
import type { Admins } from "./admin_store.ts";

/** One refusal. */
export interface RefusedSignIn {
  /** As it was typed; `null` where nothing says who it was. */
  readonly name: string | null;
  readonly source: string;
  readonly because: string;
}

export interface RefusedSignIns {
  /** Writes it down. Never rejects: that it could not be written is said in the log. */
  note(refused: RefusedSignIn): Promise<void>;
}

export interface RefusedSignInDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly admins: Pick<Admins, "find">;
}

/** The actor of a refused sign-in: the person is unknown. */
export const NOBODY = "nobody";
/** The object of a refused sign-in with a name that no administrator has. */
export const UNKNOWN_NAME = "sign-in:unknown-name";
const MINUTE_MS = 60_000;
/** Of more addresses in one minute the record only counts the refusals. */
const MOST_SOURCES = 5;

/** What is being counted for one name: a record that grows until its minute is over. */
interface Fold {
  readonly untilMs: number;
  readonly object: string;
  readonly slot: AuditSlot;
  /** The address of the first refusal. */
  readonly source: string;
  readonly sources: Set<string>;
  readonly reasons: Set<string>;
  count: number;
  /** Later counts are written after earlier ones. */
  written: Promise<void>;
}

export function createRefusedSignIns(deps: RefusedSignInDeps): RefusedSignIns {
  const { store, clock, log } = deps;
  /** By object: as many as there are administrators, and one. */
  const folds = new Map<string, Fold>();

  const foldOf = (object: string, source: string): Fold => {
    const nowMs = clock.nowMs();
    for (const [key, { untilMs }] of folds) if (untilMs <= nowMs) folds.delete(key);
    const open = folds.get(object);
    if (open !== undefined) return open;
    const fold: Fold = {
      untilMs: nowMs + MINUTE_MS,
      object,
      slot: createAuditSlot(),
      source,
      sources: new Set(),
      reasons: new Set(),
      count: 0,
      written: Promise.resolve(),
    };
    folds.set(object, fold);
    return fold;
  };

  return {
    async note({ name, source, because }) {
      try {
        const admin = name === null ? null : await deps.admins.find(name);
        const fold = foldOf(admin === null ? UNKNOWN_NAME : `administrator:${admin.name}`, source);
        fold.count += 1;
        fold.reasons.add(because);
        if (fold.sources.size < MOST_SOURCES) fold.sources.add(source);
        const mutations = [recordOf(fold)];
        const write = () => store.commit({ mutations }).then(() => undefined);
        fold.written = fold.written.then(write, write);
        await fold.written;
      } catch (fault) {
        log.error("a refused sign-in is not in the audit", { fault: String(fault) });
      }
    },
  };
}

function recordOf({ object, slot, source, count, sources, reasons }: Fold): Mutation {
  return auditEntry({
    actor: NOBODY,
    source,
    action: "administrator.refused",
    object,
    because: [...reasons],
    ...(count > 1 ? { count } : {}),
    ...(sources.size > 1 ? { sources: [...sources] } : {}),
  }, slot);
}
