// The enrolment of an authenticator app (RFC 6238): a sealed seed that expires, until a code of it is typed.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { encodeBase32 } from "../../../platform/base32.ts";
import type { NewPairing } from "../../../radius/factors/pairing.ts";
import { matchTotp } from "../../../radius/factors/totp.ts";
import type { Mutation } from "../../../platform/store.ts";
import type { UserRecord } from "../../../platform/user_record.ts";
import { type QrPicture, qrPicture } from "../qr_svg.ts";
import { Refusal } from "../errors.ts";
import type { FactorDeed, FactorDeps } from "./factor_changes.ts";

/** RFC 4226 §4 R6 recommends 160 bits. */
const SEED_OCTETS = 20;
const TOTP_DIGITS = 6;
/** RFC 6238 §5.2: one step of clock difference each way. */
const TOLERANCE_STEPS = 1;
/** An enrolment expires unless a code is entered in this time. */
export const TOTP_BEGUN_MS = 15 * 60_000;

interface BegunTotp {
  readonly user: string;
  /** The directory record that it was begun for. */
  readonly recordId?: string;
  readonly seed: Uint8Array;
}

/** What an authenticator app is set up with, as text and as a picture. */
export interface BegunApp {
  readonly id: string;
  readonly secret: string;
  readonly uri: string;
  readonly qr: QrPicture | null;
  readonly deadlineMs: number;
}

/** A seed that was proven, and what ends its enrolment in the commit that pairs it. */
export interface ProvenTotp {
  readonly pairing: NewPairing;
  readonly owner: UserRecord;
  readonly ending: Mutation;
}

const begunKey = (id: string): Deno.KvKey => ["console_totp", id];

/** Stores a new seed, sealed, for 15 minutes. @throws Refusal `changed_meanwhile`. */
export async function beginTotpEnrolment(deps: FactorDeps, { user }: FactorDeed): Promise<BegunApp> {
  const { people: { factors, findUserRecord }, store, vault, clock, random } = deps;
  const id = random.bytes(16).toHex();
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
}

/** Checks a code of a begun seed. @throws Refusal `no_totp_begun`, `wrong_totp`. */
export async function proveTotp(
  { people, store, vault, clock }: FactorDeps,
  deed: FactorDeed,
  { id, code }: { id: string; code: string },
): Promise<ProvenTotp> {
  const begun = (await store.get<BegunTotp>(begunKey(id))).value;
  const owner = await people.findUserRecord(deed.user);
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
  const pairing: NewPairing = { kind: "totp", seed, lastStep: step };
  return { pairing, owner, ending: { type: "delete", key: begunKey(id) } };
}

/** What authenticator apps read from a QR code (the Key Uri Format of Google Authenticator). */
function totpUri({ issuer, user, secret }: { issuer: string; user: string; secret: string }): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(user)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
}
