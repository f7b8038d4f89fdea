// Administrators for sign-in: those of the settings, those of the store, and the one-time links with which they choose their
// sign-in methods.

import { auditEntry } from "../../../platform/audit.ts";
import type { AdminSettings } from "../../../platform/config/config.ts";
import type { Log } from "../../../platform/log.ts";
import {
  type Cost,
  createPasswordHasher,
  HasherBusy,
  type PasswordHasher,
} from "../../../platform/password_hasher.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store, StoreEntry } from "../../../platform/store.ts";
import { equalDigests, type Vault } from "../../../platform/vault.ts";
import { Refusal } from "../errors.ts";
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
} from "./admin_records.ts";
import { factorsKey, newAccountId } from "./factors.ts";
import { type Claim, type ClaimLink, createInvitations, type Invitations } from "./invitations.ts";

/** The request of a link's holder. Without a password, `also` must write another sign-in method. */
interface AdminClaim {
  readonly token: string;
  /** Ignored if the link has a name. */
  readonly name: string;
  readonly password: string | null;
  readonly source: string;
  /** Further mutations of the same commit, such as a passkey. */
  readonly also?: (admin: Admin) => readonly Mutation[];
}

interface AdminStoreDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly configAdmins: readonly AdminSettings[];
  readonly log: Log;
  /** The origin of the set-up link; it can change. */
  readonly http: { readonly publicUrl: string };
  readonly hasher?: PasswordHasher;
  /** Called after the set-up of an account, because the set-up link is no longer valid. */
  readonly onSetUp?: () => Promise<void>;
}

export const MIN_PASSWORD_CHARACTERS = 12;
const MAX_PASSWORD_CHARACTERS = 1024;
const LINK_STAYED = "the used set-up link could not be removed from first-start.txt";

export class AdminStore {
  readonly invitations: Invitations;
  readonly #deps: AdminStoreDeps;
  readonly #hasher: PasswordHasher;
  readonly #configured: ReadonlyMap<string, AdminSettings>;
  #isOwnerKnown = false;

  constructor(deps: AdminStoreDeps) {
    this.#deps = deps;
    this.#hasher = deps.hasher ?? createAdminPasswordHasher(deps);
    this.#configured = new Map(deps.configAdmins.map((admin) => [adminKeyName(admin.name), admin]));
    this.invitations = createInvitations({ ...deps, hasOwner: () => this.hasOwner() });
    deps.store.follow(ADMINS_GUARD, () => void this.#removeLinkOfThisNode());
  }

  /** The first owner may have been set up on another node. */
  async #removeLinkOfThisNode(): Promise<void> {
    const { log, onSetUp } = this.#deps;
    try {
      if (await this.hasOwner()) await onSetUp?.();
    } catch (fault) {
      log.error(LINK_STAYED, { fault: String(fault) });
    }
  }

  /** The names of the administrators who are not disabled. */
  async activeNames(): Promise<readonly string[]> {
    const { store, configAdmins } = this.#deps;
    const stored = (await listAdminRecords(store)).filter(({ disabled }) => disabled === undefined);
    return [...configAdmins, ...stored].map(({ name }) => name);
  }

  /** Whether an owner can sign in. If not, the console asks for the set-up link. */
  async hasOwner(): Promise<boolean> {
    const { store, configAdmins } = this.#deps;
    this.#isOwnerKnown ||= hasOwner(configAdmins, await listAdminRecords(store));
    return this.#isOwnerKnown;
  }

  /** A one-time link that creates the first owner, valid for an hour. An earlier link ends. `null` if there is an owner. */
  setupLink(): Promise<string | null> {
    return this.invitations.setupLink();
  }

  /** The purpose of a link. @throws Refusal `bad_set_up_link`, `bad_invitation`. */
  async link(token: string): Promise<ClaimLink> {
    return (await this.invitations.open(token)).link;
  }

  /**
   * Creates the first owner or the account of an invitation, or gives an account new sign-in methods.
   *
   * @throws Refusal `bad_set_up_link`, `bad_invitation`, `bad_name`, `weak_password`, `busy`.
   */
  async setUp(request: AdminClaim): Promise<Admin> {
    const { store, vault, clock, log, onSetUp } = this.#deps;
    const { record, check } = await this.#recordFor(await this.invitations.open(request.token), request);
    // Read again after the hash: the first commit uses up the link.
    const claim = await this.invitations.open(request.token);
    const admin = adminOfRecord(record, vault);
    const { accountId } = claim;
    const done = await store.commit({
      checks: [claim.check, check],
      mutations: [
        { type: "set", key: adminKey(record.name), value: record },
        { type: "delete", key: claim.check.key },
        { type: "set", key: ADMINS_GUARD, value: clock.nowMs() },
        ...(accountId === null ? [] : [{ type: "delete" as const, key: factorsKey(accountId) }]),
        ...(request.also?.(admin) ?? []),
        auditEntry({
          actor: record.name,
          source: request.source,
          action: accountId === null ? "administrator.create" : "administrator.renew",
          object: `administrator:${record.name}`,
          after: { role: record.role },
        }),
      ],
    });
    if (!done.ok) {
      // Another request used the link, or changed the account meanwhile.
      await this.invitations.open(request.token);
      throw new Refusal("changed_meanwhile");
    }
    log.info("an administrator was set up", { admin: record.name, role: record.role });
    await onSetUp?.().catch((fault: unknown) => log.error(LINK_STAYED, { fault: String(fault) }));
    return admin;
  }

