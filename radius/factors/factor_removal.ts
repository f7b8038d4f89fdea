// What ends with a user who leaves the directory, besides logins: pairings, codes, remembered devices and enrolment. Hardware tokens become free.

import { auditEntry } from "../../platform/audit.ts";
import type { Mutation } from "../../platform/store.ts";
import type { PreparedChange } from "../../platform/write_batch.ts";
import type { RememberedDevices } from "../policy/remembered_devices.ts";
import type { HardwareTokens } from "../tokens/hardware_tokens.ts";
import type { BypassCodeStore } from "./bypass_codes.ts";
import type { EnrolmentMarks } from "./enrolment_marks.ts";
import { type Pairing, pairingDetails } from "./pairing.ts";
import type { Pairings } from "./pairings.ts";
import type { RecoveryCodeStore } from "./recovery_codes.ts";

/** The stores of what belongs to a user of the login directory. */
export interface FactorStores {
  readonly pairings: Pairings;
  readonly recoveryCodes: RecoveryCodeStore;
  readonly hardwareTokens: Pick<HardwareTokens, "prepareRelease">;
  readonly bypassCodes: Pick<BypassCodeStore, "removeUser">;
  readonly remembered: Pick<RememberedDevices, "prepareForget">;
  readonly enrolment: Pick<EnrolmentMarks, "prepareRemoval">;
}

/** The removal of all factors of a user, with the pairings that it ends. */
interface FactorRemoval extends PreparedChange {
  readonly ended: readonly Pairing[];
}

/** From now on, no login finds the factors. @param user canonical @param because the reason in the audit log */
export function prepareFactorRemoval(
  stores: FactorStores,
  { user, because }: { readonly user: string; readonly because: string },
): FactorRemoval {
  const removed = stores.pairings.removeUser(user);
  const codes = stores.recoveryCodes.removeUser(user);
  const tokens = stores.hardwareTokens.prepareRelease(user);
  const bypass = stores.bypassCodes.removeUser(user);
  const forgotten = stores.remembered.prepareForget(user);
  const unmarked = stores.enrolment.prepareRemoval(user);
  const parts = [removed, codes, tokens, bypass, forgotten, unmarked];
  const revocations = removed.pairings.map((pairing): Mutation =>
    auditEntry({
      ...{ actor: "radius", action: "pairing.revoke", because, object: `user:${pairing.shownUser}` },
      ...pairingDetails(pairing),
    })
  );
  return {
    ended: removed.pairings,
    mutations: [...parts.flatMap(({ mutations }) => mutations), ...revocations],
    done(versionstamp) {
      forgotten.done();
      unmarked.done(versionstamp);
    },
    undo() {
      removed.restore();
      codes.restore();
      tokens.undo();
      bypass.restore();
      forgotten.undo();
    },
  };
}
