// A user's history: what was done to them and how their logins ended, from the audit records, newest first.

import { canonicalName } from "../../canonical_name.ts";
import type { Store } from "../../store.ts";
import type { TimelineEntry, TimelinePage } from "./user_shapes.ts";

/** Records that one request looks at, at most. */
const MOST_LOOKED_AT = 20_000;
const PAGE_SIZE = 40;
const MOST_DETAIL_CHARACTERS = 300;

type AuditValue = Readonly<Record<string, unknown>>;

interface Found {
  readonly key: Deno.KvKey;
  readonly value: AuditValue;
  readonly atMs: number;
}

/**
 * One page.
 *
 * @param before milliseconds since the epoch as a text, from the page before; "" for the newest.
 */
export async function userTimeline(
  store: Store,
  { user, target, before }: { user: string; target: string; before: string },
): Promise<TimelinePage> {
  const untilMs = before === "" ? Number.MAX_SAFE_INTEGER : Number(before);
  const entries: TimelineEntry[] = [];
  let lookedAt = 0;
  for await (const { key, value, atMs } of newestFirst(store)) {
    if (lookedAt >= MOST_LOOKED_AT) return { entries, next: String(atMs + 1) };
    lookedAt += 1;
    if (atMs >= untilMs || !isAbout(value, { user, target })) continue;
    const last = entries.at(-1);
    // The next page begins at a time, so one that has begun is finished.
    if (last !== undefined && entries.length >= PAGE_SIZE && last.atMs > atMs) {
      return { entries, next: String(last.atMs) };
    }
    entries.push(entryOf(key, value, atMs));
  }
  return { entries, next: null };
}

async function* newestFirst(store: Store): AsyncGenerator<Found> {
  for await (const { key, value } of store.list<AuditValue>(["audit"], { reverse: true })) {
    const atMs = value?.atMs;
    yield { key, value: value ?? {}, atMs: typeof atMs === "number" ? atMs : 0 };
  }
}

function isAbout(value: AuditValue, { user, target }: { user: string; target: string }): boolean {
  const canonical = canonicalName(user);
  const named = typeof value.user === "string" ? value.user : objectUser(value.object);
  if (named === null || canonicalName(named) !== canonical) return false;
  return typeof value.target !== "string" || value.target === target;
}

function objectUser(object: unknown): string | null {
  return typeof object === "string" && object.startsWith("user:") ? object.slice("user:".length) : null;
}

const HEAD = new Set(["atMs", "actor", "source", "action", "user", "object", "target"]);

function entryOf(key: Deno.KvKey, value: AuditValue, atMs: number): TimelineEntry {
  const details = Object.entries(value).flatMap(([name, detail]) =>
    HEAD.has(name) || detail === null || detail === undefined ? [] : [[name, detailText(detail)] as const]
  );
  return {
    id: key.slice(1).join("-"),
    atMs,
    actor: textOf(value.actor),
    source: textOf(value.source),
    action: textOf(value.action),
    details: Object.fromEntries(details),
  };
}

function detailText(detail: unknown): string {
  const text = Array.isArray(detail) ? detail.join(", ") : String(detail);
  return text.slice(0, MOST_DETAIL_CHARACTERS);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
