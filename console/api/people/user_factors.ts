// What an administrator does to a user's factors and lock: each change with its audit record in one commit.

import { canonicalName } from "../../../canonical_name.ts";
import type { Log } from "../../../log.ts";
import { readPhoneName } from "../../../phone_name.ts";
import type { AddingPhone, DevicePairingRow, NewPairing, Pairing } from "../../../radius/doing/pairing.ts";
import type { Factor } from "../../../radius/facts/factors.ts";
import { addedByPhone, RECOVERY_CODES } from "../../../radius/pure/unconfirmed_factors.ts";
import { pairingDetails } from "../../../radius/pure/pairing_details.ts";
import { reducePhoneNumber } from "../../../radius/pure/phone_number.ts";
import { matchTotp } from "../../../radius/pure/totp.ts";
import { type Clock, type Random, toHex } from "../../../runtime.ts";
import type { Mutation, Store } from "../../../store.ts";
import type { SecondFactorDesk } from "../../../upstream/embedded/interfaces.ts";
import type { UserRecord } from "../../../user_record.ts";
import type { Vault } from "../../../vault.ts";
import { type AuditEntry, auditEntry } from "../../../platform/audit.ts";
import { type QrPicture, qrPicture } from "../qr_picture.ts";
import { encodeBase32 } from "../sign_in/base32.ts";
import type { People } from "./people.ts";
import { type UserNotice, userNotice } from "../../../platform/user_notice.ts";
import { Refusal } from "../refusal.ts";
import { DetailedRefusal } from "../connect/target_refusals.ts";

export interface FactorDeps {
  readonly people: People;
  readonly desk: SecondFactorDesk | null;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly http: { readonly publicUrl: string };
}

/** A user, and who asks. */
export interface FactorDeed {
  /** As the directory spells it. */
  readonly user: string;
  readonly actor: string;
  readonly source: string;
  /** The browser of the request: "Firefox on Windows". */
  readonly browser?: string;
  /** The phone that opened the visit to /me. */
  readonly addedBy?: AddingPhone | undefined;
}

/** RFC 4226 §4 R6 recommends 160 bits. */
const SEED_OCTETS = 20;
const TOTP_DIGITS = 6;
/** RFC 6238 §5.2: one step of clock difference each way. */
const TOLERANCE_STEPS = 1;
const TOTP_BEGUN_MS = 15 * 60_000;

interface BegunTotp {
  readonly user: string;
  /** The directory record that it was begun for. */
  readonly recordId?: string;
  readonly seed: Uint8Array;
}

/** What an authenticator app is set up with, as text and as a picture. */
interface BegunApp {
  readonly id: string;
  readonly secret: string;
  readonly uri: string;
  readonly qr: QrPicture | null;
  readonly deadlineMs: number;
}

