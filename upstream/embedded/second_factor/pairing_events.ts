// Reports pairings that a phone enabled by an invitation, or ended, to the gateway.

import type { PhoneOrigin, SecondFactorAdmin } from "./interfaces.ts";
import { type PairingRecord, PASSCODE_DIGITS } from "./records.ts";

type OnPaired = Parameters<SecondFactorAdmin["onPaired"]>[0];
type OnUnpaired = Parameters<SecondFactorAdmin["onUnpaired"]>[0];

export class PairingEvents {
  readonly #onPaired = new Set<OnPaired>();
  readonly #onUnpaired = new Set<OnUnpaired>();

  /** Resolves to whether the pairing may stay. */
  async paired(pairing: PairingRecord, origin: PhoneOrigin): Promise<boolean> {
    const { id, userName, recordId = "", name, addedBy } = pairing;
    const reported = {
      pairingId: id,
      userName,
      recordId,
      totpLength: PASSCODE_DIGITS,
      ...origin,
      ...(name === undefined ? {} : { name }),
      ...(addedBy === undefined ? {} : { addedBy }),
    };
    for (const notify of this.#onPaired) if (!await notify(reported)) return false;
    return true;
  }

  async unpaired({ id, userName }: PairingRecord, origin: PhoneOrigin): Promise<void> {
    for (const notify of this.#onUnpaired) await notify({ pairingId: id, userName }, origin);
  }

  onPaired(notify: OnPaired): () => void {
    this.#onPaired.add(notify);
    return () => this.#onPaired.delete(notify);
  }

  onUnpaired(notify: OnUnpaired): () => void {
    this.#onUnpaired.add(notify);
    return () => this.#onUnpaired.delete(notify);
  }
}
