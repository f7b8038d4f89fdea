// A user of the directory gets another name: the factors, limits and policies follow in the commit of the rename, and logins in progress end.

import {
  joinRenames,
  NO_CHANGE,
  type PreparedRename,
  type PrepareRename,
  type Rename,
} from "../../platform/write_batch.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { departureKey } from "../../platform/user_record.ts";
import type { Vault } from "../../platform/vault.ts";
import type { PolicyRegistry } from "../policy/policy_registry.ts";
import type { RememberedDevices } from "../policy/remembered_devices.ts";
import type { Limits } from "./limits.ts";
import type { EnrolmentMarks } from "./enrolment_marks.ts";
import type { FactorMarks } from "./factor_marks.ts";
import type { Offboarding } from "./offboarding.ts";
import type { Pairing } from "./pairing.ts";
import type { Pairings } from "./pairings.ts";
import type { BypassCodeStore } from "./bypass_codes.ts";
import type { RecoveryCodeStore } from "./recovery_codes.ts";
import type { ReplyAttributeRegistry } from "./reply_attribute_registry.ts";
import type { HardwareTokens } from "../tokens/hardware_tokens.ts";

interface GatewayRenameDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly target: () => string;
  readonly pairings: Pairings;
  readonly recoveryCodes: RecoveryCodeStore;
  readonly hardwareTokens: HardwareTokens;
  readonly bypassCodes: BypassCodeStore;
  readonly remembered: RememberedDevices;
  readonly enrolment: EnrolmentMarks;
  readonly factorMarks: FactorMarks;
  readonly limits: Limits;
  readonly offboarding: Offboarding;
  readonly policies: { readonly registry: PolicyRegistry };
  readonly replies: ReplyAttributeRegistry;
}

/** Prepares what the gateway stores by the name of a user or group. */
export function createGatewayRenames(deps: GatewayRenameDeps): PrepareRename {
  return async (rename) => {
    const policies = await deps.policies.registry.prepareRename(rename);
    if (rename.kind === "group") return joinRenames([policies, deps.replies.prepareRename(rename)]);
    const { from, to, isLeaving } = rename;
    // The last removal is a part of the identity of links and sessions, which stay valid.
    const departure = (await deps.store.get<string>(departureKey(deps.target(), from))).value;
    const {
      pairings,
      recoveryCodes,
      hardwareTokens,
      bypassCodes,
      remembered,
      enrolment,
      limits,
      offboarding,
    } = deps;
    // From here on, nothing waits, and no login of either name is recorded before the commit.
    return joinRenames([
      policies,
      offboarding.prepareRename({ from, to, departure: isLeaving ? undefined : departure }),
      moveFactors({ ...deps, pairings }, rename),
      recoveryCodes.prepareRename(from, to),
      hardwareTokens.prepareRename(from, { to, name: rename.name }),
      bypassCodes.prepareRename(from, to),
      remembered.prepareRename(from, to),
      enrolment.prepareRename(from, to, { isLeaving }),
      deps.factorMarks.prepareRename(from, to),
      limits.prepareRename(from, to),
    ]);
  };
}

/** Moves the pairings and the preferred factor. Factors of the new name belong to a person outside the directory, and end. */
function moveFactors(
  { pairings, vault, store }: Pick<GatewayRenameDeps, "pairings" | "vault" | "store">,
  { from, to, name }: Rename,
): PreparedRename {
  const known = pairings.of(from);
  const preferred = pairings.preferred(from);
  const removed = [pairings.removeUser(from), pairings.removeUser(to)];
  const moved = known.map((pairing): Pairing => {
    const next = { ...pairing, user: to, shownUser: name };
    if (next.kind !== "totp" || pairing.kind !== "totp") return next;
    // The seed is sealed for the key of its record.
    const seed = pairings.seedOf(pairing);
    return seed === null ? next : { ...next, seed: vault.seal(pairings.keyOf(next), seed) };
  });
  const keys = moved.map((pairing) => pairings.keyOf(pairing));
  const mutations: Mutation[] = [
    ...removed.flatMap(({ mutations }) => mutations),
    ...moved.map((value): Mutation => ({ type: "set", key: pairings.keyOf(value), value })),
    ...preferred === null ? [] : [pairings.preparePreference(to, preferred)],
  ];
  if (mutations.length === 0) return NO_CHANGE;
  return {
    mutations,
    done() {
      for (const pairing of moved) pairings.adopt(pairing);
      pairings.adoptPreference(to, preferred);
      // Their versions are needed for the next write.
      if (store.isShared && keys.length > 0) store.reread(keys).catch(() => undefined);
    },
    undo: () => removed.toReversed().forEach(({ restore }) => restore()),
  };
}
