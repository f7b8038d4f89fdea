// Another house's sign-in: OpenID Connect Core 1.0, the code flow with PKCE (RFC 7636), and RFC 9207's issuer in the answer.
// What the provider says is believed only when its signature, issuer, audience, nonce and times hold.

import { createRemoteJWKSet, customFetch, type JWTPayload, jwtVerify } from "jose";
import type { Clock } from "../../../runtime.ts";
import type { OidcSettings } from "../../../config.ts";
import { Refusal } from "../refusal.ts";

/** How the provider is called. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What the provider publishes of itself (OpenID Connect Discovery 1.0 §3). */
interface Discovery {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly jwksUri: string;
}

export interface OidcProvider {
  /** When it was last asked what it publishes of itself, and whether that could be used; `null`: not since the start. */
  standing(): { readonly atMs: number; readonly ok: boolean } | null;
  /** Whether an answer that names its issuer (RFC 9207) came from here; one that names none may have. */
  mayHaveSent(issuer: string | undefined): boolean;
  /** Where the browser goes to. @throws Refusal `oidc_unreachable`. */
  authorizationUrl(wanted: {
    redirectUri: string;
    state: string;
    nonce: string;
    codeChallenge: string;
    /** Asks for the person anew instead of trusting the provider's own session. */
    again: boolean;
  }): Promise<string>;
  /**
   * Turns a code into what the provider says about the person.
   *
   * @throws Refusal `oidc_unreachable`, `oidc_code`, `oidc_token`.
   */
  redeem(
    given: { code: string; codeVerifier: string; redirectUri: string; nonce: string },
  ): Promise<JWTPayload>;
}

const DEADLINE_MS = 5000;
const MAX_ANSWER_OCTETS = 256 * 1024;
const DISCOVERY_LIFE_MS = 10 * 60 * 1000;
const CLOCK_TOLERANCE_S = 60;
/** Only signatures with a public key: with a shared key, every holder of the client's secret could sign (RFC 8725 §3.1). */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

