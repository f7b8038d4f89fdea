// Reads and changes groups for the console.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { ReplyAttributes, ReplyValue } from "../../../platform/config/config.ts";
import type { ReplyAttributeRegistry } from "../../../radius/factors/reply_attribute_registry.ts";
import type { Actor, Receipt, Target, WriteOptions, Written } from "../../../scim/ports.ts";
import type { GroupContent, Stored } from "../../../scim/schema/resource.ts";
import type { GroupPage, GroupRow, GroupView, MemberPage, ReplyAttribute } from "./group_types.ts";
import type { People } from "../deps.ts";
import { DetailedRefusal, Refusal, withTargetErrors } from "../errors.ts";
import { userRow } from "../users/user_views.ts";

export interface GroupDeps {
  readonly people: People;
  /** Absent: users of this target do not log in. */
  readonly replies?: Pick<ReplyAttributeRegistry, "find" | "effective"> | undefined;
}

/** A group of a target, and the caller. */
export interface GroupRequest {
  readonly target: Target;
  readonly name: string;
  readonly actor: Actor;
  /** Absent: all of the target's. */
  readonly backends?: readonly string[] | undefined;
}

type StoredGroup = Stored<GroupContent>;

/** One page of groups in order of name, or in reverse order if there is no search. @throws Refusal `bad_filter`. */
export async function readGroupPage(
  deps: GroupDeps,
  target: Target,
  { q, page, size, sort }: { q: string; page: number; size: number; sort: "" | "name" | "-name" },
): Promise<GroupPage> {
  const { directory } = target;
  const found = q.trim() === ""
    ? { ok: true as const, page: await directory.page("group", { page, size, isReverse: sort === "-name" }) }
    : await directory.search("group", q, { page, size });
  if (!found.ok) throw new DetailedRefusal("bad_filter", { message: found.problem.detail });
  return {
    target: target.name,
    targets: deps.people.targets.names,
    backends: target.backends,
    total: found.page.total,
    page,
    size,
    rows: found.page.resources.map((stored) => groupRow(deps, target, stored)),
  };
}

function groupRow(deps: GroupDeps, target: Target, { content, backends }: Stored): GroupRow {
  return {
    name: content.name,
    members: content.kind === "group" ? content.members.length : 0,
    replies: Object.keys(repliesOf(deps, target, content.name).attributes).length,
    backends: Object.entries(backends).map(([name, { state, differs, notStored }]) => ({
      name,
      state,
      differs: differs === true,
      ...notStored === undefined ? {} : { notStored: notStored.count },
    })),
  };
}

const NO_REPLIES = { from: null, attributes: {}, groups: "first", version: 0 } as const;

/** An attribute with several values is several rows. */
const rowsOf = (name: string, value: ReplyValue): { name: string; value: string }[] =>
  (typeof value === "object" ? value : [value]).map((one) => ({ name, value: String(one) }));

/** All attributes as rows. */
export function replyRows(attributes: ReplyAttributes): ReplyAttribute[] {
  return Object.entries(attributes).flatMap(([name, value]) => rowsOf(name, value));
}

/** The reply attributes of members. Only groups of the login target have them. */
function repliesOf({ people, replies }: GroupDeps, target: Target, name: string) {
  return target.name === people.loginTarget() ? replies?.find(name) ?? NO_REPLIES : NO_REPLIES;
}

function repliesView(
  deps: GroupDeps,
  target: Target,
  name: string,
): Pick<GroupView, "replies" | "repliesFrom" | "repliesGroups" | "repliesVersion" | "effective"> {
  const { from, attributes, groups, version } = repliesOf(deps, target, name);
  const logsIn = target.name === deps.people.loginTarget();
  const effective = logsIn ? deps.replies?.effective(name) ?? [] : [];
  return {
    replies: replyRows(attributes),
    repliesFrom: from,
    repliesGroups: groups,
    repliesVersion: version,
    effective: effective.flatMap(({ name, value, from: origin }) =>
      rowsOf(name, value).map((row) => ({ ...row, from: origin }))
    ),
  };
}

