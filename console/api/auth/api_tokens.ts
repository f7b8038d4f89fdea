// API tokens for scripts: signed JWTs (RFC 7519). Each has a record in the store, so that it can be revoked at once. A token has
// at most the permissions of its creator, and ends with the creator's account.

import { Hono } from "hono";
import { loadJose } from "../../../platform/jose.ts";
import * as v from "valibot";
import { auditEntry } from "../../../platform/audit.ts";
import { DAY_MS } from "../../../platform/durations.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { TokenRow } from "../api_types.ts";
import { Refusal } from "../errors.ts";
import { callerOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import { commonRole, isRoleConfirmed, type Role, ROLES, type Session } from "./admin_records.ts";
import type { AdminStore } from "./admin_store.ts";
import { may } from "./permissions.ts";

/** A token as it is stored, without the token itself. */
interface TokenRecord {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly createdBy: string;
  /** The creator's account. A later account of the same name has another id. */
  readonly makerId: string;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly usedMs: number | null;
}

interface ApiTokensDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly admins: AdminStore;
}

const MAX_TOKENS = 200;
/** The only algorithm. It is never read from the token (RFC 8725 §3.1). */
const ALGORITHM = "HS256";
const ISSUER = "countersign";
const AUDIENCE = "countersign:console";
const TYPE = "at+jwt";
const MAX_TOKEN_CHARACTERS = 2048;
const MIN_TOUCH_INTERVAL_MS = 60_000;

export class ApiTokens {
  readonly #deps: ApiTokensDeps;
  readonly #key: Uint8Array<ArrayBuffer>;

  constructor(deps: ApiTokensDeps) {
    this.#deps = deps;
    this.#key = deps.vault.deriveKey("console api tokens", 32);
  }

  async list(): Promise<TokenRecord[]> {
    const { store, clock } = this.#deps;
    const records: TokenRecord[] = [];
    for await (const { value } of store.list<TokenRecord>(["console_token"], { limit: MAX_TOKENS })) {
      if (value !== null && value.expiresMs > clock.nowMs()) records.push(value);
    }
    return records.sort((a, b) => b.createdMs - a.createdMs);
  }

  async find(id: string): Promise<TokenRecord | null> {
    return (await this.#deps.store.get<TokenRecord>(keyOf(id))).value;
  }

  /** Signs a token, which is valid after the commit of `mutation`. */
  async make(
    { name, role, lifeMs, by }: {
      name: string;
      role: Role;
      lifeMs: number;
      by: { name: string; id: string };
    },
  ): Promise<{ token: string; record: TokenRecord; mutation: Mutation }> {
    const { clock, random } = this.#deps;
    const nowMs = clock.nowMs();
    const record: TokenRecord = {
      id: toBase64Url(random.bytes(16)),
      name,
      role,
      createdBy: by.name,
      makerId: by.id,
      createdMs: nowMs,
      expiresMs: nowMs + lifeMs,
      usedMs: null,
    };
    const { SignJWT } = await loadJose();
    const token = await new SignJWT({ role })
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(name)
      .setJti(record.id)
      .setIssuedAt(Math.floor(nowMs / 1000))
      .setExpirationTime(Math.floor(record.expiresMs / 1000))
      .sign(this.#key);
    return { token, record, mutation: setMutation(record, nowMs) };
  }

  /** The session of a token. @throws Refusal `bad_api_token`. */
  async resume(token: string): Promise<Session> {
    const { clock, admins } = this.#deps;
    const record = await this.find(await this.#verify(token));
    if (record === null || record.expiresMs <= clock.nowMs()) throw new Refusal("bad_api_token");
    const maker = await admins.find(record.createdBy);
    if (maker === null || maker.id !== record.makerId || !isRoleConfirmed(maker, clock.nowMs())) {
      throw new Refusal("bad_api_token");
    }
    await this.#touch(record);
    const id = `token:${record.id}`;
    return {
      id,
      admin: {
        id,
        name: `token:${record.name}`,
        role: commonRole(maker.role, record.role),
        credential: "",
        origin: "console",
      },
      personId: maker.id,
      deadlineMs: record.expiresMs,
      idleDeadlineMs: record.expiresMs,
      freshMs: 0,
    };
  }

  /** The id in a valid token. */
  async #verify(token: string): Promise<string> {
    if (token.length > MAX_TOKEN_CHARACTERS) throw new Refusal("bad_api_token");
    const { jwtVerify } = await loadJose();
    try {
      const { payload } = await jwtVerify(token, this.#key, {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience: AUDIENCE,
        typ: TYPE,
        requiredClaims: ["jti", "exp", "sub"],
        currentDate: new Date(this.#deps.clock.nowMs()),
      });
      return payload.jti ?? "";
    } catch (_invalidToken) {
      throw new Refusal("bad_api_token");
    }
  }

  async #touch(record: TokenRecord): Promise<void> {
    const { store, clock } = this.#deps;
    const nowMs = clock.nowMs();
    if (record.usedMs !== null && nowMs - record.usedMs < MIN_TOUCH_INTERVAL_MS) return;
    const { key, value, versionstamp } = await store.get<TokenRecord>(keyOf(record.id));
    if (value === null) return;
    await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [setMutation({ ...value, usedMs: nowMs }, nowMs)],
    });
  }
}

function keyOf(id: string): Deno.KvKey {
  return ["console_token", id];
}

function setMutation(record: TokenRecord, nowMs: number): Mutation {
  return { type: "set", key: keyOf(record.id), value: record, expireInMs: record.expiresMs - nowMs };
}

export interface TokenRouteDeps {
  readonly tokens: ApiTokens;
  readonly store: Store;
  readonly clock: Clock;
}

const NEW_TOKEN = v.strictObject({
  name: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(64), v.regex(/^\P{C}*$/u)),
  role: v.picklist(ROLES),
  days: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(366)),
});

/** Tokens are created and shown once, listed by name, and revoked at once. */
export function createTokenRoutes({ tokens, store, clock }: TokenRouteDeps) {
  return new Hono<HttpEnv>()
    .get(
      "/",
      may("owner"),
      async (c) => c.json({ nowMs: clock.nowMs(), items: (await tokens.list()).map(rowOf) }),
    )
    .post("/", may("owner", { recentFactor: true }), jsonBody(NEW_TOKEN), async (c) => {
      const { name, role, days } = c.req.valid("json");
      const known = await tokens.list();
      if (known.length >= MAX_TOKENS) throw new Refusal("too_many_tokens");
      if (known.some((one) => one.name === name)) throw new Refusal("name_taken");
      const made = await tokens.make({ name, role, lifeMs: days * DAY_MS, by: c.var.session.admin });
      const event = { action: "token.create" as const, object: `token:${name}`, after: { role, days } };
      await store.commit({ mutations: [made.mutation, auditEntry({ ...callerOf(c), ...event })] });
      return c.json({ token: made.token, item: rowOf(made.record) });
    })
    .delete("/:id", may("owner", { recentFactor: true }), async (c) => {
      const record = await tokens.find(c.req.param("id"));
      if (record === null) throw new Refusal("not_found");
      const { id, name, role } = record;
      const event = { action: "token.revoke" as const, object: `token:${name}`, before: { role } };
      await store.commit({
        mutations: [{ type: "delete", key: keyOf(id) }, auditEntry({ ...callerOf(c), ...event })],
      });
      return c.json({ done: true });
    });
}

function rowOf({ makerId: _internal, ...row }: TokenRecord): TokenRow {
  return row;
}
