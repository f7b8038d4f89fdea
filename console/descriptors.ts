// Measures how many file descriptors this process can still open. Deno does not tell the limit, so it is tried.

/** A limit above this counts as large enough for every part. */
export const PROBED_DESCRIPTORS = 1200;

/** How many descriptors are free, up to {@link PROBED_DESCRIPTORS}. Opens that many at once and closes them. */
export function countFreeDescriptors(open: () => Disposable = openNull): number {
  const held: Disposable[] = [];
  try {
    while (held.length < PROBED_DESCRIPTORS) held.push(open());
  } catch (_noneLeft) {
    // The number that could be opened is the result.
  } finally {
    for (const one of held) one[Symbol.dispose]();
  }
  return held.length;
}

function openNull(): Disposable {
  return Deno.openSync("/dev/null");
}

/** Descriptors that the HTTP listener leaves to RADIUS, the store, LDAP, and calls to other services. */
const RESERVED = 100;
/** Streams of 2,000 phones and 64 console pages, and room for short requests. */
const MAX_CONNECTIONS = 2400;
const MIN_CONNECTIONS = 16;

/** How many HTTP connections may be open at once. */
export function connectionLimit(freeDescriptors: number): number {
  if (freeDescriptors >= PROBED_DESCRIPTORS) return MAX_CONNECTIONS;
  return Math.max(MIN_CONNECTIONS, freeDescriptors - RESERVED);
}
