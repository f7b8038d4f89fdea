// The latest sign-ins of one user, found through the audit log's index of objects, so that the cost does not depend on other users.

import { auditObjects } from "../../../platform/audit.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Store } from "../../../platform/store.ts";
import { auditRecords, type AuditValue, currentAction } from "../audit/audit_log.ts";
import { createHistoryReader, type HistoryItem } from "../history/history.ts";

/** A finished sign-in of a user. */
export type UserSignIn = Pick<
  HistoryItem,
  "id" | "startedMs" | "endedMs" | "client" | "place" | "factor" | "outcome" | "reason"
>;

export interface UserSignIns {
  /** Newest first. */
  readonly items: readonly UserSignIn[];
  /** The end of the latest accepted sign-in; `null` if none was found. */
  readonly lastMs: number | null;
  /** Older records were not read. */
  readonly isCut: boolean;
}

const MAX_SHOWN = 5;
/** Records that one request reads. */
const MAX_READ = 300;
const OUTCOMES: ReadonlySet<string> = new Set(["accepted", "rejected", "expired", "cancelled", "superseded"]);

/** The latest sign-ins under the name, and the time of the latest accepted one. */
export async function userSignIns(store: Store, user: string): Promise<UserSignIns> {
  const history = createHistoryReader({ store });
  const filter = { actor: "", object: `user:${user}`, fromMs: null, toMs: null };
  const items: UserSignIn[] = [];
  let lastMs: number | null = null;
  let read = 0;
  for await (const { value } of auditRecords(store, { filter, before: null })) {
    read += 1;
    const outcome = value === null ? null : outcomeOf(value, user);
    if (value !== null && outcome !== null) {
      if (outcome === "accepted") lastMs ??= numberOf(value.atMs);
      const item = items.length < MAX_SHOWN ? await signInOf(history, value) : null;
      if (item !== null) items.push(shown(item));
    }
    if (items.length === MAX_SHOWN && lastMs !== null) return { items, lastMs, isCut: false };
    if (read >= MAX_READ) return { items, lastMs, isCut: true };
  }
  return { items, lastMs, isCut: false };
}

/** The outcome in a record of a finished login of the user; `null` for any other record. The index has shortened names. */
function outcomeOf(value: AuditValue, user: string): string | null {
  const [kind, outcome = ""] = currentAction(value).split(".");
  if (kind !== "login" || !OUTCOMES.has(outcome)) return null;
  const asked = canonicalName(`user:${user}`);
  return auditObjects(value).some((object) => canonicalName(object) === asked) ? outcome : null;
}

async function signInOf(
  history: ReturnType<typeof createHistoryReader>,
  { conversation }: AuditValue,
): Promise<HistoryItem | null> {
  return typeof conversation === "string" ? await history.item(conversation) : null;
}

function shown({ id, startedMs, endedMs, client, place, factor, outcome, reason }: HistoryItem): UserSignIn {
  return { id, startedMs, endedMs, client, place, factor, outcome, reason };
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
