// Plans one row of an import: no change, one write of the store, or one operation of the target.

import { canonicalName } from "../../platform/canonical_name.ts";
import { contactProblems, contactProblemText } from "../schema/contact_values.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Actor, DirectoryWrite, Target } from "../ports.ts";
import type {
  Content,
  GroupContent,
  JsonObject,
  JsonValue,
  ResourceKind,
  Stored,
} from "../schema/resource.ts";
import { parseResource } from "../schema/parse_resource.ts";
import { mergeContent } from "../schema/mapping.ts";
import { distinctNames, parseName } from "../schema/resource_name.ts";
import { contentAuditEntries, writeAction } from "../provisioning/write_audit.ts";
import { hasResource, isSameContent } from "../provisioning/backend_status.ts";
import type { ScimRefusal, ScimRefusalCode } from "../http/refusals.ts";
import { cannotCreate, heldReadOnly } from "../provisioning/plan.ts";
import { isJsonArray, isJsonObject } from "../schema/attributes.ts";

export interface GroupJoin {
  /** As given. */
  readonly group: string;
  readonly member: string;
}

export interface BulkDeps {
  readonly clock: Clock;
}

export interface BulkRequest {
  readonly rows: readonly BulkRow[];
  readonly actor: Actor;
  /** Replaces an existing resource instead of refusing the row. */
  readonly mayUpdate: boolean;
  /** Returns the results that a write would have, and writes nothing. */
  readonly isDryRun: boolean;
  /** With `isDryRun`: the outcome of an update also has its {@link RowValueChange}s. */
  readonly showsChanges?: boolean;
  /** Names of backends; absent for all. */
  readonly backends?: readonly string[];
  /** The attributes that an update changes, from `coveredAttributes`, with `active` and `members`. `null`: it replaces the whole resource. */
  readonly covers: ReadonlySet<string> | null;
}

export interface BulkWork {
  readonly target: Target;
  readonly request: BulkRequest;
  readonly deps: BulkDeps;
  /** Names of the selected backends. */
  readonly named: readonly string[];
  /** The target has no other backend than the embedded store. */
  readonly isStoreAlone: boolean;
}

/** `settled`: nothing to write. `store`: one write of the directory. `target`: an operation of the target. */
export type RowPlan =
  & (
    | { readonly step: "settled" }
    | { readonly step: "store"; readonly write: DirectoryWrite; readonly operation: RowWrite }
    | { readonly step: "target"; readonly operation: RowWrite }
  )
  & {
    /** The outcome, if no other request changes the resource first. */
    readonly outcome: RowOutcome;
    /** Memberships that are still missing. */
    readonly joins: readonly GroupJoin[];
  };

type RowWrite =
  | {
    readonly verb: "create" | "replace";
    readonly content: Content;
    readonly password: string | undefined;
  }
  | { readonly verb: "members"; readonly group: string; readonly add: readonly string[] };

/** Reads the stored resource and decides. Writes nothing. */
export async function planRow(work: BulkWork, row: BulkRow): Promise<RowPlan> {
  return row.row === "members" ? await planMembers(work, row) : await planResource(work, row);
}

async function planMembers(
  { target, isStoreAlone }: BulkWork,
  { group, add }: Extract<BulkRow, { row: "members" }>,
): Promise<RowPlan> {
  const stored = await target.directory.read("group", canonicalName(group));
  const known = new Set(stored?.content.kind === "group" ? stored.content.members.map(canonicalName) : []);
  const missing = distinctNames(add).filter((name) => !known.has(canonicalName(name)));
  if (stored !== null && missing.length === 0) return settled({ did: "unchanged" });
  const outcome: RowOutcome = { did: stored === null ? "created" : "updated" };
  if (isStoreAlone) return settled(outcome, missing.map((member) => ({ group, member })));
  const content: GroupContent = { kind: "group", name: group, attributes: {}, members: missing };
  const operation: RowWrite = stored === null
    ? { verb: "create", content, password: undefined }
    : { verb: "members", group, add: missing };
  return { step: "target", operation, outcome, joins: [] };
}

