// Changes of who may do what: invitations, roles, disabling and removing. Every one passes the same guard, so that of two at
// once one is refused, and the last owner stays.

import type { AdminSettings } from "../../../platform/config/config.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { Role } from "./permissions.ts";
import {
  adminKey,
  adminKeyName,
  adminOfRecord,
  adminOfSettings,
  type AdminRecord,
  ADMINS_GUARD,
  hasOwner,
  isAdminName,
  listAdminRecords,
  MAX_ADMINS,
} from "./admin_records.ts";
import type { Admin, Admins } from "./admin_store.ts";
import { auditEntry, type AuditValues } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import { type Factors, factorsKey } from "./factors.ts";
import { invitationKey, type InvitationRecord } from "./invitations.ts";
import type { Passkeys } from "./passkeys.ts";
import { Refusal } from "../errors.ts";
import type { AdminRow, InvitationRow } from "../api_types.ts";

/** Who changes something, and from where. */
export interface Deed {
  readonly actor: string;
  readonly source: string;
}

export interface Administrators {
  list(): Promise<{ items: AdminRow[]; invitations: InvitationRow[] }>;
  /** An account that may be asked for by name. @throws Refusal `unknown_administrator`. */
  known(name: string): Promise<{ admin: Admin; record: AdminRecord | null }>;
  /** A link by which `name` makes an account. @throws Refusal `name_taken`, `bad_name`. */
  invite(
    wanted: { name: string; role: Role },
    deed: Deed,
  ): Promise<{ url: string; invitation: InvitationRow }>;
  /** A link that gives an account new sign-in methods. The current ones work until the link is used. */
  renew(name: string, deed: Deed): Promise<{ url: string; invitation: InvitationRow }>;
  withdraw(id: string, deed: Deed): Promise<void>;
  /** @throws Refusal `last_owner`, `settings_admin`, `provider_admin`, `unknown_administrator`, `changed_meanwhile`. */
  change(name: string, change: { role?: Role; disabled?: boolean }, deed: Deed): Promise<AdminRow>;
  remove(name: string, deed: Deed): Promise<void>;
}

export interface AdministratorsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly admins: Admins;
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  readonly configAdmins: readonly AdminSettings[];
}

