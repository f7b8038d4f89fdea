// Password hashes: scrypt (RFC 7914) on the runtime's thread pool, so that the thread that answers RADIUS does not block. Two hashes
// are computed at the same time; up to 16 requests wait.

import { scrypt } from "node:crypto";
import { type Random, systemClock, toBase64Url } from "./runtime.ts";
import { Semaphore } from "./semaphore.ts";
import { equalDigests } from "./vault.ts";

/** A hash with its parameters, so that the cost can grow later. */
export interface PasswordHash {
  readonly algorithm: "scrypt";
  readonly costLog2: number;
  /** The parameter p of scrypt; 1 unless given. */
  readonly parallelization?: number;
  readonly salt: string;
  readonly hash: string;
}

/** The cost of a hash: N = 2^costLog2, and p (RFC 7914 §2). */
export type Cost = Pick<PasswordHash, "costLog2" | "parallelization">;

/** Makes and checks hashes. Both reject with {@link HasherBusy} if 16 requests already wait. */
export interface PasswordHasher {
  make(password: string): Promise<PasswordHash>;
  /** `hash` is `null` for an unknown name: does the same work and returns `false`, so that it takes as long as a known one. */
  check(password: string, hash: PasswordHash | null): Promise<boolean>;
  /** Whether a hash has the cost of new hashes. Other hashes take a different time to check. */
  isCurrent(hash: PasswordHash): boolean;
}

/** Too many hashes are requested at once; nothing was computed. */
export class HasherBusy extends Error {
  readonly retryAfterS = 5;

  constructor() {
    super("Cannot hash a password now: too many wait already");
    this.name = "HasherBusy";
  }
}

/**
 * 32 MiB and a third of a second. OWASP's Password Storage Cheat Sheet lists N = 2^15 with p = 3 as equal to N = 2^17 with
 * p = 1, which takes 128 MiB for each sign-in.
 */
const COST: Cost = { costLog2: 15, parallelization: 3 };
/**
 * 32 MiB and about a tenth of a second, for credentials of requests and logins. Every process uses the same cost, because the check
 * of an unknown name does the work of this cost.
 */
export const REQUEST_COST: Cost = { costLog2: 15 };
const BLOCK_SIZE = 8;
const HASH_OCTETS = 32;
const SALT_OCTETS = 16;
const LIMITS = { concurrent: 2, waiting: 16 };

/** @param deps.cost the cost of new hashes; less is for tests. */
export function createPasswordHasher(
  { random, cost = COST }: { random: Random; cost?: Cost },
): PasswordHasher {
  const semaphore = new Semaphore({ clock: systemClock, limits: LIMITS });
  const enter = async (work: () => Promise<string>): Promise<string> => {
    const result = await semaphore.run(work);
    if (!result.ran) throw new HasherBusy();
    return result.value;
  };
  const decoy: PasswordHash = { algorithm: "scrypt", ...cost, salt: saltFrom(random), hash: "" };
  return {
    async make(password) {
      const salt = saltFrom(random);
      return {
        algorithm: "scrypt",
        ...cost,
        salt,
        hash: await enter(() => derive(password, { salt, ...cost })),
      };
    },
    async check(password, hash) {
      const against = hash ?? decoy;
      const derived = await enter(() => derive(password, against));
      return equalDigests(derived, against.hash) && hash !== null;
    },
    isCurrent: ({ costLog2, parallelization = 1 }) =>
      costLog2 === cost.costLog2 && parallelization === (cost.parallelization ?? 1),
  };
}

function saltFrom(random: Random): string {
  return toBase64Url(random.bytes(SALT_OCTETS));
}

/** NFC, so that a password has the same octets on every keyboard. */
function derive(
  password: string,
  { salt, costLog2, parallelization = 1 }: Cost & { salt: string },
): Promise<string> {
  const N = 2 ** costLog2;
  const options = { N, r: BLOCK_SIZE, p: parallelization, maxmem: 2 * 128 * N * BLOCK_SIZE };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize("NFC"), salt, HASH_OCTETS, options, (fault, key) => {
      if (fault) reject(fault);
      else resolve(toBase64Url(new Uint8Array(key)));
    });
  });
}
