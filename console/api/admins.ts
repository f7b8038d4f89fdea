// The console's administrators: those of the configuration, those made by the set-up link, and that link itself.

import type { AdminSettings } from "../../config.ts";
import type { Log } from "../../log.ts";
import { type Clock, type Random, toBase64Url } from "../../runtime.ts";
import type { Mutation, Store } from "../../store.ts";
import { equalDigests, type Vault } from "../../vault.ts";
import type { Role } from "./access.ts";
import { auditMutation } from "./audit.ts";
import { createPasswordHasher, type PasswordHash, type PasswordHasher } from "./passwords.ts";
import { Refusal } from "./refusal.ts";

/** Somebody who may sign in. `credential` changes with the password or the role, which ends their sessions. */
export interface Admin {
  readonly name: string;
  readonly role: Role;
  readonly credential: string;
}

export interface Admins {
  /** Whether somebody can sign in as owner; until then the console asks for the set-up link. */
  hasOwner(): Promise<boolean>;
  /**
   * Makes the one-time link that creates the first owner and voids an earlier one; `null` when there is an owner.
   * It holds for an hour.
   */
  setupLink(): Promise<string | null>;
  /**
   * Creates the first owner.
   *
   * @throws Refusal `bad_set_up_link`, `bad_name`, `weak_password`, `busy`.
   */
  setUp(claim: { token: string; name: string; password: string; source: string }): Promise<Admin>;
  /** Who that name and password belong to, or `null`; takes the same time whether the name is known or not. */
  check(name: string, password: string): Promise<Admin | null>;
  find(name: string): Promise<Admin | null>;
}

interface AdminRecord {
  readonly name: string;
  readonly role: Role;
  readonly password: PasswordHash;
  readonly createdMs: number;
}

interface SetupRecord {
  readonly digest: string;
  readonly deadlineMs: number;
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
}

const SETUP_KEY: Deno.KvKey = ["console_setup"];
const SETUP_TOKEN_OCTETS = 16;
const SETUP_MS = 60 * 60 * 1000;
const MIN_PASSWORD_CHARACTERS = 12;
const MAX_PASSWORD_CHARACTERS = 1024;
const MAX_NAME_CHARACTERS = 64;
const MAX_ADMINS = 1000;

/** The name under which an administrator is kept: compared without case. */
export function adminKeyName(name: string): string {
  return name.normalize("NFC").trim().toLowerCase();
}

function adminKey(name: string): Deno.KvKey {
  return ["console_admin", adminKeyName(name)];
}

export function createAdmins(deps: AdminsDeps): Admins {
  const { store, vault, clock, random } = deps;
  const hasher = deps.hasher ?? createPasswordHasher({ random });
  const configured = new Map(deps.configAdmins.map((admin) => [adminKeyName(admin.name), admin]));

  const ofConfig = (admin: AdminSettings): Admin => ({
    name: admin.name,
    role: admin.role,
    credential: vault.digest("console credential", `config\0${admin.role}\0${admin.password}`),
  });
  const ofRecord = (record: AdminRecord): Admin => ({
    name: record.name,
    role: record.role,
    credential: vault.digest("console credential", `store\0${record.role}\0${record.password.hash}`),
  });
  const recordOf = async (name: string): Promise<AdminRecord | null> =>
    isName(name) ? (await store.get<AdminRecord>(adminKey(name))).value : null;

  let ownerSeen = false;
  const hasOwner = async (): Promise<boolean> => {
    ownerSeen ||= await findOwner();
    return ownerSeen;
  };
  const findOwner = async (): Promise<boolean> => {
    if (deps.configAdmins.some((admin) => admin.role === "owner")) return true;
    for await (const entry of store.list<AdminRecord>(["console_admin"], { limit: MAX_ADMINS })) {
      if (entry.value?.role === "owner") return true;
    }
    return false;
  };

  const openClaim = async (token: string) => {
    const setup = await store.get<SetupRecord>(SETUP_KEY);
    const digest = vault.digest("console setup", token);
    const good = setup.value !== null && setup.value.deadlineMs > clock.nowMs() &&
      equalDigests(setup.value.digest, digest) && !(await hasOwner());
    if (!good) throw new Refusal("bad_set_up_link");
    return setup;
  };

  return {
    hasOwner,
    async setupLink() {
      if (await hasOwner()) {
        await store.commit({ mutations: [{ type: "delete", key: SETUP_KEY }] });
        return null;
      }
      const token = toBase64Url(random.bytes(SETUP_TOKEN_OCTETS));
      const value: SetupRecord = {
        digest: vault.digest("console setup", token),
        deadlineMs: clock.nowMs() + SETUP_MS,
      };
      await store.commit({ mutations: [{ type: "set", key: SETUP_KEY, value, expireInMs: SETUP_MS }] });
      return `${deps.publicUrl}/setup#${token}`;
    },
    async setUp({ token, name, password, source }) {
      if (!isName(name) || configured.has(adminKeyName(name))) throw new Refusal("bad_name");
      if (!isStrong(password)) throw new Refusal("weak_password");
      await openClaim(token);
      const record: AdminRecord = {
        name: name.normalize("NFC").trim(),
        role: "owner",
        password: await hasher.make(password),
        createdMs: clock.nowMs(),
      };
      // Read again after the hash: whoever commits first has used the link up.
      const setup = await openClaim(token);
      const mutations: Mutation[] = [
        { type: "set", key: adminKey(name), value: record },
        { type: "delete", key: SETUP_KEY },
        auditMutation(deps, {
          actor: record.name,
          source,
          action: "administrator.create",
          object: record.name,
          after: record.role,
        }),
      ];
      const done = await store.commit({
        checks: [{ key: SETUP_KEY, versionstamp: setup.versionstamp }],
        mutations,
      });
      if (!done.ok) throw new Refusal("bad_set_up_link");
      deps.log.info("the first owner was set up", { admin: record.name, source });
      return ofRecord(record);
    },
    async check(name, password) {
      if (password.length > MAX_PASSWORD_CHARACTERS) return null;
      const setting = configured.get(adminKeyName(name));
      const record = setting === undefined ? await recordOf(name) : null;
      const matches = await hasher.check(password, record?.password ?? null);
      if (record !== null) return matches ? ofRecord(record) : null;
      // A password of the configuration is known in clear anyway; its digest is compared, after the same work.
      const given = vault.digest("console password", password);
      const wanted = vault.digest("console password", setting?.password ?? "");
      const same = equalDigests(given, wanted);
      return setting !== undefined && setting.password !== "" && same ? ofConfig(setting) : null;
    },
    async find(name) {
      const setting = configured.get(adminKeyName(name));
      if (setting !== undefined) return ofConfig(setting);
      const record = await recordOf(name);
      return record === null ? null : ofRecord(record);
    },
  };
}

function isName(name: string): boolean {
  const trimmed = name.trim();
  return trimmed.length > 0 && name.length <= MAX_NAME_CHARACTERS && !/\p{C}/u.test(name);
}

function isStrong(password: string): boolean {
  return [...password].length >= MIN_PASSWORD_CHARACTERS && password.length <= MAX_PASSWORD_CHARACTERS;
}
