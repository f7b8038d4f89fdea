// The console's administrators as sign-in sees them: those of the configuration, those of the store, and the links by
// which a new one, or one who lost the way in, chooses how to sign in.

import type { AdminSettings } from "../../../platform/config/config.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Check, Entry, Mutation, Store } from "../../../platform/store.ts";
import { equalDigests, type Vault } from "../../../platform/vault.ts";
import {
  type Admin,
  adminKey,
  adminKeyName,
  adminOfRecord,
  adminOfSettings,
  type AdminRecord,
  ADMINS_GUARD,
  isAdminName,
  listAdminRecords,
} from "./admin_records.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { factorsKey, newAccountId } from "./factors.ts";
import { type Claim, type ClaimLink, createInvitations, type Invitations } from "./invitations.ts";
import { createPasswordHasher, type PasswordHasher } from "./passwords.ts";
import { Refusal } from "../errors.ts";

export type { Admin } from "./admin_records.ts";

/** What the holder of a link requests. Without a password, `also` must write another way to sign in. */
export interface AdminClaim {
  readonly token: string;
  /** Ignored when the link names the person. */
  readonly name: string;
  readonly password: string | null;
  readonly source: string;
  /** More to write in the same commit, such as a passkey. */
  readonly also?: (admin: Admin) => readonly Mutation[];
}

export interface Admins {
  /** Whether an owner can sign in; until then the console asks for the set-up link. */
  hasOwner(): Promise<boolean>;
  /**
   * Makes the one-time link that creates the first owner and voids an earlier one; `null` when there is an owner.
   * It holds for an hour.
   */
  setupLink(): Promise<string | null>;
  /** What a link is for. @throws Refusal `bad_set_up_link`, `bad_invitation`. */
  link(token: string): Promise<ClaimLink>;
  /**
   * Creates the first owner, or the account of an invitation; or new sign-in methods for an account.
   *
   * @throws Refusal `bad_set_up_link`, `bad_invitation`, `bad_name`, `weak_password`, `busy`.
   */
  setUp(claim: AdminClaim): Promise<Admin>;
  /** Who that name and password belong to, or `null`; takes the same time whether the name is known or not. */
  check(name: string, password: string): Promise<Admin | null>;
  /** The administrator of that name; `null` also for a disabled one. */
  find(name: string): Promise<Admin | null>;
  /** Whether that account can sign in by a password. */
  hasPassword(name: string): Promise<boolean>;
  readonly invitations: Invitations;
}

export interface AdminsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly configAdmins: readonly AdminSettings[];
  readonly log: Log;
  /** The set-up link starts with it. */
  readonly publicUrl: string;
  readonly hasher?: PasswordHasher;
  /** An account was set up, so the set-up link is void. */
  readonly onSetUp?: () => Promise<void>;
}

export const MIN_PASSWORD_CHARACTERS = 12;
const MAX_PASSWORD_CHARACTERS = 1024;

