// Requests to change a user's factors: validation of a new factor, the audit record, the notice for the user, and the enrolment of
// an authenticator app (RFC 6238).

import type { Log } from "../../../platform/log.ts";
import { type AuditEntry, auditEntry } from "../../../platform/audit.ts";
import { type UserNotice, userNotice, type UserRecord } from "../../../platform/user_record.ts";
import type { AddingPhone, NewPairing } from "../../../radius/factors/pairing.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import type { PhonePages } from "../../../upstream/embedded/push/phone_pages.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { People } from "../deps.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { readAppSecret } from "../../../radius/tokens/token_codes.ts";
import { readCode } from "../../../radius/protocol/login_input.ts";
import { encodeBase32, matchTotp } from "../../../radius/factors/totp.ts";
import { hasControlCharacters } from "../../../platform/control_characters.ts";
import type { Pairings } from "../../../radius/factors/pairings.ts";
import { reducePhoneNumber } from "../../../platform/phone_number.ts";
import { Refusal } from "../errors.ts";
import { createQrMatrix, type QrMatrix } from "../qr_svg.ts";

export interface FactorDeps {
  readonly people: People;
  readonly secondFactorAdmin: () => SecondFactorAdmin | null;
  readonly phonePages?: (() => PhonePages | null) | undefined;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly http: { readonly publicUrl: string };
}

/** A user, and the caller. */
export interface FactorRequest {
  /** In the spelling of the directory. */
  readonly user: string;
  readonly actor: string;
  readonly source: string;
  /** The browser of the request: "Firefox on Windows". */
  readonly browser?: string;
  /** Whether the user adds the factor with an invitation, outside the account page. */
  readonly isInvited?: boolean;
  /** The phone that opened the account session. */
  readonly addedBy?: AddingPhone | undefined;
  /** Further mutations of the commit that removes a factor, such as a mail to the user. */
  readonly also?: readonly Mutation[];
}

/** The audit record of a change. */
export function factorAudit(
  { user, actor, source, browser, isInvited }: FactorRequest,
  entry: Omit<AuditEntry, "actor" | "source" | "browser" | "object" | "how">,
): Mutation {
  const byActor = actor.startsWith("user:") ? "account" : actor === "command" ? "command" : "console";
  return auditEntry({
    actor,
    source,
    browser,
    object: `user:${user}`,
    how: isInvited === true ? "invitation" : byActor,
    ...entry,
  });
}

/** The notice for the user about an added or removed factor. */
export function factorNotice(
  { clock, random }: Pick<FactorDeps, "clock" | "random">,
  { user, actor, isInvited }: FactorRequest,
  change: Pick<UserNotice, "what" | "recordId" | "isRemoved">,
): Mutation {
  const byActor = actor === `user:${user}` ? "self" : "administrator";
  const by = isInvited === true ? "phone" : byActor;
  return userNotice(user, { atMs: clock.nowMs(), by, ...change }, random.bytes(4).toHex());
}

/** The phone that added a factor, for an audit record. */
export function addedByDetail(
  { addedBy }: { readonly addedBy?: AddingPhone | undefined },
): { addedBy?: string } {
  return addedBy === undefined ? {} : { addedBy: addedBy.name ?? addedBy.id };
}

/** A phone number, a device of the second-factor service, or a TOTP secret in base32 or as an otpauth URI. */
export type GivenPairing =
  | { readonly kind: "sms" | "voice"; readonly number: string }
  | { readonly kind: "device"; readonly id: string; readonly totpLength: number }
  | { readonly kind: "totp"; readonly seed: string };

/** @throws Refusal `bad_number`, `bad_device_id`, `pairing_taken`, `bad_seed`, `known_seed`. */
export function toNewPairing(pairings: Pairings, user: string, given: GivenPairing): NewPairing {
  const canonical = canonicalName(user);
  if (given.kind === "device") {
    if (!isDeviceId(given.id)) throw new Refusal("bad_device_id");
    const owner = pairings.ownerOf(given.id);
    const isOther = owner !== null && owner !== canonical;
    const isNoDevice = pairings.of(canonical).some(({ id, kind }) => id === given.id && kind !== "device");
    if (isOther || isNoDevice) throw new Refusal("pairing_taken");
    return given;
  }
  if (given.kind === "totp") {
    const app = readAppSecret(given.seed);
    if (app === null) throw new Refusal("bad_seed");
    // A second copy would not know which time step was used last, so a code would be accepted twice.
    const isKnown = pairings.of(canonical).some((one) => {
      const known = one.kind === "totp" ? pairings.seedOf(one) : null;
      return known !== null && known.toHex() === app.seed.toHex();
    });
    if (isKnown) throw new Refusal("known_seed");
    return { kind: "totp", ...app };
  }
  const number = reducePhoneNumber(given.number);
  if (number === null) throw new Refusal("bad_number");
  return { kind: given.kind, number };
}

