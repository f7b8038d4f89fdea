// Credentials of the identity interface: those of the settings and those made by an operator. A password is checked against a
// memory-hard hash, and what was right is remembered for a minute as a keyed hash, so that a request costs no half second.

import type { ScimCredentialSettings } from "../../config.ts";
import type { Log } from "../../log.ts";
import { HasherBusy, type PasswordHash, type PasswordHasher } from "../../password_hasher.ts";
import { type Clock, type Random, toBase64Url } from "../../runtime.ts";
import type { Mutation, Store } from "../../store.ts";
import { equalDigests, type Vault } from "../../vault.ts";
import { ScimRefusal } from "../facts/refusals.ts";
import type { Actor } from "../ports.ts";
import { createSourceLimit } from "./source_limit.ts";

/** Who a request comes from, and what it may do. */
export interface Credential {
  readonly name: string;
  /** Names of targets. */
  readonly targets: readonly string[];
  readonly access: "read" | "write";
}

/** A credential as it is listed; its password cannot be shown. */
export interface ShownCredential extends Credential {
  /** Those of the settings are changed there. */
  readonly from: "settings" | "store";
  /** `null` for one of the settings. */
  readonly createdMs: number | null;
}

/** Why a credential is not made. */
export type AddProblem = "bad_name" | "bad_password" | "no_targets" | "in_settings" | "taken" | "busy";
export type AddOutcome =
  | { readonly ok: true; /** In clear, this once. */ readonly password: string }
  | { readonly ok: false; readonly reason: AddProblem };
export type RevokeOutcome = "revoked" | "unknown" | "in_settings";

export interface Credentials {
  /**
   * Who the name and password belong to, or `null`. At once when they were right within the last minute; else it takes the same time
   * whether the name is known or not.
   *
   * @throws ScimRefusal `too_many_failures`, `busy`, both with Retry-After.
   */
  check(
    given: { readonly name: string; readonly password: string },
    source: string,
  ): Credential | Promise<Credential | null>;
  /** Makes a credential; without a password one of 192 bits is generated. Durable when it resolves, with its audit record. */
  add(
    wanted: Credential & { readonly password?: string },
    actor: Actor,
  ): Promise<AddOutcome>;
  /** All of them, in order of name. */
  list(): Promise<ShownCredential[]>;
  /** Ends a credential: the next request with it is refused. */
  revoke(name: string, actor: Actor): Promise<RevokeOutcome>;
}

export interface CredentialsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly hasher: PasswordHasher;
  readonly settings: readonly ScimCredentialSettings[];
  readonly log: Log;
  /** Ids that grow with time, for audit records. */
  readonly orderedId: () => string;
}

interface CredentialRecord extends Credential {
  readonly hash: PasswordHash;
  readonly createdMs: number;
}

const NAME = /^[A-Za-z0-9._-]{1,64}$/;
const PASSWORD_OCTETS = 24;
const MIN_PASSWORD_CHARACTERS = 12;
const MAX_PASSWORD_CHARACTERS = 1024;
const REMEMBERED_MS = 60_000;
const AUDIT_KEPT_MS = 90 * 24 * 3600_000;
const MAX_LISTED = 1000;

/** Whether a name may be a credential's. */
export function isCredentialName(name: string): boolean {
  return NAME.test(name);
}

const keyOf = (name: string): Deno.KvKey => ["scim_credential", name];

