// SCIM credentials in the store: creates, lists and revokes them, each with an audit entry in the same commit.

import { HasherBusy, type PasswordHash, type PasswordHasher } from "../../platform/password_hasher.ts";
import { auditEntry, type AuditValues } from "../../platform/audit.ts";
import type { AuditAction } from "../../platform/audit_actions.ts";
import { type Clock, type Random, toBase64Url } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import type { Actor } from "../ports.ts";

/** The caller of a request, and its permissions. */
export interface Credential {
  readonly name: string;
  /** Names of targets. */
  readonly targets: readonly string[];
  readonly access: "read" | "write";
}

/** The reason why a credential is not created. */
export type AddCredentialProblem =
  | "bad_name"
  | "bad_password"
  | "no_targets"
  | "in_settings"
  | "taken"
  | "busy";
export type AddCredentialOutcome =
  | { readonly ok: true; /** In clear. It cannot be shown again. */ readonly password: string }
  | { readonly ok: false; readonly reason: AddCredentialProblem };
export type RevokeCredentialOutcome = "revoked" | "unknown" | "in_settings";

export interface CredentialRecord extends Credential {
  readonly hash: PasswordHash;
  readonly createdMs: number;
}

export interface CredentialRecordsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly hasher: PasswordHasher;
}

/** The stored records. Credentials of the settings are not included. */
export interface CredentialRecords {
  read(name: string): Promise<CredentialRecord | null>;
  add(
    wanted: Credential & { readonly password?: string },
    actor: Actor,
  ): Promise<AddCredentialOutcome>;
  list(): Promise<CredentialRecord[]>;
  revoke(name: string, actor: Actor): Promise<Exclude<RevokeCredentialOutcome, "in_settings">>;
}

const NAME = /^[A-Za-z0-9._-]{1,64}$/;
const PASSWORD_OCTETS = 24;
const MIN_PASSWORD_CHARACTERS = 12;
/** Longer than any real password. The Authorization header has a similar limit. */
export const MAX_PASSWORD_CHARACTERS = 1024;
const MAX_LISTED = 1000;

const keyOf = (name: string): Deno.KvKey => ["scim_credential", name];

export function createCredentialRecords(deps: CredentialRecordsDeps): CredentialRecords {
  const { store, clock, hasher } = deps;
  return {
    async read(name) {
      return NAME.test(name) ? (await store.get<CredentialRecord>(keyOf(name))).value : null;
    },
    async add({ name, targets, access, password }, actor) {
      const refused = addProblem({ name, targets, password });
      if (refused !== null) return { ok: false, reason: refused };
      const secret = password ?? toBase64Url(deps.random.bytes(PASSWORD_OCTETS));
      const hash = await makeHash(hasher, secret);
      if (hash === null) return { ok: false, reason: "busy" };
      const record: CredentialRecord = {
        name,
        targets: [...new Set(targets)],
        access,
        hash,
        createdMs: clock.nowMs(),
      };
      const { ok } = await store.commit({
        checks: [{ key: keyOf(name), versionstamp: null }],
        mutations: [
          { type: "set", key: keyOf(name), value: record },
          auditOf(
            {
              action: "scim_credential.add",
              credential: record,
              after: { ...scopeValues(record), password: "changed" },
            },
            actor,
          ),
        ],
      });
      return ok ? { ok: true, password: secret } : { ok: false, reason: "taken" };
    },
    async list() {
      const records: CredentialRecord[] = [];
      const stored = store.list<CredentialRecord>(["scim_credential"], { limit: MAX_LISTED });
      for await (const { value } of stored) if (value !== null) records.push(value);
      return records;
    },
    async revoke(name, actor) {
      const entry = NAME.test(name) ? await store.get<CredentialRecord>(keyOf(name)) : null;
      if (entry === null || entry.value === null) return "unknown";
      const credential = entry.value;
      const change = {
        action: "scim_credential.revoke" as const,
        credential,
        before: scopeValues(credential),
      };
      const { ok } = await store.commit({
        checks: [{ key: keyOf(name), versionstamp: entry.versionstamp }],
        mutations: [
          { type: "delete", key: keyOf(name) },
          auditOf(change, actor),
        ],
      });
      return ok ? "revoked" : "unknown";
    },
  };
}

function addProblem(
  { name, targets, password }: {
    name: string;
    targets: readonly string[];
    password: string | undefined;
  },
): AddCredentialProblem | null {
  if (!NAME.test(name)) return "bad_name";
  if (targets.length === 0) return "no_targets";
  return password === undefined || isPassword(password) ? null : "bad_password";
}

/** Whether the password is long enough, and HTTP Basic can transport it. */
function isPassword(password: string): boolean {
  return password.length >= MIN_PASSWORD_CHARACTERS && password.length <= MAX_PASSWORD_CHARACTERS &&
    password.isWellFormed() && !/\p{Cc}/u.test(password);
}

async function makeHash(hasher: PasswordHasher, password: string): Promise<PasswordHash | null> {
  try {
    return await hasher.make(password);
  } catch (fault) {
    if (fault instanceof HasherBusy) return null;
    throw fault;
  }
}

function scopeValues({ access, targets }: Credential): AuditValues {
  return { access, targets };
}

/** The audit entry of a change, for the commit of the change. Each target of the credential lists it. */
function auditOf(
  { credential, ...change }: {
    readonly action: AuditAction;
    readonly credential: Pick<Credential, "name" | "targets">;
    readonly before?: AuditValues;
    readonly after?: AuditValues;
  },
  { name, source }: Actor,
): Mutation {
  const objects = credential.targets.map((target) => `credential:${target}/${credential.name}`);
  return auditEntry({ ...change, actor: name, source, objects });
}
