// Issues OAuth access tokens to connections (RFC 6749 §4.4). A paused connection gets tokens too: its requests get 503, which identity
// providers retry, while a failure here would make them ask for new credentials.

import type { AccessTokens } from "./access_token.ts";
import type { ConnectionAuthentication } from "./authentication.ts";
import type { TokenRequest } from "./token_request.ts";

export interface IssuedToken {
  readonly token: string;
  readonly expiresInS: number;
}

interface TokenIssuerDeps {
  readonly authentication: ConnectionAuthentication;
  readonly tokens: AccessTokens;
  readonly onIssued: (connection: string, source: string) => void;
}

export class TokenIssuer {
  readonly #deps: TokenIssuerDeps;

  constructor(deps: TokenIssuerDeps) {
    this.#deps = deps;
  }

  /** `null`: the client is unknown, or its secret is wrong. @throws ScimRefusal `too_many_failures` */
  async issue({ clientId, clientSecret }: TokenRequest, source: string): Promise<IssuedToken | null> {
    const { authentication, tokens, onIssued } = this.#deps;
    const secret = await authentication.checkClient({ id: clientId, secret: clientSecret }, source);
    if (secret === null) return null;
    const { connection, id: secretId, expiresMs } = secret;
    const issued = await tokens.sign({ connection, secretId, expiresMs });
    onIssued(connection, source);
    return issued;
  }
}
