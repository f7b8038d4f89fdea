// The world outside the program, as two ports: the clock and randomness. Everything that decides receives
// them, so that any run can be replayed on a fake clock with a seeded generator.

/** Stops a timer that was started with {@link Clock.after}; calling it twice is harmless. */
export type CancelTimer = () => void;

/** Wall-clock time and timers. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Runs `task` once after `delayMs`; returns what cancels it. The timer keeps no process alive. */
  after(delayMs: number, task: () => void): CancelTimer;
}

/** Uniform random octets. */
export interface Random {
  /** Fills and returns a new array of `lengthOctets` uniform random octets. */
  bytes(lengthOctets: number): Uint8Array<ArrayBuffer>;
}

/** The host's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    Deno.unrefTimer(timer);
    return () => clearTimeout(timer);
  },
};

/** Octets drawn from the generator at once: a call costs more than the octets, and an array of its own more than a view. */
const PAGE_OCTETS = 16_384;

/** Web Crypto's generator. What it gives are views into pages that are never used again. */
export function createSystemRandom(): Random {
  let page = new Uint8Array(0);
  let used = 0;
  return {
    bytes(lengthOctets) {
      if (lengthOctets > PAGE_OCTETS) {
        throw new RangeError(`Cannot draw ${lengthOctets} octets at once: at most ${PAGE_OCTETS}`);
      }
      if (used + lengthOctets > page.length) {
        page = crypto.getRandomValues(new Uint8Array(PAGE_OCTETS));
        used = 0;
      }
      used += lengthOctets;
      return page.subarray(used - lengthOctets, used);
    },
  };
}

/**
 * A uniform decimal passcode, by rejection: no digit is likelier than another.
 *
 * @param digits how many decimal digits, 4 to 10; leading zeros stay.
 */
export function randomDigits(random: Random, digits: number): string {
  let text = "";
  while (text.length < digits) {
    for (const octet of random.bytes(digits)) {
      // 250 is the largest multiple of 10 in an octet; above it the digits 0 to 5 would be favoured.
      if (octet < 250 && text.length < digits) text += String(octet % 10);
    }
  }
  return text;
}

/** Octets as base64url without padding (RFC 4648 §5). */
export function toBase64Url(octets: Uint8Array): string {
  return octets.toBase64({ alphabet: "base64url", omitPadding: true });
}
