// Connections: identity providers that provision users through /scim/v2. Authentication, limits and the request log for the interface,
// and the administration for the console.

import { auditEntry } from "../../../platform/audit.ts";
import { type LimitTableDeps, SharedFailureLimit } from "../../../platform/limit_table.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import { readBasic, ScimRefusal, waitForStore } from "../../http/refusals.ts";
import type { Credential, Credentials } from "../../http/credentials.ts";
import type { Targets } from "../../ports.ts";
import { AccessTokens, type TokenRequest } from "./access_token.ts";
import { type AdoptedResource, Adoptions } from "./adoption.ts";
import { ConnectionAdministration } from "./connection_administration.ts";
import { ConnectionRecords, hashSecretText, isExpired, type SecretRecord } from "./connection_records.ts";
import { DeletionLimit, type DeletionState } from "./deletion_limit.ts";
import { RequestLog, type RequestLogEntry } from "./request_log.ts";
import { MINUTE_MS } from "../../../platform/durations.ts";
import { OBJECT_NAME } from "../../../platform/fields.ts";
import { createHash } from "node:crypto";
import {
  type ConnectionSettings,
  CREDENTIAL_PREFIX,
  DEFAULT_CONNECTION,
  type SecretKind,
} from "./connection_settings.ts";

interface ConnectionsDeps extends LimitTableDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly credentials: Pick<Credentials, "check" | "list">;
  readonly targets: Pick<Targets, "get">;
}

/** A provider tries again after this time. */
const PAUSED_RETRY_S = 300;
/** Entries of the request log. */
const MAX_REPEATED_PER_MINUTE = 60;
/** The audit log has one entry of a stopped deletion in this time. */
const MIN_STOP_INTERVAL_MS = 3_600_000;

export class Connections {
  readonly administration: ConnectionAdministration;
  readonly #deps: ConnectionsDeps;
  readonly #authentication: ConnectionAuthentication;
  readonly #issuer: TokenIssuer;
  readonly #log: RequestLog;
  readonly #adoptions: Adoptions;
  readonly #deletions: DeletionLimit;
  readonly #rates: RequestRates;
  /** Requests with 429 or 503 in the log. */
  readonly #repeated: RequestRates;
  readonly #stopped = new Map<string, number>();

