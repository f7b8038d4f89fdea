// Which element draws which row of a list: a row keeps its element while it is in view, and elements of rows that left are used again.

/** By the key of the row, the name of its element. */
export type Slots = ReadonlyMap<string, number>;

export interface NextSlots {
  readonly slots: Slots;
  /** The first name that was never given. */
  readonly free: number;
}

/**
 * Gives the rows in view their elements.
 *
 * @param reuse Without it a new row gets a new element: the focus may be in one of those that left, and must not go on in another row.
 */
export function assignSlots(
  before: NextSlots,
  keys: readonly string[],
  { reuse }: { reuse: boolean },
): NextSlots {
  const wanted = new Set(keys);
  const left = reuse ? [...before.slots].filter(([key]) => !wanted.has(key)).map(([, slot]) => slot) : [];
  let free = before.free;
  const slots = new Map<string, number>();
  for (const key of keys) slots.set(key, before.slots.get(key) ?? left.shift() ?? free++);
  return { slots, free };
}
