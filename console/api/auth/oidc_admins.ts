// Administrators who come from the sign-in provider: found by issuer and subject, named and given a role by its claims, each
// time anew.

import type { AdminSettings, OidcSettings } from "../../../platform/config/config.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import { type Role, ROLES } from "./permissions.ts";
import {
  type Admin,
  adminKey,
  adminKeyName,
  adminOfRecord,
  type AdminRecord,
  ADMINS_GUARD,
  hasOwner,
  isAdminName,
  listAdminRecords,
  MAX_ADMINS,
} from "./admin_records.ts";
import type { Admins } from "./admin_store.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { newAccountId } from "./factors.ts";
import type { OidcClaims } from "./oidc_provider.ts";
import { Refusal } from "../errors.ts";

export interface OidcAdminsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly admins: Admins;
  readonly settings: OidcSettings;
  readonly configAdmins: readonly AdminSettings[];
}

/** The highest role that the claim's values give, or `null`. Pure. */
export function roleOfClaims(claims: OidcClaims, settings: OidcSettings): Role | null {
  const claim = claims[settings.roleClaim];
  const values = new Set(Array.isArray(claim) ? claim : typeof claim === "string" ? [claim] : []);
  const wanted = {
    owner: settings.owners,
    user_manager: settings.userManagers,
    operator: settings.operators,
    viewer: settings.viewers,
  };
  return ROLES.toReversed().find((role) => wanted[role].some((value) => values.has(value))) ?? null;
}

/** What the person is called here, or `null` when no claim can be a name. Pure. */
export function nameOfClaims(claims: OidcClaims): string | null {
  const candidates = [claims.preferred_username, claims.email, claims.name];
  const name = candidates.find((one) => typeof one === "string" && isAdminName(one));
  return typeof name === "string" ? name.normalize("NFC").trim() : null;
}

/**
 * The account of whom the provider's claims are about: made at the first time, changed when the role is another now. The
 * last owner stays one, whatever role the claims give, and the log says so.
 *
 * @returns a function that throws Refusal `oidc_no_role`, `oidc_name`, `name_taken`, `changed_meanwhile`, `oidc_denied`.
 */
export function createOidcAdmins(deps: OidcAdminsDeps) {
  const { store, vault, clock, random, settings } = deps;
  return async (claims: OidcClaims, { source }: { source: string }): Promise<Admin> => {
    const role = roleOfClaims(claims, settings);
    const guard = await store.get(ADMINS_GUARD);
    const subject = vault.digest("console oidc subject", `${settings.issuer}\0${claims.sub ?? ""}`);
    const records = await listAdminRecords(store);
    const known = records.find((one) => one.subject === subject);
    const confirmedMs = role === null ? 0 : clock.nowMs();
    const commit = async (record: AdminRecord, told: readonly Mutation[] = []): Promise<Admin> => {
      const done = await store.commit({
        checks: [{ key: ADMINS_GUARD, versionstamp: guard.versionstamp }],
        mutations: [
          { type: "set", key: ADMINS_GUARD, value: clock.nowMs() },
          { type: "set", key: adminKey(record.name), value: record },
          ...told,
        ],
      });
      if (!done.ok) throw new Refusal("changed_meanwhile");
      return adminOfRecord(record, vault);
    };
    const audit = (name: string, { before, after }: { before: string | undefined; after: string }) =>
      auditEntry({
        actor: name,
        source,
        action: before === undefined ? "administrator.create" : "administrator.change",
        object: `administrator:${name}`,
        before: before === undefined ? undefined : { role: before },
        after: { role: after, decidedBy: "provider" },
      });
    if (role === null) {
      // The sessions and the API tokens of the account end with it.
      if (known !== undefined && known.confirmedMs !== 0) {
        const told = audit(known.name, { before: known.role, after: "none" });
        await commit({ ...known, confirmedMs }, [told]);
      }
      throw new Refusal("oidc_no_role");
    }
    if (known?.disabled) throw new Refusal("oidc_denied");
    if (known?.role === role || (known !== undefined && isLastOwner(known, records))) {
      if (known.role !== role) {
        const { name, role: kept } = known;
        deps.log.warn("the sign-in provider's role is not taken", {
          reason: "last_owner",
          name,
          kept,
          given: role,
        });
      }
      return await commit({ ...known, confirmedMs });
    }
    const record = known === undefined
      ? { ...await newRecord({ claims, role, subject, records }), confirmedMs }
      : { ...known, role, confirmedMs };
    return await commit(record, [audit(record.name, { before: known?.role, after: role })]);
  };

  function isLastOwner(known: AdminRecord, records: readonly AdminRecord[]): boolean {
    const others = records.filter((one) => one !== known);
    return known.role === "owner" && !hasOwner(deps.configAdmins, others);
  }

  async function newRecord(
    { claims, role, subject, records }: {
      claims: OidcClaims;
      role: Role;
      subject: string;
      records: readonly AdminRecord[];
    },
  ): Promise<AdminRecord> {
    const name = nameOfClaims(claims);
    if (name === null) throw new Refusal("oidc_name");
    // Names are what audit records and roles hang on: the provider must not be able to take over the name of another administrator.
    const taken = records.some((one) => adminKeyName(one.name) === adminKeyName(name)) ||
      await deps.admins.find(name) !== null;
    if (taken) throw new Refusal("name_taken");
    if (records.length >= MAX_ADMINS) throw new Refusal("too_many_administrators");
    return { id: newAccountId(random), name, role, password: null, createdMs: clock.nowMs(), subject };
  }
}
