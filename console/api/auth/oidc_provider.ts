// The client of an OpenID Connect provider: OpenID Connect Core 1.0, the code flow with PKCE (RFC 7636), and the issuer in the
// response (RFC 9207). oauth4webapi, which the first use loads, creates and validates the messages. This file limits time, size and algorithms.

import type * as oauth from "oauth4webapi";
import type { Clock } from "../../../platform/runtime.ts";
import type { OidcSettings } from "../../../platform/config/config.ts";
import { type Fetch, fetchWithDeadline } from "../../../platform/fetch_with_deadline.ts";
import { Refusal } from "../errors.ts";

/** The claims of a valid ID token. */
export type OidcClaims = Readonly<Record<string, unknown>>;

/** The values that bind a response of the provider to the request of one browser. */
interface SignInRequest {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

type OidcRefusal = "oidc_unreachable" | "oidc_state" | "oidc_denied" | "oidc_code" | "oidc_token";

const DEADLINE_MS = 5000;
const MAX_RESPONSE_OCTETS = 256 * 1024;
const MAX_CODE_CHARACTERS = 2048;
const DISCOVERY_LIFE_MS = 10 * 60 * 1000;
/** After a failure, the provider gets no request for its metadata for this time. */
const FAILURE_LIFE_MS = 5000;
const CLOCK_TOLERANCE_S = 60;
/** Only signatures with a public key: with a shared key, every holder of the client's secret could sign (RFC 8725 §3.1). */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
const ENDPOINTS = ["authorization_endpoint", "token_endpoint", "jwks_uri"] as const;

export class OidcProvider {
  readonly #settings: OidcSettings;
  readonly #clock: Clock;
  readonly #fetch: Fetch;
  #known: { readonly server: oauth.AuthorizationServer; readonly untilMs: number } | null = null;
  #asked: { readonly atMs: number; readonly ok: boolean } | null = null;
  #discovering: Promise<oauth.AuthorizationServer> | null = null;
  #failed: { readonly atMs: number; readonly cause: unknown } | null = null;

  constructor({ settings, fetch, clock }: { settings: OidcSettings; fetch: Fetch; clock: Clock }) {
    this.#settings = settings;
    this.#clock = clock;
    this.#fetch = fetch;
  }

  /** A request to the provider, with limits. @throws Error if the response is not complete */
  async #call(
    url: string,
    { method, headers, body }: {
      method: "GET" | "POST";
      headers: Record<string, string>;
      body?: URLSearchParams | undefined;
    },
  ): Promise<Response> {
    const request = { url, method, headers, ...body === undefined ? {} : { body: body.toString() } };
    const deadlineMs = this.#clock.nowMs() + DEADLINE_MS;
    const limits = { fetch: this.#fetch, clock: this.#clock, deadlineMs, maxOctets: MAX_RESPONSE_OCTETS };
    const result = await fetchWithDeadline(request, limits);
    if (!result.ok) throw new Error(result.loss.detail);
    if (result.body === null) throw new Error(`the provider's response is not whole: ${result.flaw}`);
    return new Response(new Uint8Array(result.body), result);
  }

  #options(
    { customFetch, allowInsecureRequests }: typeof oauth,
  ): oauth.HttpRequestOptions<"GET" | "POST", URLSearchParams | undefined> {
    return {
      [customFetch]: (
        url: string,
        options: oauth.CustomFetchOptions<"GET" | "POST", URLSearchParams | undefined>,
      ) => this.#call(url, options),
      // The settings allow an http issuer only on this machine.
      [allowInsecureRequests]: this.#settings.issuer.startsWith("http:"),
    };
  }

  /** The last request for the provider's metadata, and whether it succeeded; `null`: none since the start. */
  lastContact(): { readonly atMs: number; readonly ok: boolean } | null {
    return this.#asked;
  }

