// Signing in at another house: the way there, and the way back. What must be remembered between the two is sealed in a cookie,
// so that asking costs the server nothing and another browser's answer is not taken.

import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import type { Log } from "../../../platform/log.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import { equalDigests, type Vault } from "../../../platform/vault.ts";
import type { Admin } from "./admin_store.ts";
import type { Attempts } from "./sign_in_rate_limit.ts";
import { cookieName, cookieOptions, type HttpEnv, jsonBody, ownOrigin } from "../hono_env.ts";
import { may } from "./permissions.ts";
import type { createOidcAdmins } from "./oidc_admins.ts";
import type { OidcProvider } from "./oidc_provider.ts";
import { Refusal, type RefusalCode } from "../errors.ts";
import type { RefusedSignIns } from "./rejected_sign_ins.ts";
import { beginSession } from "./session_cookie.ts";
import type { Sessions } from "./sessions.ts";

export interface OidcRouteDeps {
  /** `null`: no provider is set up. */
  readonly oidc:
    | { readonly provider: OidcProvider; readonly adminOf: ReturnType<typeof createOidcAdmins> }
    | null;
  readonly sessions: Sessions;
  readonly attempts: Attempts;
  readonly refused: RefusedSignIns;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** What is stored while the administrator is at the provider. */
interface Journey {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  readonly returnTo: string;
  readonly deadlineMs: number;
}

export const OIDC_CALLBACK_PATH = "/console/api/oidc/callback";
const COOKIE = "countersign-journey";
const SEAL: Deno.KvKey = ["console oidc journey"];
const JOURNEY_MS = 10 * 60 * 1000;
const START = v.strictObject({
  returnTo: v.pipe(v.string(), v.maxLength(1024)),
  again: v.optional(v.boolean()),
});

export function createOidcRoutes(deps: OidcRouteDeps) {
  const { sessions, vault, clock, random, log } = deps;
  const chance = () => toBase64Url(random.bytes(32));

  const remember = (c: Context<HttpEnv>, journey: Journey): void => {
    const sealed = vault.seal(SEAL, new TextEncoder().encode(JSON.stringify(journey)));
    // Lax, because the way back begins at another site; it opens nothing by itself.
    const options = { ...cookieOptions(c, { maxAgeS: JOURNEY_MS / 1000 }), sameSite: "Lax" } as const;
    setCookie(c, cookieName(c, COOKIE), toBase64Url(sealed), options);
  };
  /** The journey that this browser began and whose state the request names, or `null`. It is used once. */
  const journeyOf = (c: Context<HttpEnv>): Journey | null => {
    const sealed = octetsOf(getCookie(c, cookieName(c, COOKIE)) ?? "");
    deleteCookie(c, cookieName(c, COOKIE), cookieOptions(c));
    const plain = sealed === null ? null : vault.open(SEAL, sealed);
    if (plain === null) return null;
    const journey = JSON.parse(new TextDecoder().decode(plain)) as Journey;
    const isSame = equalDigests(journey.state, c.req.query("state") ?? "");
    return isSame && journey.deadlineMs > clock.nowMs() ? journey : null;
  };
  const arrive = async (
    c: Context<HttpEnv>,
    journey: Journey,
  ): Promise<{ admin: Admin; freshMs: number }> => {
    if (deps.oidc === null) throw new Refusal("no_oidc");
    const redirectUri = ownOrigin(c) + OIDC_CALLBACK_PATH;
    const response = new URL(c.req.url).searchParams;
    const claims = await deps.oidc.provider.redeem({ ...journey, redirectUri, response });
    const source = c.env.remoteAddress;
    // A factor is as fresh as the provider says; one that says nothing may have asked for none (Core §2, auth_time).
    const freshMs = typeof claims.auth_time === "number" ? claims.auth_time * 1000 : 0;
    return { admin: await deps.oidc.adminOf(claims, { source }), freshMs };
  };
  /** The person gets the sentence, the log the cause. */
  const note = (c: Context<HttpEnv>, fault: Refusal): void => {
    const cause = fault.cause instanceof Error ? fault.cause.message : undefined;
    log.warn("a sign-in at the provider failed", { reason: fault.code, cause, source: c.env.remoteAddress });
  };
  const finish = async (c: Context<HttpEnv>, { admin, freshMs }: { admin: Admin; freshMs: number }) => {
    await beginSession(c, { sessions, admin, by: "provider", freshMs });
    log.info("console sign-in", {
      admin: admin.name,
      role: admin.role,
      source: c.env.remoteAddress,
      by: "provider",
    });
  };

  return new Hono<HttpEnv>()
    .post("/start", may("anyone"), jsonBody(START), async (c) => {
      if (deps.oidc === null) throw new Refusal("no_oidc");
      const { returnTo, again = false } = c.req.valid("json");
      const journey: Journey = {
        state: chance(),
        nonce: chance(),
        codeVerifier: chance(),
        returnTo: ownPath(returnTo, ownOrigin(c)),
        deadlineMs: clock.nowMs() + JOURNEY_MS,
      };
      const url = await deps.oidc.provider.authorizationUrl({
        ...journey,
        redirectUri: ownOrigin(c) + OIDC_CALLBACK_PATH,
        again,
      }).catch((fault: unknown) => {
        if (fault instanceof Refusal) note(c, fault);
        throw fault;
      });
      remember(c, journey);
      return c.json({ url });
    })
    .get("/callback", may("anyone"), async (c) => {
      if (deps.oidc === null) throw new Refusal("no_oidc");
      // Only a browser that follows the provider's redirect loads this address as a page.
      const destination = c.req.header("sec-fetch-dest");
      if (destination !== undefined && destination !== "document") throw new Refusal("not_same_origin");
      const journey = journeyOf(c);
      // Any site can make a browser open this address, so a request without this browser's own journey is not a failed sign-in.
      if (journey === null) return c.redirect(`/?problem=${"oidc_state" satisfies RefusalCode}`, 303);
      const attempt = deps.attempts.take({ source: c.env.remoteAddress, name: "sign-in provider" });
      try {
        await finish(c, await arrive(c, journey));
        attempt.forgive();
        return c.redirect(journey.returnTo, 303);
      } catch (fault) {
        if (!(fault instanceof Refusal)) throw fault;
        note(c, fault);
        await deps.refused.note({ name: null, source: c.env.remoteAddress, because: fault.code });
        return c.redirect(`/?problem=${fault.code satisfies RefusalCode}`, 303);
      }
    });
}

/** A path of this site, or "/": what was asked for must not lead elsewhere. Browsers read `//host` and `/\\host` as another site. */
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