  /** The administrator with that name and password, or `null`. Takes the same time for known and unknown names. */
  async check(name: string, password: string): Promise<Admin | null> {
    if (password.length > MAX_PASSWORD_CHARACTERS) return null;
    const { vault } = this.#deps;
    const setting = this.#configured.get(adminKeyName(name));
    const entry = setting === undefined ? await this.#read(name) : null;
    const record = entry?.value ?? null;
    const matches = await this.#hasher.check(password, record?.password ?? null);
    if (entry !== null && record !== null) {
      if (!matches || record.disabled !== undefined) return null;
      await this.#renewHash(entry, password);
      return adminOfRecord(record, vault);
    }
    // The settings have the password in clear text. Its digest is compared after the hasher ran, so both cases take the same time.
    const given = vault.digest("console password", password);
    const wanted = vault.digest("console password", setting?.password ?? "");
    const isEqual = equalDigests(given, wanted);
    return setting !== undefined && setting.password !== "" && isEqual
      ? adminOfSettings(setting, vault)
      : null;
  }

  /** The administrator of that name; `null` also for a disabled one. */
  async find(name: string): Promise<Admin | null> {
    const { vault } = this.#deps;
    const setting = this.#configured.get(adminKeyName(name));
    if (setting !== undefined) return adminOfSettings(setting, vault);
    const record = (await this.#read(name))?.value ?? null;
    return record === null || record.disabled !== undefined ? null : adminOfRecord(record, vault);
  }

  /** Whether that account can sign in with a password. */
  async hasPassword(name: string): Promise<boolean> {
    return this.#configured.has(adminKeyName(name)) ||
      ((await this.#read(name))?.value?.password ?? null) !== null;
  }

  async #read(name: string): Promise<StoreEntry<AdminRecord> | null> {
    return isAdminName(name) ? await this.#deps.store.get<AdminRecord>(adminKey(name)) : null;
  }

  /**
   * Hashes a password again if its hash has the cost of an earlier version. Otherwise, the duration of a sign-in would reveal that
   * the name exists. If the record changed or the hasher is busy, the next sign-in renews the hash.
   */
  async #renewHash(entry: StoreEntry<AdminRecord>, password: string): Promise<void> {
    const { key, value: record, versionstamp } = entry;
    if (record === null || record.password === null || this.#hasher.isCurrent(record.password)) return;
    const renewed = await this.#hasher.make(password).catch((fault: unknown) => {
      if (fault instanceof Refusal && fault.code === "busy") return null;
      throw fault;
    });
    if (renewed === null) return;
    await this.#deps.store.commit({
      checks: [{ key, versionstamp }],
      mutations: [{ type: "set", key, value: { ...record, password: renewed } }],
    });
  }

  /** The record that a claim creates or renews, with the check that the stored record is unchanged. */
  async #recordFor(
    claim: Claim,
    { name, password }: AdminClaim,
  ): Promise<{ record: AdminRecord; check: Check }> {
    const { store, clock, random } = this.#deps;
    const wanted = claim.link.name ?? name;
    if (!isAdminName(wanted) || this.#configured.has(adminKeyName(wanted))) throw new Refusal("bad_name");
    if (password !== null && !isStrong(password)) throw new Refusal("weak_password");
    const { key, value: known, versionstamp } = await store.get<AdminRecord>(adminKey(wanted));
    const renewed = known !== null && known.id === claim.accountId ? known : null;
    if (known !== null && renewed === null) throw new Refusal("name_taken");
    const record = {
      ...(renewed ??
        { name: wanted.normalize("NFC").trim(), role: claim.link.role, createdMs: clock.nowMs() }),
      // A renewed account gets a new id too: its old sessions and factors end.
      id: newAccountId(random),
      password: password === null ? null : await this.#hasher.make(password),
    };
    return { record, check: { key, versionstamp } };
  }
}

function isStrong(password: string): boolean {
  return [...password].length >= MIN_PASSWORD_CHARACTERS && password.length <= MAX_PASSWORD_CHARACTERS;
}

/**
 * A hasher that rejects with the refusal `busy` if too many requests wait.
 *
 * @param deps.cost the cost of new hashes; less is for tests.
 */
export function createAdminPasswordHasher(deps: { random: Random; cost?: Cost }): PasswordHasher {
  return withConsoleRefusals(createPasswordHasher(deps));
}

/** The same hasher, with the same queue and the console's refusal. */
function withConsoleRefusals(hasher: PasswordHasher): PasswordHasher {
  return {
    make: (password) => hasher.make(password).catch(refuseBusy),
    check: (password, hash) => hasher.check(password, hash).catch(refuseBusy),
    isCurrent: (hash) => hasher.isCurrent(hash),
  };
}

function refuseBusy(fault: unknown): never {
  if (fault instanceof HasherBusy) throw new Refusal("busy", { "retry-after": String(fault.retryAfterS) });
  throw fault;
}
