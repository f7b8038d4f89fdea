// A fake OpenID Connect provider on its own port. A test chooses the user and the wrong answers.

import { exportJWK, generateKeyPair, type JWK, SignJWT, UnsecuredJWT } from "jose";

/** The answers that a test changes. All others are correct. */
export interface OidcWishes {
  /** Claims that replace the valid ones; `null` removes one. */
  claims?: Readonly<Record<string, unknown>>;
  /** The signature of the token. */
  signing?: "sound" | "unknown_key" | "none" | "client_secret";
  /** The answer of the token endpoint, instead of the correct one. */
  tokenStatus?: number;
  /** Fields of the discovery document that replace the valid ones. */
  discovery?: Readonly<Record<string, unknown>>;
  /** Redirects the browser back with this error instead of a code. */
  refuse?: string;
  /** The state in the callback, instead of the one that was sent. */
  state?: string;
  /** The issuer in the answer (RFC 9207). */
  answerIssuer?: string;
}

const CLIENT_ID = "countersign";
const CLIENT_SECRET = "client secret/with+signs";

interface IssuedCode {
  readonly nonce: string;
  readonly challenge: string;
  readonly redirectUri: string;
  readonly authTimeMs: number;
}

interface SigningKeys {
  readonly own: CryptoKey;
  readonly foreign: CryptoKey;
  readonly jwk: JWK;
}

/** @param options.nowMs the clock for the times in tokens. */
export async function startOidcProvider(
  { nowMs = Date.now }: { nowMs?: () => number } = {},
): Promise<FakeOidcProvider> {
  const own = await generateKeyPair("ES256", { extractable: true });
  const foreign = await generateKeyPair("ES256");
  const jwk = { ...await exportJWK(own.publicKey), kid: "k1", alg: "ES256", use: "sig" };
  return new FakeOidcProvider(nowMs, { own: own.privateKey, foreign: foreign.privateKey, jwk });
}

export class FakeOidcProvider implements AsyncDisposable {
  readonly clientId: string = CLIENT_ID;
  readonly clientSecret: string = CLIENT_SECRET;
  readonly issuer: string;
  wishes: OidcWishes = {};
  /** The parameters of each redirect to this provider. */
  readonly visits: URLSearchParams[] = [];
  /** The refused token requests, and the reasons. */
  readonly refused: string[] = [];
  readonly #codes = new Map<string, IssuedCode>();
  readonly #nowMs: () => number;
  readonly #keys: SigningKeys;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(nowMs: () => number, keys: SigningKeys) {
    this.#nowMs = nowMs;
    this.#keys = keys;
    const options = { port: 0, hostname: "127.0.0.1", onListen: () => undefined };
    this.#server = Deno.serve(options, (request) => this.#handle(request));
    this.issuer = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose]() {
    await this.#server.shutdown();
  }

  #handle(request: Request): Response | Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/.well-known/openid-configuration") {
      return Response.json({
        issuer: this.issuer,
        authorization_endpoint: `${this.issuer}/authorize`,
        token_endpoint: `${this.issuer}/token`,
        jwks_uri: `${this.issuer}/keys`,
        ...this.wishes.discovery,
      });
    }
    if (pathname === "/keys") return Response.json({ keys: [this.#keys.jwk] });
    if (pathname === "/authorize") return this.#authorize(searchParams);
    if (pathname === "/token") return this.#token(request);
    return new Response(null, { status: 404 });
  }

  #authorize(query: URLSearchParams): Response {
    this.visits.push(query);
    const back = new URL(query.get("redirect_uri") ?? "");
    back.searchParams.set("state", this.wishes.state ?? query.get("state") ?? "");
    back.searchParams.set("iss", this.wishes.answerIssuer ?? this.issuer);
    if (this.wishes.refuse === undefined) {
      const code = crypto.randomUUID();
      this.#codes.set(code, {
        nonce: query.get("nonce") ?? "",
        challenge: query.get("code_challenge") ?? "",
        redirectUri: query.get("redirect_uri") ?? "",
        authTimeMs: this.#nowMs(),
      });
      back.searchParams.set("code", code);
    } else back.searchParams.set("error", this.wishes.refuse);
    return new Response(null, { status: 302, headers: { location: back.href } });
  }

  async #token(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text());
    const code = form.get("code") ?? "";
    const issued = this.#codes.get(code);
    this.#codes.delete(code);
    const problem = await tokenProblem(request, { form, issued });
    if (problem !== null) this.refused.push(problem);
    const status = this.wishes.tokenStatus ?? (problem === null ? 200 : 400);
    if (issued === undefined || status !== 200) return Response.json({ error: "invalid_grant" }, { status });
    const idToken = await this.#idToken(issued);
    return Response.json({ access_token: "unused", id_token: idToken, token_type: "Bearer" });
  }

  async #idToken({ nonce, authTimeMs }: IssuedCode): Promise<string> {
    const { signing = "sound", claims } = this.wishes;
    const nowS = Math.floor(this.#nowMs() / 1000);
    const sound: Record<string, unknown> = {
      iss: this.issuer,
      aud: CLIENT_ID,
      sub: "subject-1",
      nonce,
      iat: nowS,
      exp: nowS + 300,
      auth_time: Math.floor(authTimeMs / 1000),
      preferred_username: "ada",
      groups: ["owners"],
      ...claims,
    };
    const payload = Object.fromEntries(Object.entries(sound).filter(([, value]) => value !== null));
    if (signing === "none") return new UnsecuredJWT(payload).encode();
    if (signing === "client_secret") {
      return await new SignJWT(payload).setProtectedHeader({ alg: "HS256", kid: "k1" })
        .sign(new TextEncoder().encode(CLIENT_SECRET.padEnd(32, "x")));
    }
    return await new SignJWT(payload).setProtectedHeader({ alg: "ES256", kid: "k1" })
      .sign(signing === "sound" ? this.#keys.own : this.#keys.foreign);
  }
}

/** The fault of a token request (RFC 6749 §4.1.3, RFC 7636 §4.6); `null`: none. */
async function tokenProblem(
  request: Request,
  { form, issued }: { form: URLSearchParams; issued: IssuedCode | undefined },
): Promise<string | null> {
  const secret = new URLSearchParams({ x: CLIENT_SECRET }).toString().slice(2);
  const basic = `Basic ${btoa(`${encodeURIComponent(CLIENT_ID)}:${secret}`)}`;
  const verifier = new TextEncoder().encode(form.get("code_verifier") ?? "");
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", verifier));
  if (request.headers.get("authorization") !== basic) return "client";
  if (issued === undefined) return "code";
  if (digest.toBase64({ alphabet: "base64url", omitPadding: true }) !== issued.challenge) return "verifier";
  return form.get("redirect_uri") === issued.redirectUri ? null : "redirect_uri";
}

/** The settings of a console that trusts this provider. */
export function oidcSettings(provider: FakeOidcProvider) {
  return {
    issuer: provider.issuer,
    name: "Example ID",
    clientId: provider.clientId,
    clientSecret: provider.clientSecret,
    scopes: "openid profile email",
    roleClaim: "groups",
    owners: ["owners"],
    userManagers: ["managers"],
    operators: ["operators"],
    helpDesk: ["help desk"],
    viewers: ["staff"],
  };
}
