// SCIM credentials, from the settings and from the store. A password is checked against a memory-hard hash. A correct one
// is cached for a minute as a keyed hash, so that a request does not take half a second. Changes of the store have an audit entry in the same commit.

import type { ScimCredentialSettings } from "../../platform/config/config.ts";
import { sourceKey } from "../../platform/addresses.ts";
import {
  type FailureTaken,
  LimitTable,
  type LimitTableDeps,
  ProvenDigests,
  readTime,
  SharedFailureLimit,
} from "../../platform/limit_table.ts";
import type { Log } from "../../platform/log.ts";
import { type Clock, type Random, toBase64Url } from "../../platform/runtime.ts";
import { HasherBusy, type PasswordHash, type PasswordHasher } from "../../platform/password_hasher.ts";
import { equalDigests, type Vault } from "../../platform/vault.ts";
import { ScimRefusal } from "./refusals.ts";
import type { Actor } from "../ports.ts";
import { auditEntry, type AuditValues } from "../../platform/audit.ts";
import type { AuditAction } from "../../platform/audit_actions.ts";
import type { Mutation, Store } from "../../platform/store.ts";

/** A credential in a list, without its password. */
export interface ListedCredential extends Credential {
  /** A credential of the settings can only be changed there. */
  readonly from: "settings" | "store";
  /** `null` for a credential of the settings. */
  readonly createdMs: number | null;
}

interface CredentialsDeps extends CredentialRecordsDeps {
  readonly vault: Vault;
  readonly settings: readonly ScimCredentialSettings[];
  readonly log: Log;
}

const CACHE_TTL_MS = 60_000;

interface Given {
  readonly name: string;
  readonly password: string;
  readonly digest: string;
}

export class Credentials {
  readonly #deps: CredentialsDeps;
  readonly #records: CredentialRecords;
  readonly #limit: SourceLimit;
  readonly #proven: ProvenDigests;
  /** The credentials of the settings. Their passwords are known in clear, so a digest is enough. */
  readonly #settings: ReadonlyMap<string, { credential: Credential; digest: string }>;
  readonly #cache = new Map<string, { credential: Credential; digest: string; untilMs: number }>();
  readonly #running = new Map<string, Promise<Credential | null>>();
  /** Increases when a credential is added or revoked, so that a running check reads the record again. */
  #changes = 0;

