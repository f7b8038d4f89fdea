// The OAuth token endpoint: POST /scim/oauth/token (RFC 6749 §3.2). Identity providers get access tokens there with the client secret of
// their connection.

import { type Context, type ErrorHandler, Hono } from "hono";
import { HttpError } from "../../../platform/http_error.ts";
import type { Log } from "../../../platform/log.ts";
import type { Random } from "../../../platform/runtime.ts";
import type { ScimApp, ScimEnv } from "../../http/app.ts";
import { BASIC_CHALLENGE, SCIM_REFUSALS, ScimRefusal } from "../../http/refusals.ts";
import type { Connections } from "./connections.ts";
import { readTokenRequest, TOKEN_ERRORS, type TokenErrorCode } from "./access_token.ts";

interface TokenAppDeps {
  readonly connections: Pick<Connections, "issueToken">;
  readonly log: Log;
  readonly random: Random;
}

const TOKEN_PREFIX = "/scim/oauth";
/** All of a connection's permissions. Scopes of a request are ignored (RFC 6749 §3.3). */
const SCOPE = "scim";
/** RFC 6749 §5.1. */
const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };

export function createTokenApp(deps: TokenAppDeps): ScimApp {
  const routes = new Hono<ScimEnv>();
  routes.post("/token", (c) => answerToken(c, deps));
  routes.all("/token", () => {
    throw new ScimRefusal("method");
  });
  routes.all("*", () => {
    throw new ScimRefusal("no_such_path");
  });
  return { prefix: TOKEN_PREFIX, routes, onError: createErrorHandler(deps) };
}

async function answerToken(
  c: Context<ScimEnv>,
  { connections }: Pick<TokenAppDeps, "connections">,
): Promise<Response> {
  const read = readTokenRequest({
    contentType: c.req.header("content-type") ?? null,
    authorization: c.req.header("authorization") ?? null,
    body: await c.var.body.read(),
  });
  if (!read.ok) return tokenError(read.code);
  const issued = await connections.issueToken(read.request, c.env.remoteAddress);
  if (issued === null) return tokenError("wrong_client");
  const { token, expiresInS } = issued;
  return Response.json(
    { access_token: token, token_type: "Bearer", expires_in: expiresInS, scope: SCOPE },
    { headers: NO_STORE },
  );
}

/** RFC 6749 §5.2. 401 needs a challenge (RFC 9110 §15.5.2). */
function tokenError(code: TokenErrorCode, headers: Readonly<Record<string, string>> = {}): Response {
  const { status, error, description } = TOKEN_ERRORS[code];
  const challenge: Record<string, string> = status === 401 ? { "www-authenticate": BASIC_CHALLENGE } : {};
  return Response.json(
    { error, error_description: description },
    { status, headers: { ...NO_STORE, ...challenge, ...headers } },
  );
}

function createErrorHandler({ log, random }: TokenAppDeps): ErrorHandler<ScimEnv> {
  return (fault) => {
    if (fault instanceof ScimRefusal && fault.code === "too_many_failures") {
      return tokenError("too_many_failures", fault.headers);
    }
    if (fault instanceof HttpError) {
      const { status, message } = fault;
      const headers = status === 405 ? { allow: "POST" } : fault.headers;
      const error = status >= 500 ? "temporarily_unavailable" : "invalid_request";
      const body = { error, error_description: asciiText(message) };
      // The HTTP server refuses some methods earlier, with the methods of all paths.
      const allow: Record<string, string> = status === 405 ? { allow: "POST" } : {};
      return Response.json(body, { status, headers: { ...NO_STORE, ...headers, ...allow } });
    }
    const id = random.bytes(4).toHex();
    log.error("a request of the token endpoint failed", { id, error: fault.message, stack: fault.stack });
    const { status, detail } = SCIM_REFUSALS.internal;
    const body = { error: "server_error", error_description: asciiText(`${detail} Look for ${id}.`) };
    return Response.json(body, { status, headers: NO_STORE });
  };
}

/** The characters of error_description (RFC 6749 §5.2). */
function asciiText(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "?");
}
