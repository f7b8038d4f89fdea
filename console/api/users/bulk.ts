// Deeds on many users: one after the other, in groups where that is one change, with what became of each.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { GatewayWatch } from "../../../radius/ports.ts";
import type { Actor, Target, WriteOptions } from "../../../scim/ports.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import type { BulkAction, BulkPreview, JobItem } from "./bulk_types.ts";
import type { People } from "./user_deps.ts";
import { Refusal } from "../errors.ts";
import { ofTarget } from "../targets/target_errors.ts";
import { matchingUsers, type UserFilters } from "./iterate_users.ts";
import { changeUser, removeUser } from "./user_writes.ts";

export const MOST_CHOSEN = 10_000;
/** Users that are looked at to find those that a list's filters match. */
const MOST_LOOKED_AT = 20_000;
const MEMBERS_AT_ONCE = 200;
const MOST_NAMED = 20;
const CONVERSATIONS_LOOKED_AT = 20_000;

/** The users of the job: by name, or all that match filters, with the count that the administrator saw. */
export type Choice =
  | { readonly names: readonly string[] }
  | { readonly filters: UserFilters; readonly expected: number };

/** What is done, to users of one target. */
export interface BulkDeed {
  readonly target: Target;
  readonly actor: Actor;
  readonly action: BulkAction;
  readonly group: string | null;
  readonly backends: readonly string[] | undefined;
  /** The version that each user must have, by canonical name; another one is left as it is. Absent: any version. */
  readonly versions?: ReadonlyMap<string, string>;
}

/** What became of one user, and the version that was written. */
export type DoneItem = JobItem & { readonly version?: string };

const CHANGED_SINCE = "This user was changed after the action, so undo does not touch it.";

/** @throws Refusal `too_many_chosen`, `selection_changed`. */
export async function chosenNames(people: People, target: Target, choice: Choice): Promise<string[]> {
  if ("names" in choice) {
    return [...new Map(choice.names.map((name) => [canonicalName(name), name])).values()];
  }
  const names: string[] = [];
  const { filters, expected } = choice;
  for await (const { content } of matchingUsers(people, target, { filters, most: MOST_LOOKED_AT })) {
    names.push(content.name);
    if (names.length > MOST_CHOSEN) throw new Refusal("too_many_chosen");
  }
  if (names.length !== expected) throw new Refusal("selection_changed");
  return names;
}

/** Counts what a deed would touch. Who is gone meanwhile is not counted. */
export async function previewBulk(
  { people, watch }: { people: People; watch: GatewayWatch },
  target: Target,
  names: readonly string[],
): Promise<BulkPreview> {
  const backends = new Map(target.backends.map(({ name }) => [name, 0]));
  const logsIn = target.name === people.loginTarget;
  const chosen = new Set(names.map(canonicalName));
  let [count, factors, memberships] = [0, 0, 0];
  for (const name of chosen) {
    const stored = await target.directory.read("user", name);
    if (stored === null) continue;
    count += 1;
    memberships += stored.groups.length;
    factors += logsIn ? people.pairings.of(name).length : 0;
    for (const backend of Object.keys(stored.backends)) {
      backends.set(backend, (backends.get(backend) ?? 0) + 1);
    }
  }
  const conversations = !logsIn ? 0 : watch.conversations(CONVERSATIONS_LOOKED_AT)
    .filter(({ user, outcome }) => outcome === null && chosen.has(canonicalName(user))).length;
  return {
    count,
    names: names.slice(0, MOST_NAMED),
    backends: [...backends].map(([name, count]) => ({ name, count })),
    factors,
    memberships,
    conversations,
  };
}

/** Does the deed; yields what became of some users at a time, in order. */
export async function* performBulk(deed: BulkDeed, names: readonly string[]): AsyncGenerator<DoneItem[]> {
  if (deed.action === "join" || deed.action === "leave") {
    for (let from = 0; from < names.length; from += MEMBERS_AT_ONCE) {
      yield await changeMembership(deed, names.slice(from, from + MEMBERS_AT_ONCE));
    }
  } else for (const name of names) yield [await changeOne(deed, name)];
}

async function changeOne(one: BulkDeed, name: string): Promise<DoneItem> {
  const { target, actor, action, backends } = one;
  try {
    const stored = await readUser(target, name);
    if (stored === null) return failed(name, new Refusal("unknown_object").message);
    const deed = { target, actor, name };
    if (action === "delete") {
      const { receipt } = await removeUser(deed, { backends, version: undefined });
      return changed(name, owedBackends(receipt.entries));
    }
    const active = action === "activate";
    if (stored.content.kind === "user" && stored.content.active === active) {
      return { name, did: "same", detail: null };
    }
    if (!hasVersion(one, stored)) return failed(name, CHANGED_SINCE);
    const { receipt, stored: written } = await changeUser(deed, {
      change: (content) => content.kind === "user" ? { ...content, active } : content,
      version: stored.version,
      ...(backends === undefined ? {} : { backends }),
    });
    return { ...changed(name, owedBackends(receipt.entries)), ...versionOf(written) };
  } catch (fault) {
    return failed(name, sentenceOf(fault));
  }
}

/** Many members in one change; who was in the group already, or not in it, is left alone. */
async function changeMembership(deed: BulkDeed, names: readonly string[]): Promise<DoneItem[]> {
  const { target, actor, action, group, backends } = deed;
  const key = canonicalName(group ?? "");
  const users = await Promise.all(names.map((name) => readUser(target, name)));
  const isMember = (stored: Stored) => stored.groups.some((one) => canonicalName(one) === key);
  const wanted = users.flatMap((stored) =>
    stored !== null && isMember(stored) !== (action === "join") ? [stored] : []
  );
  const leftAlone = new Set(wanted.filter((stored) => !hasVersion(deed, stored)));
  const toChange = wanted.filter((stored) => !leftAlone.has(stored)).map(({ content }) => content.name);
  const change = action === "join" ? { add: toChange, remove: [] } : { add: [], remove: toChange };
  const options: WriteOptions = { actor, ...(backends === undefined ? {} : { backends }) };
  let problem: string | null = null;
  let owed: readonly string[] = [];
  try {
    if (toChange.length > 0) {
      const { receipt } = await ofTarget(target.changeMembers(group ?? "", change, options));
      owed = owedBackends(receipt.entries);
    }
  } catch (fault) {
    problem = sentenceOf(fault);
  }
  const changing = new Set(toChange.map(canonicalName));
  return await Promise.all(names.map(async (name, at): Promise<DoneItem> => {
    const stored = users[at] ?? null;
    if (stored === null) return failed(name, new Refusal("unknown_object").message);
    if (leftAlone.has(stored)) return failed(name, CHANGED_SINCE);
    if (!changing.has(canonicalName(name))) return { name, did: "same", detail: null };
    if (problem !== null) return failed(name, problem);
    return { ...changed(name, owed), ...versionOf(await readUser(target, name)) };
  }));
}

function hasVersion({ versions }: BulkDeed, { content, version }: Stored): boolean {
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

/** What a person may read of a fault; anything that is no refusal goes up. */
function sentenceOf(fault: unknown): string {
  if (!(fault instanceof Refusal)) throw fault;
  return fault.message;
}

/** Partial success is said: which backends did not take it at once. */
function owedBackends(entries: readonly { backend: string; outcome: string }[]): string[] {
  return entries.flatMap(({ backend, outcome }) => outcome === "done" ? [] : [backend]);
}
