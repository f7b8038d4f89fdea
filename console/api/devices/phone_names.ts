// The names of phones on the phone page. The gateway's pairings keep them, because administrators and the account page change them, too.

import { auditEntry } from "../../../platform/audit.ts";
import { type DevicePairingRow, pairingDetails } from "../../../radius/factors/pairing.ts";
import type { PhoneOrigin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { People } from "../deps.ts";

export interface PhoneNames {
  /** `null`: the phone of this pairing has no name. */
  nameOf(pairingId: string): string | null;
  /** Names the phone of a pairing. Does nothing for an unknown one. */
  rename(pairingId: string, change: PhoneOrigin & { readonly name: string }): Promise<void>;
}

/** `undefined` without a directory. */
export function phoneNamesOf({ people }: { readonly people?: People | undefined }): PhoneNames | undefined {
  if (people === undefined) return undefined;
  const { pairings } = people;
  return {
    nameOf(pairingId) {
      const owner = pairings.ownerOf(pairingId);
      const found = owner === null ? undefined : pairings.of(owner).find(({ id }) => id === pairingId);
      return found?.kind === "device" ? found.name ?? null : null;
    },
    async rename(pairingId, { name, source, browser }) {
      const also = (before: DevicePairingRow) => [
        auditEntry({
          action: "pairing.rename",
          actor: `user:${before.shownUser}`,
          object: `user:${before.shownUser}`,
          source,
          browser,
          ...pairingDetails({ ...before, name }),
          before: before.name,
          after: name,
        }),
      ];
      if (this.nameOf(pairingId) === name) return;
      await pairings.rename(pairingId, { name, also });
    },
  };
}
