// Bulk operations on users: one after another, or in groups if they are one change, with the result of each.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { GatewayMonitor } from "../../../radius/ports.ts";
import type { Actor, Target, WriteOptions } from "../../../scim/ports.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import type { BulkPreview, JobAction, JobItem } from "../api_types.ts";
import type { People } from "../deps.ts";
import { type AccessCheckDeps, membersGiveAccess, removalGivesAccess } from "../access/access_check.ts";
import { Refusal, withTargetErrors } from "../errors.ts";
import { matchingUsers, type UserListFilters } from "./user_list.ts";
import { restoreOne } from "../trash/trash_routes.ts";
import { changeUser, removeUser } from "./user_writes.ts";

export const MAX_SELECTED = 10_000;
/** Users that a selection by filters reads. */
const MAX_SCANNED = 20_000;
const MEMBERS_AT_ONCE = 200;
const MAX_NAMED = 20;
const MAX_CONVERSATIONS_SCANNED = 20_000;

/** The users of the job: by name, or all that match filters, with the count that the administrator saw. */
export type UserSelection =
  | { readonly names: readonly string[] }
  | { readonly filters: UserListFilters; readonly expected: number };

/** An action on users of one target. */
export interface BulkOperation {
  readonly target: Target;
  readonly actor: Actor;
  readonly action: JobAction;
  readonly group: string | null;
  readonly backends: readonly string[] | undefined;
  /** The version that each user must have, by canonical name. Absent: any version. */
  readonly versions?: ReadonlyMap<string, string>;
  /** The ids in the trash of the users to restore, by canonical name. */
  readonly trashed?: ReadonlyMap<string, string>;
}

/** The result of one user, with the written version, or with the id of a deleted user in the trash. */
export type BulkResult = JobItem & { readonly version?: string; readonly trashed?: string };

const CHANGED_SINCE = "This user was changed after the action, so undo skipped it.";

/** @throws Refusal `too_many_chosen`, `selection_changed`. */
export async function selectedNames(
  people: People,
  target: Target,
  choice: UserSelection,
): Promise<string[]> {
  if ("names" in choice) {
    return [...new Map(choice.names.map((name) => [canonicalName(name), name])).values()];
  }
  const names: string[] = [];
  const { filters, expected } = choice;
  for await (const { content } of matchingUsers(people, target, { filters, most: MAX_SCANNED })) {
    names.push(content.name);
    if (names.length > MAX_SELECTED) throw new Refusal("too_many_chosen");
  }
  if (names.length !== expected) throw new Refusal("selection_changed");
  return names;
}

/** Counts the objects that an operation affects. Deleted users do not count. */
export async function previewBulk(
  { people, watch }: { people: People; watch: GatewayMonitor },
  target: Target,
  { names, group = null }: { names: readonly string[]; group?: string | null | undefined },
): Promise<BulkPreview> {
  const backends = new Map(target.backends.map(({ name }) => [name, 0]));
  const logsIn = target.name === people.loginTarget();
  const chosen = new Set(names.map(canonicalName));
  const key = group === null ? null : canonicalName(group);
  let [count, factors, memberships, active, members] = [0, 0, 0, 0, 0];
  for (const name of chosen) {
    const stored = await target.directory.read("user", name);
    if (stored === null) continue;
    count += 1;
    memberships += stored.groups.length;
    if (stored.content.kind === "user" && stored.content.active) active += 1;
    if (stored.groups.some((one) => canonicalName(one) === key)) members += 1;
    factors += logsIn ? people.pairings.of(name).length + people.hardwareTokens.of(name).length : 0;
    for (const backend of Object.keys(stored.backends)) {
      backends.set(backend, (backends.get(backend) ?? 0) + 1);
    }
  }
  const conversations = !logsIn ? 0 : watch.conversations(MAX_CONVERSATIONS_SCANNED)
    .filter(({ user, outcome }) => outcome === null && chosen.has(canonicalName(user))).length;
  return {
    count,
    names: names.slice(0, MAX_NAMED),
    backends: [...backends].map(([name, count]) => ({ name, count })),
    factors,
    memberships,
    conversations,
    active,
    members,
  };
}

/** Whether the operation gives a person access. It is judged as a whole, before anything is done. */
export async function bulkGivesAccess(
  deps: AccessCheckDeps,
  { target, action, group }: BulkOperation,
  names: readonly string[],
): Promise<boolean> {
  switch (action) {
    case "activate":
    case "restore":
      return true;
    case "deactivate":
      return false;
    case "join":
      return await membersGiveAccess(deps, target, [{ group: group ?? "", add: names, remove: [] }]);
    case "leave":
      return await membersGiveAccess(deps, target, [{ group: group ?? "", add: [], remove: names }]);
    case "delete":
      for (const name of names) {
        if (await removalGivesAccess(deps, target, { kind: "user", name })) return true;
      }
      return false;
  }
}

