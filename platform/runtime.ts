// The clock, the random generator, timeouts, and UUIDs (RFC 9562). Clock and generator are injected everywhere, so that a run can be
// replayed with a fake clock and a seeded generator.

/** Stops a timer of {@link Clock.after}. A second call has no effect. */
export type CancelTimer = () => void;

/** Wall-clock time and timers. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Runs `task` once after `delayMs`; returns a function that cancels it. The timer does not keep the process alive. */
  after(delayMs: number, task: () => void): CancelTimer;
}

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

/** Octets of one call of Web Crypto, because calls are expensive. */
const PAGE_OCTETS = 16_384;

/** The generator of Web Crypto. It returns views into pages that are never reused. */
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
 * A decimal passcode by rejection sampling, so that all digits are equally likely.
 *
 * @param digits the number of decimal digits, 4 to 10; leading zeros stay.
 */
export function randomDigits(random: Random, digits: number): string {
  let text = "";
  while (text.length < digits) {
    for (const octet of random.bytes(digits)) {
      // 250 is the largest multiple of 10 in an octet. With larger values, the digits 0 to 5 would be more likely.
      if (octet < 250 && text.length < digits) text += String(octet % 10);
    }
  }
  return text;
}

/** Octets as base64url without padding (RFC 4648 §5). */
export function toBase64Url(octets: Uint8Array): string {
  return octets.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Resolves after `durationMs`. */
export function pauseFor(clock: Pick<Clock, "after">, durationMs: number): Promise<void> {
  return new Promise((resolve) => void clock.after(durationMs, resolve));
}

type TimedResult<T> = { readonly inTime: true; readonly value: T } | { readonly inTime: false };

/** Waits for `work` for at most `timeoutMs`. A later result or rejection of `work` is ignored. */
export async function withTimeout<T>(
  work: Promise<T>,
  { clock, timeoutMs }: { clock: Clock; timeoutMs: number },
): Promise<TimedResult<T>> {
  const { promise: timeout, resolve } = Promise.withResolvers<TimedResult<T>>();
  const cancel = clock.after(Math.max(0, timeoutMs), () => resolve({ inTime: false }));
  try {
    return await Promise.race([work.then((value) => ({ inTime: true as const, value })), timeout]);
  } finally {
    cancel();
  }
}

/** Version 4: 122 random bits. `crypto.randomUUID()` does not take an injected generator. */
export function randomUuid(random: Random): string {
  return textOf(random.bytes(16), 4);
}

/** Version 7: 48 bits of milliseconds, 74 random bits. The store writes ascending keys several times faster. */
export function timeOrderedUuid(nowMs: number, random: Random): string {
  const octets = random.bytes(16);
  const view = new DataView(octets.buffer, octets.byteOffset, 16);
  view.setUint16(0, Math.floor(nowMs / 2 ** 32));
  view.setUint32(2, nowMs % 2 ** 32);
  return textOf(octets, 7);
}

function textOf(octets: Uint8Array, version: number): string {
  const view = new DataView(octets.buffer, octets.byteOffset, 16);
  view.setUint8(6, (view.getUint8(6) & 0x0f) | (version << 4));
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  return octets.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
