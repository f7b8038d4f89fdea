// Changes of administrators: invitations, roles, disabling and removing. Every change reads and writes one guard key. So one
// of two concurrent changes is refused, and the last owner stays.

import type { AdminSettings } from "../../../platform/config/config.ts";
import { auditEntry, type AuditValues } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { AdminRow, InvitationRow } from "../api_types.ts";
import { Refusal } from "../errors.ts";
import type { Caller } from "../hono_env.ts";
import { FILTER_LISTS, savedFiltersKey } from "../saved_filters/saved_filters.ts";
import {
  type Admin,
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
  type Role,
} from "./admin_records.ts";
import type { AdminStore } from "./admin_store.ts";
import { type AdminFactors, factorsKey, isCodeLocked } from "./factors.ts";
import { invitationKey, type InvitationRecord } from "./invitations.ts";
import type { Passkeys } from "./passkeys.ts";

interface AdminCommandsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly admins: AdminStore;
  readonly factors: AdminFactors;
  readonly passkeys: Passkeys;
  readonly configAdmins: readonly AdminSettings[];
}

/** A one-time link and its invitation. */
interface SentInvitation {
  readonly url: string;
  readonly invitation: InvitationRow;
}

/** An account and the guard under which it can be changed. */
interface ChangeableAdmin {
  readonly record: AdminRecord;
  readonly others: readonly AdminRecord[];
  readonly check: Check;
  readonly touch: Mutation;
}

export class AdminCommands {
  readonly #deps: AdminCommandsDeps;
  readonly #configured: ReadonlyMap<string, AdminSettings>;

  constructor(deps: AdminCommandsDeps) {
    this.#deps = deps;
    this.#configured = new Map(deps.configAdmins.map((admin) => [adminKeyName(admin.name), admin]));
  }

