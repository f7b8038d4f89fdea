// The Authorization header of push messages (RFC 8292 §3): a signed token for the origin of the push service, which is used for
// hours, because signing costs more than the rest of a message.

import { loadJose } from "../../../platform/jose.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { VapidKeys } from "./vapid_keys.ts";

/** RFC 8292 §2: at most 24 hours. Clocks differ. */
const LIFETIME_S = 12 * 3600;
const RENEWED_BEFORE_MS = 6 * 3600_000;
const MAX_ORIGINS = 64;

interface SignedHeader {
  readonly contact: string;
  readonly text: Promise<string>;
  readonly expiresMs: number;
}

export class VapidHeaders {
  readonly #keys: VapidKeys;
  readonly #clock: Clock;
  readonly #byOrigin = new Map<string, SignedHeader>();

  constructor({ keys, clock }: { keys: VapidKeys; clock: Clock }) {
    this.#keys = keys;
    this.#clock = clock;
  }

  /** @param contact `sub` of the token: a mailto: or https: address (RFC 8292 §2.1). */
  async header(origin: string, contact: string): Promise<string> {
    const nowMs = this.#clock.nowMs();
    const known = this.#byOrigin.get(origin);
    const leftMs = (known?.expiresMs ?? 0) - nowMs;
    // The clock may have been set back: such a token would be valid for more than 24 hours.
    const isFresh = leftMs > RENEWED_BEFORE_MS && leftMs <= LIFETIME_S * 1000;
    if (known !== undefined && known.contact === contact && isFresh) return await known.text;
    const expiresMs = nowMs + LIFETIME_S * 1000;
    const text = this.#sign({ origin, contact, expiresS: Math.floor(expiresMs / 1000) });
    this.#byOrigin.delete(origin);
    const [oldest] = this.#byOrigin.keys();
    if (this.#byOrigin.size >= MAX_ORIGINS && oldest !== undefined) this.#byOrigin.delete(oldest);
    this.#byOrigin.set(origin, { contact, text, expiresMs });
    return await text;
  }

  async #sign(
    { origin, contact, expiresS }: { origin: string; contact: string; expiresS: number },
  ): Promise<string> {
    const { publicKey, privateKey } = this.#keys;
    const { SignJWT } = await loadJose();
    const token = await new SignJWT({})
      .setProtectedHeader({ typ: "JWT", alg: "ES256" })
      .setAudience(origin)
      .setExpirationTime(expiresS)
      .setSubject(contact)
      .sign(privateKey);
    return `vapid t=${token}, k=${publicKey}`;
  }
}
