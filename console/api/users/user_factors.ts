// Changes to a user's factors and lock, by an administrator or the user: each with its audit record in one commit.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { readPhoneName } from "../../../platform/device_label.ts";
import type { DevicePairingRow, NewPairing, Pairing } from "../../../radius/factors/pairing.ts";
import type { Factor } from "../../../radius/flow/factors.ts";
import { pairingDetails } from "../../../radius/factors/pairing_details.ts";
import { addedByPhone, RECOVERY_CODES } from "../../../radius/factors/unconfirmed_factors.ts";
import type { Mutation } from "../../../platform/store.ts";
import type { UserRecord } from "../../../platform/user_record.ts";
import { DetailedRefusal } from "../targets/target_errors.ts";
import { type QrPicture, qrPicture } from "../qr_svg.ts";
import { Refusal } from "../errors.ts";
import {
  addedByDetail,
  factorAudit,
  type FactorDeed,
  type FactorDeps,
  factorNotice,
} from "./factor_changes.ts";
import { type GivenPairing, readPairing } from "./validate_pairing.ts";
import { beginTotpEnrolment, type BegunApp, proveTotp } from "./totp_enrolment.ts";

export interface UserFactors {
  /** A link that pairs a phone, once. @throws Refusal `no_invitations`. */
  invite(deed: FactorDeed): Promise<{ link: string; qr: QrPicture | null; deadlineMs: number }>;
  /** @throws Refusal `bad_number`, `bad_device_id`, `bad_seed`, `pairing_taken`, `known_seed`, `too_many_pairings`. */
  add(deed: FactorDeed, pairing: GivenPairing): Promise<Pairing>;
  /** A seed that counts for nothing until a code of it was typed. */
  beginTotp(deed: FactorDeed): Promise<BegunApp>;
  /** @throws Refusal `no_totp_begun`, `wrong_totp`. */
  confirmTotp(deed: FactorDeed, begun: { id: string; code: string }): Promise<Pairing>;
  /** Names a phone. @throws Refusal `bad_phone_name`, `unknown_pairing`. */
  rename(deed: FactorDeed, phone: { id: string; name: string }): Promise<void>;
  /**
   * @param options.confirmsAdded the factors that this phone added still count; otherwise they wait for a confirmation.
   * @throws Refusal `unknown_pairing`.
   */
  revoke(deed: FactorDeed, id: string, options?: { confirmsAdded?: boolean }): Promise<void>;
  /** A factor that a revoked phone added counts from now on; in a visit by phone, as if that phone had added it. @throws Refusal `unknown_pairing`, `changed_meanwhile`. */
  confirmFactor(deed: FactorDeed, id: string): Promise<void>;
  /** Removes a factor that a revoked phone added. @throws Refusal `unknown_pairing`. */
  removeUnconfirmed(deed: FactorDeed, id: string): Promise<void>;
  prefer(deed: FactorDeed, factor: Factor | null): Promise<void>;
  /** Ten codes, to be shown once; those before count no more. @throws Refusal `changed_meanwhile`. */
  makeRecoveryCodes(deed: FactorDeed): Promise<readonly string[]>;
  unlock(deed: FactorDeed): Promise<void>;
  /** Forgets the pushes and messages that count against the limits of the user and of the user's numbers. */
  resetLimits(deed: FactorDeed, numbers: readonly string[]): Promise<void>;
}

/** Makes the changes of factors over the gateway's pairings, recovery codes and limits. */
export function createUserFactors(deps: FactorDeps): UserFactors {
  return new StoredUserFactors(deps);
}

class StoredUserFactors implements UserFactors {
  readonly #deps: FactorDeps;

  constructor(deps: FactorDeps) {
    this.#deps = deps;
  }

  async invite(deed: FactorDeed): Promise<{ link: string; qr: QrPicture | null; deadlineMs: number }> {
    const { desk, http } = this.#deps;
    if (desk === null) throw new Refusal("no_invitations");
    const also = [factorAudit(deed, { action: "invitation.make", ...addedByDetail(deed) })];
    const { addedBy } = deed;
    const { invitation, deadlineMs } = await desk.invite(deed.user, { also, addedBy });
    const link = `${http.publicUrl}/device#invite=${invitation}`;
    return { link, qr: qrPicture(link), deadlineMs };
  }