  async list(): Promise<{ items: AdminRow[]; invitations: InvitationRow[] }> {
    const { store, vault, admins, configAdmins } = this.#deps;
    const records = (await listAdminRecords(store)).filter(({ name }) =>
      !this.#configured.has(adminKeyName(name))
    );
    const items = await Promise.all([
      ...configAdmins.map((setting) => this.#rowOf(adminOfSettings(setting, vault), null)),
      ...records.map((record) => this.#rowOf(adminOfRecord(record, vault), record)),
    ]);
    return { items, invitations: (await admins.invitations.list()).map(invitationRow) };
  }

  /** An account by its name. @throws Refusal `unknown_administrator`. */
  async known(name: string): Promise<{ admin: Admin; record: AdminRecord | null }> {
    const { store, vault } = this.#deps;
    const setting = this.#configured.get(adminKeyName(name));
    if (setting !== undefined) return { admin: adminOfSettings(setting, vault), record: null };
    const record = isAdminName(name) ? (await store.get<AdminRecord>(adminKey(name))).value : null;
    if (record === null) throw new Refusal("unknown_administrator");
    return { admin: adminOfRecord(record, vault), record };
  }

  /** A link with which `name` creates an account. @throws Refusal `name_taken`, `bad_name`, `too_many_administrators`. */
  async invite({ name, role }: { name: string; role: Role }, caller: Caller): Promise<SentInvitation> {
    if (!isAdminName(name)) throw new Refusal("bad_name");
    const { records, check } = await this.#readGuarded();
    const key = adminKeyName(name);
    const isInvited = (await this.#deps.admins.invitations.list()).some((one) =>
      adminKeyName(one.name) === key
    );
    if (isInvited || this.#configured.has(key) || records.some((one) => adminKeyName(one.name) === key)) {
      throw new Refusal("name_taken");
    }
    if (records.length >= MAX_ADMINS) throw new Refusal("too_many_administrators");
    const wanted = { name, role, accountId: null };
    return await this.#sendLink(wanted, { caller, action: "administrator.invite", check });
  }

  /** A link that gives an account new sign-in methods. The current ones work until the link is used. */
  async renew(name: string, caller: Caller): Promise<SentInvitation> {
    const { record, check } = await this.#changeable(name);
    if (record.subject !== undefined) throw new Refusal("provider_admin");
    const wanted = { name: record.name, role: record.role, accountId: record.id };
    return await this.#sendLink(wanted, { caller, action: "administrator.renew_link", check });
  }

  /** @throws Refusal `bad_invitation`. */
  async withdraw(id: string, caller: Caller): Promise<void> {
    const invitation = (await this.#deps.admins.invitations.list()).find((one) => one.id === id);
    if (invitation === undefined) throw new Refusal("bad_invitation");
    const { name, role } = invitation;
    await this.#commit([], [
      { type: "delete", key: invitationKey(name) },
      audit(caller, { action: "administrator.invite_withdraw", name, before: { role } }),
    ]);
  }

  /** @throws Refusal `last_owner`, `settings_admin`, `provider_admin`, `unknown_administrator`, `changed_meanwhile`. */
  async change(
    name: string,
    { role, disabled }: { role?: Role; disabled?: boolean },
    caller: Caller,
  ): Promise<AdminRow> {
    const { record, others, check, touch } = await this.#changeable(name);
    if (role !== undefined && record.subject !== undefined) throw new Refusal("provider_admin");
    const { disabled: wasDisabled, ...rest } = record;
    const isDisabled = disabled ?? wasDisabled === true;
    const next: AdminRecord = {
      ...rest,
      role: role ?? record.role,
      ...(isDisabled ? { disabled: true } : {}),
    };
    this.#refuseLastOwner([...others, next]);
    await this.#commit([check], [
      touch,
      { type: "set", key: adminKey(record.name), value: next },
      audit(caller, {
        action: "administrator.change",
        name: record.name,
        before: auditValues(record),
        after: auditValues(next),
      }),
    ]);
    return await this.#rowOf(adminOfRecord(next, this.#deps.vault), next);
  }

  /** Unlocks the codes of another account. @throws Refusal `own_lock`, `unknown_administrator`, `changed_meanwhile`. */
  async unlock(name: string, caller: Caller): Promise<AdminRow> {
    const { factors } = this.#deps;
    const { admin, record } = await this.known(name);
    // A thief with a session of the account could begin to guess again.
    if (adminKeyName(caller.actor) === adminKeyName(admin.name)) throw new Refusal("own_lock");
    const has = await factors.read(admin.id);
    await this.#commit([has.check], [
      factors.write(admin.id, factors.unlocked(has.record)),
      auditEntry({
        ...caller,
        action: "administrator.unlock",
        object: `administrator:${admin.name}`,
        before: `${has.record.wrongCodes} wrong codes`,
      }),
    ]);
    return await this.#rowOf(admin, record);
  }

  async remove(name: string, caller: Caller): Promise<void> {
    const { factors, passkeys } = this.#deps;
    const { record, others, check, touch } = await this.#changeable(name);
    this.#refuseLastOwner(others);
    const has = await factors.read(record.id);
    await this.#commit([check], [
      touch,
      { type: "delete", key: adminKey(record.name) },
      { type: "delete", key: factorsKey(record.id) },
      { type: "delete", key: invitationKey(record.name) },
      ...FILTER_LISTS.map((list) => ({ type: "delete" as const, key: savedFiltersKey(record.id, list) })),
      ...has.record.passkeys.map(({ id }) => passkeys.deleteMutation(id)),
      audit(caller, { action: "administrator.remove", name: record.name, before: auditValues(record) }),
    ]);
  }

  async #rowOf(admin: Admin, record: AdminRecord | null): Promise<AdminRow> {
    const { record: has } = await this.#deps.factors.read(admin.id);
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
        recoveryCodes: has.recovery.length,
      },
      codesLocked: isCodeLocked(has, this.#deps.clock.nowMs()),
    };
  }

  /** All records, with the `check` that makes a commit fail if one of them has changed. */
  async #readGuarded(): Promise<{ records: AdminRecord[]; check: Check; touch: Mutation }> {
    const { store, clock } = this.#deps;
    const { key, versionstamp } = await store.get(ADMINS_GUARD);
    return {
      records: await listAdminRecords(store),
      check: { key, versionstamp },
      touch: { type: "set", key: ADMINS_GUARD, value: clock.nowMs() },
    };
  }

  /** An account that the console may change. */
  async #changeable(name: string): Promise<ChangeableAdmin> {
    if (this.#configured.has(adminKeyName(name))) throw new Refusal("settings_admin");
    const { records, check, touch } = await this.#readGuarded();
    const record = records.find((one) => adminKeyName(one.name) === adminKeyName(name));
    if (record === undefined) throw new Refusal("unknown_administrator");
    return { record, others: records.filter((one) => one !== record), check, touch };
  }

  #refuseLastOwner(after: readonly AdminRecord[]): void {
    if (!hasOwner(this.#deps.configAdmins, after)) throw new Refusal("last_owner");
  }

  async #sendLink(
    wanted: { name: string; role: Role; accountId: string | null },
    { caller, action, check }: { caller: Caller; action: AuditAction; check: Check },
  ): Promise<SentInvitation> {
    const { url, record, mutation } = this.#deps.admins.invitations.make({ ...wanted, by: caller.actor });
    const { name, role } = record;
    await this.#commit([check], [mutation, audit(caller, { action, name, after: { role } })]);
    return { url, invitation: invitationRow(record) };
  }

  async #commit(checks: readonly Check[], mutations: readonly Mutation[]): Promise<void> {
    const done = await this.#deps.store.commit({ checks, mutations });
    if (!done.ok) throw new Refusal("changed_meanwhile");
  }
}

function audit(
  caller: Caller,
  { name, ...event }: { action: AuditAction; name: string; before?: AuditValues; after?: AuditValues },
): Mutation {
  return auditEntry({ ...caller, ...event, object: `administrator:${name}` });
}

/** The values of an administrator in the audit log. */
function auditValues({ role, disabled }: { role: Role; disabled?: true }): AuditValues {
  return { role, disabled: disabled === true };
}

function invitationRow({ id, name, role, by, deadlineMs, accountId }: InvitationRecord): InvitationRow {
  return { id, name, role, by, deadlineMs, renews: accountId !== null };
}
