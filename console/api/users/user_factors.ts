// Changes to a user's factors and lock, by an administrator or the user: each with its audit record in one commit.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { parseDeviceLabel } from "../../../platform/device_label.ts";
import {
  addedByPhone,
  type DevicePairingRow,
  type NewPairing,
  type Pairing,
  pairingDetails,
  RECOVERY_CODES,
} from "../../../radius/factors/pairing.ts";
import type { Factor } from "../../../radius/flow/context.ts";
import type { Check, Mutation } from "../../../platform/store.ts";
import type { UserRecord } from "../../../platform/user_record.ts";
import { DetailedRefusal, Refusal } from "../errors.ts";
import { createQrMatrix, type QrMatrix } from "../qr_svg.ts";
import {
  addedByDetail,
  beginTotpEnrolment,
  factorAudit,
  type FactorDeps,
  factorNotice,
  type FactorRequest,
  type GivenPairing,
  proveTotp,
  toNewPairing,
  type TotpEnrolment,
} from "./factor_changes.ts";

export interface UserFactorCommands {
  /** A link that pairs a phone, once. @throws Refusal `no_invitations`. */
  invite(request: FactorRequest): Promise<{ link: string; qr: QrMatrix | null; deadlineMs: number }>;
  /** @throws Refusal `bad_number`, `bad_device_id`, `bad_seed`, `pairing_taken`, `known_seed`, `too_many_pairings`. */
  add(request: FactorRequest, pairing: GivenPairing): Promise<Pairing>;
  /** A seed, which has no effect until a code of it is entered. */
  beginTotp(request: FactorRequest): Promise<TotpEnrolment>;
  /** @throws Refusal `no_totp_begun`, `wrong_totp`. */
  confirmTotp(request: FactorRequest, begun: { id: string; code: string }): Promise<Pairing>;
  /** Names a phone. @throws Refusal `bad_phone_name`, `unknown_pairing`. */
  rename(request: FactorRequest, phone: { id: string; name: string }): Promise<void>;
  /**
   * @param options.confirmsAdded the factors that this phone added still count; otherwise they wait for a confirmation.
   * @throws Refusal `unknown_pairing`.
   */
  revoke(request: FactorRequest, id: string, options?: { confirmsAdded?: boolean }): Promise<void>;
  /** A factor that a revoked phone added counts from now on; in a visit by phone, as if that phone had added it. @throws Refusal `unknown_pairing`, `changed_meanwhile`. */
  confirmFactor(request: FactorRequest, id: string): Promise<void>;
  /** Removes a factor that a revoked phone added. @throws Refusal `unknown_pairing`. */
  removeUnconfirmed(request: FactorRequest, id: string): Promise<void>;
  prefer(request: FactorRequest, factor: Factor | null): Promise<void>;
  /** Ten codes, to be shown once. Earlier codes become invalid. @throws Refusal `changed_meanwhile`. */
  makeRecoveryCodes(request: FactorRequest): Promise<readonly string[]>;
  unlock(request: FactorRequest): Promise<void>;
  /** Forgets the pushes and messages that count against the limits of the user and of the user's numbers. */
  resetLimits(request: FactorRequest, numbers: readonly string[]): Promise<void>;
  /** The next sign-in from every device of the user needs a second factor again. */
  forgetDevices(request: FactorRequest): Promise<void>;
}

export function createUserFactorCommands(deps: FactorDeps): UserFactorCommands {
  return new StoredUserFactors(deps);
}

class StoredUserFactors implements UserFactorCommands {
  readonly #deps: FactorDeps;

  constructor(deps: FactorDeps) {
    this.#deps = deps;
  }

  async invite(request: FactorRequest): Promise<{ link: string; qr: QrMatrix | null; deadlineMs: number }> {
    const { secondFactorAdmin, http } = this.#deps;
    const admin = secondFactorAdmin();
    if (admin === null) throw new Refusal("no_invitations");
    const also = [factorAudit(request, { action: "invitation.make", ...addedByDetail(request) })];
    const { addedBy } = request;
    const isOwn = request.actor === `user:${request.user}`;
    const { invitation, deadlineMs } = await admin.invite(request.user, { also, addedBy, isOwn });
    const link = `${http.publicUrl}/device#invite=${invitation}`;
    return { link, qr: createQrMatrix(link), deadlineMs };
  }

