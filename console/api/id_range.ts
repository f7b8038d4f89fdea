// The part of a list of ordered ids that the next page reads, in either direction.

interface IdRange {
  /** The first id. */
  readonly start: string;
  /** The id after the last one. */
  readonly end: string;
}

/** The range without the pages up to `last`, which is the last id of the previous page, or `null` for the first page. */
export function rangeAfter(
  last: string | null,
  { start, end, isOldestFirst }: IdRange & { readonly isOldestFirst: boolean },
): IdRange {
  if (last === null) return { start, end };
  if (!isOldestFirst) return { start, end: last < end ? last : end };
  // No id lies between an id and the same id with a zero octet.
  return { start: last >= start ? `${last}\0` : start, end };
}
