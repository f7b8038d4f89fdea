// Keeps three lists in sync: the gateway's pairings, the phones of the embedded second-factor service, and the users of the directory.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Log } from "../../platform/log.ts";
import { auditEntry } from "../../platform/audit.ts";
import { addedByPhone, type AddingPhone } from "./pairing.ts";
import type { Mutation } from "../../platform/store.ts";
import type { Radius } from "../radius.ts";
import { type FindUserRecord, isUsableFor, userNotice } from "../../platform/user_record.ts";

/** The source of an action on the phone page. */
interface PhoneOrigin {
  readonly source: string;
  readonly browser?: string | undefined;
}

/** The pairing events of the embedded second-factor service, and the function that ends a pairing. */
interface PhonePairingEvents {
  revokePairing(pairingId: string): Promise<boolean>;
  /** If the callback returns `false`, the pairing ends. */
  onPaired(
    notify: (
      pairing: PhoneOrigin & {
        readonly pairingId: string;
        readonly userName: string;
        readonly recordId: string;
        readonly totpLength: number;
        readonly name?: string | undefined;
        readonly addedBy?: AddingPhone | undefined;
      },
    ) => Promise<boolean>,
  ): () => void;
  onUnpaired(
    notify: (pairing: { pairingId: string; userName: string }, origin: PhoneOrigin) => Promise<void>,
  ): () => void;
}

interface PairingSyncDeps {
  readonly admin: PhonePairingEvents;
  readonly radius: Pick<Radius, "pairings" | "recoveryCodes" | "onRevoked">;
  readonly findUserRecord: FindUserRecord;
  readonly log: Log;
  readonly clock: Pick<Clock, "nowMs">;
}

/** A phone that pairs by invitation becomes a factor of its user. When the phone unpairs, the factor is removed. The phone of a removed user is unpaired. */
export function syncPhonePairings(
  { admin, radius: { pairings, recoveryCodes, onRevoked }, findUserRecord, log, clock }: PairingSyncDeps,
): void {
  onRevoked(({ pairingId }) =>
    void admin.revokePairing(pairingId).catch((fault: unknown) =>
      log.error("a removed user's phone could not be unpaired", { fault: String(fault) })
    )
  );
  admin.onPaired(async ({ pairingId, userName, recordId, totpLength, name, addedBy, source, browser }) => {
    // The user may have been removed since the phone used the invitation.
    const record = await findUserRecord(userName);
    const device = { id: pairingId, userName, totpLength, name, addedBy };
    const origin = { source, browser };
    const isStored = isUsableFor(recordId, record) &&
      await pairings.addDevice(device, {
        checks: [record.check],
        also: ({ createdMs }) => [
          userNotice(
            userName,
            { atMs: createdMs, what: "device", by: "phone", recordId, pairingId },
            pairingId,
          ),
          phoneEntry("pairing.add", { id: pairingId, userName, name, how: "invitation", origin, addedBy }),
        ],
      });
    if (!isStored) {
      log.warn("a phone was unpaired: its user is gone or inactive", {
        user: userName,
        status: record.status,
      });
    }
    return isStored;
  });
  admin.onUnpaired(async ({ pairingId, userName }, origin) => {
    const known = pairings.of(canonicalName(userName)).find(({ id }) => id === pairingId);
    const name = known?.kind === "device" ? known.name : undefined;
    // The phone's cookie is enough to unpair it. So the factors that the phone added wait for a confirmation by another factor.
    const canonical = canonicalName(userName);
    const unconfirmed = addedByPhone({ pairings, recoveryCodes }, { canonical, phone: pairingId });
    const { id: recordId } = await findUserRecord(userName);
    const removed = { atMs: clock.nowMs(), what: "device", by: "phone", recordId, isRemoved: true } as const;
    await pairings.revoke(pairingId, [
      userNotice(userName, removed, `${pairingId}-removed`),
      phoneEntry("pairing.revoke", { id: pairingId, userName, name, how: "phone", origin, unconfirmed }),
    ]);
  });
}

/** An audit record of an action on the phone page, with the phone's address and browser. */
function phoneEntry(
  action: "pairing.add" | "pairing.revoke",
  { id, userName, name, how, origin, addedBy, unconfirmed }: {
    id: string;
    userName: string;
    name: string | undefined;
    how: string;
    origin: PhoneOrigin;
    addedBy?: AddingPhone | undefined;
    unconfirmed?: readonly string[] | undefined;
  },
): Mutation {
  const user = `user:${userName}`;
  return auditEntry({
    action,
    actor: user,
    source: origin.source,
    browser: origin.browser,
    object: user,
    pairing: id,
    factor: "device",
    phone: name,
    how,
    addedBy: addedBy === undefined ? undefined : addedBy.name ?? addedBy.id,
    unconfirmed: unconfirmed?.length === 0 ? undefined : unconfirmed,
  });
}