export interface UserFactors {
  /** A link that pairs a phone, once. @throws Refusal `no_invitations`. */
  invite(deed: FactorDeed): Promise<{ link: string; qr: QrPicture | null; deadlineMs: number }>;
  /** @throws Refusal `bad_number`, `too_many_pairings`. */
  addNumber(deed: FactorDeed, pairing: { kind: "sms" | "voice"; number: string }): Promise<Pairing>;
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

export function createUserFactors(deps: FactorDeps): UserFactors {
  const { people, desk, store, vault, clock, random } = deps;
  const { pairings, limits, factors, recoveryCodes, findUserRecord } = people;
  const audit = (
    { user, actor, source, browser }: FactorDeed,
    deed: Omit<AuditEntry, "actor" | "source" | "browser" | "object" | "how">,
  ): Mutation =>
    auditEntry({
      actor,
      source,
      browser,
      object: `user:${user}`,
      how: actor.startsWith("user:") ? "account" : "console",
      ...deed,
    });
  const begunKey = (id: string): Deno.KvKey => ["console_totp", id];

  /** Tells the user what was added. */
  const noticeOf = (
    { user, actor }: FactorDeed,
    { what, recordId }: Pick<UserNotice, "what" | "recordId">,
  ): Mutation => {
    const by = actor === `user:${user}` ? "self" : "administrator";
    return userNotice(user, { atMs: clock.nowMs(), what, by, recordId }, toHex(random.bytes(4)));
  };
  const add = async (
    deed: FactorDeed,
    wanted: NewPairing,
    { owner, also = [] }: { owner: UserRecord; also?: readonly Mutation[] },
  ): Promise<Pairing> => {
    const { mutation, pairing } = prepare(deed, { ...wanted, addedBy: deed.addedBy });
    const record = audit(deed, { action: "pairing.add", ...pairingDetails(pairing), ...adderOf(deed) });
    const notice = noticeOf(deed, { what: pairing.kind, recordId: owner.id });
    const done = await store.commit({
      checks: [owner.check],
      mutations: [mutation, record, notice, ...also],
    });
    if (!done.ok) throw new Refusal("changed_meanwhile");
    pairings.adopt(pairing);
    return pairing;
  };
  const prepare = (deed: FactorDeed, wanted: NewPairing) => {
    try {
      return pairings.prepare({ canonical: canonicalName(deed.user), shown: deed.user }, wanted);
    } catch (fault) {
      if (fault instanceof RangeError) {
        throw new DetailedRefusal("too_many_pairings", { message: fault.message });
      }
      throw fault;
    }
  };

  const revoke: UserFactors["revoke"] = async (deed, id, { confirmsAdded = false } = {}) => {
    const canonical = canonicalName(deed.user);
    const known = pairings.of(canonical).find((pairing) => pairing.id === id);
    if (known === undefined) throw new Refusal("unknown_pairing");
    const added = addedByPhone(people, { canonical, phone: id });
    const record = audit(deed, {
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
        deps.log.warn("a revoked phone could not be unpaired", { user: deed.user, fault: String(fault) })
      );
    }
  };

  return {
    async invite(deed) {
      if (desk === null) throw new Refusal("no_invitations");
      const also = [audit(deed, { action: "invitation.make", ...adderOf(deed) })];
      const { addedBy } = deed;
      const { invitation, deadlineMs } = await desk.invite(deed.user, { also, addedBy });
      const link = `${deps.http.publicUrl}/device#invite=${invitation}`;
      return { link, qr: qrPicture(link), deadlineMs };
    },
    async addNumber(deed, { kind, number: given }) {
      const number = reducePhoneNumber(given);
      if (number === null) throw new Refusal("bad_number");
      return await add(deed, { kind, number }, { owner: await findUserRecord(deed.user) });
    },
    async beginTotp({ user }) {
      const id = toHex(random.bytes(16));
      const seed = random.bytes(SEED_OCTETS).slice();
      const { id: recordId, check } = await findUserRecord(user);
      const value: BegunTotp = { user: canonicalName(user), recordId, seed: vault.seal(begunKey(id), seed) };
      const done = await store.commit({
        checks: [check],
        mutations: [{ type: "set", key: begunKey(id), value, expireInMs: TOTP_BEGUN_MS }],
      });
      if (!done.ok) throw new Refusal("changed_meanwhile");
      const secret = encodeBase32(seed);
      const deadlineMs = clock.nowMs() + TOTP_BEGUN_MS;
      const uri = totpUri({ issuer: factors.requesterName, user, secret });
      return { id, secret, uri, qr: qrPicture(uri), deadlineMs };
    },
    async confirmTotp(deed, { id, code }) {
      const begun = (await store.get<BegunTotp>(begunKey(id))).value;
      const owner = await findUserRecord(deed.user);
      const isOwn = begun?.user === canonicalName(deed.user) && begun.recordId === owner.id;
      const seed = isOwn ? vault.open(begunKey(id), begun.seed) : null;
      if (seed === null) throw new Refusal("no_totp_begun");
      const step = matchTotp({
        seed,
        code,
        nowMs: clock.nowMs(),
        digits: TOTP_DIGITS,
        lastStep: -1,
        toleranceSteps: TOLERANCE_STEPS,
      });
      if (step === null) throw new Refusal("wrong_totp");
      const proven: NewPairing = { kind: "totp", seed, lastStep: step };
      return await add(deed, proven, { owner, also: [{ type: "delete", key: begunKey(id) }] });
    },
    async rename(deed, { id, name: given }) {
      const name = readPhoneName(given);
      if (name === null) throw new Refusal("bad_phone_name");
      const also = (before: DevicePairingRow) => [
        audit(deed, {
          action: "pairing.rename",
          ...pairingDetails({ ...before, name }),
          before: before.name,
          after: name,
        }),
      ];
      const isOwn = pairings.ownerOf(id) === canonicalName(deed.user);
      if (!isOwn || await pairings.rename(id, { name, also }) === null) throw new Refusal("unknown_pairing");
    },
    revoke,
    async confirmFactor(deed, id) {
      const canonical = canonicalName(deed.user);
      const known = id === RECOVERY_CODES
        ? recoveryCodes.standing(canonical)
        : pairings.of(canonical).find((pairing) => pairing.id === id);
      if (known?.addedBy === undefined) throw new Refusal("unknown_pairing");
      const details = "kind" in known ? pairingDetails(known) : { factor: "recovery" };
      const also = [audit(deed, { action: "factor.confirm", ...details, ...adderOf(known) })];
      const isDone = "kind" in known
        ? await pairings.confirm(id, also, deed) !== null
        : await recoveryCodes.confirm(canonical, also, deed);
      if (!isDone) throw new Refusal("changed_meanwhile");
    },
    async removeUnconfirmed(deed, id) {
      const canonical = canonicalName(deed.user);
      const { addedBy } = recoveryCodes.standing(canonical);
      if (id !== RECOVERY_CODES) return await revoke(deed, id);
      if (addedBy === undefined) throw new Refusal("unknown_pairing");
      const taken = recoveryCodes.takeAll(canonical);
      const record = audit(deed, { action: "recovery_codes.remove", ...adderOf({ addedBy }) });
      await store.commit({ mutations: [...taken.mutations, record] }).catch((fault: unknown) => {
        taken.putBack();
        throw fault;
      });
    },
    async prefer(deed, factor) {
      const canonical = canonicalName(deed.user);
      const before = pairings.preferred(canonical);
      const record = audit(deed, {
        action: "preference.set",
        ...(before === null ? {} : { before }),
        ...(factor === null ? {} : { after: factor }),
      });
      await store.commit({ mutations: [pairings.preparePreference(canonical, factor), record] });
      pairings.adoptPreference(canonical, factor);
    },
    async makeRecoveryCodes(deed) {
      const canonical = canonicalName(deed.user);
      const owner = await findUserRecord(canonical);
      const { left } = recoveryCodes.standing(canonical);
      const { codes, checks, mutations, adopt } = recoveryCodes.make(canonical, deed);
      const record = audit(deed, {
        action: "recovery_codes.make",
        before: `${left} left`,
        after: `${codes.length} made`,
        ...adderOf(deed),
      });
      const done = await store.commit({
        checks: [...checks, owner.check],
        mutations: [...mutations, record, noticeOf(deed, { what: "recovery_codes", recordId: owner.id })],
      });
      if (!done.ok) throw new Refusal("changed_meanwhile");
      adopt(done.versionstamp);
      return codes;
    },
    async unlock(deed) {
      const canonical = canonicalName(deed.user);
      const before = limits.failures(canonical);
      const cleared = limits.clear(canonical);
      if (cleared === null) return;
      const record = audit(deed, { action: "user.unlock", before: `${before.total} failures` });
      await store.commit({ mutations: [cleared, record] }).catch((fault: unknown) => {
        limits.putBack(canonical, before);
        throw fault;
      });
    },
    async resetLimits(deed, numbers) {
      const reset = limits.reset(canonicalName(deed.user), numbers);
      if (reset === null) return;
      const record = audit(deed, {
        action: "user.reset_limits",
        before: `${reset.pushes} pushes, ${reset.sends} messages`,
        after: "0 pushes, 0 messages",
      });
      await store.commit({ mutations: [...reset.mutations, record] }).catch((fault: unknown) => {
        reset.undo();
        throw fault;
      });
    },
  };
}

/** The phone that added a factor, for an audit record. */
function adderOf({ addedBy }: { readonly addedBy?: AddingPhone | undefined }): { addedBy?: string } {
  return addedBy === undefined ? {} : { addedBy: addedBy.name ?? addedBy.id };
}

/** What authenticator apps read from a QR code (the Key Uri Format of Google Authenticator). */
function totpUri({ issuer, user, secret }: { issuer: string; user: string; secret: string }): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(user)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
}
