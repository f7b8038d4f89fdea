// OpenID Connect sign-in: the redirect to the provider, and the callback. A cookie has the sealed pending sign-in, so the server
// stores nothing for it, and a response in another browser is refused.

import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import type { Log } from "../../../platform/log.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import { equalDigests, type Vault } from "../../../platform/vault.ts";
import type { SignInRateLimit, StartRateLimit } from "./sign_in_rate_limit.ts";
import type { RequestLimit } from "../../request_gate.ts";
import { cookieName, cookieOptions, type HttpEnv, jsonBody, ownOrigin } from "../hono_env.ts";
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
  type Role,
  ROLES,
} from "./admin_records.ts";
import { may } from "./permissions.ts";
import type { OidcClaims, OidcProvider } from "./oidc_provider.ts";
import type { ErrorCode } from "../error_codes.ts";
import { Refusal } from "../errors.ts";
import type { RejectedSignIns } from "./sign_in.ts";
import { type Sessions, startCookieSession } from "./sessions.ts";
import type { AdminSettings, OidcSettings } from "../../../platform/config/config.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import type { AdminStore } from "./admin_store.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { newAccountId } from "./factors.ts";

export interface OidcRouteDeps {
  /** `null`: no provider is set up. */
  readonly oidc: () =>
    | { readonly provider: OidcProvider; readonly adminOf: ReturnType<typeof createOidcAdmins> }
    | null;
  readonly sessions: Sessions;
  readonly attempts: SignInRateLimit;
  readonly starts: StartRateLimit;
  /** Anonymous requests that wait for the provider. They take no place from other requests. */
  readonly serviceWaits: RequestLimit;
  readonly refused: RejectedSignIns;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The state of a sign-in while the administrator is at the provider. */
interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  readonly returnTo: string;
  readonly deadlineMs: number;
}

export const OIDC_CALLBACK_PATH = "/console/api/oidc/callback";
const COOKIE = "countersign-journey";
const SEAL: Deno.KvKey = ["console oidc journey"];
const PENDING_SIGN_IN_MS = 10 * 60 * 1000;
const START = v.strictObject({
  returnTo: v.pipe(v.string(), v.maxLength(1024)),
  again: v.optional(v.boolean()),
});

export function createOidcRoutes(deps: OidcRouteDeps) {
  const { clock, random } = deps;
  const randomText = () => toBase64Url(random.bytes(32));
  return new Hono<HttpEnv>()
    .post("/start", may("anyone"), jsonBody(START), async (c) => {
      const { provider } = requireOidc(deps);
      await deps.starts.take(c.env.remoteAddress);
      const { returnTo, again = false } = c.req.valid("json");
      const pending: PendingSignIn = {
        state: randomText(),
        nonce: randomText(),
        codeVerifier: randomText(),
        returnTo: ownPath(returnTo, ownOrigin(c)),
        deadlineMs: clock.nowMs() + PENDING_SIGN_IN_MS,
      };
      const redirectUri = ownOrigin(c) + OIDC_CALLBACK_PATH;
      const url = await whileWaiting(
        deps,
        c,
        () => provider.authorizationUrl({ ...pending, redirectUri, again }),
      )
        .catch((fault: unknown) => {
          if (fault instanceof Refusal && fault.code !== "overloaded") logFailure(deps, c, fault);
          throw fault;
        });
      setPendingSignIn(deps, c, pending);
      return c.json({ url });
    })
    .get("/callback", may("anyone"), async (c) => {
      requireOidc(deps);
      // Only a browser that follows the provider's redirect loads this address as a page.
      const destination = c.req.header("sec-fetch-dest");
      if (destination !== undefined && destination !== "document") throw new Refusal("not_same_origin");
      const pending = takePendingSignIn(deps, c);
      // Any site can make a browser open this address, so a request without a pending sign-in is not a failed sign-in.
      if (pending === null) return c.redirect(`/?problem=${"oidc_state" satisfies ErrorCode}`, 303);
      const source = c.env.remoteAddress;
      const attempt = await deps.attempts.take({ source, name: "sign-in provider" });
      try {
        await whileWaiting(deps, c, () => signIn(deps, c, pending));
        await attempt.forgive();
        return c.redirect(pending.returnTo, 303);
      } catch (fault) {
        if (!(fault instanceof Refusal)) throw fault;
        logFailure(deps, c, fault);
        await deps.refused.note({ name: null, source, because: fault.code });
        return c.redirect(`/?problem=${fault.code satisfies ErrorCode}`, 303);
      }
    });
}

function requireOidc({ oidc }: OidcRouteDeps): NonNullable<ReturnType<OidcRouteDeps["oidc"]>> {
  const services = oidc();
  if (services === null) throw new Refusal("no_oidc");
  return services;
}