  async add(request: FactorRequest, given: GivenPairing): Promise<Pairing> {
    const { people: { pairings, findUserRecord } } = this.#deps;
    const device = given.kind === "device" ? { device: given.id } : {};
    return await pairings.exclusive({ user: canonicalName(request.user), ...device }, async () => {
      const wanted = toNewPairing(pairings, request.user, given);
      return await this.#add(request, wanted, { owner: await findUserRecord(request.user) });
    });
  }

  async beginTotp(request: FactorRequest): Promise<TotpEnrolment> {
    return await beginTotpEnrolment(this.#deps, request);
  }

  async confirmTotp(request: FactorRequest, begun: { id: string; code: string }): Promise<Pairing> {
    const { people: { pairings } } = this.#deps;
    return await pairings.exclusive({ user: canonicalName(request.user) }, async () => {
      const { pairing, owner, checks, ending } = await proveTotp(this.#deps, request, begun);
      return await this.#add(request, pairing, { owner, checks, also: [ending] });
    });
  }

  async rename(request: FactorRequest, { id, name: given }: { id: string; name: string }): Promise<void> {
    const { people: { pairings } } = this.#deps;
    const name = parseDeviceLabel(given);
    if (name === null) throw new Refusal("bad_phone_name");
    const also = (before: DevicePairingRow) => [
      factorAudit(request, {
        action: "pairing.rename",
        ...pairingDetails({ ...before, name }),
        before: before.name,
        after: name,
      }),
    ];
    const own = pairings.of(canonicalName(request.user)).find((pairing) => pairing.id === id);
    if (own?.kind === "device" && own.name === name) return;
    if (own === undefined || await pairings.rename(id, { name, also }) === null) {
      throw new Refusal("unknown_pairing");
    }
  }

  async confirmFactor(request: FactorRequest, id: string): Promise<void> {
    const { people: { pairings, recoveryCodes } } = this.#deps;
    const canonical = canonicalName(request.user);
    const known = id === RECOVERY_CODES
      ? recoveryCodes.status(canonical)
      : pairings.of(canonical).find((pairing) => pairing.id === id);
    if (known?.addedBy === undefined) throw new Refusal("unknown_pairing");
    const details = "kind" in known ? pairingDetails(known) : { factor: "recovery" };
    const also = [factorAudit(request, { action: "factor.confirm", ...details, ...addedByDetail(known) })];
    const isDone = "kind" in known
      ? await pairings.confirm(id, also, request) !== null
      : await recoveryCodes.confirm(canonical, also, request);
    if (!isDone) throw new Refusal("changed_meanwhile");
  }

  async removeUnconfirmed(request: FactorRequest, id: string): Promise<void> {
    const { people: { recoveryCodes }, store } = this.#deps;
    const canonical = canonicalName(request.user);
    const { addedBy } = recoveryCodes.status(canonical);
    if (id !== RECOVERY_CODES) return await this.revoke(request, id);
    if (addedBy === undefined) throw new Refusal("unknown_pairing");
    const taken = recoveryCodes.removeUser(canonical);
    const record = factorAudit(request, { action: "recovery_codes.remove", ...addedByDetail({ addedBy }) });
    const mutations = [...taken.mutations, record, ...request.also ?? []];
    await store.commit({ mutations }).catch((fault: unknown) => {
      taken.restore();
      throw fault;
    });
  }

  async prefer(request: FactorRequest, factor: Factor | null): Promise<void> {
    const { people: { pairings }, store } = this.#deps;
    const canonical = canonicalName(request.user);
    const before = pairings.preferred(canonical);
    if (before === factor) return;
    const record = factorAudit(request, {
      action: "preference.set",
      ...(before === null ? {} : { before }),
      ...(factor === null ? {} : { after: factor }),
    });
    await store.commit({ mutations: [pairings.preparePreference(canonical, factor), record] });
    pairings.adoptPreference(canonical, factor);
  }

  async makeRecoveryCodes(request: FactorRequest): Promise<readonly string[]> {
    const { people: { recoveryCodes, findUserRecord }, store } = this.#deps;
    const canonical = canonicalName(request.user);
    const owner = await findUserRecord(canonical);
    const { left } = recoveryCodes.status(canonical);
    const { codes, checks, mutations, adopt } = recoveryCodes.create(canonical, request);
    const record = factorAudit(request, {
      action: "recovery_codes.make",
      before: `${left} left`,
      after: `${codes.length} made`,
      ...addedByDetail(request),
    });
    const done = await store.commit({
      checks: [...checks, owner.check],
      mutations: [
        ...mutations,
        record,
        factorNotice(this.#deps, request, { what: "recovery_codes", recordId: owner.id }),
        ...request.also ?? [],
      ],
    });
    if (!done.ok) throw new Refusal("changed_meanwhile");
    adopt(done.versionstamp);
    return codes;
  }

  async revoke(
    request: FactorRequest,
    id: string,
    { confirmsAdded = false }: { confirmsAdded?: boolean } = {},
  ): Promise<void> {
    const { people, secondFactorAdmin, log } = this.#deps;
    const { pairings, recoveryCodes } = people;
    const canonical = canonicalName(request.user);
    const known = pairings.of(canonical).find((pairing) => pairing.id === id);
    if (known === undefined) throw new Refusal("unknown_pairing");
    const added = addedByPhone(people, { canonical, phone: id });
    const record = factorAudit(request, {
      action: "pairing.revoke",
      ...pairingDetails(known),
      ...(added.length === 0 ? {} : { [confirmsAdded ? "confirmed" : "unconfirmed"]: added }),
    });
    if (confirmsAdded && recoveryCodes.status(canonical).addedBy?.id === id) {
      await recoveryCodes.confirm(canonical, [], { addedBy: known.addedBy });
    }
    await pairings.revoke(id, [record, ...request.also ?? []], { confirmsAdded });
    // The gateway has deleted its pairing, even if the embedded service fails.
    if (known.kind === "device") {
      await secondFactorAdmin()?.revokePairing(id).catch((fault: unknown) =>
        log.warn("a revoked phone could not be unpaired", { user: request.user, fault: String(fault) })
      );
    }
  }

  async unlock(request: FactorRequest): Promise<void> {
    const { people: { limits }, store } = this.#deps;
    const canonical = canonicalName(request.user);
    const before = limits.failures(canonical);
    const wasLocked = limits.isLocked(canonical);
    const cleared = limits.unlock(canonical);
    if (cleared === null) return;
    const record = factorAudit(request, {
      action: "user.unlock",
      ...(wasLocked ? { before: "locked", after: "unlocked" } : {}),
      ...(before.total > 0 ? { failures: before.total } : {}),
    });
    await store.commit({ mutations: [cleared, record] }).catch((fault: unknown) => {
      limits.restore(canonical, before);
      throw fault;
    });
  }

  async resetLimits(request: FactorRequest, numbers: readonly string[]): Promise<void> {
    const { people: { limits }, store } = this.#deps;
    const reset = limits.reset(canonicalName(request.user), numbers);
    if (reset === null) return;
    const record = factorAudit(request, {
      action: "user.reset_limits",
      before: `${reset.pushes} pushes, ${reset.sends} messages`,
      after: "0 pushes, 0 messages",
    });
    await store.commit({ mutations: [...reset.mutations, record] }).catch((fault: unknown) => {
      reset.undo();
      throw fault;
    });
  }

  async forgetDevices(request: FactorRequest): Promise<void> {
    const { people: { policies: { remembered } }, store } = this.#deps;
    const canonical = canonicalName(request.user);
    const before = remembered.count(canonical);
    const change = remembered.prepareForget(canonical);
    const record = factorAudit(request, { action: "user.forget_devices", count: before });
    try {
      await store.commit({ mutations: [...change.mutations, record] });
    } catch (fault) {
      change.undo();
      throw fault;
    }
    change.done();
  }

  async #add(
    request: FactorRequest,
    wanted: NewPairing,
    { owner, checks = [owner.check], also = [] }: {
      owner: UserRecord;
      checks?: readonly Check[];
      also?: readonly Mutation[];
    },
  ): Promise<Pairing> {
    const { people: { pairings }, store } = this.#deps;
    const { mutation, marking, pairing } = this.#prepare(request, { ...wanted, addedBy: request.addedBy });
    const record = factorAudit(request, {
      action: "pairing.add",
      ...pairingDetails(pairing),
      ...addedByDetail(request),
    });
    const notice = factorNotice(this.#deps, request, { what: pairing.kind, recordId: owner.id });
    const done = await store.commit({
      checks,
      mutations: [mutation, ...marking, record, notice, ...also],
    });
    if (!done.ok) throw new Refusal("changed_meanwhile");
    pairings.adopt(pairing);
    return pairing;
  }

  /** @throws Refusal `too_many_pairings`. */
  #prepare(request: FactorRequest, wanted: NewPairing) {
    const { people: { pairings } } = this.#deps;
    try {
      return pairings.prepare({ canonical: canonicalName(request.user), shown: request.user }, wanted);
    } catch (fault) {
      if (fault instanceof RangeError) {
        throw new DetailedRefusal("too_many_pairings", { message: fault.message });
      }
      throw fault;
    }
  }
}
