// Compares values deeply. Tables of settings hide their secrets when they are printed, so a comparison of their texts would miss a change.

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether two values of plain tables, lists and scalars are the same. */
export function isDeepEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((one, at) => isDeepEqual(one, b[at]));
  }
  if (!isTable(a) || !isTable(b)) return false;
  // The order of keys counts, because that of backends and groups does.
  const [keysA, keysB] = [Object.keys(a), Object.keys(b)];
  return keysA.length === keysB.length &&
    keysA.every((key, at) => key === keysB[at] && isDeepEqual(a[key], b[key]));
}
