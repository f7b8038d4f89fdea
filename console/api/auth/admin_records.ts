// Records of administrators and their roles. Every change reads and writes one guard key, so that two concurrent changes cannot
// leave the console without an owner.

import type { AdminSettings } from "../../../platform/config/config.ts";
import type { Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { PasswordHash } from "../../../platform/password_hasher.ts";

/**
 * From least to most. A role includes the permissions of those before it, with one exception: an operator does not have the permissions of the
 * help desk, and the help desk does not have those of an operator.
 */
export const ROLES = ["viewer", "help_desk", "operator", "user_manager", "owner"] as const;
export type Role = typeof ROLES[number];

/** Whether `role` includes the permissions of `needs`. */
export function isAllowed(role: Role, needs: Role): boolean {
  if (role === "operator" && needs === "help_desk") return false;
  return ROLES.indexOf(role) >= ROLES.indexOf(needs);
}

/** The permissions that both roles have, as a role. */
export function commonRole(one: Role, other: Role): Role {
  if (isAllowed(one, other)) return other;
  return isAllowed(other, one) ? one : "viewer";
}

/** An administrator. Their sessions end if `credential` changes: with the role, and with each reset of the sign-in methods. */
export interface Admin {
  /** A later account of the same name has another id. */
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly credential: string;
  readonly origin: AdminOrigin;
  /** When the sign-in provider last confirmed the role; 0 if it no longer does. Absent for accounts that the provider does not manage. */
  readonly confirmedMs?: number;
}

/** An administrator who is signed in. */
export interface Session {
  /** The digest of the token. It identifies the session and gives no access. */
  readonly id: string;
  readonly admin: Admin;
  /** The account that limits of a person count: that of `admin`, and of a token that of its creator. */
  readonly personId: string;
  readonly deadlineMs: number;
  /** When the session ends if it is not used. */
  readonly idleDeadlineMs: number;
  /** When the administrator last used a factor; 0 for tokens and commands, which use none. */
  readonly freshMs: number;
}

/** The origin of an account, which decides who can change it. */
type AdminOrigin = "settings" | "console" | "provider";

/** An account as it is stored. */
export interface AdminRecord {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** `null`: signs in with a passkey or at the provider. */
  readonly password: PasswordHash | null;
  readonly createdMs: number;
  readonly disabled?: true;
  /** A digest of the provider's issuer and subject. */
  readonly subject?: string;
  /** When the provider last gave a role; 0 after it gave none. Only with a subject. */
  readonly confirmedMs?: number;
}

export const MAX_ADMINS = 1000;
const MAX_NAME_CHARACTERS = 64;
/** Every change of a role checks and writes this key. */
export const ADMINS_GUARD: Deno.KvKey = ["console_admins_guard"];

/** The name in the key of an administrator: NFC, in lower case. */
export function adminKeyName(name: string): string {
  return name.normalize("NFC").trim().toLowerCase();
}

export function adminKey(name: string): Deno.KvKey {
  return ["console_admin", adminKeyName(name)];
}

/** Names of other actors in the audit log, which no administrator can have. */
const OTHER_ACTORS = /^(?:(?:token|user|scim|console):|(?:radius|command|refresh|nobody)$)/;

/** One to 64 visible characters, and not the name of another actor. */
export function isAdminName(name: string): boolean {
  const trimmed = name.trim();
  return trimmed.length > 0 && name.length <= MAX_NAME_CHARACTERS && !/\p{C}/u.test(name) &&
    !OTHER_ACTORS.test(adminKeyName(name));
}

/** An account of the settings file. */
export function adminOfSettings(admin: AdminSettings, vault: Vault): Admin {
  return {
    id: `settings:${adminKeyName(admin.name)}`,
    name: admin.name,
    role: admin.role,
    credential: vault.digest("console credential", `config\0${admin.role}\0${admin.password}`),
    origin: "settings",
  };
}

/** An account of the store. */
export function adminOfRecord(record: AdminRecord, vault: Vault): Admin {
  const { id, role } = record;
  return {
    id,
    name: record.name,
    role,
    // Not from the password hash: a new password comes with a new id, and the hash of the same password can be renewed.
    credential: vault.digest("console credential", `store\0${role}\0${id}`),
    ...(record.subject === undefined
      ? { origin: "console" }
      : { origin: "provider", confirmedMs: record.confirmedMs ?? 0 }),
  };
}

/** Longest session of an administrator of the sign-in provider; the next sign-in there confirms the role. */
export const MAX_PROVIDER_SESSION_MS = 4 * 60 * 60 * 1000;
/** How long a role is valid after the provider confirmed it. API tokens of the account end then. */
const ROLE_CONFIRMED_MS = 7 * 24 * 60 * 60 * 1000;

/** Whether the account's role is still valid. Pure. */
export function isRoleConfirmed({ confirmedMs }: Admin, nowMs: number): boolean {
  return confirmedMs === undefined || nowMs - confirmedMs < ROLE_CONFIRMED_MS;
}

/** Whether an owner can sign in, given `records` and the settings. Pure. */
export function hasOwner(configured: readonly AdminSettings[], records: readonly AdminRecord[]): boolean {
  return configured.some(({ role }) => role === "owner") ||
    records.some(({ role, disabled }) => role === "owner" && disabled === undefined);
}

/** All accounts of the store, in order of their names. */
export async function listAdminRecords(store: Store): Promise<AdminRecord[]> {
  const records: AdminRecord[] = [];
  for await (const entry of store.list<AdminRecord>(["console_admin"], { limit: MAX_ADMINS })) {
    if (entry.value !== null) records.push(entry.value);
  }
  return records;
}
