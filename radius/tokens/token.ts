// A hardware token: a device that shows HOTP (RFC 4226) or TOTP (RFC 6238) codes, as stored. Its seed comes from a file of its vendor.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { CodeAlgorithm } from "../factors/totp.ts";

export type TokenKind = "hotp" | "totp";

/** What the file of the vendor says about a token, without its seed. */
export interface TokenFacts {
  readonly serial: string;
  readonly kind: TokenKind;
  readonly algorithm: CodeAlgorithm;
  /** 6 to 8. */
  readonly digits: number;
  /** The seconds of a time step; 0 for HOTP. */
  readonly periodS: number;
  readonly manufacturer: string;
  readonly model: string;
  /** The validity period that the file states (RFC 6030 §5); `null`: none. */
  readonly validFromMs: number | null;
  readonly validToMs: number | null;
}

/** The stored record. It changes only when an administrator changes the token. */
export interface HardwareTokenRecord extends TokenFacts {
  /** Sealed for the key of the record. */
  readonly seed: Uint8Array;
  readonly importedMs: number;
  readonly isEnabled: boolean;
  /** The canonical name of its user; `null`: the token is free. */
  readonly user: string | null;
  /** The name as given. */
  readonly shownUser: string | null;
  readonly assignedMs: number | null;
  /** The moving factor and the drift that the file states. They apply until the first use. */
  readonly firstNext: number;
  readonly firstDrift: number;
}

/** The position of a token. Each accepted code changes it. */
export interface TokenUse {
  /** The least moving factor whose code is accepted: the counter of HOTP, or the time step of TOTP. */
  readonly next: number;
  /** How many time steps the clock of the token is ahead of ours. */
  readonly drift: number;
  /** The drift at the last resynchronization. Logins learn a drift only near it. */
  readonly baseDrift: number;
  /** The last accepted code or resynchronization; `null`: never. */
  readonly usedMs: number | null;
}

export interface HardwareToken {
  /** The canonical serial number. */
  readonly id: string;
  readonly record: HardwareTokenRecord;
  readonly use: TokenUse;
}

/** A token of a file, before it is stored. */
export interface NewToken extends TokenFacts {
  readonly seed: Uint8Array;
  readonly counter: number;
  readonly drift: number;
}

/** Tokens of one user. A wrong code costs up to eleven HMACs for each of them. */
export const MAX_TOKENS_PER_USER = 10;
/** Tokens of one login target. */
export const MAX_HARDWARE_TOKENS = 100_000;
export const MIN_TOKEN_DIGITS = 6;
export const MAX_TOKEN_DIGITS = 8;
/** Time steps of real tokens have 30 or 60 seconds. */
export const MIN_TOKEN_PERIOD_S = 10;
export const MAX_TOKEN_PERIOD_S = 300;
/** RFC 4226 §4 R6 requires 128 bits. Older tokens have 80. */
export const MIN_SEED_OCTETS = 10;
export const MAX_SEED_OCTETS = 128;
/** No token shows as many codes in its life. */
export const MAX_TOKEN_COUNTER = 2 ** 31;
const MAX_SERIAL_CHARACTERS = 64;

/** The canonical form of a serial number: case does not distinguish tokens. `null` if it is not a serial number. */
export function tokenId(serial: string): string | null {
  const text = serial.trim();
  // Browsers remove a segment of dots from an address.
  const isSerial = !/^\.+$/.test(text) && text.length <= MAX_SERIAL_CHARACTERS &&
    /^[!-~](?:[ -~]*[!-~])?$/.test(text) &&
    !/[/\\?#%"'<>]/.test(text);
  return isSerial ? text.toUpperCase() : null;
}

/** Whether codes of the token are accepted: it is enabled, and the time is in its validity period. */
export function isUsableToken({ record }: HardwareToken, nowMs: number): boolean {
  const { isEnabled, validFromMs, validToMs } = record;
  return isEnabled && (validFromMs === null || nowMs >= validFromMs) &&
    (validToMs === null || nowMs <= validToMs);
}

/** The same token with another user, or with none. */
export function withTokenUser(
  record: HardwareTokenRecord,
  owner: { readonly name: string; readonly atMs: number } | null,
): HardwareTokenRecord {
  if (owner === null) return { ...record, user: null, shownUser: null, assignedMs: null };
  return { ...record, user: canonicalName(owner.name), shownUser: owner.name, assignedMs: owner.atMs };
}

/** The position before the first use. */
export function firstUse({ firstNext, firstDrift }: HardwareTokenRecord): TokenUse {
  return { next: firstNext, drift: firstDrift, baseDrift: firstDrift, usedMs: null };
}

/** The fields of an audit record for a token: about its user, if it has one. Never its seed. */
export function tokenDetails(
  { record: { serial, shownUser } }: { readonly record: Pick<HardwareTokenRecord, "serial" | "shownUser"> },
): { readonly object: string; readonly token: string } {
  return { object: shownUser === null ? `hardware-token:${serial}` : `user:${shownUser}`, token: serial };
}

/** Identifies a token among the other factors of a user. */
export function tokenFactorId(id: string): string {
  return `token:${id}`;
}
