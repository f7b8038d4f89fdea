// The order of keys in Deno KV: part by part; octets, texts, bigints, numbers, booleans.

const TYPES: readonly string[] = ["object", "string", "bigint", "number", "boolean"];
const encoder = new TextEncoder();

/** Negative if `a` comes before `b` in a list of the store, positive if after, 0 for the same key. */
export function compareKeys(a: Deno.KvKey, b: Deno.KvKey): number {
  for (const [at, part] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    const order = compareParts(part, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareParts(a: Deno.KvKeyPart, b: Deno.KvKeyPart): number {
  const types = rankOf(a) - rankOf(b);
  if (types !== 0) return types;
  if (typeof a === "string" && typeof b === "string") {
    return a === b ? 0 : compareOctets(encoder.encode(a), encoder.encode(b));
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareOctets(a, b);
  if (typeof a === "number" && typeof b === "number") return compareNumbers(a, b);
  if (typeof a === "bigint" && typeof b === "bigint") return a < b ? -1 : a > b ? 1 : 0;
  return Number(a) - Number(b);
}

const rankOf = (part: Deno.KvKeyPart) => TYPES.indexOf(typeof part);

function compareOctets(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** NaN is the largest number, and -0 comes before 0. */
function compareNumbers(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  if (a !== b) return a - b;
  return Number(Object.is(b, -0)) - Number(Object.is(a, -0));
}
