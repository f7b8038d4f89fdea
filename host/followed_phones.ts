// Keeps the gateway's pairings in step with the phones of the embedded service, and these with the directory.

import { canonicalName } from "../canonical_name.ts";
import type { Log } from "../log.ts";
import type { Radius } from "../radius/gateway.ts";
import type { Directory } from "../radius/doing/ports.ts";
import type { SecondFactorDesk } from "../upstream/embedded/interfaces.ts";

export interface FollowingDeps {
  readonly desk: SecondFactorDesk;
  readonly radius: Pick<Radius, "pairings" | "onRevoked">;
  readonly directory: Directory;
  readonly log: Log;
}

/** A phone that pairs by invitation becomes a factor of its user; one that unpairs stops being one, and a leaver's is unpaired. */
export function followPhones({ desk, radius: { pairings, onRevoked }, directory, log }: FollowingDeps): void {
  onRevoked(({ pairingId }) =>
    void desk.revokePairing(pairingId).catch((fault: unknown) =>
      log.error("a leaver's phone could not be unpaired", { fault: String(fault) })
    )
  );
  desk.onPaired(async ({ pairingId, userName, totpLength, name: phone }) => {
    const name = canonicalName(userName);
    await directory.prepare(name);
    const { status } = directory.lookUp(name);
    // An invitation outlives its user, who may be created again one day: the phone must not be theirs then.
    if (status === "deleted" || status === "inactive") {
      log.warn("a phone was unpaired: its user is gone or inactive", { user: userName, status });
      await desk.revokePairing(pairingId);
    } else await pairings.addDevice({ id: pairingId, userName, totpLength, name: phone });
  });
  desk.onUnpaired(async ({ pairingId }) => {
    await pairings.revoke(pairingId);
  });
}
