// Requires a recent factor for changes of users and groups that give a person access. API tokens cannot make such a change.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { DELETED_USER_DAYS } from "../../../platform/user_record.ts";
import type { Target } from "../../../scim/ports.ts";
import { toFrontEnd } from "../../../scim/schema/mapping.ts";
import type { Content, GroupContent, ResourceKind, UserContent } from "../../../scim/schema/resource.ts";
import { userMailAddress } from "../../../platform/mail/mail_address.ts";
import { reducePhoneNumber } from "../../../platform/phone_number.ts";
import type { People } from "../deps.ts";

export interface AccessCheckDeps {
  readonly people: Pick<People, "access">;
  readonly clock: Clock;
}

/** The resources before and after a change; `null`: there is none. */
interface AccessChange {
  readonly before: AccessSubject | null;
  readonly after: AccessSubject | null;
}

const RETENTION_MS = DELETED_USER_DAYS * 24 * 3_600_000;

/** Whether the creation, change or deletion of a resource of a target gives a person access. */
async function changeGivesAccess(
  { people: { access }, clock }: AccessCheckDeps,
  { directory, mapping }: Pick<Target, "directory" | "mapping">,
  { before, after: given }: AccessChange,
): Promise<boolean> {
  const name = canonicalName((before ?? given)?.content.name ?? "");
  const isNewUser = before === null && given?.content.kind === "user";
  const { leftMs, groups } = isNewUser ? await directory.readTraces(name) : { leftMs: null, groups: [] };
  const after = given === null ? null : { ...given, groups: [...given.groups, ...groups] };
  const named = await namedGroups(access, { directory }, groupsInQuestion(before, after));
  return givesAccess(before, after, {
    isGroupNamed: (group) => named.has(group),
    isUserNamed: access.isUserNamed,
    hadFactor: access.hadFactor(name, before?.id),
    leftRecently: leftMs !== null && leftMs + RETENTION_MS > clock.nowMs(),
    replyValuesOf(user) {
      if (access.replySources.length === 0) return [];
      const values = toFrontEnd(user, mapping);
      return access.replySources.flatMap((source) =>
        (values.get(source) ?? []).map((value) => `${source}=${value}`)
      );
    },
  });
}

/** Those of the groups (canonical) that are named, or that a named group contains. */
async function namedGroups(
  access: People["access"],
  { directory }: Pick<Target, "directory">,
  groups: readonly string[],
): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  if (!access.namesGroups()) return named;
  for (const group of groups) {
    const isNamed = access.isGroupNamed(group) ||
      (await directory.readTraces(group)).groups.some((container) => access.isGroupNamed(container));
    if (isNamed) named.add(group);
  }
  return named;
}

/** Whether the creation of a user or group, or its replacement, gives a person access. */
export async function writeGivesAccess(
  deps: AccessCheckDeps,
  target: Pick<Target, "directory" | "mapping">,
  { content, password }: { readonly content: Content; readonly password?: string | undefined },
): Promise<boolean> {
  const before = await readSubject(target, content.kind, content.name);
  const groups = before?.groups ?? [];
  return await changeGivesAccess(deps, target, {
    before,
    after: { content, groups, setsPassword: password !== undefined },
  });
}

/** Whether the deletion of a user or group gives a person access. */
export async function removalGivesAccess(
  deps: AccessCheckDeps,
  target: Pick<Target, "directory" | "mapping">,
  { kind, name }: { readonly kind: ResourceKind; readonly name: string },
): Promise<boolean> {
  return await changeGivesAccess(deps, target, {
    before: await readSubject(target, kind, name),
    after: null,
  });
}

