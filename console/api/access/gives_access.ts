// Decides whether a change of a user or a group gives a person access: a way to sign in, to enrol, or to be handled differently at a
// login. Every route that writes users or groups asks it (access_check.ts).

import { canonicalName } from "../../../platform/canonical_name.ts";
import { userMailAddress } from "../../../platform/mail/mail_address.ts";
import { reducePhoneNumber } from "../../../platform/phone_number.ts";
import type { Content, GroupContent, UserContent } from "../../../scim/schema/resource.ts";

/** A user or a group before or after a change. */
export interface AccessSubject {
  /** Absent: the change creates it. */
  readonly id?: string;
  readonly content: Content;
  /** The groups of a user; empty for a group. */
  readonly groups: readonly string[];
  /** The change sets a password. */
  readonly setsPassword?: boolean;
}

/** What the gateway knows about the names in a change. */
export interface AccessFacts {
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
export function givesAccess(
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
export function groupsInQuestion(
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
