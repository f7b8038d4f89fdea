// An OpenID Connect provider on a port of its own: it signs in the user that a test chooses, and sends the wrong answers that a test chooses.

import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";

/** What a test may have it do. Everything is sound unless told. */
export interface OidcWishes {
  /** Claims over the sound ones; `null` leaves one out. */
  claims?: Readonly<Record<string, unknown>>;
  /** How the token is signed. */
  signing?: "sound" | "unknown_key" | "none" | "client_secret";
  /** What the token endpoint answers instead. */
  tokenStatus?: number;
  /** What the discovery document says over the sound. */
  discovery?: Readonly<Record<string, unknown>>;
  /** Sends the browser back with this error instead of a code. */
  refuse?: string;
  /** What comes back for the state that was sent. */
  state?: string;
  /** What the answer names as its issuer (RFC 9207). */
  answerIssuer?: string;
}

export interface FakeOidcProvider extends AsyncDisposable {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  wishes: OidcWishes;
  /** The parameters of each redirect to this provider. */
  readonly visits: URLSearchParams[];
  /** The token requests that were refused, and why. */
  readonly refused: string[];
}

const CLIENT_ID = "countersign";
const CLIENT_SECRET = "client secret/with+signs";

/** @param options.nowMs the clock that tokens are dated by. */
export async function startOidcProvider(
  { nowMs = Date.now }: { nowMs?: () => number } = {},
): Promise<FakeOidcProvider> {
  const own = await generateKeyPair("ES256", { extractable: true });
  const foreign = await generateKeyPair("ES256");
  const jwk = { ...await exportJWK(own.publicKey), kid: "k1", alg: "ES256", use: "sig" };
  const codes = new Map<
    string,
    { nonce: string; challenge: string; redirectUri: string; authTimeMs: number }
  >();
  const visits: URLSearchParams[] = [];
  const refused: string[] = [];

  const authorize = (query: URLSearchParams): Response => {
    visits.push(query);
    const back = new URL(query.get("redirect_uri") ?? "");
    back.searchParams.set("state", provider.wishes.state ?? query.get("state") ?? "");
    back.searchParams.set("iss", provider.wishes.answerIssuer ?? provider.issuer);
    if (provider.wishes.refuse === undefined) {
      const code = crypto.randomUUID();
      codes.set(code, {
        nonce: query.get("nonce") ?? "",
        challenge: query.get("code_challenge") ?? "",
        redirectUri: query.get("redirect_uri") ?? "",
        authTimeMs: nowMs(),
      });
      back.searchParams.set("code", code);
    } else back.searchParams.set("error", provider.wishes.refuse);
    return new Response(null, { status: 302, headers: { location: back.href } });
  };

  const idToken = async ({ nonce, authTimeMs }: { nonce: string; authTimeMs: number }): Promise<string> => {
    const { signing = "sound", claims } = provider.wishes;
    const nowS = Math.floor(nowMs() / 1000);
    const sound: Record<string, unknown> = {
      iss: provider.issuer,
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
      .sign(signing === "sound" ? own.privateKey : foreign.privateKey);
  };

  const token = async (request: Request): Promise<Response> => {
    const form = new URLSearchParams(await request.text());
    const basic = `${encodeURIComponent(CLIENT_ID)}:${
      new URLSearchParams({ x: CLIENT_SECRET }).toString().slice(2)
    }`;
    const known = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const digest = await crypto.subtle.digest(
      "SHA-256",
      new TextEncoder().encode(form.get("code_verifier") ?? ""),
    );
    const challenge = new Uint8Array(digest).toBase64({ alphabet: "base64url", omitPadding: true });
    const problem = request.headers.get("authorization") !== `Basic ${btoa(basic)}`
      ? "client"
      : known === undefined
      ? "code"
      : challenge !== known.challenge
      ? "verifier"
      : form.get("redirect_uri") !== known.redirectUri
      ? "redirect_uri"
      : null;
    if (problem !== null) refused.push(problem);
    const status = provider.wishes.tokenStatus ?? (problem === null ? 200 : 400);
    if (known === undefined || status !== 200) return Response.json({ error: "invalid_grant" }, { status });
    return Response.json({ access_token: "unused", id_token: await idToken(known), token_type: "Bearer" });
  };

  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, (request) => {
    const url = new URL(request.url);
    if (url.pathname === "/.well-known/openid-configuration") {
      return Response.json({
        issuer: provider.issuer,
        authorization_endpoint: `${provider.issuer}/authorize`,
        token_endpoint: `${provider.issuer}/token`,
        jwks_uri: `${provider.issuer}/keys`,
        ...provider.wishes.discovery,
      });
    }
    if (url.pathname === "/keys") return Response.json({ keys: [jwk] });
    if (url.pathname === "/authorize") return authorize(url.searchParams);
    if (url.pathname === "/token") return token(request);
    return new Response(null, { status: 404 });
  });
  const provider: FakeOidcProvider = {
    issuer: `http://127.0.0.1:${server.addr.port}`,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    wishes: {},
    visits,
    refused,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
    },
  };
  return provider;
}

/** The settings of a console that trusts it. */
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
    viewers: ["staff"],
  };
}
