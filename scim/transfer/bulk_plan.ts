// Decides what one row of an import means for a target, knowing what is there: nothing, one write of the store, or an operation of the target.

import { canonicalName } from "../../platform/canonical_name.ts";
import { contactProblems, contactProblemText } from "../schema/contact_values.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Actor, DirectoryWrite, Target } from "../ports.ts";
import type { Content, GroupContent, Stored } from "../schema/resource.ts";
import { readContent } from "../schema/parse_resource.ts";
import { mergeContent } from "../schema/mapping.ts";
import { distinctNames } from "../schema/resource_name.ts";
import { actionOf, contentEntries } from "../provisioning/write_audit.ts";
import { sameContent } from "../provisioning/content_equals.ts";
import { has } from "../provisioning/backend_status.ts";
import type { BulkRow, RowOutcome } from "./import_rows.ts";
import type { Join } from "./group_writer.ts";

export interface BulkDeps {
  readonly clock: Clock;
}

export interface BulkRequest {
  readonly rows: readonly BulkRow[];
  readonly actor: Actor;
  /** A resource that is there already is replaced instead of refused. */
  readonly mayUpdate: boolean;
  /** Says what would be done, and writes nothing. */
  readonly isDryRun: boolean;
  /** Names of backends; absent for all. */
  readonly backends?: readonly string[];
  /** What an update reaches, as `coveredAttributes` says it, with `active` and `members`; `null`: it replaces the whole resource. */
  readonly covers: ReadonlySet<string> | null;
}

export interface Work {
  readonly target: Target;
  readonly request: BulkRequest;
  readonly deps: BulkDeps;
  /** Names of the backends that it is for. */
  readonly named: readonly string[];
  /** The embedded store is all that the target has. */
  readonly isStoreAlone: boolean;
}

/** `settled`: nothing is to be written. `store`: one write of the directory does it. `target`: an operation of the target does. */
export type Plan =
  & (
    | { readonly step: "settled" }
    | { readonly step: "store"; readonly write: DirectoryWrite; readonly deed: Deed }
    | { readonly step: "target"; readonly deed: Deed }
  )
  & {
    /** When nothing comes in between. */
    readonly outcome: RowOutcome;
    /** Memberships that are still missing. */
    readonly joins: readonly Join[];
  };

export type Deed =
  | {
    readonly verb: "create" | "replace";
    readonly content: Content;
    readonly password: string | undefined;
  }
  | { readonly verb: "members"; readonly group: string; readonly add: readonly string[] };

/** Reads what is there and decides; writes nothing. */
export async function planRow(work: Work, row: BulkRow): Promise<Plan> {
  return row.row === "members" ? await planMembers(work, row) : await planResource(work, row);
}

async function planMembers(
  { target, isStoreAlone }: Work,
  { group, add }: Extract<BulkRow, { row: "members" }>,
): Promise<Plan> {
  const stored = await target.directory.read("group", canonicalName(group));
  const known = new Set(stored?.content.kind === "group" ? stored.content.members.map(canonicalName) : []);
  const missing = distinctNames(add).filter((name) => !known.has(canonicalName(name)));
  if (stored !== null && missing.length === 0) return settled({ did: "unchanged" });
  const outcome: RowOutcome = { did: stored === null ? "created" : "updated" };
  if (isStoreAlone) return settled(outcome, missing.map((member) => ({ group, member })));
  const content: GroupContent = { kind: "group", name: group, attributes: {}, members: missing };
  const deed: Deed = stored === null
    ? { verb: "create", content, password: undefined }
    : { verb: "members", group, add: missing };
  return { step: "target", deed, outcome, joins: [] };
}

async function planResource(
  work: Work,
  row: Extract<BulkRow, { row: "resource" }>,
): Promise<Plan> {
  const { target, request, named } = work;
  const read = readContent(row.kind, row.body, { mapping: target.mapping, newName: () => "" });
  if (!read.ok) return settled({ did: "refused", code: read.code, detail: read.detail });
  if (read.content.name === "") {
    return settled({ did: "refused", code: "invalid_value", detail: "It has no name." });
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
  if (exists && password === undefined && isHeldSo(stored, { content, named })) {
    return settled({ did: "unchanged" }, joins);
  }
  const deed: Deed = { verb: exists ? "replace" : "create", content, password };
  const outcome: RowOutcome = { did: exists ? "updated" : "created" };
  const write = storeWrite(work, { stored, content, password });
  return write === null
    ? { step: "target", deed, outcome, joins }
    : { step: "store", write, deed, outcome, joins };
}

const TAKEN: RowOutcome = {
  did: "refused",
  code: "taken",
  detail: "A resource of that name exists already.",
};

function settled(outcome: RowOutcome, joins: readonly Join[] = []): Plan {
  return { step: "settled", outcome, joins };
}

function missingJoins(
  stored: Stored | null,
  { member, groups }: { member: string; groups: readonly string[] },
): Join[] {
  const known = new Set(stored?.groups.map(canonicalName) ?? []);
  return distinctNames(groups).filter((group) => !known.has(canonicalName(group))).map((group) => ({
    group,
    member,
  }));
}

/** Whether it exists as far as the named backends go; so does one whose backends are not in the settings any more. */
function isThere(target: Target, named: readonly string[], { backends }: Stored): boolean {
  const isOrphan = !target.backends.some(({ name }) => backends[name] !== undefined);
  return isOrphan || named.some((name) => has(backends[name]));
}

function isHeldSo(
  stored: Stored,
  { content, named }: { content: Content; named: readonly string[] },
): boolean {
  const isHeld = named.every((name) =>
    has(stored.backends[name]) && stored.backends[name]?.differs === undefined
  );
  return isHeld && sameContent(stored.content, content);
}

/** What the resource shall be, knowing what it is. */
function contentOver(
  { content: before }: Stored,
  given: Content,
  { covers, joins, saysActive }: { covers: ReadonlySet<string> | null; joins: boolean; saysActive: boolean },
): Content {
  const over = covers === null ? given : mergeContent(before, given, covers);
  if (over.kind === "user") {
    // An empty cell must not let anybody in again.
    const keepsActive = covers !== null && !saysActive;
    return keepsActive && before.kind === "user" ? { ...over, active: before.active } : over;
  }
  if (before.kind !== "group" || given.kind !== "group") return over;
  if (joins) return { ...over, members: distinctNames([...before.members, ...given.members]) };
  return covers !== null && !covers.has("members") ? { ...over, members: before.members } : over;
}

/** The one write of the directory that does it, where the embedded store is the target's only backend; else `null`. */
function storeWrite(
  { target, request, deps: { clock }, named, isStoreAlone }: Work,
  { stored, content, password }: { stored: Stored | null; content: Content; password: string | undefined },
): DirectoryWrite | null {
  const [only] = target.backends;
  if (only === undefined || !isStoreAlone || password !== undefined) return null;
  const states = Object.entries(stored?.backends ?? {});
  if (states.some(([name, { state, differs }]) => name !== only.name || state !== "present" || differs)) {
    return null;
  }
  const also = contentEntries(target, {
    actor: request.actor,
    action: actionOf(content.kind, stored === null ? "create" : "replace"),
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