const MAX_DEVICE_ID_CHARACTERS = 128;

/** Printable characters without a blank. "." and ".." cannot be segments of a path, so no request could name them. */
function isDeviceId(id: string): boolean {
  return id.length <= MAX_DEVICE_ID_CHARACTERS && !/\s/.test(id) && !hasControlCharacters(id) && id !== "." &&
    id !== "..";
}

/** RFC 4226 §4 R6 recommends 160 bits. */
const SEED_OCTETS = 20;
const TOTP_DIGITS = 6;
/** RFC 6238 §5.2: one step of clock difference each way. */
const TOLERANCE_STEPS = 1;
/** An enrolment expires unless a code is entered in this time. */
export const TOTP_ENROLMENT_MS = 15 * 60_000;

/** An enrolment, until a code confirms it. */
interface PendingTotp {
  readonly user: string;
  /** The directory record of the user. */
  readonly recordId?: string;
  readonly seed: Uint8Array;
}

/** The data for an authenticator app, as text and as a QR code. */
export interface TotpEnrolment {
  readonly id: string;
  readonly secret: string;
  readonly uri: string;
  readonly qr: QrMatrix | null;
  readonly deadlineMs: number;
}

/** A confirmed seed, and the mutation that ends its enrolment. */
interface ProvenTotp {
  readonly pairing: NewPairing;
  readonly owner: UserRecord;
  /** Two apps with one seed would accept each code twice, so another node must not have ended the enrolment. */
  readonly checks: readonly Check[];
  readonly ending: Mutation;
}

const begunKey = (id: string): Deno.KvKey => ["console_totp", id];

/**
 * Stores a new seed, encrypted, for 15 minutes.
 *
 * @param options.id replaces the enrolment with this id. Default: a new one
 * @throws Refusal `changed_meanwhile`.
 */
export async function beginTotpEnrolment(
  deps: FactorDeps,
  { user }: FactorRequest,
  { id = deps.random.bytes(16).toHex() }: { id?: string } = {},
): Promise<TotpEnrolment> {
  const { people: { factors, findUserRecord }, store, vault, clock, random } = deps;
  const seed = random.bytes(SEED_OCTETS).slice();
  const { id: recordId, check } = await findUserRecord(user);
  const value: PendingTotp = { user: canonicalName(user), recordId, seed: vault.seal(begunKey(id), seed) };
  const done = await store.commit({
    checks: [check],
    mutations: [{ type: "set", key: begunKey(id), value, expireInMs: TOTP_ENROLMENT_MS }],
  });
  if (!done.ok) throw new Refusal("changed_meanwhile");
  const secret = encodeBase32(seed);
  const deadlineMs = clock.nowMs() + TOTP_ENROLMENT_MS;
  const uri = totpUri({ issuer: factors.requesterName, user, secret });
  return { id, secret, uri, qr: createQrMatrix(uri), deadlineMs };
}

/** Checks a code of a begun seed. @throws Refusal `no_totp_begun`, `wrong_totp`. */
export async function proveTotp(
  { people, store, vault, clock }: FactorDeps,
  request: FactorRequest,
  { id, code }: { id: string; code: string },
): Promise<ProvenTotp> {
  const { value: begun, versionstamp } = await store.get<PendingTotp>(begunKey(id));
  const owner = await people.findUserRecord(request.user);
  const isOwn = begun?.user === canonicalName(request.user) && begun.recordId === owner.id;
  const seed = isOwn ? vault.open(begunKey(id), begun.seed) : null;
  if (seed === null) throw new Refusal("no_totp_begun");
  const step = matchTotp({
    seed,
    code: readCode(code),
    nowMs: clock.nowMs(),
    digits: TOTP_DIGITS,
    lastStep: -1,
    toleranceSteps: TOLERANCE_STEPS,
  });
  if (step === null) throw new Refusal("wrong_totp");
  const pairing: NewPairing = { kind: "totp", seed, lastStep: step };
  const key = begunKey(id);
  return { pairing, owner, checks: [owner.check, { key, versionstamp }], ending: { type: "delete", key } };
}

/** The URI in the QR code (the Key Uri Format of Google Authenticator). */
function totpUri({ issuer, user, secret }: { issuer: string; user: string; secret: string }): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(user)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
}
