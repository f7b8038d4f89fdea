// Device passcodes without the network (TOTP, RFC 6238): the seed comes to the phone once, and becomes a key that no script can read.

import { type ReadonlySignal, signal } from "@preact/signals";
import type { PhonePairing } from "../../upstream/embedded/second_factor/interfaces.ts";
import { take } from "../web/app/api_client.ts";
import type { PasscodeKey, PhoneStorage } from "./phone_storage.ts";

/** The answer of `POST /device/api/pairings/:id/passcode-seed`. */
interface PasscodeSeed {
  /** In base64url. */
  readonly seed: string;
  readonly digits: number;
  readonly stepMs: number;
  readonly seedMs: number;
}

export interface Passcode {
  readonly code: string;
  readonly validUntilMs: number;
}

interface PasscodeDeps {
  readonly storage: PhoneStorage;
  readonly fetch: typeof fetch;
  /** Missing without https. */
  readonly subtle: SubtleCrypto | undefined;
  readonly localNowMs: () => number;
  /** Runs one task at a time in all tabs, because a second seed replaces the first. */
  readonly exclusive: (task: () => Promise<void>) => Promise<void>;
}

/** RFC 4226 §5.3: HOTP uses HMAC-SHA-1. */
const ALGORITHM = { name: "HMAC", hash: "SHA-1" } as const;
/** Beyond this difference, the user reads about it. A passcode is accepted one step of 30 s early or late. */
const CLOCK_TOLERANCE_MS = 20_000;

export class Passcodes {
  readonly #deps: PasscodeDeps;
  readonly #keys = signal<readonly PasscodeKey[]>([]);
  readonly #offsetMs = signal(0);
  /** The pairings whose seeds came in this visit. */
  readonly #fetched = new Set<string>();

  /** The accounts whose passcodes this phone can compute. */
  readonly keys: ReadonlySignal<readonly PasscodeKey[]> = this.#keys;

  constructor(deps: PasscodeDeps) {
    this.#deps = deps;
  }

  /** How far the clock of the phone is ahead of the server's, in ms; 0 if the difference does not matter. */
  clockErrorMs(): number {
    const errorMs = -this.#offsetMs.value;
    return Math.abs(errorMs) > CLOCK_TOLERANCE_MS ? errorMs : 0;
  }

  /** Reads what the phone stored before, also without the network. */
  async load(): Promise<void> {
    const { storage } = this.#deps;
    this.#offsetMs.value = await storage.get("clockOffsetMs") ?? 0;
    this.#keys.value = await storage.passcodeKeys();
  }

  /** The time of the server, by the clock of the phone and the difference at the last contact. */
  serverNowMs(): number {
    return this.#deps.localNowMs() + this.#offsetMs.peek();
  }

  /** Takes the time of an answer of the server. */
  async adjustClock(serverNowMs: number): Promise<void> {
    const offsetMs = serverNowMs - this.#deps.localNowMs();
    if (Math.abs(offsetMs - this.#offsetMs.peek()) < 1000) return;
    this.#offsetMs.value = offsetMs;
    await this.#deps.storage.set("clockOffsetMs", offsetMs);
  }

  /** Fetches the seeds of new pairings, and deletes the keys of pairings that ended. */
  async follow(pairings: readonly PhonePairing[]): Promise<void> {
    const enabled = pairings.filter(({ status }) => status === "enabled");
    await this.#deps.exclusive(async () => {
      const { storage } = this.#deps;
      const held = new Set<string>();
      for (const { pairingId: id, seedMs } of await storage.passcodeKeys()) {
        const pairing = pairings.find((one) => one.pairingId === id);
        if (pairing !== undefined && this.#isCurrent(seedMs, pairing)) held.add(id);
        else await storage.deletePasscodeKey(id);
      }
      for (const pairing of enabled) if (!held.has(pairing.pairingId)) await this.#fetchKey(pairing);
      this.#keys.value = await storage.passcodeKeys();
    });
  }

  /** The current passcode; `null` if this phone has no key for the pairing. */
  async current(pairingId: string): Promise<Passcode | null> {
    const { subtle } = this.#deps;
    const held = this.#keys.peek().find((one) => one.pairingId === pairingId);
    if (held === undefined || subtle === undefined) return null;
    const { key, stepMs, digits } = held;
    const step = Math.floor(this.serverNowMs() / stepMs);
    const mac = new Uint8Array(await subtle.sign("HMAC", key, counterOf(step)));
    return { code: truncated(mac, digits), validUntilMs: (step + 1) * stepMs };
  }

  /** Whether a stored key is that of the server. The view can be older than a key of this visit. */
  #isCurrent(heldMs: number, { pairingId, seedMs = 0 }: PhonePairing): boolean {
    return heldMs === seedMs || (heldMs > seedMs && this.#fetched.has(pairingId));
  }

  /** Without the key, the server computes the passcodes. */
  async #fetchKey({ pairingId, userName, requesterName }: PhonePairing): Promise<void> {
    const { storage, subtle, fetch } = this.#deps;
    // A copy of this page with the same cookie and another storage also fetches a seed: once for each visit is enough.
    if (subtle === undefined || this.#fetched.has(pairingId) || !await canStore(storage)) return;
    try {
      const { seed, digits, stepMs, seedMs } = await take<PasscodeSeed>(
        fetch(`/device/api/pairings/${encodeURIComponent(pairingId)}/passcode-seed`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: "{}",
        }),
      );
      const octets = decodeBase64url(seed);
      const key = await subtle.importKey("raw", octets, ALGORITHM, false, ["sign"]);
      octets.fill(0);
      await storage.putPasscodeKey({ pairingId, userName, requesterName, key, digits, stepMs, seedMs });
      this.#fetched.add(pairingId);
    } catch (_notNow) {
      // The next visit tries again.
    }
  }
}

/** A seed that cannot be stored would be fetched at every visit. */
async function canStore(storage: PhoneStorage): Promise<boolean> {
  return await storage.get("language") !== undefined;
}

/** RFC 4226 §5.1: the counter has 8 octets. */
function counterOf(step: number): Uint8Array<ArrayBuffer> {
  const octets = new Uint8Array(8);
  new DataView(octets.buffer).setBigUint64(0, BigInt(step));
  return octets;
}

/** RFC 4226 §5.3: dynamic truncation. */
function truncated(mac: Uint8Array<ArrayBuffer>, digits: number): string {
  const at = (mac.at(-1) ?? 0) & 0x0f;
  const value = new DataView(mac.buffer).getUint32(at) & 0x7fffffff;
  return String(value % 10 ** digits).padStart(digits, "0");
}

/** Octets of a text in base64url (RFC 4648 §5). @throws DOMException for another text. */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
}