  constructor(deps: CredentialsDeps) {
    this.#deps = deps;
    this.#records = createCredentialRecords(deps);
    deps.store.followGroups(["scim_credential"], 2, ([, name]) => this.#forget(String(name)));
    this.#limit = new SourceLimit(deps);
    this.#proven = new ProvenDigests(deps);
    this.#settings = new Map(
      deps.settings.filter(({ password }) => password !== "")
        .map(({ name, password, targets, access }) => [
          name,
          { credential: { name, targets, access }, digest: this.#digestOf(name, password) },
        ]),
    );
  }

  /**
   * The credential with this name and password, or `null`. Returns at once if the password was correct within the last minute. Otherwise it
   * takes the same time for known and for unknown names.
   *
   * @throws ScimRefusal `too_many_failures`, `busy`, both with Retry-After.
   */
  check(
    { name, password }: { readonly name: string; readonly password: string },
    source: string,
  ): Credential | Promise<Credential | null> {
    const given = { name, password, digest: this.#digestOf(name, password) };
    const isProven = this.#proven.has(given.digest);
    const waitMs = isProven ? 0 : this.#limit.waitMs({ source, name });
    if (waitMs > 0) return this.#checkLimited(given, { source, waitMs });
    const known = this.#recall(given);
    if (known !== null) {
      if (!isProven) this.#proven.add(given.digest);
      return known;
    }
    const checking = isProven
      ? this.#checkInTurn(given, { source, limited: false })
      : this.#limit.inTurn(source, () => this.#checkInTurn(given, { source, limited: false }));
    if (checking === null) throw busy(1);
    return checking;
  }

  /** A check beyond the limit. */
  async #checkLimited(
    given: Given,
    { source, waitMs }: { source: string; waitMs: number },
  ): Promise<Credential | null> {
    if (!await this.#limit.takeLimitedCheck(source)) throw tooManyFailures(waitMs);
    const checking = this.#limit.inTurn(source, () => this.#checkInTurn(given, { source, limited: true }));
    if (checking === null) throw busy(1);
    return await checking;
  }

  /** Adds a credential. Without a password, one of 192 bits is generated. It is durable, with its audit entry, when the promise resolves. */
  async add(
    wanted: Credential & { readonly password?: string },
    actor: Actor,
  ): Promise<AddCredentialOutcome> {
    if (this.#settings.has(wanted.name)) return { ok: false, reason: "in_settings" };
    const added = await this.#records.add(wanted, actor);
    this.#changes += 1;
    return added;
  }

  /** All credentials, in order of name. */
  async list(): Promise<ListedCredential[]> {
    const stored = (await this.#records.list()).filter(({ name }) => !this.#settings.has(name));
    const listed: ListedCredential[] = [
      ...[...this.#settings.values()].map(({ credential }) =>
        ({ ...credential, from: "settings", createdMs: null }) as const
      ),
      ...stored.map(({ name, targets, access, createdMs }) =>
        ({ name, targets, access, createdMs, from: "store" }) as const
      ),
    ];
    return listed.sort((a, b) => a.name < b.name ? -1 : 1);
  }

  /** Revokes a credential. The next request with it is refused. */
  async revoke(name: string, actor: Actor): Promise<RevokeCredentialOutcome> {
    if (this.#settings.has(name)) return "in_settings";
    const outcome = await this.#records.revoke(name, actor);
    this.#forget(name);
    return outcome;
  }

  /** Counts the change before it leaves the cache, so that a running check reads the record again. */
  #forget(name: string): void {
    this.#changes += 1;
    this.#cache.delete(name);
  }

  #digestOf(name: string, password: string): string {
    return this.#deps.vault.digest("scim credential", `${name}\0${password.normalize("NFC")}`);
  }

  #recall({ name, digest }: Given): Credential | null {
    const setting = this.#settings.get(name);
    if (setting !== undefined) return equalDigests(setting.digest, digest) ? setting.credential : null;
    const cached = this.#cache.get(name);
    if (cached === undefined || this.#deps.clock.nowMs() >= cached.untilMs) return null;
    return equalDigests(cached.digest, digest) ? cached.credential : null;
  }

  /** @param options.limited return 429 instead of 401 for a wrong credential. */
  async #checkInTurn(
    given: Given,
    { source, limited }: { source: string; limited: boolean },
  ): Promise<Credential | null> {
    const caller = { source, name: given.name };
    const wasProven = this.#proven.has(given.digest);
    // A check beyond the limit does not extend the limit.
    const forgive = limited || wasProven ? () => Promise.resolve() : await this.#take(caller);
    const found = await this.#find(given).catch(async (fault: unknown) => {
      await forgive();
      throw fault instanceof HasherBusy ? busy(fault.retryAfterS) : fault;
    });
    if (found !== null) {
      await forgive();
      this.#proven.add(given.digest);
      return found;
    }
    this.#proven.forget(given.digest);
    if (!limited && wasProven) await this.#limit.take(caller);
    this.#deps.log.warn("a SCIM credential was refused", {
      // An unknown name may be a password in the wrong field.
      credential: await this.#isKnown(given.name) ? given.name : "no such name",
      source,
    });
    const waitMs = limited ? this.#limit.waitMs(caller) : 0;
    if (waitMs > 0) throw tooManyFailures(waitMs);
    return null;
  }

  /** Counts a failure. Returns a function that removes it. @throws ScimRefusal if the limit is reached */
  async #take(caller: CredentialCaller): Promise<() => Promise<void>> {
    const taken = await this.#limit.take(caller);
    if ("forgive" in taken) return taken.forgive;
    throw tooManyFailures(taken.waitMs);
  }

  async #find(given: Given): Promise<Credential | null> {
    return this.#recall(given) ?? await this.#verifyOnce(given);
  }

  /** Equal names and passwords at the same time are verified once. */
  #verifyOnce(given: Given): Promise<Credential | null> {
    const running = this.#running.get(given.digest);
    if (running !== undefined) return running;
    const started = this.#verify(given).finally(() => this.#running.delete(given.digest));
    this.#running.set(given.digest, started);
    return started;
  }

  async #verify({ name, password, digest }: Given): Promise<Credential | null> {
    const before = this.#changes;
    const record = await this.#recordOf(name);
    // Longer than any stored password. So the check of the empty password, which no credential has, takes as long and costs less.
    const hashed = password.length > MAX_PASSWORD_CHARACTERS ? "" : password;
    const isCorrect = await this.#deps.hasher.check(hashed, record?.hash ?? null);
    if (!isCorrect || record === null) return null;
    // The credential may have been revoked or replaced while the hash was computed.
    const isChanged = this.#changes !== before &&
      (await this.#recordOf(name))?.hash.hash !== record.hash.hash;
    if (isChanged) return null;
    const credential: Credential = { name, targets: record.targets, access: record.access };
    this.#cache.set(name, { credential, digest, untilMs: this.#deps.clock.nowMs() + CACHE_TTL_MS });
    return credential;
  }

  async #recordOf(name: string): Promise<CredentialRecord | null> {
    return this.#settings.has(name) ? null : await this.#records.read(name);
  }

  async #isKnown(name: string): Promise<boolean> {
    return await this.#records.read(name) !== null || this.#settings.has(name);
  }
}

