// How administrators are kept: one record each, and one guard that every change of who may do what passes, so that two
// changes at once cannot leave the console without an owner.

import type { AdminSettings } from "../../../platform/config/config.ts";
import type { Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { Role } from "./permissions.ts";
import type { PasswordHash } from "./passwords.ts";

/** An administrator. If `credential` changes, their sessions end. It changes with the role and with each reset of the sign-in. */
export interface Admin {
  /** Names the account for good: another account of the same name has another id. */
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly credential: string;
  readonly origin: AdminOrigin;
  /** When the sign-in provider last confirmed the role; 0: it no longer does. Absent for accounts that are not the provider's. */
  readonly confirmedMs?: number;
}

/** Where an account comes from, and so who may change it. */
export type AdminOrigin = "settings" | "console" | "provider";

/** An account as it is kept. */
export interface AdminRecord {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** `null`: signs in with a passkey or at the provider. */
  readonly password: PasswordHash | null;
  readonly createdMs: number;
  readonly disabled?: true;
  /** The provider's name for the person: a digest of issuer and subject. */
  readonly subject?: string;
  /** When the provider last gave the person a role; 0 once it gave none. Absent in records of version 0.1.0, where it counts as 0. */
  readonly confirmedMs?: number;
}

export const MAX_ADMINS = 1000;
export const MAX_NAME_CHARACTERS = 64;
/** Held by every change of a role, and read before it. */
export const ADMINS_GUARD: Deno.KvKey = ["console_admins_guard"];

/** The name under which an administrator is kept: compared without case. */
export function adminKeyName(name: string): string {
  return name.normalize("NFC").trim().toLowerCase();
}

export function adminKey(name: string): Deno.KvKey {
  return ["console_admin", adminKeyName(name)];
}

/** Other actors in the audit log: no administrator can have such a name. */
const OTHER_ACTORS = /^(?:(?:token|user|scim|console):|(?:radius|command|refresh|nobody)$)/;

/** One to 64 characters, none of them invisible, and no name of another actor. */
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
    // Without the hash of the password: a new password comes with a new id, and the same password gets a new hash at times.
    credential: vault.digest("console credential", `store\0${role}\0${id}`),
    ...(record.subject === undefined
      ? { origin: "console" }
      : { origin: "provider", confirmedMs: record.confirmedMs ?? 0 }),
  };
}

/** Longest session of an administrator of the sign-in provider; the next sign-in there confirms the role. */
export const MAX_PROVIDER_SESSION_MS = 4 * 60 * 60 * 1000;
/** How long a role counts that the provider confirmed: API tokens of the account stop after it. */
export const ROLE_CONFIRMED_MS = 7 * 24 * 60 * 60 * 1000;

/** Whether the account's role still counts. Pure. */
export function isRoleConfirmed({ confirmedMs }: Admin, nowMs: number): boolean {
  return confirmedMs === undefined || nowMs - confirmedMs < ROLE_CONFIRMED_MS;
}

/** Whether there is still an owner who can sign in, given `records` and the settings. Pure. */
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
