// Turns passwords into hashes: scrypt (RFC 7914) on the runtime's own threads, so that the thread that answers RADIUS
// is not held, two at a time, with a short queue.

import { scrypt } from "node:crypto";
import { type Random, toBase64Url } from "./runtime.ts";
import { equalDigests } from "./vault.ts";

/** How a hash was made; kept beside it, so that the cost can grow later. */
export interface PasswordHash {
  readonly algorithm: "scrypt";
  readonly costLog2: number;
  /** The parameter p of scrypt; 1 unless given. */
  readonly parallelization?: number;
  readonly salt: string;
  readonly hash: string;
}

/** How much work a hash is: N = 2^costLog2, and p (RFC 7914 §2). */
export type Cost = Pick<PasswordHash, "costLog2" | "parallelization">;

/** Makes and checks hashes. Both reject with {@link HasherBusy} when 16 wait already. */
export interface PasswordHasher {
  make(password: string): Promise<PasswordHash>;
  /** With `null` the same work is done and the answer is `false`, so that an unknown name takes as long as a known one. */
  check(password: string, hash: PasswordHash | null): Promise<boolean>;
  /** Whether a hash has the cost of new hashes. After a change of the cost, older ones take another time to check. */
  isCurrent(hash: PasswordHash): boolean;
}

/** Too many hashes are asked for at once; nothing was computed. */
export class HasherBusy extends Error {
  /** When asking again makes sense. */
  readonly retryAfterS = 5;

  constructor() {
    super("Cannot hash a password now: too many wait already");
    this.name = "HasherBusy";
  }
}

/**
 * 32 MiB and a third of a second. OWASP's Password Storage Cheat Sheet lists N = 2^15 with p = 3 beside N = 2^17 with p = 1 as equally strong; the latter
 * takes 128 MiB for each sign-in.
 */
const COST: Cost = { costLog2: 15, parallelization: 3 };
/**
 * 32 MiB and about a tenth of a second, for what is checked with requests and logins. Every process makes such hashes at the same cost, because an unknown
 * name is answered after the work of that cost.
 */
export const REQUEST_COST: Cost = { costLog2: 15 };
const BLOCK_SIZE = 8;
const HASH_OCTETS = 32;
const SALT_OCTETS = 16;
const AT_ONCE = 2;
const MAX_WAITING = 16;

/** @param deps.cost the cost of new hashes; less is for tests. */
export function createPasswordHasher(
  { random, cost = COST }: { random: Random; cost?: Cost },
): PasswordHasher {
  const enter = createTurnstile();
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

/** NFC, so that the same password typed on two keyboards is the same octets. */
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

/** Lets {@link AT_ONCE} in, {@link MAX_WAITING} wait in order, and refuses the rest. */
function createTurnstile(): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let inside = 0;
  return async (work) => {
    if (inside >= AT_ONCE) {
      if (waiting.length >= MAX_WAITING) throw new HasherBusy();
      // The call that ends hands over its place, so `inside` stays as it is.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else inside += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) inside -= 1;
      else next();
    }
  };
}