  private constructor(deps: ConnectionsDeps, records: ConnectionRecords) {
    const tokens = new AccessTokens(deps);
    this.#deps = deps;
    this.#log = new RequestLog(deps);
    this.#adoptions = new Adoptions(deps);
    this.#deletions = new DeletionLimit(deps);
    this.#rates = new RequestRates(deps);
    this.#repeated = new RequestRates(deps);
    this.#authentication = new ConnectionAuthentication({
      ...deps,
      ...{ records, tokens },
      onRefused: ({ connection, source, detail }) =>
        this.record({ ...this.#entry(connection, source), operation: "authenticate", status: 401, detail }),
    });
    this.#issuer = new TokenIssuer({
      ...{ authentication: this.#authentication, tokens },
      onIssued: (connection, source) =>
        this.record({ ...this.#entry(connection, source), method: "POST", operation: "token", status: 200 }),
    });
    this.administration = new ConnectionAdministration({
      ...deps,
      ...{ records, log: this.#log, adoptions: this.#adoptions, deletions: this.#deletions },
    });
  }

  /** Reads the connections, and follows the changes of other nodes. */
  static async open(deps: ConnectionsDeps): Promise<Connections> {
    return new Connections(deps, await ConnectionRecords.open(deps));
  }

  /**
   * The connection of a bearer token, of an OAuth access token, or of a SCIM credential with HTTP Basic; `null`: 401. First waits until this
   * node has the changes of other nodes, so that a revoked secret is refused at once.
   *
   * @throws ScimRefusal `too_many_failures` (never for a correct secret of a connection), `busy`.
   */
  async authenticate(authorization: string | null, source: string): Promise<AuthenticatedConnection | null> {
    await this.#catchUp();
    return await this.#authentication.authenticate(authorization, source);
  }

  /** The access token for a request at the token endpoint; `null`: the client is unknown, or its secret is wrong. */
  async issueToken(request: TokenRequest, source: string): Promise<IssuedToken | null> {
    await this.#catchUp();
    return await this.#issuer.issue(request, source);
  }

  /** Counts a request of this node. @throws ScimRefusal `paused`, `rate_limited` */
  admit({ settings: { name, paused, requestsPerMinute } }: AuthenticatedConnection): void {
    if (paused) throw new ScimRefusal("paused", { headers: { "retry-after": String(PAUSED_RETRY_S) } });
    requireNoWait(this.#rates.take(name, requestsPerMinute));
  }

  /** Counts the operations of a bulk request that was admitted. @throws ScimRefusal `rate_limited` */
  admitOperations(
    { settings: { name, requestsPerMinute } }: AuthenticatedConnection,
    operations: number,
  ): void {
    requireNoWait(this.#rates.charge(name, requestsPerMinute, operations - 1));
  }

  /**
   * The connection as it is now, before each operation of a bulk request: a pause, a revocation and new rules apply to the rest of it.
   *
   * @throws ScimRefusal `paused`, `no_token`
   */
  async readmit(connection: AuthenticatedConnection): Promise<AuthenticatedConnection> {
    await this.#catchUp();
    const current = this.#authentication.current(connection);
    if (current === null) throw new ScimRefusal("no_token");
    if (current.settings.paused) throw new ScimRefusal("paused");
    return current;
  }

  /**
   * Counts users that the connection deletes or deactivates, all or none. Call the returned function if the write fails.
   *
   * @throws ScimRefusal `deletion_limit`; the first one in an hour is in the audit log
   */
  async countDeletion(connection: AuthenticatedConnection, users: number): Promise<() => Promise<void>> {
    const { settings: { name, target, deletionPercent: percent, dryRun } } = connection;
    if (dryRun || users === 0) return () => Promise.resolve();
    const all = this.#deps.targets.get(target)?.directory.count("user") ?? 0;
    const outcome = await this.#deletions.count({ name, percent, users: all }, users);
    if (outcome.ok) return outcome.undo;
    await this.#reportStop(connection, outcome.state);
    throw new ScimRefusal("deletion_limit");
  }

  /**
   * Records a request. Returns at once; the log is written later, in batches. A client that ignores Retry-After must not fill the log, so at
   * most 60 a minute of the requests that it repeats are recorded.
   */
  record(entry: RequestLogEntry): void {
    const isRepeated = entry.status === 429 || entry.status === 503;
    if (isRepeated && this.#repeated.take(entry.connection, MAX_REPEATED_PER_MINUTE) > 0) return;
    this.#log.record(entry);
  }

  /** Records that the connection wants to write a resource that it did not create. The caller throws the refusal `adoption_needed`. */
  async proposeAdoption({ settings }: AuthenticatedConnection, resource: AdoptedResource): Promise<void> {
    await this.#adoptions.propose(settings.name, resource);
  }

  /**
   * Whether the connection may write a resource: it created or adopted it, an administrator confirmed it, or no one has to. A refusal of an
   * administrator ends an earlier adoption.
   */
  async isAdopted(
    { settings: { name, adoption } }: AuthenticatedConnection,
    resource: Pick<AdoptedResource, "kind" | "id"> & { readonly managedBy?: string | undefined },
  ): Promise<boolean> {
    if (adoption === "automatic") return true;
    const decided = await this.#adoptions.stateOf(name, resource);
    return decided === "accepted" || (decided !== "refused" && resource.managedBy === name);
  }

  /** Writes the requests that wait for the log. */
  close(): Promise<void> {
    return this.#log.close();
  }

  async #catchUp(): Promise<void> {
    const caughtUp = this.#deps.store.catchUp();
    if (caughtUp !== null) await waitForStore(caughtUp, this.#deps);
  }

  async #reportStop(
    { settings: { name }, actorName }: AuthenticatedConnection,
    { counted, allowed }: DeletionState,
  ): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    if (nowMs - (this.#stopped.get(name) ?? -Infinity) < MIN_STOP_INTERVAL_MS) return;
    this.#stopped.set(name, nowMs);
    this.#deps.log.warn("a connection reached its deletion limit", { connection: name, counted, allowed });
    const mutation = auditEntry({
      ...{ action: "connection.deletions_stopped", actor: actorName, object: `connection:${name}` },
      count: counted,
    });
    await this.#deps.store.commit({ mutations: [mutation] });
  }

  #entry(connection: string, source: string): RequestLogEntry {
    return {
      ...{ atMs: this.#deps.clock.nowMs(), connection, source, method: "", operation: "", resource: null },
      ...{ status: 0, scimType: null, detail: null, attributes: [], durationMs: 0, dryRun: false },
      userAgent: "",
    };
  }
}

/** @throws ScimRefusal `rate_limited` */
function requireNoWait(waitMs: number): void {
  if (waitMs === 0) return;
  throw new ScimRefusal("rate_limited", { headers: { "retry-after": String(Math.ceil(waitMs / 1000)) } });
}

// Requests per minute of each connection, on this node: a token bucket that holds the requests of one minute.

interface Bucket {
  tokens: number;
  atMs: number;
}

const MAX_BUCKETS = 10_000;

export class RequestRates {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #buckets = new Map<string, Bucket>();

  constructor({ clock }: { clock: Pick<Clock, "nowMs"> }) {
    this.#clock = clock;
  }

  /** Counts a request. Returns the milliseconds until the next one is allowed; 0: this one is. */
  take(name: string, perMinute: number): number {
    const tokens = this.#tokens(name, perMinute);
    const isAllowed = tokens >= 1;
    this.#set(name, isAllowed ? tokens - 1 : tokens);
    return isAllowed ? 0 : Math.ceil((1 - tokens) * MINUTE_MS / perMinute);
  }

  /**
   * Counts the other operations of a request that was admitted: later requests wait for them. If earlier operations already make requests wait, it counts
   * nothing and returns the milliseconds until then.
   */
  charge(name: string, perMinute: number, operations: number): number {
    const tokens = this.#tokens(name, perMinute);
    if (tokens < 0) return Math.ceil((1 - tokens) * MINUTE_MS / perMinute);
    this.#set(name, tokens - operations);
    return 0;
  }

  #tokens(name: string, perMinute: number): number {
    const nowMs = this.#clock.nowMs();
    const known = this.#buckets.get(name) ?? { tokens: perMinute, atMs: nowMs };
    const refill = Math.max(0, nowMs - known.atMs) * perMinute / MINUTE_MS;
    return Math.min(perMinute, known.tokens + refill);
  }

  #set(name: string, tokens: number): void {
    this.#buckets.delete(name);
    this.#buckets.set(name, { tokens, atMs: this.#clock.nowMs() });
    for (const oldest of this.#buckets.keys()) {
      if (this.#buckets.size <= MAX_BUCKETS) break;
      this.#buckets.delete(oldest);
    }
  }
}

// Issues OAuth access tokens to connections (RFC 6749 §4.4). A paused connection gets tokens too: its requests get 503, which identity
// providers retry, while a failure here would make them ask for new credentials.

interface IssuedToken {
  readonly token: string;
  readonly expiresInS: number;
}

interface TokenIssuerDeps {
  readonly authentication: ConnectionAuthentication;
  readonly tokens: AccessTokens;
  readonly onIssued: (connection: string, source: string) => void;
}

class TokenIssuer {
  readonly #deps: TokenIssuerDeps;

  constructor(deps: TokenIssuerDeps) {
    this.#deps = deps;
  }

  /** `null`: the client is unknown, or its secret is wrong. @throws ScimRefusal `too_many_failures` */
  async issue({ clientId, clientSecret }: TokenRequest, source: string): Promise<IssuedToken | null> {
    const { authentication, tokens, onIssued } = this.#deps;
    const secret = await authentication.checkClient({ id: clientId, secret: clientSecret }, source);
    if (secret === null) return null;
    const { connection, id: secretId, expiresMs } = secret;
    const issued = await tokens.sign({ connection, secretId, expiresMs });
    onIssued(connection, source);
    return issued;
  }
}

// Authentication: a bearer token (RFC 6750), an OAuth access token, or a SCIM credential with HTTP Basic. A correct
// secret always passes; failures are limited by source and claimed name.

/** The connection of a request. */
export interface AuthenticatedConnection {
  readonly settings: ConnectionSettings;
  /** The names of the targets that it can use. */
  readonly targets: readonly string[];
  /** `null` for a SCIM credential. */
  readonly secretId: string | null;
  /** For the audit log: `scim:<name>`. */
  readonly actorName: string;
}

/** A secret of a connection that exists, but is not accepted. */
interface RefusedSecret {
  readonly connection: string;
  readonly source: string;
  readonly detail: string;
}

interface AuthenticationDeps extends LimitTableDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly records: ConnectionRecords;
  readonly tokens: AccessTokens;
  readonly credentials: Pick<Credentials, "check">;
  readonly onRefused: (refused: RefusedSecret) => void;
}

/** The result of a check: the secret, or what is known about a wrong one. */
type Checked =
  | { readonly ok: true; readonly secret: SecretRecord }
  | { readonly ok: false; readonly claimed: string; readonly connection?: string; readonly detail?: string };

const MAX_HEADER_CHARACTERS = 8192;
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
const MIN_TOUCH_INTERVAL_MS = 60_000;
/** A SCIM credential can already write every resource of its targets, so it has no limit of deletions and needs no adoption. */
const CREDENTIAL_SETTINGS = {
  ...DEFAULT_CONNECTION,
  kind: "other",
  adoption: "automatic",
  deletionPercent: 100,
} as const;

class ConnectionAuthentication {
  readonly #deps: AuthenticationDeps;
  readonly #failures: SharedFailureLimit;

  constructor(deps: AuthenticationDeps) {
    this.#deps = deps;
    this.#failures = new SharedFailureLimit(deps, { name: "scim_connection" });
  }

  /**
   * The connection of an Authorization header, or `null`.
   *
   * @throws ScimRefusal `too_many_failures`, `busy`, both with Retry-After.
   */
  async authenticate(authorization: string | null, source: string): Promise<AuthenticatedConnection | null> {
    if (authorization === null || authorization.length > MAX_HEADER_CHARACTERS) return null;
    const bearer = BEARER.exec(authorization)?.[1];
    if (bearer !== undefined) {
      const secret = await this.#passOrCount(await this.#checkBearer(bearer), source);
      return secret === null ? null : this.#connectionOf(secret);
    }
    const given = readBasic(authorization);
    const credential = given === null ? null : await this.#deps.credentials.check(given, source);
    return credential === null ? null : credentialConnection(credential);
  }

  /** The connection as it is now, for a request that takes long. `null`: its secret ended. */
  current(connection: AuthenticatedConnection): AuthenticatedConnection | null {
    const { secretId } = connection;
    if (secretId === null) return connection;
    const secret = this.#deps.records.secretById(secretId);
    return secret === null || isExpired(secret, this.#deps.clock.nowMs()) ? null : this.#connectionOf(secret);
  }

  /** The client secret of a connection for the token endpoint, or `null`. @throws like {@link authenticate} */
  async checkClient(
    client: { readonly id: string; readonly secret: string },
    source: string,
  ): Promise<SecretRecord | null> {
    const checked = this.#checkSecret(client.secret, "client_secret");
    const isOther = checked.ok && checked.secret.connection !== client.id;
    return await this.#passOrCount(
      checked.ok && !isOther ? checked : { ...checked, ok: false, claimed: claimOf(client.id) },
      source,
    );
  }

  /** A limit never applies to a correct secret, because its check costs less than the count. */
  async #passOrCount(checked: Checked, source: string): Promise<SecretRecord | null> {
    if (checked.ok) {
      this.#touch(checked.secret, source);
      return checked.secret;
    }
    const taken = await this.#failures.take({ source, name: checked.claimed });
    if (!("forgive" in taken)) {
      const retryAfterS = Math.ceil(taken.waitMs / 1000);
      throw new ScimRefusal("too_many_failures", { headers: { "retry-after": String(retryAfterS) } });
    }
    const { connection, detail } = checked;
    this.#deps.log.warn("a secret of a connection was refused", { connection: connection ?? "", source });
    if (connection !== undefined && detail !== undefined) {
      this.#deps.onRefused({ connection, source, detail });
    }
    return null;
  }

  async #checkBearer(text: string): Promise<Checked> {
    if (!text.includes(".")) return this.#checkSecret(text, "token");
    const { records, tokens, clock } = this.#deps;
    const claims = await tokens.verify(text);
    if (claims === null || claims === "expired") return { ok: false, claimed: claimOf(text) };
    const { connection, secretId } = claims;
    const secret = records.secretById(secretId);
    if (secret === null || secret.connection !== connection || isExpired(secret, clock.nowMs())) {
      const known = records.find(connection) === null ? {} : { connection };
      return {
        ok: false,
        claimed: connection,
        ...known,
        detail: "The client secret was revoked or expired.",
      };
    }
    return { ok: true, secret };
  }

  #checkSecret(text: string, kind: SecretKind): Checked {
    const { records, clock } = this.#deps;
    const hash = hashSecretText(text);
    const secret = hash === null ? null : records.secretByHash(hash);
    if (secret === null) return { ok: false, claimed: claimOf(text) };
    const { connection } = secret;
    if (secret.kind !== kind) {
      return { ok: false, claimed: connection, connection, detail: WRONG_KIND[secret.kind] };
    }
    if (isExpired(secret, clock.nowMs())) {
      return { ok: false, claimed: connection, connection, detail: EXPIRED[secret.kind] };
    }
    return { ok: true, secret };
  }

