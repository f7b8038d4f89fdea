// Who sends a request of /scim/v2: a bearer token (RFC 6750), an OAuth access token, or a SCIM credential with HTTP Basic. A correct
// secret always passes; failures are limited by source and claimed name.

import { OBJECT_NAME } from "../../../platform/fields.ts";
import { createHash } from "node:crypto";
import { SharedFailureLimit } from "../../../platform/failure_limit.ts";
import type { LimitTableDeps } from "../../../platform/limit_table.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { readBasic } from "../../http/request_checks.ts";
import type { Credential, Credentials } from "../../http/credentials.ts";
import { ScimRefusal } from "../../http/refusals.ts";
import type { AccessTokens } from "./access_token.ts";
import {
  type ConnectionRecords,
  hashSecretText,
  isExpired,
  type SecretRecord,
} from "./connection_records.ts";
import {
  type ConnectionSettings,
  CREDENTIAL_PREFIX,
  DEFAULT_CONNECTION,
  type SecretKind,
} from "./connection_settings.ts";

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

export class ConnectionAuthentication {
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