  async add(deed: FactorDeed, given: GivenPairing): Promise<Pairing> {
    const { people: { pairings, findUserRecord } } = this.#deps;
    const device = given.kind === "device" ? { device: given.id } : {};
    return await pairings.exclusive({ user: canonicalName(deed.user), ...device }, async () => {
      const wanted = readPairing(pairings, deed.user, given);
      return await this.#add(deed, wanted, { owner: await findUserRecord(deed.user) });
    });
  }

  async beginTotp(deed: FactorDeed): Promise<BegunApp> {
    return await beginTotpEnrolment(this.#deps, deed);
  }

  async confirmTotp(deed: FactorDeed, begun: { id: string; code: string }): Promise<Pairing> {
    const { people: { pairings } } = this.#deps;
    return await pairings.exclusive({ user: canonicalName(deed.user) }, async () => {
      const { pairing, owner, ending } = await proveTotp(this.#deps, deed, begun);
      return await this.#add(deed, pairing, { owner, also: [ending] });
    });
  }

  async rename(deed: FactorDeed, { id, name: given }: { id: string; name: string }): Promise<void> {
    const { people: { pairings } } = this.#deps;
    const name = readPhoneName(given);
    if (name === null) throw new Refusal("bad_phone_name");
    const also = (before: DevicePairingRow) => [
      factorAudit(deed, {
        action: "pairing.rename",
        ...pairingDetails({ ...before, name }),
        before: before.name,
        after: name,
      }),
    ];
    const isOwn = pairings.ownerOf(id) === canonicalName(deed.user);
    if (!isOwn || await pairings.rename(id, { name, also }) === null) throw new Refusal("unknown_pairing");
  }

  async confirmFactor(deed: FactorDeed, id: string): Promise<void> {
    const { people: { pairings, recoveryCodes } } = this.#deps;
    const canonical = canonicalName(deed.user);
    const known = id === RECOVERY_CODES
      ? recoveryCodes.standing(canonical)
      : pairings.of(canonical).find((pairing) => pairing.id === id);
    if (known?.addedBy === undefined) throw new Refusal("unknown_pairing");
    const details = "kind" in known ? pairingDetails(known) : { factor: "recovery" };
    const also = [factorAudit(deed, { action: "factor.confirm", ...details, ...addedByDetail(known) })];
    const isDone = "kind" in known
      ? await pairings.confirm(id, also, deed) !== null
      : await recoveryCodes.confirm(canonical, also, deed);
    if (!isDone) throw new Refusal("changed_meanwhile");
  }

  async removeUnconfirmed(deed: FactorDeed, id: string): Promise<void> {
    const { people: { recoveryCodes }, store } = this.#deps;
    const canonical = canonicalName(deed.user);
    const { addedBy } = recoveryCodes.standing(canonical);
    if (id !== RECOVERY_CODES) return await this.revoke(deed, id);
    if (addedBy === undefined) throw new Refusal("unknown_pairing");
    const taken = recoveryCodes.takeAll(canonical);
    const record = factorAudit(deed, { action: "recovery_codes.remove", ...addedByDetail({ addedBy }) });
    await store.commit({ mutations: [...taken.mutations, record] }).catch((fault: unknown) => {
      taken.putBack();
      throw fault;
    });
  }

  async prefer(deed: FactorDeed, factor: Factor | null): Promise<void> {
    const { people: { pairings }, store } = this.#deps;
    const canonical = canonicalName(deed.user);
    const before = pairings.preferred(canonical);
    const record = factorAudit(deed, {
      action: "preference.set",
      ...(before === null ? {} : { before }),
      ...(factor === null ? {} : { after: factor }),
    });
    await store.commit({ mutations: [pairings.preparePreference(canonical, factor), record] });
    pairings.adoptPreference(canonical, factor);
  }

  async makeRecoveryCodes(deed: FactorDeed): Promise<readonly string[]> {
    const { people: { recoveryCodes, findUserRecord }, store } = this.#deps;
    const canonical = canonicalName(deed.user);
    const owner = await findUserRecord(canonical);
    const { left } = recoveryCodes.standing(canonical);
    const { codes, checks, mutations, adopt } = recoveryCodes.make(canonical, deed);
    const record = factorAudit(deed, {
      action: "recovery_codes.make",
      before: `${left} left`,
      after: `${codes.length} made`,
      ...addedByDetail(deed),
    });
    const done = await store.commit({
      checks: [...checks, owner.check],
      mutations: [
        ...mutations,
        record,
        factorNotice(this.#deps, deed, { what: "recovery_codes", recordId: owner.id }),
      ],
    });
    if (!done.ok) throw new Refusal("changed_meanwhile");
    adopt(done.versionstamp);
    return codes;
  }

  async revoke(
    deed: FactorDeed,
    id: string,
    { confirmsAdded = false }: { confirmsAdded?: boolean } = {},
  ): Promise<void> {
    const { people, desk, log } = this.#deps;
    const { pairings, recoveryCodes } = people;
    const canonical = canonicalName(deed.user);
    const known = pairings.of(canonical).find((pairing) => pairing.id === id);
    if (known === undefined) throw new Refusal("unknown_pairing");
    const added = addedByPhone(people, { canonical, phone: id });
    const record = factorAudit(deed, {
      action: "pairing.revoke",
      ...pairingDetails(known),
      ...(added.length === 0 ? {} : { [confirmsAdded ? "confirmed" : "unconfirmed"]: added }),
    });
    if (confirmsAdded && recoveryCodes.standing(canonical).addedBy?.id === id) {
      await recoveryCodes.confirm(canonical, [], { addedBy: known.addedBy });
    }
    await pairings.revoke(id, [record], { confirmsAdded });
    // The gateway's own is gone by now, whatever the embedded service still knows.
    if (known.kind === "device") {
      await desk?.revokePairing(id).catch((fault: unknown) =>
        log.warn("a revoked phone could not be unpaired", { user: deed.user, fault: String(fault) })
      );
    }
  }

  async unlock(deed: FactorDeed): Promise<void> {
    const { people: { limits }, store } = this.#deps;
    const canonical = canonicalName(deed.user);
    const before = limits.failures(canonical);
    const cleared = limits.clear(canonical);
    if (cleared === null) return;
    const record = factorAudit(deed, { action: "user.unlock", before: `${before.total} failures` });
    await store.commit({ mutations: [cleared, record] }).catch((fault: unknown) => {
      limits.putBack(canonical, before);
      throw fault;
    });
  }

  async resetLimits(deed: FactorDeed, numbers: readonly string[]): Promise<void> {
    const { people: { limits }, store } = this.#deps;
    const reset = limits.reset(canonicalName(deed.user), numbers);
    if (reset === null) return;
    const record = factorAudit(deed, {
      action: "user.reset_limits",
      before: `${reset.pushes} pushes, ${reset.sends} messages`,
      after: "0 pushes, 0 messages",
    });
    await store.commit({ mutations: [...reset.mutations, record] }).catch((fault: unknown) => {
      reset.undo();
      throw fault;
    });
  }

  async #add(
    deed: FactorDeed,
    wanted: NewPairing,
    { owner, also = [] }: { owner: UserRecord; also?: readonly Mutation[] },
  ): Promise<Pairing> {
    const { people: { pairings }, store } = this.#deps;
    const { mutation, pairing } = this.#prepare(deed, { ...wanted, addedBy: deed.addedBy });
    const record = factorAudit(deed, {
      action: "pairing.add",
      ...pairingDetails(pairing),
      ...addedByDetail(deed),
    });
    const notice = factorNotice(this.#deps, deed, { what: pairing.kind, recordId: owner.id });
    const done = await store.commit({
      checks: [owner.check],
      mutations: [mutation, record, notice, ...also],
    });
    if (!done.ok) throw new Refusal("changed_meanwhile");
    pairings.adopt(pairing);
    return pairing;
  }

  /** @throws Refusal `too_many_pairings`. */
  #prepare(deed: FactorDeed, wanted: NewPairing) {
    const { people: { pairings } } = this.#deps;
    try {
      return pairings.prepare({ canonical: canonicalName(deed.user), shown: deed.user }, wanted);
    } catch (fault) {
      if (fault instanceof RangeError) {
        throw new DetailedRefusal("too_many_pairings", { message: fault.message });
      }
      throw fault;
    }
  }
}