export function createAdmins(deps: AdminsDeps): Admins {
  const { store, vault, clock, random } = deps;
  const hasher = deps.hasher ?? createPasswordHasher({ random });
  const configured = new Map(deps.configAdmins.map((admin) => [adminKeyName(admin.name), admin]));

  const entryOf = async (name: string): Promise<Entry<AdminRecord> | null> =>
    isAdminName(name) ? await store.get<AdminRecord>(adminKey(name)) : null;
  const recordOf = async (name: string): Promise<AdminRecord | null> => (await entryOf(name))?.value ?? null;

  /**
   * Hashes a password again if its hash has the cost of an earlier version: otherwise a sign-in by this name would take another time than
   * one by an unknown name. If the record changed meanwhile, or too many hashes wait, the next sign-in does it.
   */
  const renewHash = async (entry: Entry<AdminRecord>, password: string): Promise<void> => {
    const { key, value: record, versionstamp } = entry;
    if (record === null || record.password === null || hasher.isCurrent(record.password)) return;
    const renewed = await hasher.make(password).catch((fault: unknown) => {
      if (fault instanceof Refusal && fault.code === "busy") return null;
      throw fault;
    });
    if (renewed === null) return;
    await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [{ type: "set", key, value: { ...record, password: renewed } }],
    });
  };

  let ownerSeen = false;
  const hasOwner = async (): Promise<boolean> => {
    ownerSeen ||= await findOwner();
    return ownerSeen;
  };
  const findOwner = async (): Promise<boolean> =>
    deps.configAdmins.some(({ role }) => role === "owner") ||
    (await listAdminRecords(store)).some(({ role, disabled }) => role === "owner" && disabled === undefined);
  const invitations = createInvitations({ ...deps, hasOwner });

  /** The record that a claim makes: a new account, or the old one with new sign-in methods; valid while the old one is unchanged. */
  const recordFor = async (
    claim: Claim,
    { name, password }: AdminClaim,
  ): Promise<{ record: AdminRecord; check: Check }> => {
    const wanted = claim.link.name ?? name;
    if (!isAdminName(wanted) || configured.has(adminKeyName(wanted))) throw new Refusal("bad_name");
    if (password !== null && !isStrong(password)) throw new Refusal("weak_password");
    const { key, value: known, versionstamp } = await store.get<AdminRecord>(adminKey(wanted));
    const renewed = known !== null && known.id === claim.accountId ? known : null;
    if (known !== null && renewed === null) throw new Refusal("name_taken");
    const record = {
      ...(renewed ??
        { name: wanted.normalize("NFC").trim(), role: claim.link.role, createdMs: clock.nowMs() }),
      // Also for an account that is kept: its old sessions and factors end with the old id.
      id: newAccountId(random),
      password: password === null ? null : await hasher.make(password),
    };
    return { record, check: { key, versionstamp } };
  };

  return {
    hasOwner,
    invitations,
    setupLink: invitations.setupLink,
    link: async (token) => (await invitations.open(token)).link,
    async setUp(asked) {
      const early = await invitations.open(asked.token);
      const { record, check } = await recordFor(early, asked);
      // Read again after the hash: the first commit uses up the link.
      const claim = await invitations.open(asked.token);
      const admin = adminOfRecord(record, vault);
      const done = await store.commit({
        checks: [claim.check, check],
        mutations: [
          { type: "set", key: adminKey(record.name), value: record },
          { type: "delete", key: claim.check.key },
          { type: "set", key: ADMINS_GUARD, value: clock.nowMs() },
          ...(claim.accountId === null
            ? []
            : [{ type: "delete" as const, key: factorsKey(claim.accountId) }]),
          ...(asked.also?.(admin) ?? []),
          auditEntry({
            actor: record.name,
            source: asked.source,
            action: claim.accountId === null ? "administrator.create" : "administrator.renew",
            object: `administrator:${record.name}`,
            after: { role: record.role },
          }),
        ],
      });
      if (!done.ok) {
        // Another request used up the link, or the account was changed meanwhile; that change must not be lost.
        await invitations.open(asked.token);
        throw new Refusal("changed_meanwhile");
      }
      deps.log.info("an administrator was set up", { admin: record.name, role: record.role });
      await deps.onSetUp?.().catch((fault: unknown) =>
        deps.log.error("the used set-up link could not be removed from first-start.txt", {
          fault: String(fault),
        })
      );
      return admin;
    },
    async check(name, password) {
      if (password.length > MAX_PASSWORD_CHARACTERS) return null;
      const setting = configured.get(adminKeyName(name));
      const entry = setting === undefined ? await entryOf(name) : null;
      const record = entry?.value ?? null;
      const matches = await hasher.check(password, record?.password ?? null);
      if (entry !== null && record !== null) {
        if (!matches || record.disabled !== undefined) return null;
        await renewHash(entry, password);
        return adminOfRecord(record, vault);
      }
      // A password of the configuration is known in clear anyway; its digest is compared, after the same work.
      const given = vault.digest("console password", password);
      const wanted = vault.digest("console password", setting?.password ?? "");
      const same = equalDigests(given, wanted);
      return setting !== undefined && setting.password !== "" && same
        ? adminOfSettings(setting, vault)
        : null;
    },
    hasPassword: async (name) =>
      configured.has(adminKeyName(name)) || ((await recordOf(name))?.password ?? null) !== null,
    async find(name) {
      const setting = configured.get(adminKeyName(name));
      if (setting !== undefined) return adminOfSettings(setting, vault);
      const record = await recordOf(name);
      return record === null || record.disabled !== undefined ? null : adminOfRecord(record, vault);
    },
  };
}

function isStrong(password: string): boolean {
  return [...password].length >= MIN_PASSWORD_CHARACTERS && password.length <= MAX_PASSWORD_CHARACTERS;
}