  #connectionOf({ connection, id }: SecretRecord): AuthenticatedConnection | null {
    const settings = this.#deps.records.find(connection)?.settings;
    if (settings === undefined) return null;
    return { settings, targets: [settings.target], secretId: id, actorName: `scim:${connection}` };
  }

  /** Stores the use at most once a minute, after the answer. */
  #touch(secret: SecretRecord, source: string): void {
    const nowMs = this.#deps.clock.nowMs();
    if (secret.usedMs !== null && nowMs - secret.usedMs < MIN_TOUCH_INTERVAL_MS) return;
    this.#deps.records.touch(secret, { usedMs: nowMs, usedFrom: source }).catch((fault: unknown) =>
      this.#deps.log.warn("the last use of a secret was not stored", { fault: String(fault) })
    );
  }
}

const WRONG_KIND: Readonly<Record<SecretKind, string>> = {
  token: "The request used a bearer token as client secret. Enter a client secret of the connection.",
  client_secret:
    "The request used a client secret as bearer token. Enter a token of the connection, or the address of the token endpoint.",
};
const EXPIRED: Readonly<Record<SecretKind, string>> = {
  token: "The token has expired. Create a new one, and enter it at the identity provider.",
  client_secret: "The client secret has expired. Create a new one, and enter it at the identity provider.",
};

/** A name for a wrong secret, so that one client that repeats an old secret does not limit others at its address. */
function claimOf(text: string): string {
  return OBJECT_NAME.test(text) ? text : createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function credentialConnection({ name, targets, access }: Credential): AuthenticatedConnection {
  return {
    settings: { ...CREDENTIAL_SETTINGS, name: CREDENTIAL_PREFIX + name, target: targets[0] ?? "", access },
    targets,
    secretId: null,
    actorName: `scim:${name}`,
  };
}
