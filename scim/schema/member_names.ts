// Compares two lists of members. Most names of a large group are in both lists in the same spelling, so only the others need their canonical form.

import { canonicalName } from "../../platform/canonical_name.ts";

/** Names that only one list has in exactly this spelling, in the order of the list. */
interface MemberNamesDifference {
  readonly onlyBefore: readonly string[];
  readonly onlyAfter: readonly string[];
  /** The second list, with the texts that the first one has already. */
  readonly sent: readonly string[];
}

interface KnownDifference extends MemberNamesDifference {
  readonly before: readonly string[];
}

/** The audit entry and the directory compare the same lists during one write. */
const known = new WeakMap<readonly string[], KnownDifference>();

/** A list of distinct names that does not change. */
interface MemberList {
  /** The canonical form of each name. */
  readonly canonicals: readonly string[];
  /** The names in the order of the PUT that made the list. A client sends the members in the same order again, and a table of 10,000 takes long. */
  readonly sent?: readonly string[] | undefined;
}

const lists = new WeakMap<readonly string[], MemberList>();

/** Notes what is known about a list, for later comparisons. `sent` must have the same names in the same spelling. */
export function describeMembers(names: readonly string[], list: MemberList): void {
  lists.set(names, list);
}

/** The canonical form of each name. */
export function canonicalNames(names: readonly string[]): readonly string[] {
  return lists.get(names)?.canonicals ?? names.map(canonicalName);
}

/**
 * Compares two lists of names that do not change.
 *
 * @param before without repeated names. A name that `after` repeats is in `onlyAfter` from its second occurrence on.
 */
export function compareMemberNames(
  before: readonly string[],
  after: readonly string[],
): MemberNamesDifference {
  const found = known.get(after);
  if (found?.before === before) return found;
  const held = lists.get(before)?.sent ?? before;
  // Lists in the same order differ in a few places.
  let from = 0;
  while (from < held.length && held[from] === after[from]) from++;
  let same = 0;
  while (from + same < held.length && held.at(-1 - same) === after.at(-1 - same)) same++;
  same = Math.min(same, after.length - from);
  const left = new Set(held.slice(from, held.length - same));
  const others = after.slice(from, after.length - same);
  const onlyAfter = others.filter((name) => !left.delete(name));
  const onlyBefore = left.size < 2 ? [...left] : before.filter((name) => left.has(name));
  const sent = held.slice(0, from).concat(others, held.slice(held.length - same));
  const difference = { before, onlyBefore, onlyAfter, sent };
  known.set(after, difference);
  return difference;
}
