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
  const left = new Set(before);
  const onlyAfter: string[] = [];
  for (const name of after) if (!left.delete(name)) onlyAfter.push(name);
  const difference = { before, onlyBefore: [...left], onlyAfter };
  known.set(after, difference);
  return difference;
}