/** Performs the operation; yields the results in order. */
export async function* performBulk(
  operation: BulkOperation,
  names: readonly string[],
): AsyncGenerator<BulkResult[]> {
  if (operation.action === "join" || operation.action === "leave") {
    for (let from = 0; from < names.length; from += MEMBERS_AT_ONCE) {
      yield await changeMembership(operation, names.slice(from, from + MEMBERS_AT_ONCE));
    }
  } else for (const name of names) yield [await changeOne(operation, name)];
}

async function changeOne(one: BulkOperation, name: string): Promise<BulkResult> {
  const { target, actor, action, backends } = one;
  if (action === "restore") return await restore(one, name);
  try {
    const stored = await readUser(target, name);
    if (stored === null) return failed(name, new Refusal("unknown_object").message);
    const operation = { target, actor, name };
    if (action === "delete") {
      const { receipt, trashed } = await removeUser(operation, { backends, version: undefined });
      const result = changed(name, owedBackends(receipt.entries));
      return trashed === undefined ? result : { ...result, trashed };
    }
    const active = action === "activate";
    if (stored.content.kind === "user" && stored.content.active === active) {
      return { name, did: "same", detail: null };
    }
    if (!hasVersion(one, stored)) return failed(name, CHANGED_SINCE);
    const { receipt, stored: written } = await changeUser(operation, {
      change: (content) => content.kind === "user" ? { ...content, active } : content,
      version: stored.version,
      ...(backends === undefined ? {} : { backends }),
    });
    return { ...changed(name, owedBackends(receipt.entries)), ...versionOf(written) };
  } catch (fault) {
    return failed(name, sentenceOf(fault));
  }
}

async function restore({ target, actor, trashed }: BulkOperation, name: string): Promise<BulkResult> {
  const id = trashed?.get(canonicalName(name));
  if (id === undefined) return failed(name, new Refusal("not_in_trash").message);
  const { problem, receipt } = await restoreOne(target, { id, actor });
  return problem === null ? changed(name, owedBackends(receipt?.entries ?? [])) : failed(name, problem);
}

/** Changes many members at once. Users whose membership is already right are not changed. */
async function changeMembership(operation: BulkOperation, names: readonly string[]): Promise<BulkResult[]> {
  const { target, actor, action, group, backends } = operation;
  const key = canonicalName(group ?? "");
  const users = await Promise.all(names.map((name) => readUser(target, name)));
  const isMember = (stored: Stored) => stored.groups.some((one) => canonicalName(one) === key);
  const wanted = users.flatMap((stored) =>
    stored !== null && isMember(stored) !== (action === "join") ? [stored] : []
  );
  const leftAlone = new Set(wanted.filter((stored) => !hasVersion(operation, stored)));
  const toChange = wanted.filter((stored) => !leftAlone.has(stored)).map(({ content }) => content.name);
  const change = action === "join" ? { add: toChange, remove: [] } : { add: [], remove: toChange };
  const options: WriteOptions = { actor, ...(backends === undefined ? {} : { backends }) };
  let problem: string | null = null;
  let owed: readonly string[] = [];
  try {
    if (toChange.length > 0) {
      const { receipt } = await withTargetErrors(target.changeMembers(group ?? "", change, options));
      owed = owedBackends(receipt.entries);
    }
  } catch (fault) {
    problem = sentenceOf(fault);
  }
  const changing = new Set(toChange.map(canonicalName));
  return await Promise.all(names.map(async (name, at): Promise<BulkResult> => {
    const stored = users[at] ?? null;
    if (stored === null) return failed(name, new Refusal("unknown_object").message);
    if (leftAlone.has(stored)) return failed(name, CHANGED_SINCE);
    if (!changing.has(canonicalName(name))) return { name, did: "same", detail: null };
    if (problem !== null) return failed(name, problem);
    return { ...changed(name, owed), ...versionOf(await readUser(target, name)) };
  }));
}

function hasVersion({ versions }: BulkOperation, { content, version }: Stored): boolean {
  return versions === undefined || versions.get(canonicalName(content.name)) === version;
}

function versionOf(stored: Stored | null): { readonly version?: string } {
  return stored === null ? {} : { version: stored.version };
}

function readUser(target: Target, name: string): Promise<Stored | null> {
  return target.directory.read("user", canonicalName(name));
}

function changed(name: string, owes: readonly string[]): JobItem {
  return { name, did: "changed", detail: null, ...(owes.length === 0 ? {} : { owes }) };
}

function failed(name: string, detail: string): JobItem {
  return { name, did: "failed", detail };
}

/** The message of a refusal. Other errors are thrown. */
function sentenceOf(fault: unknown): string {
  if (!(fault instanceof Refusal)) throw fault;
  return fault.message;
}

/** The backends that receive the change later. */
function owedBackends(entries: readonly { backend: string; outcome: string }[]): string[] {
  return entries.flatMap(({ backend, outcome }) =>
    outcome === "done" || outcome === "read_only" ? [] : [backend]
  );
}