export function createCredentials(deps: CredentialsDeps): Credentials {
  const { store, vault, clock, hasher, log } = deps;
  const limit = createSourceLimit(deps);
  const digestOf = (name: string, password: string): string =>
    vault.digest("scim credential", `${name}\0${password.normalize("NFC")}`);
  const settings = new Map(
    deps.settings.filter(({ password }) => password !== "")
      .map(({ name, password, targets, access }) => [
        name,
        { credential: { name, targets, access }, digest: digestOf(name, password) },
      ]),
  );
  const remembered = new Map<string, { credential: Credential; digest: string; untilMs: number }>();
  const underWay = new Map<string, Promise<Credential | null>>();
  /** Grows when a credential is made or ended: what was read before may be gone. */
  let changes = 0;

  const recall = (name: string, digest: string): Credential | null => {
    const setting = settings.get(name);
    // A password of the settings is known in clear anyway, so its digest is enough.
    if (setting !== undefined) return equalDigests(setting.digest, digest) ? setting.credential : null;
    const known = remembered.get(name);
    if (known === undefined || clock.nowMs() >= known.untilMs) return null;
    return equalDigests(known.digest, digest) ? known.credential : null;
  };

  const recordOf = async (name: string): Promise<CredentialRecord | null> =>
    NAME.test(name) && !settings.has(name) ? (await store.get<CredentialRecord>(keyOf(name))).value : null;

  const verify = async ({ name, password, digest }: Given): Promise<Credential | null> => {
    const before = changes;
    const record = await recordOf(name);
    const isRight = await hasher.check(password, record?.hash ?? null);
    if (!isRight || record === null) return null;
    // Revoked, or replaced, while the hash was computed.
    if (changes !== before && (await recordOf(name))?.hash.hash !== record.hash.hash) return null;
    const credential: Credential = { name, targets: record.targets, access: record.access };
    remembered.set(name, { credential, digest, untilMs: clock.nowMs() + REMEMBERED_MS });
    return credential;
  };

  /** The same name and password asked for at the same time are checked once. */
  const verifyOnce = (given: Given): Promise<Credential | null> => {
    const running = underWay.get(given.digest);
    if (running !== undefined) return running;
    const started = verify(given).finally(() => underWay.delete(given.digest));
    underWay.set(given.digest, started);
    return started;
  };

  const checkInTurn = async (given: Given, source: string): Promise<Credential | null> => {
    refuseWhenLimited(limit.waitMs(source));
    const known = recall(given.name, given.digest);
    if (known !== null) return known;
    const found = await verifyOnce(given).catch((fault: unknown) => {
      throw fault instanceof HasherBusy ? busy(fault.retryAfterS) : fault;
    });
    if (found === null) {
      limit.fail(source);
      log.warn("a credential of the identity interface was refused", {
        // What does not look like a name may be a password in the wrong place.
        credential: NAME.test(given.name) ? given.name : "no such name",
        source,
      });
    }
    return found;
  };

  return {
    check({ name, password }, source) {
      refuseWhenLimited(limit.waitMs(source));
      if (password.length > MAX_PASSWORD_CHARACTERS) password = "";
      const given = { name, password, digest: digestOf(name, password) };
      const known = recall(name, given.digest);
      if (known !== null) return known;
      const checking = limit.inTurn(source, () => checkInTurn(given, source));
      if (checking === null) throw busy(1);
      return checking;
    },
    async add({ name, targets, access, password }, actor) {
      const refused = addProblem({ name, targets, password, inSettings: settings.has(name) });
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
          auditOf(deps, { action: "scim_credential.added", object: name, after: scopeText(record) }, actor),
        ],
      });
      if (!ok) return { ok: false, reason: "taken" };
      changes += 1;
      return { ok: true, password: secret };
    },
    async list() {
      const shown: ShownCredential[] = [...settings.values()].map(({ credential }) => ({
        ...credential,
        from: "settings",
        createdMs: null,
      }));
      for await (
        const { value } of store.list<CredentialRecord>(["scim_credential"], { limit: MAX_LISTED })
      ) {
        if (value === null || settings.has(value.name)) continue;
        const { name, targets, access, createdMs } = value;
        shown.push({ name, targets, access, createdMs, from: "store" });
      }
      return shown.sort((a, b) => a.name < b.name ? -1 : 1);
    },
    async revoke(name, actor) {
      if (settings.has(name)) return "in_settings";
      const entry = NAME.test(name) ? await store.get<CredentialRecord>(keyOf(name)) : null;
      if (entry === null || entry.value === null) return "unknown";
      const { ok } = await store.commit({
        checks: [{ key: keyOf(name), versionstamp: entry.versionstamp }],
        mutations: [
          { type: "delete", key: keyOf(name) },
          auditOf(deps, {
            action: "scim_credential.revoked",
            object: name,
            before: scopeText(entry.value),
          }, actor),
        ],
      });
      // Counted before it is forgotten: a check that is under way looks again.
      changes += 1;
      remembered.delete(name);
      return ok ? "revoked" : "unknown";
    },
  };
}

interface Given {
  readonly name: string;
  readonly password: string;
  readonly digest: string;
}

function refuseWhenLimited(waitMs: number): void {
  if (waitMs > 0) {
    throw new ScimRefusal("too_many_failures", {
      headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
    });
  }
}

function busy(retryAfterS: number): ScimRefusal {
  return new ScimRefusal("busy", {
    detail: "Too many credentials are being checked at once. Try again in a moment.",
    headers: { "retry-after": String(retryAfterS) },
  });
}

function addProblem(
  { name, targets, password, inSettings }: {
    name: string;
    targets: readonly string[];
    password: string | undefined;
    inSettings: boolean;
  },
): AddProblem | null {
  if (!NAME.test(name)) return "bad_name";
  if (inSettings) return "in_settings";
  if (targets.length === 0) return "no_targets";
  return password === undefined || isPassword(password) ? null : "bad_password";
}

/** What HTTP Basic can carry, and long enough. */
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

function scopeText({ access, targets }: Credential): string {
  return `${access} ${targets.join(",")}`;
}

/** The record of a deed, for the commit of the deed. */
function auditOf(
  { clock, orderedId }: CredentialsDeps,
  deed: {
    readonly action: string;
    readonly object: string;
    readonly before?: string;
    readonly after?: string;
  },
  { name, source }: Actor,
): Mutation {
  return {
    type: "set",
    key: ["audit", orderedId()],
    value: { atMs: clock.nowMs(), actor: name, source, ...deed },
    expireInMs: AUDIT_KEPT_MS,
  };
}