async function planResource(
  work: BulkWork,
  row: Extract<BulkRow, { row: "resource" }>,
): Promise<RowPlan> {
  const { target, request, named } = work;
  const read = parseResource(row.kind, row.body, { mapping: target.mapping, newName: () => "" });
  if (!read.ok) return settled({ did: "refused", code: read.code, detail: read.detail });
  if (read.content.name === "") {
    return settled({ did: "refused", code: "invalid_value", detail: "The row has no name." });
  }
  const stored = await target.directory.read(row.kind, canonicalName(read.content.name));
  if (row.kind === "user") {
    // A value that the user already has is allowed.
    const [problem] = contactProblems(read.content.attributes, stored?.content.attributes);
    if (problem !== undefined) {
      return settled({ did: "refused", code: "invalid_value", detail: contactProblemText(problem) });
    }
  }
  const exists = stored !== null && isThere(target, named, stored);
  if (exists && !request.mayUpdate && !row.joins) return settled(TAKEN);
  const content = stored === null ? read.content : contentOver(stored, read.content, {
    covers: request.covers,
    joins: row.joins,
    saysActive: row.body["active"] !== undefined,
  });
  const { password } = read;
  const joins = missingJoins(stored, { member: content.name, groups: row.groups });
  if (
    exists && password === undefined &&
    isHeldSo(stored, { content, named: concernedBackends(target, named, stored) })
  ) {
    return settled({ did: "unchanged" }, joins);
  }
  const refusal = readOnlyRefusal(work, { stored, content });
  if (refusal !== null) return settled({ did: "refused", code: refusal.code, detail: refusal.message });
  const operation: RowWrite = { verb: exists ? "replace" : "create", content, password };
  const outcome: RowOutcome = {
    did: exists ? "updated" : "created",
    ...(exists && request.showsChanges === true
      ? { changes: rowChanges(stored.content, content, { setsPassword: password !== undefined }) }
      : {}),
  };
  const write = storeWrite(work, { stored, content, password });
  return write === null
    ? { step: "target", operation, outcome, joins }
    : { step: "store", write, operation, outcome, joins };
}

/** The backends that an unchanged row may concern. A read-only one takes no resource, and what it has goes to no other one. */
function concernedBackends(
  { backends }: Target,
  named: readonly string[],
  stored: Stored,
): readonly string[] {
  const readOnly = new Set(backends.flatMap(({ name, isReadOnly }) => isReadOnly === true ? [name] : []));
  const isHeldThere = named.some((name) => readOnly.has(name) && hasResource(stored.backends[name]));
  return named.filter((name) => hasResource(stored.backends[name]) || !(isHeldThere || readOnly.has(name)));
}

/** What the operation would refuse, for the dry run. */
function readOnlyRefusal(
  { target, request, named }: BulkWork,
  { stored, content }: { stored: Stored | null; content: Content },
): ScimRefusal | null {
  if (!request.isDryRun) return null;
  const readOnly = target.backends.filter(({ name, isReadOnly }) =>
    isReadOnly === true && named.includes(name)
  );
  const holder = readOnly.find(({ name }) => hasResource(stored?.backends[name]));
  const { kind } = content;
  if (holder !== undefined && stored !== null) {
    // Whether a user is active may be something that the backend does not store.
    const before = stored.content.kind === "user" && content.kind === "user"
      ? { ...stored.content, active: content.active }
      : stored.content;
    return isSameContent(before, content) ? null : heldReadOnly(holder.name, { operation: "replace", kind });
  }
  const [first] = readOnly;
  const isRefused = first !== undefined &&
    (request.backends !== undefined || readOnly.length === named.length);
  return isRefused ? cannotCreate(first.name, kind) : null;
}

const TAKEN: RowOutcome = {
  did: "refused",
  code: "taken",
  detail: "A resource of that name exists already.",
};

