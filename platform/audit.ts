// The audit log: auditEntry() describes an event in the transaction of the change; the store adds its id, time and index.
// platform/audit_actions.ts explains how to add an action.

import { canonicalName } from "./canonical_name.ts";
import { type AuditAction, type AuditDetailName, isAuditedChange } from "./audit_actions.ts";
import type { KvMutation } from "./commit_queue.ts";
import { createAuditIds, type LogRecord } from "./log_blocks.ts";

/** The default of `console.audit_days`. */
export const DEFAULT_AUDIT_DAYS = 90;
export const DEFAULT_AUDIT_RETENTION_MS = DEFAULT_AUDIT_DAYS * 24 * 3600_000;
/** The actor of a rejected sign-in. Stored records contain this value, so it must not change. */
export const UNKNOWN_ACTOR = "nobody";
/** Deno KV limits the size of a key. Longer names are indexed by their beginning. */
const MAX_NAME_CHARACTERS = 300;
/** A record is indexed under at most this many objects. */
const MAX_OBJECTS = 100;

type AuditDetail = string | number | boolean | null | undefined | readonly string[];
/** The values of an object before or after a change, by field. The caller redacts secrets. */
export type AuditValues = Readonly<Record<string, unknown>>;

/** An event. Details are shown with the label `detail_<name>`. */
export interface AuditEntry extends Readonly<Partial<Record<AuditDetailName, AuditDetail>>> {
  readonly action: AuditAction;
  /** An administrator's name, `user:ada`, `scim:hr`, `radius`, `command`. */
  readonly actor: string;
  /** The address that the request came from. */
  readonly source?: string | undefined;
  /** The object of the change: `user:ada`. */
  readonly object?: string;
  /** Several objects of the change. */
  readonly objects?: readonly string[];
  /** The RADIUS client. The index lists the record under it too. */
  readonly client?: string | undefined;
  /** The target that holds the object. */
  readonly target?: string | undefined;
  readonly before?: string | AuditValues | undefined;
  readonly after?: string | AuditValues | undefined;
}

/** Later commits with the same slot replace the record, under a new id, so that a reader that follows the log reads it again. */
export interface AuditSlot {
  id: string | null;
  atMs: number;
}

/** An event that waits for its commit. */
export interface AuditMutation {
  readonly type: "audit";
  readonly entry: AuditEntry;
  readonly slot?: AuditSlot;
}

/** The mutation that records an event. Add it to the transaction of the change. */
export function auditEntry(entry: AuditEntry, slot?: AuditSlot): AuditMutation {
  return { type: "audit", entry, ...(slot === undefined ? {} : { slot }) };
}

/** For a record that later commits update, such as refused sign-ins within one minute. */
export function createAuditSlot(): AuditSlot {
  return { id: null, atMs: 0 };
}

/** The key of a record. `id` grows with time. */
export function auditKey(id: string): Deno.KvKey {
  return ["audit", id];
}

/** How the index relates a name to a record. */
type AuditRole = "object" | "actor" | "events";

/** The name of the index entries of role `events`: all records but sign-ins and those of provisioning clients. */
export const AUDITED_CHANGES = "changes";

/**
 * Whether a text names one object or actor: `user:ada`. Only these are in the index. Other texts, such as `radius`, are found by comparing
 * the records.
 */
export function isWholeName(text: string): boolean {
  return /^[a-z][a-z-]*:./.test(text);
}

/** The key below which the index lists the ids of records about `name` (`user:ada`), or by it. */
export function auditIndexKey(role: AuditRole, name: string): Deno.KvKey {
  return ["audit_by", role, indexedName(name)];
}

function indexedName(name: string): string {
  return canonicalName(name).slice(0, MAX_NAME_CHARACTERS);
}

/** The objects of a record: `user:ada`, and its RADIUS client. */
export function auditObjects(record: Readonly<Record<string, unknown>>): string[] {
  const objects = new Set<string>();
  addTexts(objects, record.object);
  addTexts(objects, record.objects);
  addTexts(objects, record.client, "client:");
  // Each write of the directory has a target. The target is the object only if the record has no other.
  if (objects.size === 0) addTexts(objects, record.target, "target:");
  return [...objects];
}

function addTexts(texts: Set<string>, value: unknown, before = ""): void {
  const found: readonly unknown[] = Array.isArray(value) ? value.slice(0, MAX_OBJECTS) : [value];
  for (const text of found) if (typeof text === "string" && text !== "") texts.add(before + text);
}

/** The actor of a record. The directory writes `console:ada` for the administrator `ada` of the console. */
export function auditActor(record: Readonly<Record<string, unknown>>): string {
  const { actor } = record;
  return typeof actor === "string" ? actor.replace(/^console:(?=.)/, "") : "";
}

export interface AuditWriterOptions {
  readonly nowMs: () => number;
  readonly node: string;
  /** The newest id in the store. */
  readonly newest?: string;
  /** How long a record is kept. Asked for each record. */
  readonly retentionMs?: () => number;
}