function tooManyFailures(waitMs: number): ScimRefusal {
  return new ScimRefusal("too_many_failures", {
    headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
  });
}

function busy(retryAfterS: number): ScimRefusal {
  return new ScimRefusal("busy", {
    detail: "Too many credentials are being checked at once. Try again in a moment.",
    headers: { "retry-after": String(retryAfterS) },
  });
}

const MAX_SOURCES = 10_000;
/** Checks of one source that can wait. */
const MAX_WAITING = 64;
/** A limited source gets one check in this time: a correct credential passes, and guessing is slow. */
const LIMITED_CHECK_MS = 1000;

interface CredentialCaller {
  readonly source: string;
  readonly name: string;
}

/** Limits the checks of credentials by source address. The limits hold for all nodes together; turns are those of this node. */
export class SourceLimit {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #failures: SharedFailureLimit;
  /** When the last check beyond the limit was, by source. */
  readonly #limitedChecks: LimitTable<number>;
  readonly #turns = new Map<string, { last: Promise<unknown>; waiting: number }>();

  constructor(deps: LimitTableDeps) {
    this.#clock = deps.clock;
    this.#failures = new SharedFailureLimit(deps, { name: "scim_credential" });
    this.#limitedChecks = new LimitTable(deps, {
      name: "scim_limited_check",
      maxRows: MAX_SOURCES,
      expiresMs: (lastMs) => lastMs + LIMITED_CHECK_MS,
      read: readTime,
    });
  }

  /** Milliseconds until the limit ends; 0: not limited. */
  waitMs(caller: CredentialCaller): number {
    return this.#failures.waitMs(caller);
  }

  /** Counts a failure before the check. */
  take(caller: CredentialCaller): Promise<FailureTaken> {
    return this.#failures.take(caller);
  }

  /** Whether a limited source may have one credential checked now. `true` uses up the check. */
  takeLimitedCheck(source: string): Promise<boolean> {
    return this.#limitedChecks.change(
      [sourceKey(source)],
      ([lastMs]) => lastMs === undefined ? [this.#clock.nowMs()] : null,
    );
  }

  /** Runs `work` after earlier work of the same source. `null` if too many calls wait. */
  inTurn<T>(source: string, work: () => Promise<T>): Promise<T> | null {
    const key = sourceKey(source);
    const turn = this.#turns.get(key) ?? { last: Promise.resolve(), waiting: 0 };
    if (turn.waiting >= MAX_WAITING) return null;
    this.#turns.set(key, turn);
    turn.waiting += 1;
    const done = turn.last.then(work).finally(() => {
      turn.waiting -= 1;
      if (turn.waiting === 0) this.#turns.delete(key);
    });
    // The next call waits for the end of this one, whatever its result.
    turn.last = done.catch(() => undefined);
    return done;
  }
}

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
type AddCredentialOutcome =
  | { readonly ok: true; /** In clear. It cannot be shown again. */ readonly password: string }
  | { readonly ok: false; readonly reason: AddCredentialProblem };
type RevokeCredentialOutcome = "revoked" | "unknown" | "in_settings";

interface CredentialRecord extends Credential {
  readonly hash: PasswordHash;
  readonly createdMs: number;
}

interface CredentialRecordsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly hasher: PasswordHasher;
}

/** The stored records. Credentials of the settings are not included. */
interface CredentialRecords {
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
const MAX_PASSWORD_CHARACTERS = 1024;
const MAX_LISTED = 1000;

const keyOf = (name: string): Deno.KvKey => ["scim_credential", name];

function createCredentialRecords(deps: CredentialRecordsDeps): CredentialRecords {
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