export function createOidcProvider(
  { settings, fetch, clock }: { settings: OidcSettings; fetch: Fetch; clock: Clock },
): OidcProvider {
  let asked: ReturnType<OidcProvider["standing"]> = null;
  let known: { at: Discovery; keys: ReturnType<typeof createRemoteJWKSet>; untilMs: number } | null = null;

  const getJson = async (url: string, init: RequestInit = {}): Promise<Record<string, unknown>> => {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const response = await fetch(url, { ...init, redirect: "manual", signal });
    const body = await boundedText(response);
    if (!response.ok) throw new Error(`the provider answered ${response.status}`);
    const value = jsonOf(body);
    if (typeof value !== "object" || value === null) throw new Error("the provider sent no JSON object");
    return value as Record<string, unknown>;
  };

  /** With or without the slash at the end, which the setting has lost. */
  const isOurs = (issuer: unknown) => issuer === settings.issuer || issuer === `${settings.issuer}/`;

  const discover = async () => {
    if (known !== null && clock.nowMs() < known.untilMs) return known;
    try {
      const document = await getJson(`${settings.issuer}/.well-known/openid-configuration`);
      // Discovery 1.0 §4.3: the issuer must be exactly the one that was asked.
      if (!isOurs(document.issuer)) throw new Error("the document names another issuer");
      const at: Discovery = {
        authorizationEndpoint: endpoint(document.authorization_endpoint, settings.issuer),
        tokenEndpoint: endpoint(document.token_endpoint, settings.issuer),
        jwksUri: endpoint(document.jwks_uri, settings.issuer),
      };
      const keys = createRemoteJWKSet(new URL(at.jwksUri), {
        timeoutDuration: DEADLINE_MS,
        [customFetch]: async (url, init) => {
          const response = await fetch(url, init as RequestInit);
          return new Response(await boundedText(response), { status: response.status });
        },
      });
      known = { at, keys, untilMs: clock.nowMs() + DISCOVERY_LIFE_MS };
      asked = { atMs: clock.nowMs(), ok: true };
      return known;
    } catch (cause) {
      asked = { atMs: clock.nowMs(), ok: false };
      throw unreachable(cause);
    }
  };

  const tokenOf = async (
    { at, code, codeVerifier, redirectUri }: {
      at: Discovery;
      code: string;
      codeVerifier: string;
      redirectUri: string;
    },
  ): Promise<string> => {
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectUri,
      code_verifier: codeVerifier,
    });
    // RFC 6749 §2.3.1: both parts are form-encoded before they are joined.
    const basic = `${formEncoded(settings.clientId)}:${formEncoded(settings.clientSecret)}`;
    try {
      const answer = await getJson(at.tokenEndpoint, {
        method: "POST",
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          accept: "application/json",
          authorization: `Basic ${new TextEncoder().encode(basic).toBase64()}`,
        },
        body: body.toString(),
      });
      if (typeof answer.id_token !== "string") throw new Error("the provider sent no id_token");
      return answer.id_token;
    } catch (cause) {
      throw refusalWith("oidc_code", cause);
    }
  };

  return {
    standing: () => asked,
    mayHaveSent: (issuer) => issuer === undefined || isOurs(issuer),
    async authorizationUrl({ redirectUri, state, nonce, codeChallenge, again }) {
      const { at } = await discover();
      const url = new URL(at.authorizationEndpoint);
      const parameters = {
        response_type: "code",
        client_id: settings.clientId,
        redirect_uri: redirectUri,
        scope: settings.scopes,
        state,
        nonce,
        code_challenge: codeChallenge,
        code_challenge_method: "S256",
        ...(again ? { prompt: "login", max_age: "0" } : {}),
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url.href;
    },
    async redeem({ code, codeVerifier, redirectUri, nonce }) {
      const { at, keys } = await discover();
      const token = await tokenOf({ at, code, codeVerifier, redirectUri });
      try {
        const { payload } = await jwtVerify(token, keys, {
          algorithms: ALGORITHMS,
          issuer: [settings.issuer, `${settings.issuer}/`],
          audience: settings.clientId,
          requiredClaims: ["sub", "exp", "iat", "nonce"],
          clockTolerance: CLOCK_TOLERANCE_S,
          currentDate: new Date(clock.nowMs()),
        });
        if (payload.nonce !== nonce) throw new Error("the nonce is another sign-in's");
        refuseOtherParty(payload, settings.clientId);
        return payload;
      } catch (cause) {
        throw refusalWith("oidc_token", cause);
      }
    },
  };
}

/** OpenID Connect Core §3.1.3.7 (4, 5): a token for several must be meant for us. */
function refuseOtherParty(payload: JWTPayload, clientId: string): void {
  const several = Array.isArray(payload.aud) && payload.aud.length > 1;
  if (payload.azp === undefined ? several : payload.azp !== clientId) {
    throw new Error("the token is for another party");
  }
}

/** An endpoint from the provider's own document: an address, and https wherever the issuer has it. */
function endpoint(value: unknown, issuer: string): string {
  const url = typeof value === "string" ? URL.parse(value) : null;
  const isWeb = url?.protocol === "https:" || (url?.protocol === "http:" && issuer.startsWith("http:"));
  if (url === null || !isWeb) throw new Error("the document lacks an endpoint");
  return url.href;
}

async function boundedText(response: Response): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let octets = 0;
  // Leaving the loop cancels the rest of the body.
  for await (const chunk of response.body) {
    octets += chunk.length;
    if (octets > MAX_ANSWER_OCTETS) throw new Error("the provider sent too much");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** `null` for what is no JSON: the parser's own words would quote what the provider sent. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (_notJson) {
    return null;
  }
}

function formEncoded(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice(2);
}

function unreachable(cause: unknown): Refusal {
  return refusalWith("oidc_unreachable", cause);
}

/** The cause is for the log; the person gets the sentence. */
function refusalWith(code: "oidc_unreachable" | "oidc_code" | "oidc_token", cause: unknown): Refusal {
  const refusal = new Refusal(code);
  refusal.cause = cause;
  return refusal;
}
