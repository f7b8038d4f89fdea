// Compares two lists of members. Most names of a large group are in both lists in the same spelling, so only the others need their canonical form.

/** Names that only one list has in exactly this spelling, in the order of the list. */
interface MemberNamesDifference {
  readonly onlyBefore: readonly string[];
  readonly onlyAfter: readonly string[];
}

interface KnownDifference extends MemberNamesDifference {
  readonly before: readonly string[];
}

/** The audit entry and the directory compare the same lists during one write. */
const known = new WeakMap<readonly string[], KnownDifference>();

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
  // Lists in the same order differ in a few places.
  let from = 0;
  while (from < before.length && before[from] === after[from]) from++;
  let same = 0;
  while (from + same < before.length && before.at(-1 - same) === after.at(-1 - same)) same++;
  same = Math.min(same, after.length - from);
  const left = new Set(before.slice(from, before.length - same));
  const onlyAfter: string[] = [];
  for (const name of after.slice(from, after.length - same)) if (!left.delete(name)) onlyAfter.push(name);
  const difference = { before, onlyBefore: [...left], onlyAfter };
  known.set(after, difference);
  return difference;
}
