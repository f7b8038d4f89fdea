// OAuth access tokens: signed JWTs (RFC 9068). A token names the client secret that it was made with, and is valid only as long as
// that secret is.

import { loadJose } from "../../../platform/jose.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Vault } from "../../../platform/vault.ts";

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
