// The record of who did what: written in the same commit as the deed.

import { AUDIT_KEPT_MS, auditIdAt, auditKey } from "../../../audit_index.ts";
import { type Clock, type Random, toHex } from "../../../runtime.ts";
import type { Mutation } from "../../../store.ts";

/** One deed. `before` and `after` hold what changed, never a secret. */
export interface AuditRecord {
  readonly atMs: number;
  /** The administrator's name, or what acted on its own. */
  readonly actor: string;
  /** The address that the request came from. */
  readonly source: string;
  /** A verb and its object's kind: `outbox.reveal`. */
  readonly action: string;
  /** What it was done to: `user:ada`. */
  readonly object: string;
  /** The RADIUS client that it happened at; the record is found by it, too. */
  readonly client?: string;
  /** The target that holds it, where there are several. */
  readonly target?: string;
  /** By which means somebody signed in. */
  readonly by?: string;
  readonly because?: readonly string[];
  /** How often, where one record stands for several deeds. */
  readonly count?: number;
  readonly sources?: readonly string[];
  /** When something was over that is noticed only now. */
  readonly deadlineMs?: number;
  readonly before?: string;
  readonly after?: string;
}

/** The change that writes a record under an id in order of time; the store adds its index. */
export function auditMutation(
  { clock, random }: { clock: Clock; random: Random },
  deed: Omit<AuditRecord, "atMs">,
): Extract<Mutation, { type: "set" }> {
  const atMs = clock.nowMs();
  const record: AuditRecord = { atMs, ...deed };
  const id = auditIdAt(atMs) + toHex(random.bytes(8));
  return { type: "set", key: auditKey(id), value: record, expireInMs: AUDIT_KEPT_MS };
}