/** Names that join and leave a group. */
interface GroupMembershipChange {
  readonly group: string;
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** Whether one of the changes of members gives a person access. A name without a user can be a member, too. */
export async function membersGiveAccess(
  deps: AccessCheckDeps,
  target: Pick<Target, "directory" | "mapping">,
  changes: readonly GroupMembershipChange[],
): Promise<boolean> {
  for (const change of changes) if (await memberChangeGivesAccess(deps, target, change)) return true;
  return false;
}

async function memberChangeGivesAccess(
  deps: AccessCheckDeps,
  target: Pick<Target, "directory" | "mapping">,
  { group, add, remove }: GroupMembershipChange,
): Promise<boolean> {
  // A large group is not read for nothing.
  const named = await namedGroups(deps.people.access, target, [canonicalName(group)]);
  if (named.size === 0) return false;
  const before = await readSubject(target, "group", group);
  if (before?.content.kind !== "group") return true;
  const removed = new Set(remove.map(canonicalName));
  const kept = before.content.members.filter((member) => !removed.has(canonicalName(member)));
  const content = { ...before.content, members: [...kept, ...add] };
  return await changeGivesAccess(deps, target, { before, after: { content, groups: [] } });
}

async function readSubject(
  { directory }: Pick<Target, "directory">,
  kind: ResourceKind,
  name: string,
): Promise<AccessSubject | null> {
  const stored = await directory.read(kind, canonicalName(name));
  return stored === null ? null : { id: stored.id, content: stored.content, groups: stored.groups };
}

// Decides whether a change of a user or a group gives a person access: a way to sign in, to enrol, or to be handled differently at a
// login. Every route that writes users or groups asks it (access_check.ts).

/** A user or a group before or after a change. */
interface AccessSubject {
  /** Absent: the change creates it. */
  readonly id?: string;
  readonly content: Content;
  /** The groups of a user; empty for a group. */
  readonly groups: readonly string[];
  /** The change sets a password. */
  readonly setsPassword?: boolean;
}

/** What the gateway knows about the names in a change. */
interface AccessFacts {
  /** Whether a policy or a reply attribute names the group (canonical), or one that contains it. */
  readonly isGroupNamed: (canonical: string) => boolean;
  /** Whether a policy names the user (canonical). */
  readonly isUserNamed: (canonical: string) => boolean;
  /** Whether the user has a factor, or had one. */
  readonly hadFactor: boolean;
  /** Whether an earlier user had the name, and can still be restored. */
  readonly leftRecently: boolean;
  /** The values of a user that become reply attributes. */
  readonly replyValuesOf: (user: UserContent) => readonly string[];
}

/**
 * Whether a change gives access. Pure.
 *
 * @param before `null`: the change creates it.
 * @param after `null`: the change deletes it.
 * @param facts about the name of `before`, or of `after` if that is new
 */
function givesAccess(
  before: AccessSubject | null,
  after: AccessSubject | null,
  facts: AccessFacts,
): boolean {
  const kind = (after ?? before)?.content.kind;
  return kind === "group"
    ? groupGivesAccess(groupOf(before), groupOf(after), facts)
    : userGivesAccess(before, after, facts);
}

function userGivesAccess(
  before: AccessSubject | null,
  after: AccessSubject | null,
  facts: AccessFacts,
): boolean {
  const was = userOf(before);
  const is = userOf(after);
  // Without factors, the name can enrol at login.
  if (is === null) return was !== null && (facts.hadFactor || phoneNumbersOf(was).length > 0);
  if (after?.setsPassword === true) return true;
  const isNewName = was === null || canonicalName(was.name) !== canonicalName(is.name);
  if (isNewName && (facts.hadFactor || facts.leftRecently || facts.isUserNamed(canonicalName(is.name)))) {
    return true;
  }
  const repliesBefore = was === null ? [] : facts.replyValuesOf(was);
  return (was !== null && !was.active && is.active) || changesNumbers(was, is) || changesMail(was, is) ||
    facts.replyValuesOf(is).join("\n") !== repliesBefore.join("\n") ||
    groupsInQuestion(before, after).some(facts.isGroupNamed);
}

/** A new number receives passcodes. Without a number, a user who can sign in may have no factor left. */
function changesNumbers(was: UserContent | null, is: UserContent): boolean {
  const before = new Set(was === null ? [] : phoneNumbersOf(was));
  const after = new Set(phoneNumbersOf(is));
  return !after.isSubsetOf(before) || (is.active && !before.isSubsetOf(after));
}

/** Invitations and warnings go to the address. */
function changesMail(was: UserContent | null, is: UserContent): boolean {
  const known = new Set(was === null ? [] : addressesOf(was));
  if (addressesOf(is).some((address) => !known.has(address))) return true;
  const to = userMailAddress(is)?.address;
  return to !== undefined && was !== null && userMailAddress(was)?.address !== to;
}

function groupGivesAccess(
  was: GroupContent | null,
  is: GroupContent | null,
  { isGroupNamed }: AccessFacts,
): boolean {
  const names = namesOf(was, is);
  if (!names.some(isGroupNamed)) return false;
  if (is === null || names.length > 1) return true;
  return difference(was?.members ?? [], is.members).length > 0;
}

/** The canonical names of the groups whose members a change may affect. */
function groupsInQuestion(
  before: AccessSubject | null,
  after: AccessSubject | null,
): readonly string[] {
  const [was, is] = [groupOf(before), groupOf(after)];
  return was === null && is === null
    ? difference(before?.groups ?? [], after?.groups ?? [])
    : namesOf(was, is);
}

function namesOf(was: GroupContent | null, is: GroupContent | null): string[] {
  return [...new Set([was, is].flatMap((group) => group === null ? [] : [canonicalName(group.name)]))];
}

/** The canonical names, or other texts, that only one of two lists has. */
function difference(some: readonly string[], others: readonly string[]): string[] {
  const one = new Set(some.map(canonicalName));
  return [...one.symmetricDifference(new Set(others.map(canonicalName)))];
}

/** The phone numbers of a user, reduced to + and digits if possible. */
function phoneNumbersOf({ attributes }: UserContent): string[] {
  return valuesOf(attributes.phoneNumbers).map((value) => reducePhoneNumber(value) ?? value);
}

function addressesOf({ attributes }: UserContent): string[] {
  return valuesOf(attributes.emails).map((value) => value.trim());
}

/** The values of a multi-valued attribute. */
function valuesOf(entries: unknown): string[] {
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry) => {
    const value = typeof entry === "object" && entry !== null && "value" in entry ? entry.value : entry;
    return typeof value === "string" && value !== "" ? [value] : [];
  });
}

function userOf(subject: AccessSubject | null): UserContent | null {
  return subject?.content.kind === "user" ? subject.content : null;
}

function groupOf(subject: AccessSubject | null): GroupContent | null {
  return subject?.content.kind === "group" ? subject.content : null;
}
