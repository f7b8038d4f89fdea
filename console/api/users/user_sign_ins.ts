// The latest sign-ins of one user, found through the audit log's index of objects, so that the cost does not depend on other users. The last
// accepted one has a record of its own.

import { auditObjects } from "../../../platform/audit.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Store } from "../../../platform/store.ts";
import { actionOf, auditRecords, type AuditValue } from "../audit/audit_log.ts";
import { type People, targetOf } from "../deps.ts";
import { createHistoryReader, type HistoryItem } from "../history/history.ts";

/** A finished sign-in of a user. */
export type UserSignIn = Pick<
  HistoryItem,
  "id" | "startedMs" | "endedMs" | "client" | "place" | "factor" | "outcome" | "reason"
>;

export interface UserSignIns {
  /** Newest first. */
  readonly items: readonly UserSignIn[];
  /** The latest accepted sign-in since the user was created; `null` if none is recorded. */
  readonly lastMs: number | null;
}

const MAX_SHOWN = 5;
/** Records that one request reads. */
const MAX_READ = 300;
const OUTCOMES: ReadonlySet<string> = new Set(["accepted", "rejected", "expired", "cancelled", "superseded"]);

/** The latest sign-ins under the name, and the time of the latest accepted one. */
export async function userSignIns(
  { store, people }: { store: Store; people: People },
  user: string,
): Promise<UserSignIns> {
  const canonical = canonicalName(user);
  const [items, last, stored] = await Promise.all([
    latestSignIns(store, user),
    people.lastSignIns.of([canonical]),
    targetOf(people, undefined).directory.read("user", user),
  ]);
  // Another node may know one that it has not written yet.
  const newestMs = items.find(({ outcome }) => outcome === "accepted")?.endedMs ?? 0;
  const lastMs = Math.max(newestMs, last.get(canonical)?.atMs ?? 0);
  // An earlier one is of another user with the same name.
  return { items, lastMs: lastMs > 0 && lastMs >= (stored?.createdMs ?? 0) ? lastMs : null };
}

async function latestSignIns(store: Store, user: string): Promise<UserSignIn[]> {
  const history = createHistoryReader({ store });
  const filter = { actor: "", object: `user:${user}`, fromMs: null, toMs: null };
  const items: UserSignIn[] = [];
  let read = 0;
  for await (const { value } of auditRecords(store, { filter, before: null })) {
    read += 1;
    const item = value !== null && isSignInOf(value, user) ? await signInOf(history, value) : null;
    if (item !== null) items.push(shown(item));
    if (items.length === MAX_SHOWN || read >= MAX_READ) break;
  }
  return items;
}

/** Whether a record is of a finished login of the user. The index has shortened names. */
function isSignInOf(value: AuditValue, user: string): boolean {
  const [kind, outcome = ""] = actionOf(value).split(".");
  if (kind !== "login" || !OUTCOMES.has(outcome)) return false;
  const asked = canonicalName(`user:${user}`);
  return auditObjects(value).some((object) => canonicalName(object) === asked);
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