interface AuditWriter {
  /**
   * Turns the events of a transaction into records with ids, index entries and an expiry. With `asBlocks`, the records of logins have neither keys nor
   * index entries of their own.
   */
  complete(
    mutations: readonly (KvMutation | AuditMutation)[],
    options?: { readonly asBlocks?: boolean },
  ): { readonly mutations: readonly KvMutation[]; readonly records: readonly LogRecord[] };
  /** An id that is smaller than that of every later record, and larger than that of every earlier one. */
  mark(): string;
}

/** Only the store calls it. */
export function createAuditWriter(
  { nowMs, node, newest = "", retentionMs = () => DEFAULT_AUDIT_RETENTION_MS }: AuditWriterOptions,
): AuditWriter {
  const nextId = createAuditIds({ node, newest });
  const recordOf = ({ entry, slot }: AuditMutation): KvMutation[] => {
    const now = nowMs();
    const atMs = slot === undefined || slot.id === null ? now : slot.atMs;
    const id = nextId(now);
    const value = storedOf(entry, atMs);
    const replaced = slot?.id ?? null;
    if (slot !== undefined) Object.assign(slot, { id, atMs });
    return [
      { type: "set", key: auditKey(id), value, expireInMs: retentionMs() },
      ...replaced === null ? [] : removalOf(replaced, value),
    ];
  };
  const loginRecordOf = ({ entry }: AuditMutation): LogRecord => {
    const now = nowMs();
    return { table: "audit", id: nextId(now), value: storedOf(entry, now), expireInMs: retentionMs() };
  };
  return {
    complete(mutations, { asBlocks = false } = {}) {
      const written: KvMutation[] = [];
      const records: LogRecord[] = [];
      // A block has no record of another kind between its own.
      const isOfLogins = asBlocks && mutations.every((one) => one.type !== "audit" || isOfLogin(one));
      for (const one of mutations) {
        if (one.type === "audit") {
          if (isOfLogins) records.push(loginRecordOf(one));
          else written.push(...recordOf(one));
        } else {
          const record = asBlocks ? historyRecordOf(one) : null;
          if (record === null) written.push(one);
          else records.push(record);
        }
      }
      // The index entries are added at the end.
      for (let at = 0, count = written.length; at < count; at++) {
        const one = written[at] as KvMutation;
        if (one.type === "set") addIndexEntries(written, retentionMs(), one);
      }
      return { mutations: written, records };
    },
    mark: () => nextId(nowMs()),
  };
}

function isOfLogin({ entry, slot }: AuditMutation): boolean {
  return slot === undefined && entry.action.startsWith("login.");
}

/** A record of the history in the form for a block; `null` for another change. */
function historyRecordOf(mutation: KvMutation): LogRecord | null {
  const { type, key } = mutation;
  if (type !== "set" || key[0] !== "history" || mutation.expireInMs === undefined) return null;
  const { value, expireInMs } = mutation;
  return { table: "history", id: String(key[1]), value, expireInMs };
}

/** The removal of a record whose later version has the same names. */
function removalOf(id: string, value: Readonly<Record<string, unknown>>): KvMutation[] {
  const keys = [auditKey(id), ...auditIndexNames(value).map((name) => ["audit_by", ...name, id])];
  return keys.map((key) => ({ type: "delete", key }));
}

/** The stored form of an event. Fields without a value are not stored. */
function storedOf(entry: AuditEntry, atMs: number): Record<string, unknown> {
  const record: Record<string, unknown> = { atMs };
  const fields = entry as unknown as Readonly<Record<string, unknown>>;
  // Object.entries() would make an array for each field.
  for (const name in fields) {
    const value = fields[name];
    if (value !== undefined && value !== null && value !== "") record[name] = value;
  }
  return record;
}

/** The value of an index entry: everything is in its key. Deno KV stores octets without a conversion. */
export const NO_OCTETS = new Uint8Array(0);

function addIndexEntries(
  mutations: KvMutation[],
  retentionMs: number,
  { key, value, expireInMs = retentionMs }: Extract<KvMutation, { type: "set" }>,
): void {
  const id = key[1];
  if (key[0] !== "audit" || key.length !== 2 || typeof id !== "string") return;
  for (const name of auditIndexNames(value)) {
    mutations.push({ type: "set", key: ["audit_by", ...name, id], value: NO_OCTETS, expireInMs });
  }
}

/** The names under which the index lists a record, with their roles. Another value has none. */
export function auditIndexNames(value: unknown): [AuditRole, string][] {
  if (typeof value !== "object" || value === null) return [];
  const record = value as Readonly<Record<string, unknown>>;
  const actor = auditActor(record);
  const names = [
    ...auditObjects(record).map((object): [AuditRole, string] => ["object", indexedName(object)]),
    ["actor", indexedName(actor)] satisfies [AuditRole, string],
  ];
  const found = names.filter((name): name is [AuditRole, string] => isWholeName(name[1] ?? ""));
  const isChange = isAuditedChange(String(record.action), actor);
  return isChange ? [...found, ["events", AUDITED_CHANGES]] : found;
}