/** @throws Refusal `unknown_object`. */
export async function readGroup(target: Target, name: string): Promise<StoredGroup> {
  const stored = await target.directory.read("group", canonicalName(name));
  if (stored === null || stored.content.kind !== "group") throw new Refusal("unknown_object");
  return { ...stored, content: stored.content };
}

export function groupView(deps: GroupDeps, target: Target, stored: StoredGroup): GroupView {
  const { content, createdMs, modifiedMs, version, backends } = stored;
  return {
    target: target.name,
    name: content.name,
    members: content.members.length,
    createdMs,
    modifiedMs,
    version,
    ...repliesView(deps, target, content.name),
    logsIn: target.name === deps.people.loginTarget(),
    ...(target.name === deps.people.loginTarget() ? { policies: policiesNaming(deps, content.name) } : {}),
    backends: target.backends.map((backend) => ({ ...backend, state: backends[backend.name] ?? null })),
  };
}

/** The names of the policies whose conditions name a group. */
function policiesNaming({ people: { policies } }: GroupDeps, group: string): string[] {
  const canonical = canonicalName(group);
  return policies.registry.list.policies.flatMap(({ name, conditions: { groups = [], exceptGroups = [] } }) =>
    [...groups, ...exceptGroups].some((one) => canonicalName(one) === canonical) ? [name] : []
  );
}

/** A page of the members whose name holds `q`, in order of name. */
export async function listMembers(
  { people }: GroupDeps,
  { target, name }: Pick<GroupRequest, "target" | "name">,
  { q, page, size }: { q: string; page: number; size: number },
): Promise<MemberPage> {
  const { content } = await readGroup(target, name);
  const wanted = canonicalName(q.trim());
  const keyed = content.members.map((member) => ({ member, key: canonicalName(member) }));
  const fitting = keyed.filter(({ key }) => key.includes(wanted))
    .sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  const shown = fitting.slice((page - 1) * size, page * size);
  const rows = await Promise.all(shown.map(async ({ member, key }) => {
    const stored = await target.directory.read("user", key);
    if (stored === null) return { name: member, displayName: "", known: false, active: false };
    const { displayName, active } = userRow(people, target, stored);
    return { name: stored.content.name, displayName, known: true, active };
  }));
  return { total: fitting.length, page, size, rows };
}

/** A new group. The rules for names are those of SCIM. @throws Refusal `bad_value`. */
export function newGroup(
  people: Pick<People, "readContent">,
  request: GroupRequest,
  members: readonly string[],
): GroupContent {
  const read = people.readContent("group", { displayName: request.name }, {
    mapping: request.target.mapping,
    newName: () => request.name,
  });
  if (!read.ok) throw new DetailedRefusal("bad_value", { message: read.detail });
  return { kind: "group", name: read.content.name, attributes: {}, members };
}

/** @throws Refusal `object_exists`. */
export function createGroup(request: GroupRequest, content: GroupContent): Promise<Written> {
  return withTargetErrors(request.target.create(content, optionsOf(request)));
}

export function removeGroup(
  request: GroupRequest,
  { version }: { version?: string | undefined },
): Promise<Written> {
  const options = { ...optionsOf(request), ...(version === undefined ? {} : { ifVersion: version }) };
  return withTargetErrors(request.target.remove("group", request.name, options));
}

/** Adds and removes members in one change. */
export async function changeMembers(
  request: GroupRequest,
  change: { add: readonly string[]; remove: readonly string[] },
): Promise<Receipt> {
  const { receipt } = await withTargetErrors(
    request.target.changeMembers(request.name, change, optionsOf(request)),
  );
  return receipt;
}

function optionsOf({ actor, backends }: GroupRequest): WriteOptions {
  return { actor, ...(backends === undefined ? {} : { backends }) };
}
