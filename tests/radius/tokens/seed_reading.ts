// Reads seed files for tests, and shows their rows as text.

import { readSeedFile } from "../../../radius/tokens/files/seed_csv.ts";
import type { SeedFileOptions } from "../../../radius/tokens/files/seed_rows.ts";

/** The seed of the examples, and the key of figure 6 of RFC 6030. */
export const SEED = "3132333435363738393031323334353637383930";
export const KEY = "12345678901234567890123456789012";
/** The seed in base32. */
export const BASE32 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

const VECTORS = new URL("../../vectors/pskc/", import.meta.url);
export const figure = (number: number) => Deno.readTextFile(new URL(`rfc6030_figure_${number}.xml`, VECTORS));
export const NO_OPTIONS: SeedFileOptions = {
  ...{ kind: null, algorithm: null, digits: null, periodS: null, manufacturer: "", encoding: "auto" },
  ...{ ignoreValidity: false, key: "", password: "" },
};
const pause = () => Promise.resolve();
export const read = (text: string, options: Partial<SeedFileOptions> = {}) =>
  readSeedFile(text, { options: { ...NO_OPTIONS, ...options }, pause });

/** The rows as text: serial number, type and seed, or the problem. */
export async function rowsOf(text: string, options: Partial<SeedFileOptions> = {}): Promise<string[]> {
  const file = await read(text, options);
  if (!file.ok) return [file.problem];
  return file.rows.map(({ serial, user, token, problem }) => {
    const named = user === "" ? serial : `${serial} of ${user}`;
    if (token === null) return `${named}: ${problem}`;
    const { kind, digits, periodS, counter, algorithm, seed } = token;
    const factor = kind === "totp" ? `${periodS} s` : `at ${counter}`;
    return `${named}: ${kind} ${digits} ${factor} ${algorithm} ${seed.toHex()}`;
  });
}
