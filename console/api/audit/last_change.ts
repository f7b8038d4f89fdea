// The newest change of an object, from the audit log. A refusal because of an older version includes its author and time.

import type { AuditAction } from "../../../platform/audit_actions.ts";
import { auditActor } from "../../../platform/audit.ts";
import type { Store } from "../../../platform/store.ts";
import { actionOf, auditRecords } from "./audit_log.ts";
import { Refusal } from "../errors.ts";

/** The events that give an object another version. */
const CHANGES = {
  user: ["user.created", "user.replaced", "user.refreshed", "user.deleted"],
  group: [
    "group.created",
    "group.replaced",
    "group.members_changed",
    "group.refreshed",
    "group.deleted",
  ],
  replies: ["group.replies", "group.deleted"],
  client: ["client.create", "client.change", "client.rotate", "client.end_overlap", "client.remove"],
} as const satisfies Record<string, readonly AuditAction[]>;

/** Sign-ins of a user are recorded under the same object; the search for the change ends after this many records. */
const MAX_RECORDS = 500;

interface ChangedObject {
  /** `user:ada`. */
  readonly object: string;
  readonly changes: keyof typeof CHANGES;
  /** The directory of a user or a group. */
  readonly target?: string;
  /** The administrator whose change is refused. */
  readonly admin: string;
}

/**
 * Runs a change of an object.
 *
 * @throws Refusal `changed_meanwhile` with `lastChange`, unless the audit log no longer has the record.
 */
export async function withLastChange<T>(
  store: Store,
  changed: ChangedObject,
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change();
  } catch (fault) {
    if (fault instanceof Refusal && fault.code === "changed_meanwhile") {
      fault.lastChange = await findLastChange(store, changed);
    }
    throw fault;
  }
}

async function findLastChange(
  store: Store,
  { object, changes, target, admin }: ChangedObject,
): Promise<Refusal["lastChange"]> {
  const actions = new Set<string>(CHANGES[changes]);
  const filter = { actor: "", object, fromMs: null, toMs: null };
  let count = 0;
  for await (const { value } of auditRecords(store, { filter, before: null })) {
    count += 1;
    const isChange = value !== null && actions.has(actionOf(value)) && typeof value.atMs === "number" &&
      (target === undefined || value.target === undefined || value.target === target);
    if (isChange) {
      const actor = auditActor(value);
      return { actor, atMs: Number(value.atMs), isOwn: actor === admin };
    }
    if (count >= MAX_RECORDS) break;
  }
  return null;
}
