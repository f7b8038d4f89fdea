// The users of complete logins: each has an authenticator app with the same seed, so that the generator needs one code.

import { openDataDir } from "../../platform/data_dir.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { Pairings } from "../../radius/factors/pairings.ts";
import { totpCode } from "../support/totp.ts";

/** The seed of every user, in hexadecimal. It is that of the test vectors of RFC 6238. */
export const TOTP_SEED_HEX = "3132333435363738393031323334353637383930";
const SEED = Uint8Array.fromHex(TOTP_SEED_HEX);
const USERS_PER_COMMIT = 500;

/** The code that all users have now. Each user can use it once. */
export function presentCode(): string {
  return totpCode(SEED, Date.now());
}

/**
 * Writes `users` users, `user00000` and so on, as the gateway stores them: into a new data directory, or with `kvUrl`
 * into that store. Throws if the store cannot be opened.
 */
export async function addTotpUsers(
  path: string,
  { users, masterKeyHex = "", kvUrl = "" }: { users: number; masterKeyHex?: string; kvUrl?: string },
): Promise<void> {
  const random = createSystemRandom();
  const { store, vault, close } = await openDataDir(path, { random, masterKeyHex, kvUrl });
  const pairings = new Pairings({ store, vault, clock: systemClock, random, target: "default" });
  for (let first = 0; first < users; first += USERS_PER_COMMIT) {
    const mutations = Array.from({ length: Math.min(USERS_PER_COMMIT, users - first) }, (_, at) => {
      const name = `user${String(first + at).padStart(5, "0")}`;
      return pairings.prepare({ canonical: name, shown: name }, { kind: "totp", seed: SEED }).mutation;
    });
    await store.commit({ mutations });
  }
  await close();
}
