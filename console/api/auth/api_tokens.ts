// API tokens for scripts: signed JWTs (RFC 7519) that name a record of the store, so that each can be revoked at once. A token
// can do no more than its maker may, and ends with them.

import { jwtVerify, SignJWT } from "jose";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import { isAllowed, type Role } from "./permissions.ts";
import { isRoleConfirmed } from "./admin_records.ts";
import type { Admins } from "./admin_store.ts";
import { Refusal } from "../errors.ts";
import type { Session } from "./sessions.ts";

/** A token as it is kept: never itself. */
export interface TokenRecord {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly createdBy: string;
  /** Its maker's account: another one of the same name is not it. */
  readonly makerId: string;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly usedMs: number | null;
}

export interface ApiTokens {
  list(): Promise<TokenRecord[]>;
  find(id: string): Promise<TokenRecord | null>;
  /** Signs a token; it is good once `mutation` is committed. */
  make(wanted: { name: string; role: Role; lifeMs: number; by: { name: string; id: string } }): Promise<
    { token: string; record: TokenRecord; mutation: Mutation }
  >;
  revoking(id: string): Mutation;
  /** Who a token acts as. @throws Refusal `bad_api_token`. */
  resume(token: string): Promise<Session>;
}

export interface ApiTokensDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly admins: Admins;
}

export const MAX_TOKENS = 200;
/** One algorithm, named here and never read from the token (RFC 8725 §3.1). */
const ALGORITHM = "HS256";
const ISSUER = "countersign";
const AUDIENCE = "countersign:console";
const TYPE = "at+jwt";
const MAX_TOKEN_CHARACTERS = 2048;
/** The last use is written down this often at most. */
const TOUCH_EVERY_MS = 60_000;

export function createApiTokens({ store, vault, clock, random, admins }: ApiTokensDeps): ApiTokens {
  const key = vault.deriveKey("console api tokens", 32);
  const keyOf = (id: string): Deno.KvKey => ["console_token", id];

  const idOf = async (token: string): Promise<string> => {
    if (token.length > MAX_TOKEN_CHARACTERS) throw new Refusal("bad_api_token");
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience: AUDIENCE,
        typ: TYPE,
        requiredClaims: ["jti", "exp", "sub"],
        currentDate: new Date(clock.nowMs()),
      });
      return payload.jti ?? "";
    } catch (_forgedOrOld) {
      throw new Refusal("bad_api_token");
    }
  };
  const touch = async (record: TokenRecord): Promise<void> => {
    const nowMs = clock.nowMs();
    if (record.usedMs !== null && nowMs - record.usedMs < TOUCH_EVERY_MS) return;
    const entry = await store.get<TokenRecord>(keyOf(record.id));
    if (entry.value === null) return;
    await store.commit({
      checks: [{ key: entry.key, versionstamp: entry.versionstamp }],
      mutations: [setting({ ...entry.value, usedMs: nowMs }, nowMs)],
    });
  };
  const setting = (record: TokenRecord, nowMs: number): Mutation => ({
    type: "set",
    key: keyOf(record.id),
    value: record,
    expireInMs: record.expiresMs - nowMs,
  });

  return {
    async list() {
      const records: TokenRecord[] = [];
      for await (const { value } of store.list<TokenRecord>(["console_token"], { limit: MAX_TOKENS })) {
        if (value !== null && value.expiresMs > clock.nowMs()) records.push(value);
      }
      return records.sort((a, b) => b.createdMs - a.createdMs);
    },
    find: async (id) => (await store.get<TokenRecord>(keyOf(id))).value,
    async make({ name, role, lifeMs, by }) {
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
      const token = await new SignJWT({ role })
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(name)
        .setJti(record.id)
        .setIssuedAt(Math.floor(nowMs / 1000))
        .setExpirationTime(Math.floor(record.expiresMs / 1000))
        .sign(key);
      return { token, record, mutation: setting(record, nowMs) };
    },
    revoking: (id) => ({ type: "delete", key: keyOf(id) }),
    async resume(token) {
      const id = await idOf(token);
      const { value: record } = await store.get<TokenRecord>(keyOf(id));
      if (record === null || record.expiresMs <= clock.nowMs()) throw new Refusal("bad_api_token");
      const maker = await admins.find(record.createdBy);
      if (maker === null || maker.id !== record.makerId) throw new Refusal("bad_api_token");
      if (!isRoleConfirmed(maker, clock.nowMs())) throw new Refusal("bad_api_token");
      await touch(record);
      return {
        id: `token:${id}`,
        admin: {
          id: `token:${id}`,
          name: `token:${record.name}`,
          role: isAllowed(maker.role, record.role) ? record.role : maker.role,
          credential: "",
          origin: "console",
        },
        deadlineMs: record.expiresMs,
        idleDeadlineMs: record.expiresMs,
        freshMs: 0,
      };
    },
  };
}