function settled(outcome: RowOutcome, joins: readonly GroupJoin[] = []): RowPlan {
  return { step: "settled", outcome, joins };
}

function missingJoins(
  stored: Stored | null,
  { member, groups }: { member: string; groups: readonly string[] },
): GroupJoin[] {
  const known = new Set(stored?.groups.map(canonicalName) ?? []);
  return distinctNames(groups).filter((group) => !known.has(canonicalName(group))).map((group) => ({
    group,
    member,
  }));
}

/** Whether the resource exists at a named backend, or has only backends that are no longer in the settings. */
function isThere(target: Target, named: readonly string[], { backends }: Stored): boolean {
  const isOrphan = !target.backends.some(({ name }) => backends[name] !== undefined);
  return isOrphan || named.some((name) => hasResource(backends[name]));
}

function isHeldSo(
  stored: Stored,
  { content, named }: { content: Content; named: readonly string[] },
): boolean {
  const isHeld = named.every((name) =>
    hasResource(stored.backends[name]) && stored.backends[name]?.differs === undefined
  );
  return isHeld && isSameContent(stored.content, content);
}

/** The new content of an existing resource. */
function contentOver(
  { content: before }: Stored,
  given: Content,
  { covers, joins, saysActive }: { covers: ReadonlySet<string> | null; joins: boolean; saysActive: boolean },
): Content {
  const over = covers === null ? given : mergeContent(before, given, covers);
  if (over.kind === "user") {
    // An empty cell must not reactivate a user.
    const keepsActive = covers !== null && !saysActive;
    return keepsActive && before.kind === "user" ? { ...over, active: before.active } : over;
  }
  if (before.kind !== "group" || given.kind !== "group") return over;
  if (joins) return { ...over, members: distinctNames([...before.members, ...given.members]) };
  return covers !== null && !covers.has("members") ? { ...over, members: before.members } : over;
}

/** The write of the directory for this row. `null` if the embedded store is not the only backend of the target. */
function storeWrite(
  { target, request, deps: { clock }, named, isStoreAlone }: BulkWork,
  { stored, content, password }: { stored: Stored | null; content: Content; password: string | undefined },
): DirectoryWrite | null {
  const [only] = target.backends;
  if (only === undefined || !isStoreAlone || password !== undefined) return null;
  const states = Object.entries(stored?.backends ?? {});
  if (states.some(([name, { state, differs }]) => name !== only.name || state !== "present" || differs)) {
    return null;
  }
  const also = contentAuditEntries(target, {
    actor: request.actor,
    action: writeAction(content.kind, stored === null ? "create" : "replace"),
    kind: content.kind,
    name: content.name,
    before: stored?.content ?? null,
    after: content,
    backends: named,
  });
  const sinceMs = stored?.backends[only.name]?.sinceMs ?? clock.nowMs();
  return {
    kind: content.kind,
    name: content.name,
    expected: stored?.version ?? null,
    recorded: stored?.recorded ?? 0,
    next: { content, backends: { [only.name]: { state: "present", sinceMs } } },
    also,
  };
}

/**
 * One row. `resource`: a user or a group, like the body of a POST. With `joins`, an existing group also keeps its members.
 * `members`: new members of a group. A missing group is created.
 */
export type BulkRow =
  | {
    readonly row: "resource";
    readonly kind: ResourceKind;
    readonly body: JsonObject;
    readonly joins: boolean;
    /** Groups that the user joins. The user also stays in its other groups. */
    readonly groups: readonly string[];
  }
  | { readonly row: "members"; readonly group: string; readonly add: readonly string[] };

/** The outcome of a row. In a dry run, the expected outcome. */
export type RowOutcome =
  | {
    readonly did: "created" | "updated" | "unchanged";
    /** Groups that the user joined, as given. `made`: those of them that were created. */
    readonly joined?: readonly string[];
    readonly made?: readonly string[];
    /** Backends where the write is pending. Absent: none. */
    readonly owes?: readonly string[];
    /** What an update changes, if the request asked for it. */
    readonly changes?: readonly RowValueChange[];
    /** Groups that the user has yet to join. Separate, because for each row a backend would receive the whole group. */
    readonly joins?: readonly string[];
  }
  | { readonly did: "refused"; readonly code: ScimRefusalCode; readonly detail: string };

