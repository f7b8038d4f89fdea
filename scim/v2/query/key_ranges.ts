// Sets of keys of an index, as ranges in order without common keys, and what filters say about them.

import { compareText, LAST_CHARACTER } from "../../directory/keys.ts";
import { NO_VALUE } from "../../directory/value_keys.ts";
import type { CompareOperator } from "../../filter/filter.ts";
import type { KeyRange } from "../../index_port.ts";

export type KeyRanges = readonly KeyRange[];

export const ALL_KEYS: KeyRange = { from: "", to: LAST_CHARACTER };

/** The keys that both sets have. */
export function intersectRanges(one: KeyRanges, other: KeyRanges): KeyRanges {
  return one.flatMap((a) =>
    other.flatMap((b) => {
      const from = compareText(a.from, b.from) >= 0 ? a.from : b.from;
      const to = compareText(a.to, b.to) <= 0 ? a.to : b.to;
      return compareText(from, to) < 0 ? [{ from, to }] : [];
    })
  );
}

/** The keys that at least one set has. */
export function uniteRanges(one: KeyRanges, other: KeyRanges): KeyRanges {
  const united: KeyRange[] = [];
  for (const next of [...one, ...other].sort((a, b) => compareText(a.from, b.from))) {
    const last = united.at(-1);
    if (last === undefined || compareText(next.from, last.to) > 0) united.push(next);
    else if (compareText(next.to, last.to) > 0) united[united.length - 1] = { from: last.from, to: next.to };
  }
  return united;
}

/** The keys that the set does not have. */
export function complementRanges(ranges: KeyRanges): KeyRanges {
  const others: KeyRange[] = [];
  let from = ALL_KEYS.from;
  for (const range of ranges) {
    if (compareText(from, range.from) < 0) others.push({ from, to: range.from });
    from = range.to;
  }
  return compareText(from, ALL_KEYS.to) < 0 ? [...others, { from, to: ALL_KEYS.to }] : others;
}

/** The keys of an index of values that a comparison finds. `null`: ranges of keys do not answer the operator. */
export function valueRanges(operator: CompareOperator, value: string): KeyRanges | null {
  // The keys of a value are those that begin with it and U+0000.
  const after = `${value}\u0001`;
  switch (operator) {
    case "eq":
      return [{ from: `${value}\0`, to: after }];
    case "ne":
      return complementRanges([{ from: `${value}\0`, to: after }]);
    case "sw":
      return startingWith(value);
    case "gt":
      return nonEmpty({ from: after, to: NO_VALUE });
    case "ge":
      return nonEmpty({ from: value, to: NO_VALUE });
    case "lt":
      return nonEmpty({ from: "", to: value });
    case "le":
      return nonEmpty({ from: "", to: after });
    case "co":
    case "ew":
      return null;
  }
}

/** The same for an index of names, whose keys are the names. */
export function nameRanges(operator: CompareOperator, name: string): KeyRanges | null {
  const after = `${name}\0`;
  switch (operator) {
    case "eq":
      return [{ from: name, to: after }];
    case "ne":
      return complementRanges([{ from: name, to: after }]);
    case "sw":
      return nonEmpty({ from: name, to: `${name}${LAST_CHARACTER}` });
    case "gt":
      return nonEmpty({ from: after, to: LAST_CHARACTER });
    case "ge":
      return nonEmpty({ from: name, to: LAST_CHARACTER });
    case "lt":
      return nonEmpty({ from: "", to: name });
    case "le":
      return nonEmpty({ from: "", to: after });
    case "co":
    case "ew":
      return null;
  }
}

/** Values that are not empty (RFC 7644 §3.4.2.2 `pr`). */
export const PRESENT_VALUES: KeyRanges = [{ from: "\u0001", to: NO_VALUE }];

function startingWith(value: string): KeyRanges {
  return nonEmpty({ from: value, to: value === "" ? NO_VALUE : `${value}${LAST_CHARACTER}` });
}

function nonEmpty(range: KeyRange): KeyRanges {
  return compareText(range.from, range.to) < 0 ? [range] : [];
}
