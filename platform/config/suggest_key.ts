// Finds the key that a mistyped one probably meant.

import { levenshteinDistance } from "@std/text/levenshtein-distance";

const MAX_KEY_CHARACTERS = 80;

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
    const apart: number = levenshteinDistance(key, candidate);
    if (apart < bestDistance) [best, bestDistance] = [candidate, apart];
    if (elsewhere === null && lastPart(candidate) === lastPart(key)) elsewhere = candidate;
  }
  return best ?? elsewhere;
}