export function createAdministrators(deps: AdministratorsDeps): Administrators {
  const { store, vault, clock, admins, factors, passkeys } = deps;
  const configured = new Map(deps.configAdmins.map((admin) => [adminKeyName(admin.name), admin]));
  const { invitations } = admins;

  const audit = (
    deed: Deed,
    told: { action: AuditAction; name: string; before?: AuditValues; after?: AuditValues },
  ) => {
    const { name, ...rest } = told;
    return auditEntry({ ...deed, ...rest, object: `administrator:${name}` });
  };
  const rowOf = async (admin: Admin, record: AdminRecord | null): Promise<AdminRow> => {
    const { record: has } = await factors.read(admin.id);
    return {
      name: admin.name,
      role: admin.role,
      origin: admin.origin,
      disabled: record?.disabled === true,
      createdMs: record?.createdMs ?? null,
      has: {
        password: admin.origin === "settings" || (record?.password ?? null) !== null,
        totp: has.totp !== undefined,
        passkeys: has.passkeys.length,
      },
    };
  };
  const known = async (name: string) => {
    const setting = configured.get(adminKeyName(name));
    if (setting !== undefined) return { admin: adminOfSettings(setting, vault), record: null };
    const record = isAdminName(name) ? (await store.get<AdminRecord>(adminKey(name))).value : null;
    if (record === null) throw new Refusal("unknown_administrator");
    return { admin: adminOfRecord(record, vault), record };
  };

  /** All records, with the `check` that makes a commit fail if one of them has changed. */
  const guarded = async (): Promise<{ records: AdminRecord[]; check: Check; touch: Mutation }> => {
    const { key, versionstamp } = await store.get(ADMINS_GUARD);
    return {
      records: await listAdminRecords(store),
      check: { key, versionstamp },
      touch: { type: "set", key: ADMINS_GUARD, value: clock.nowMs() },
    };
  };
  const commit = async (checks: readonly Check[], mutations: readonly Mutation[]): Promise<void> => {
    const done = await store.commit({ checks, mutations });
    if (!done.ok) throw new Refusal("changed_meanwhile");
  };
  const refuseLastOwner = (after: readonly AdminRecord[]): void => {
    if (!hasOwner(deps.configAdmins, after)) throw new Refusal("last_owner");
  };
  /** The record of an account that the console may change, among all of them. */
  const changeable = async (name: string) => {
    if (configured.has(adminKeyName(name))) throw new Refusal("settings_admin");
    const all = await guarded();
    const record = all.records.find((one) => adminKeyName(one.name) === adminKeyName(name));
    if (record === undefined) throw new Refusal("unknown_administrator");
    return { ...all, record, others: all.records.filter((one) => one !== record) };
  };
  const makeLink = async (
    wanted: { name: string; role: Role; accountId: string | null },
    { deed, action, guard }: { deed: Deed; action: AuditAction; guard: readonly Check[] },
  ) => {
    const { url, record, mutation } = invitations.make({ ...wanted, by: deed.actor });
    await commit(guard, [mutation, audit(deed, { action, name: record.name, after: { role: record.role } })]);
    return { url, invitation: invitationRow(record) };
  };

  return {
    known,
    async list() {
      const records = (await listAdminRecords(store)).filter(({ name }) =>
        !configured.has(adminKeyName(name))
      );
      const items = await Promise.all([
        ...deps.configAdmins.map((setting) => rowOf(adminOfSettings(setting, vault), null)),
        ...records.map((record) => rowOf(adminOfRecord(record, vault), record)),
      ]);
      return { items, invitations: (await invitations.list()).map(invitationRow) };
    },
    async invite({ name, role }, deed) {
      if (!isAdminName(name)) throw new Refusal("bad_name");
      const { records, check } = await guarded();
      const key = adminKeyName(name);
      const waiting = (await invitations.list()).some((one) => adminKeyName(one.name) === key);
      if (waiting || configured.has(key) || records.some((one) => adminKeyName(one.name) === key)) {
        throw new Refusal("name_taken");
      }
      if (records.length >= MAX_ADMINS) throw new Refusal("too_many_administrators");
      const action = "administrator.invite";
      return await makeLink({ name, role, accountId: null }, { deed, action, guard: [check] });
    },
    async renew(name, deed) {
      const { record, check } = await changeable(name);
      if (record.subject !== undefined) throw new Refusal("provider_admin");
      const wanted = { name: record.name, role: record.role, accountId: record.id };
      return await makeLink(wanted, { deed, action: "administrator.renew_link", guard: [check] });
    },
    async withdraw(id, deed) {
      const waiting = (await invitations.list()).find((one) => one.id === id);
      if (waiting === undefined) throw new Refusal("bad_invitation");
      await commit([], [
        { type: "delete", key: invitationKey(waiting.name) },
        audit(deed, {
          action: "administrator.invite_withdraw",
          name: waiting.name,
          before: { role: waiting.role },
        }),
      ]);
    },
    async change(name, { role, disabled }, deed) {
      const { record, others, check, touch } = await changeable(name);
      if (role !== undefined && record.subject !== undefined) throw new Refusal("provider_admin");
      const { disabled: was, ...kept } = record;
      const off = disabled ?? was === true;
      const next: AdminRecord = { ...kept, role: role ?? record.role, ...(off ? { disabled: true } : {}) };
      refuseLastOwner([...others, next]);
      await commit([check], [
        touch,
        { type: "set", key: adminKey(record.name), value: next },
        audit(deed, {
          action: "administrator.change",
          name: record.name,
          before: valuesOf(record),
          after: valuesOf(next),
        }),
      ]);
      return await rowOf(adminOfRecord(next, vault), next);
    },
    async remove(name, deed) {
      const { record, others, check, touch } = await changeable(name);
      refuseLastOwner(others);
      const has = await factors.read(record.id);
      await commit([check], [
        touch,
        { type: "delete", key: adminKey(record.name) },
        { type: "delete", key: factorsKey(record.id) },
        { type: "delete", key: invitationKey(record.name) },
        ...has.record.passkeys.map(({ id }) => passkeys.forget(id)),
        audit(deed, { action: "administrator.remove", name: record.name, before: valuesOf(record) }),
      ]);
    },
  };
}

/** The values of an administrator that the audit log has. */
function valuesOf({ role, disabled }: { role: Role; disabled?: true }): AuditValues {
  return { role, disabled: disabled === true };
}

function invitationRow({ id, name, role, by, deadlineMs, accountId }: InvitationRecord): InvitationRow {
  return { id, name, role, by, deadlineMs, renews: accountId !== null };
}
