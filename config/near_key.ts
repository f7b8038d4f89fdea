// Finds the key that a mistyped one probably meant.

const MAX_KEY_CHARACTERS = 80;

/** Levenshtein distance: how many characters must be changed, added or left out. */
function distance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const line = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      line.push(Math.min(changed, (above[j] ?? 0) + 1, (line[j - 1] ?? 0) + 1));
    }
    above = line;
  }
  return above[b.length] ?? 0;
}

const lastPart = (key: string) => key.slice(key.lastIndexOf(".") + 1);

/**
 * The known key nearest to `key`: one that differs by a few characters, else one that has the same last part in
 * another table. `null` when none is near.
 */
export function nearKey(key: string, known: Iterable<string>): string | null {
  if (key.length > MAX_KEY_CHARACTERS) return null;
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.min(3, Math.floor(lastPart(key).length / 3))) + 1;
  let elsewhere: string | null = null;
  for (const candidate of known) {
    const apart = distance(key, candidate);
    if (apart < bestDistance) [best, bestDistance] = [candidate, apart];
    if (elsewhere === null && lastPart(candidate) === lastPart(key)) elsewhere = candidate;
  }
  return best ?? elsewhere;
}
