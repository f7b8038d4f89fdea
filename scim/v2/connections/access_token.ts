// OAuth access tokens: the request of one with its errors (RFC 6749 §4.4, §5.2), and the signed JWT (RFC 9068). A token names the client secret that it was
// made with, and is valid only as long as that secret is.

import { loadJose } from "../../../platform/jose.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Vault } from "../../../platform/vault.ts";
import { readBasic } from "../../http/refusals.ts";

interface AccessTokenClaims {
  /** The name of the connection. */
  readonly connection: string;
  readonly secretId: string;
}

/** The only algorithm. It is never read from the token (RFC 8725 §3.1). */
const ALGORITHM = "HS256";
const ISSUER = "countersign";
const AUDIENCE = "countersign:scim";
const TYPE = "at+jwt";
const MAX_TOKEN_CHARACTERS = 2048;
const LIFE_S = 3600;

export class AccessTokens {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #random: Random;
  readonly #key: Uint8Array<ArrayBuffer>;

  constructor({ clock, random, vault }: { clock: Pick<Clock, "nowMs">; random: Random; vault: Vault }) {
    this.#clock = clock;
    this.#random = random;
    this.#key = vault.deriveKey("scim access tokens", 32);
  }

  /** A token of one hour, or less if the secret ends earlier. */
  async sign(
    { connection, secretId, expiresMs }: AccessTokenClaims & { expiresMs: number | null },
  ): Promise<{ token: string; expiresInS: number }> {
    const nowMs = this.#clock.nowMs();
    const leftS = expiresMs === null ? LIFE_S : Math.floor((expiresMs - nowMs) / 1000);
    const expiresInS = Math.max(1, Math.min(LIFE_S, leftS));
    const nowS = Math.floor(nowMs / 1000);
    const { SignJWT } = await loadJose();
    const token = await new SignJWT({ secret: secretId })
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(connection)
      .setJti(toBase64Url(this.#random.bytes(16)))
      .setIssuedAt(nowS)
      .setExpirationTime(nowS + expiresInS)
      .sign(this.#key);
    return { token, expiresInS };
  }

  /** `expired`: the signature is right. `null`: not a token of this server. */
  async verify(token: string): Promise<AccessTokenClaims | "expired" | null> {
    if (token.length > MAX_TOKEN_CHARACTERS) return null;
    const { jwtVerify } = await loadJose();
    try {
      const { payload: { sub, secret } } = await jwtVerify(token, this.#key, {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience: AUDIENCE,
        typ: TYPE,
        requiredClaims: ["jti", "exp", "sub"],
        currentDate: new Date(this.#clock.nowMs()),
      });
      return typeof sub === "string" && typeof secret === "string"
        ? { connection: sub, secretId: secret }
        : null;
    } catch (fault) {
      return isExpiredToken(fault) ? "expired" : null;
    }
  }
}

function isExpiredToken(fault: unknown): boolean {
  return fault instanceof Error && "code" in fault && fault.code === "ERR_JWT_EXPIRED";
}

export interface TokenRequest {
  /** The name of the connection. */
  readonly clientId: string;
  readonly clientSecret: string;
}

interface TokenErrorRow {
  readonly status: number;
  readonly error: "invalid_request" | "invalid_client" | "unsupported_grant_type" | "invalid_scope";
  /** Only %x20-21, %x23-5B and %x5D-7E (RFC 6749 §5.2). */
  readonly description: string;
  readonly ref: string;
}

export const TOKEN_ERRORS = {
  not_a_form: {
    status: 400,
    error: "invalid_request",
    description: "Send the parameters as application/x-www-form-urlencoded.",
    ref: "RFC 6749 §4.4.2",
  },
  bad_form: {
    status: 400,
    error: "invalid_request",
    description: "The form is not valid UTF-8, or has too many parameters.",
    ref: "RFC 6749 §3.2",
  },
  repeated: {
    status: 400,
    error: "invalid_request",
    description: "A parameter is repeated. Send each parameter once.",
    ref: "RFC 6749 §3.2",
  },
  no_grant_type: {
    status: 400,
    error: "invalid_request",
    description: "The parameter grant_type is missing. Send grant_type=client_credentials.",
    ref: "RFC 6749 §4.4.2",
  },
  grant_type: {
    status: 400,
    error: "unsupported_grant_type",
    description: "Only the grant type client_credentials is supported.",
    ref: "RFC 6749 §5.2",
  },
  two_methods: {
    status: 400,
    error: "invalid_request",
    description:
      "The client secret is in the header and in the body. Send it in one of them, with one client_id.",
    ref: "RFC 6749 §2.3",
  },
  no_client: {
    status: 401,
    error: "invalid_client",
    description: "The request has no client credentials. Send client_id and client_secret.",
    ref: "RFC 6749 §5.2",
  },
  wrong_client: {
    status: 401,
    error: "invalid_client",
    description:
      "The client is unknown, or its secret is wrong, expired or revoked. The client_id is the name of the connection.",
    ref: "RFC 6749 §5.2",
  },
  bad_scope: {
    status: 400,
    error: "invalid_scope",
    description: "The scope is malformed. Leave it out.",
    ref: "RFC 6749 §3.3",
  },
  too_many_failures: {
    status: 429,
    error: "invalid_client",
    description:
      "Too many failed attempts for this client came from this address. Wait, and check the secret.",
    ref: "RFC 6585 §4",
  },
} as const satisfies Record<string, TokenErrorRow>;

export type TokenErrorCode = keyof typeof TOKEN_ERRORS;
type TokenRequestOutcome =
  | { readonly ok: true; readonly request: TokenRequest }
  | { readonly ok: false; readonly code: TokenErrorCode };

const FORM = "application/x-www-form-urlencoded";
const MAX_PARAMETERS = 50;
/** scope-token *( SP scope-token ) */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;
const MAX_SCOPE_CHARACTERS = 1000;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Reads a request of the token endpoint. */
export function readTokenRequest(
  { contentType, body, authorization }: {
    readonly contentType: string | null;
    readonly body: Uint8Array;
    readonly authorization: string | null;
  },
): TokenRequestOutcome {
  if (contentType?.split(";")[0]?.trim().toLowerCase() !== FORM) return refused("not_a_form");
  const form = readForm(body);
  if (typeof form === "string") return refused(form);
  const grantType = form.get("grant_type");
  if (grantType === undefined) return refused("no_grant_type");
  const client = readClient(form, authorization);
  if (typeof client === "string") return refused(client);
  if (grantType !== "client_credentials") return refused("grant_type");
  const scope = form.get("scope");
  if (scope !== undefined && (scope.length > MAX_SCOPE_CHARACTERS || !SCOPE.test(scope))) {
    return refused("bad_scope");
  }
  return { ok: true, request: client };
}

/** The parameters with a value: one without a value counts as left out (RFC 6749 §3.2). */
function readForm(body: Uint8Array): ReadonlyMap<string, string> | TokenErrorCode {
  const text = decodeForm(body);
  const pairs = text === null ? null : [...new URLSearchParams(text)];
  if (pairs === null || pairs.length > MAX_PARAMETERS) return "bad_form";
  const given = pairs.filter(([, value]) => value !== "");
  const form = new Map(given);
  return form.size < given.length ? "repeated" : form;
}

function decodeForm(body: Uint8Array): string | null {
  try {
    return decoder.decode(body);
  } catch (_notUtf8) {
    return null;
  }
}

function readClient(
  form: ReadonlyMap<string, string>,
  authorization: string | null,
): TokenRequest | TokenErrorCode {
  const inBody = { clientId: form.get("client_id"), clientSecret: form.get("client_secret") };
  if (authorization === null) {
    const { clientId, clientSecret } = inBody;
    return clientId === undefined || clientSecret === undefined ? "no_client" : { clientId, clientSecret };
  }
  const basic = readBasic(authorization);
  const clientId = decodePart(basic?.name);
  const clientSecret = decodePart(basic?.password);
  if (clientId === null || clientSecret === null) return "wrong_client";
  if (inBody.clientSecret !== undefined) return "two_methods";
  if (inBody.clientId !== undefined && inBody.clientId !== clientId) return "two_methods";
  return { clientId, clientSecret };
}

/** Both parts are form-encoded before base64 (RFC 6749 §2.3.1). */
function decodePart(text: string | undefined): string | null {
  try {
    return text === undefined ? null : decodeURIComponent(text.replaceAll("+", " "));
  } catch (_malformed) {
    return null;
  }
}

function refused(code: TokenErrorCode): TokenRequestOutcome {
  return { ok: false, code };
}
