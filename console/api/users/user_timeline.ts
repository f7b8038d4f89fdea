// A user's timeline: changes and logins from the audit log, newest first.

import { auditActor, auditObjects } from "../../../platform/audit.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Store } from "../../../platform/store.ts";
import { actionOf, auditDetails, auditRecords, type AuditValue, MAX_COMPARED } from "../audit/audit_log.ts";
import type { TimelineEntry, TimelinePage } from "./user_types.ts";

const PAGE_SIZE = 40;
const MAX_CHANGE_CHARACTERS = 4000;

/**
 * One page, found through the audit's index of objects.
 *
 * @param before the `next` of the page before; "" for the newest.
 */
export async function userTimeline(
  store: Store,
  { user, target, before }: { user: string; target: string; before: string },
): Promise<TimelinePage> {
  const filter = { actor: "", object: `user:${user}`, fromMs: null, toMs: null };
  const entries: TimelineEntry[] = [];
  let lookedAt = 0;
  for await (const { id, value } of auditRecords(store, { filter, before: before === "" ? null : before })) {
    lookedAt += 1;
    if (value !== null && isAbout(value, { user, target })) entries.push(entryOf(id, value));
    if (entries.length >= PAGE_SIZE || lookedAt >= MAX_COMPARED) return { entries, next: id };
  }
  return { entries, next: null };
}

/** The index has shortened names, without the target. */
function isAbout(value: AuditValue, { user, target }: { user: string; target: string }): boolean {
  const asked = canonicalName(`user:${user}`);
  return auditObjects(value).some((object) => canonicalName(object) === asked) &&
    (typeof value.target !== "string" || value.target === target);
}

const HEAD = new Set([
  "atMs",
  "actor",
  "source",
  "action",
  "user",
  "object",
  "objects",
  "target",
  "before",
  "after",
]);

function entryOf(id: string, value: AuditValue): TimelineEntry {
  return {
    id,
    atMs: typeof value.atMs === "number" ? value.atMs : 0,
    actor: auditActor(value),
    source: textOf(value.source),
    action: actionOf(value),
    before: changeText(value.before),
    after: changeText(value.after),
    details: auditDetails(value, HEAD),
  };
}

/** A change as the audit shows it: a text, or the fields as JSON. */
function changeText(change: unknown): string {
  if (change === null || change === undefined) return "";
  return (typeof change === "object" ? JSON.stringify(change) : String(change)).slice(
    0,
    MAX_CHANGE_CHARACTERS,
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
