// Secrets of connections: bearer tokens (RFC 6750) and client secrets (RFC 6749 §2.3.1). They have 256 random bits, so the store needs
// only their SHA-256, and a lookup of the hash is the check.

import { createHash } from "node:crypto";
import { type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { SecretKind } from "./connection_settings.ts";

/** A secret as it is stored, without the secret itself. */
export interface SecretRecord {
  readonly id: string;
  /** The name of the connection. */
  readonly connection: string;
  /** A later connection with the same name has another id. */
  readonly connectionId: string;
  readonly kind: SecretKind;
  readonly createdMs: number;
  readonly createdBy: string;
  /** `null`: it does not expire. */
  readonly expiresMs: number | null;
  /** At most once a minute. */
  readonly usedMs: number | null;
  readonly usedFrom: string | null;
}

const SECRET_OCTETS = 32;
/** With a prefix, scanners of source code find a secret that was published by mistake. */
const PREFIXES: Readonly<Record<SecretKind, string>> = { token: "cst_", client_secret: "css_" };
const SECRET = /^cs[ts]_[A-Za-z0-9_-]{43}$/;

export function makeSecretText(kind: SecretKind, random: Random): string {
  return PREFIXES[kind] + toBase64Url(random.bytes(SECRET_OCTETS));
}

/** SHA-256 of a secret (hexadecimal), or `null` for a text that cannot be a secret. */
export function hashSecretText(text: string): string | null {
  return SECRET.test(text) ? createHash("sha256").update(text).digest("hex") : null;
}

export function isExpired({ expiresMs }: Pick<SecretRecord, "expiresMs">, nowMs: number): boolean {
  return expiresMs !== null && expiresMs <= nowMs;
}