/** The maximum number of rows of one request. */
const MAX_ROWS = 1000;
const MAX_ROW_MEMBERS = 50_000;

/** Reads rows from a request. `null` if a row is not valid, or if there are more than {@link MAX_ROWS}. */
export function parseBulkRows(value: unknown): BulkRow[] | null {
  if (!Array.isArray(value) || value.length > MAX_ROWS) return null;
  const rows: BulkRow[] = [];
  for (const given of value as readonly JsonValue[]) {
    const row = isJsonObject(given) ? readRow(given) : null;
    if (row === null) return null;
    rows.push(row);
  }
  return rows;
}

function readRow({ kind, body, joins, groups: given, group, add }: JsonObject): BulkRow | null {
  if (kind === "members") {
    const names = readMembers(add);
    const read = typeof group === "string" ? parseName(group) : null;
    return names === null || read === null || !read.ok
      ? null
      : { row: "members", group: read.name, add: names };
  }
  if ((kind !== "user" && kind !== "group") || !isJsonObject(body)) return null;
  const groups = kind === "user" ? readMembers(given ?? []) : [];
  return groups === null
    ? null
    : { row: "resource", kind, body, joins: joins === true && kind === "group", groups };
}

function readMembers(value: JsonValue | undefined): string[] | null {
  if (!isJsonArray(value) || value.length > MAX_ROW_MEMBERS) return null;
  const names: string[] = [];
  for (const one of value) {
    const read = typeof one === "string" ? parseName(one) : null;
    if (read === null || !read.ok) return null;
    names.push(read.name);
  }
  return names;
}

// What a row changes in an existing resource, for the preview.

/** One attribute, with its values as text; "": no value. */
interface RowValueChange {
  /** `name.familyName`; the last part of the name of an extension is left out. */
  readonly attribute: string;
  readonly before: string;
  readonly after: string;
}

const MAX_CHANGES = 20;
const MAX_CHARACTERS = 200;
const HIDDEN = "••••••";

/** The attributes that differ, at most 20. A password is not shown. */
function rowChanges(
  before: Content,
  after: Content,
  { setsPassword }: { setsPassword: boolean },
): RowValueChange[] {
  const [old, next] = [textsOf(before), textsOf(after)];
  return [...new Set([...old.keys(), ...next.keys()])]
    .map((attribute) => ({
      attribute,
      before: old.get(attribute) ?? "",
      after: next.get(attribute) ?? "",
    }))
    .filter((change) => change.before !== change.after)
    .concat(setsPassword ? [{ attribute: "password", before: "", after: HIDDEN }] : [])
    .slice(0, MAX_CHANGES)
    .map((change) => ({ ...change, before: shortened(change.before), after: shortened(change.after) }));
}

function textsOf(content: Content): Map<string, string> {
  const texts = new Map<string, string>();
  texts.set(content.kind === "user" ? "userName" : "displayName", content.name);
  if (content.kind === "user") texts.set("active", String(content.active));
  else texts.set("members", content.members.toSorted().join(", "));
  for (const [name, value] of Object.entries(content.attributes)) {
    if (!isJsonObject(value)) texts.set(name, textOf(value));
    else {
      const prefix = name.includes(":") ? "" : `${name}.`;
      for (const [part, one] of Object.entries(value)) texts.set(prefix + part, textOf(one));
    }
  }
  return texts;
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  if (isJsonArray(value)) return value.map(textOf).join(", ");
  if (!isJsonObject(value)) return String(value);
  const { value: main, type } = value;
  if (typeof main !== "string") return JSON.stringify(value);
  return typeof type === "string" ? `${main} (${type})` : main;
}

function shortened(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS).toWellFormed()}…` : text;
}