/** Runs a call that waits for the provider. @throws Refusal `overloaded` while too many wait. */
async function whileWaiting<T>(
  { serviceWaits }: OidcRouteDeps,
  c: Context<HttpEnv>,
  call: () => Promise<T>,
): Promise<T> {
  const end = serviceWaits.begin(c.env.remoteAddress);
  if (end === null) throw new Refusal("overloaded", { "retry-after": "1" });
  try {
    return await call();
  } finally {
    end();
  }
}

/** Redeems the provider's response and begins a session. */
async function signIn(deps: OidcRouteDeps, c: Context<HttpEnv>, pending: PendingSignIn): Promise<void> {
  const { provider, adminOf } = requireOidc(deps);
  const source = c.env.remoteAddress;
  const redirectUri = ownOrigin(c) + OIDC_CALLBACK_PATH;
  const response = new URL(c.req.url).searchParams;
  const claims = await provider.redeem({ ...pending, redirectUri, response });
  // Without auth_time, it is unknown when the user used a factor (Core §2).
  const freshMs = typeof claims.auth_time === "number" ? claims.auth_time * 1000 : 0;
  const admin = await adminOf(claims, { source });
  await startCookieSession(c, { sessions: deps.sessions, admin, by: "provider", freshMs });
  const { name, role } = admin;
  deps.log.info("console sign-in", { admin: name, role, source, by: "provider" });
}

/** Seals the pending sign-in in a cookie. */
function setPendingSignIn({ vault }: OidcRouteDeps, c: Context<HttpEnv>, pending: PendingSignIn): void {
  const sealed = vault.seal(SEAL, new TextEncoder().encode(JSON.stringify(pending)));
  // Lax, because the provider's redirect comes from another site. The cookie alone gives no access.
  const options = { ...cookieOptions(c, { maxAgeS: PENDING_SIGN_IN_MS / 1000 }), sameSite: "Lax" } as const;
  setCookie(c, cookieName(c, COOKIE), toBase64Url(sealed), options);
}

/** The pending sign-in of this browser whose state the request has, or `null`. It is valid once. */
function takePendingSignIn({ vault, clock }: OidcRouteDeps, c: Context<HttpEnv>): PendingSignIn | null {
  const sealed = octetsOf(getCookie(c, cookieName(c, COOKIE)) ?? "");
  deleteCookie(c, cookieName(c, COOKIE), cookieOptions(c));
  const plain = sealed === null ? null : vault.open(SEAL, sealed);
  if (plain === null) return null;
  const pending = JSON.parse(new TextDecoder().decode(plain)) as PendingSignIn;
  const isSame = equalDigests(pending.state, c.req.query("state") ?? "");
  return isSame && pending.deadlineMs > clock.nowMs() ? pending : null;
}

/** The browser shows the message of a refusal; the log has its cause. */
function logFailure({ log }: OidcRouteDeps, c: Context<HttpEnv>, fault: Refusal): void {
  const cause = fault.cause instanceof Error ? fault.cause.message : undefined;
  log.warn("a sign-in at the provider failed", { reason: fault.code, cause, source: c.env.remoteAddress });
}

/** A path of this site, or "/" for any other destination. Browsers read `//host` and `/\\host` as another site. */
export function ownPath(asked: string, origin: string): string {
  // deno-lint-ignore no-control-regex
  if (!asked.startsWith("/") || /[\\\u0000-\u001f\u007f]/.test(asked)) return "/";
  const url = URL.parse(asked, origin);
  if (url === null || url.origin !== origin) return "/";
  const path = url.pathname + url.search;
  return path.startsWith("//") ? "/" : path;
}

function octetsOf(text: string): Uint8Array<ArrayBuffer> | null {
  if (text === "" || text.length > 4096) return null;
  try {
    return Uint8Array.fromBase64(text, { alphabet: "base64url" });
  } catch (_notBase64) {
    return null;
  }
}

export interface OidcAdminsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly admins: AdminStore;
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
    help_desk: settings.helpDesk,
    viewer: settings.viewers,
  };
  return ROLES.toReversed().find((role) => wanted[role].some((value) => values.has(value))) ?? null;
}

/** The name of the administrator, or `null` if no claim is a valid name. Pure. */
export function nameOfClaims(claims: OidcClaims): string | null {
  const candidates = [claims.preferred_username, claims.email, claims.name];
  const name = candidates.find((one) => typeof one === "string" && isAdminName(one));
  return typeof name === "string" ? name.normalize("NFC").trim() : null;
}

/**
 * The account that the provider's claims describe: created on the first sign-in, and changed with its role. The last owner keeps
 * the role, whatever the claims are, and the log has a warning.
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
    // The audit log identifies administrators by name: the provider must not take over the name of another administrator.
    const taken = records.some((one) => adminKeyName(one.name) === adminKeyName(name)) ||
      await deps.admins.find(name) !== null;
    if (taken) throw new Refusal("name_taken");
    if (records.length >= MAX_ADMINS) throw new Refusal("too_many_administrators");
    return { id: newAccountId(random), name, role, password: null, createdMs: clock.nowMs(), subject };
  }
}