  /**
   * The address to which the browser is redirected.
   *
   * @param request.again requires a new sign-in at the provider, even with a session there.
   * @throws Refusal `oidc_unreachable`.
   */
  async authorizationUrl(
    { redirectUri, state, nonce, codeVerifier, again }: SignInRequest & { again: boolean },
  ): Promise<string> {
    const { authorization_endpoint = "" } = await this.#discover();
    const { calculatePKCECodeChallenge } = await import("oauth4webapi");
    const url = new URL(authorization_endpoint);
    const parameters = {
      response_type: "code",
      client_id: this.#settings.clientId,
      redirect_uri: redirectUri,
      scope: this.#settings.scopes,
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: "S256",
      ...(again ? { prompt: "login", max_age: "0" } : {}),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  /**
   * Redeems the provider's response to a sign-in for claims.
   *
   * @param request.response the query of the address that the browser came back to.
   * @throws Refusal `oidc_unreachable`, `oidc_state`, `oidc_denied`, `oidc_code`, `oidc_token`.
   */
  async redeem(
    { redirectUri, state, nonce, codeVerifier, response }: SignInRequest & { response: URLSearchParams },
  ): Promise<OidcClaims> {
    const oauth = await import("oauth4webapi");
    const server = await this.#discover();
    const client: oauth.Client = {
      client_id: this.#settings.clientId,
      [oauth.clockSkew]: (this.#clock.nowMs() - Date.now()) / 1000,
      [oauth.clockTolerance]: CLOCK_TOLERANCE_S,
    };
    const secret = clientSecretBasic(this.#settings.clientSecret);
    const options = this.#options(oauth);
    let refusal: OidcRefusal = "oidc_state";
    try {
      const answer = oauth.validateAuthResponse(server, client, response, state);
      refusal = "oidc_denied";
      const { length } = answer.get("code") ?? "";
      if (length === 0 || length > MAX_CODE_CHARACTERS) throw new Error("the provider sent no code");
      refusal = "oidc_code";
      const token = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        secret,
        answer,
        redirectUri,
        codeVerifier,
        options,
      );
      if (!token.ok) throw new Error(`the provider answered ${token.status}`);
      refusal = "oidc_token";
      const sent = await oauth.processAuthorizationCodeResponse(server, client, token, {
        expectedNonce: nonce,
      });
      await oauth.validateApplicationLevelSignature(server, token, options);
      const claims = oauth.getValidatedIdTokenClaims(sent) ?? {};
      // Core §3.1.3.7 (5): the authorized party, if there is one, must be this client, also with a single audience.
      if ("azp" in claims && claims.azp !== client.client_id) {
        throw new Error("the token is for another party");
      }
      return claims;
    } catch (cause) {
      throw refusalWith(cause instanceof oauth.AuthorizationResponseError ? "oidc_denied" : refusal, cause);
    }
  }

  /**
   * Whether the provider accepts the client's credentials: it is asked to redeem a code that it never issued.
   *
   * @throws Refusal `oidc_unreachable`.
   */
  async acceptsCredentials({ redirectUri }: { redirectUri: string }): Promise<boolean> {
    const { token_endpoint = "" } = await this.#discover();
    const headers = new Headers({ "content-type": "application/x-www-form-urlencoded" });
    const client = { client_id: this.#settings.clientId };
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      code: "none",
      redirect_uri: redirectUri,
    });
    clientSecretBasic(this.#settings.clientSecret)({ issuer: this.#settings.issuer }, client, body, headers);
    try {
      const given = Object.fromEntries(headers);
      const answer = await this.#call(token_endpoint, { method: "POST", body, headers: given });
      // RFC 6749 §5.2: invalid_client has status 400 or 401; a wrong code is invalid_grant.
      const text = await answer.text();
      return answer.status !== 401 && !text.includes("invalid_client") &&
        !text.includes("unauthorized_client");
    } catch (cause) {
      throw refusalWith("oidc_unreachable", cause);
    }
  }

  /** Single flight: anyone can start a sign-in, so callers that arrive during a request share it, and its failure counts for some seconds. */
  async #discover(): Promise<oauth.AuthorizationServer> {
    const nowMs = this.#clock.nowMs();
    if (this.#known !== null && nowMs < this.#known.untilMs) return this.#known.server;
    const failedMs = nowMs - (this.#failed?.atMs ?? -Infinity);
    // A clock that was set back must not make the failure count for longer.
    if (failedMs >= 0 && failedMs < FAILURE_LIFE_MS) {
      throw refusalWith("oidc_unreachable", this.#failed?.cause);
    }
    try {
      return await (this.#discovering ??= this.#readMetadata().finally(() => this.#discovering = null));
    } catch (cause) {
      throw refusalWith("oidc_unreachable", cause);
    }
  }

  async #readMetadata(): Promise<oauth.AuthorizationServer> {
    try {
      const server = await this.#requestMetadata();
      this.#known = { server, untilMs: this.#clock.nowMs() + DISCOVERY_LIFE_MS };
      this.#asked = { atMs: this.#clock.nowMs(), ok: true };
      this.#failed = null;
      return server;
    } catch (cause) {
      this.#asked = { atMs: this.#clock.nowMs(), ok: false };
      this.#failed = { atMs: this.#clock.nowMs(), cause };
      throw cause;
    }
  }

  async #requestMetadata(): Promise<oauth.AuthorizationServer> {
    const { issuer } = this.#settings;
    const oauth = await import("oauth4webapi");
    const response = await oauth.discoveryRequest(new URL(issuer), this.#options(oauth));
    // Discovery 1.0 §4.3: the issuer must match exactly. The setting was stored without its final slash, so both forms are tried.
    const found = await oauth.processDiscoveryResponse(new URL(issuer), response.clone())
      .catch(() => oauth.processDiscoveryResponse(new URL(`${issuer}/`), response));
    if (!ENDPOINTS.every((name) => isEndpoint(found[name], issuer))) {
      throw new Error("the document lacks an endpoint");
    }
    return { ...found, id_token_signing_alg_values_supported: ALGORITHMS };
  }
}

/**
 * RFC 6749 §2.3.1: both parts are form-encoded before they are joined. `oauth.ClientSecretBasic` also encodes "-", "." and "_". A
 * provider that does not decode them would not find the client.
 */
function clientSecretBasic(clientSecret: string): oauth.ClientAuth {
  return (_server, { client_id }, _body, headers) => {
    const basic = `${formEncoded(client_id)}:${formEncoded(clientSecret)}`;
    headers.set("authorization", `Basic ${new TextEncoder().encode(basic).toBase64()}`);
  };
}

function formEncoded(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice(2);
}

/** Whether an endpoint of the provider's metadata is a URL, with https if the issuer has https. */
function isEndpoint(value: string | undefined, issuer: string): boolean {
  const url = typeof value === "string" ? URL.parse(value) : null;
  return url?.protocol === "https:" || (url?.protocol === "http:" && issuer.startsWith("http:"));
}

/** The log has the cause; the administrator sees the message. */
function refusalWith(code: OidcRefusal, cause: unknown): Refusal {
  const refusal = new Refusal(code);
  refusal.cause = cause;
  return refusal;
}
