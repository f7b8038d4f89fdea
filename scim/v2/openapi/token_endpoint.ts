// The OpenAPI description of the OAuth token endpoint (RFC 6749 §4.4, §5).

import { SCIM_REFUSALS } from "../../http/refusals.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { TOKEN_PREFIX } from "../connections/token_app.ts";
import { TOKEN_ERRORS } from "../connections/token_request.ts";

const NO_STORE = { "Cache-Control": { required: true, schema: { const: "no-store" } } };
const RETRY_AFTER = {
  "Retry-After": { schema: { type: "integer", minimum: 1 }, description: "Seconds until the next try." },
};

/** Errors of the HTTP server and of this endpoint, besides TOKEN_ERRORS. */
const OTHER_ERRORS = [
  { ...SCIM_REFUSALS.cross_site, error: "invalid_request" },
  { ...SCIM_REFUSALS.method, error: "invalid_request" },
  { ...SCIM_REFUSALS.body_too_slow, error: "invalid_request" },
  { status: 413, detail: "The body is over 64 KiB.", error: "invalid_request" },
  { ...SCIM_REFUSALS.wrong_host, error: "invalid_request" },
  { ...SCIM_REFUSALS.internal, error: "server_error" },
  { ...SCIM_REFUSALS.busy, error: "temporarily_unavailable" },
] as const;

const HEADERS: Readonly<Record<number, JsonObject>> = {
  401: { "WWW-Authenticate": { required: true, schema: { type: "string" } } },
  405: { Allow: { required: true, schema: { const: "POST" } } },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

/** The path of the endpoint, with its description. */
export function tokenPath(): [string, JsonObject] {
  const post: JsonObject = {
    operationId: "tokenCreate",
    tags: ["SCIM 2.0"],
    summary: "Get an access token",
    description:
      "Client credentials grant. The client_id is the name of a connection, and the client_secret one of its secrets. " +
      "Send them in the body, or with HTTP Basic.",
    security: [{}, { v2Client: [] }],
    requestBody: {
      required: true,
      content: {
        "application/x-www-form-urlencoded": { schema: { $ref: "#/components/schemas/V2TokenRequest" } },
      },
    },
    responses: { 200: SUCCESS, ...errorResponses() },
  };
  return [`${TOKEN_PREFIX}/token`, { post }];
}

const SUCCESS: JsonObject = {
  description: "The access token. Send it as a bearer token.",
  headers: NO_STORE,
  content: { "application/json": { schema: { $ref: "#/components/schemas/V2Token" } } },
};

function errorResponses(): Record<string, JsonValue> {
  const rows = [
    ...Object.values(TOKEN_ERRORS).map(({ status, description }) => ({ status, detail: description })),
    ...OTHER_ERRORS,
  ];
  return Object.fromEntries(
    [...Map.groupBy(rows, ({ status }) => status)].map(([status, some]) => [status, {
      description: [...new Set(some.map(({ detail }) => detail))].join(" "),
      headers: HEADERS[status] ?? {},
      content: { "application/json": { schema: { $ref: "#/components/schemas/V2TokenError" } } },
    }]),
  );
}

const SECRET_PART = { type: "string", minLength: 1, maxLength: 4096 } as const;

/** The schemas of the endpoint, by their names in references. */
export const TOKEN_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  V2TokenRequest: {
    type: "object",
    required: ["grant_type"],
    properties: {
      grant_type: { const: "client_credentials" },
      client_id: { ...SECRET_PART, description: "The name of the connection." },
      client_secret: { ...SECRET_PART, writeOnly: true },
      scope: { type: "string", description: "Ignored: a token has all permissions of its connection." },
    },
  },
  V2Token: {
    type: "object",
    required: ["access_token", "token_type", "expires_in"],
    properties: {
      access_token: { type: "string" },
      token_type: { const: "Bearer" },
      expires_in: { type: "integer", minimum: 1, description: "Seconds." },
      scope: { type: "string" },
    },
  },
  V2TokenError: {
    type: "object",
    description: "RFC 6749 §5.2",
    required: ["error"],
    properties: {
      error: {
        type: "string",
        enum: [...new Set([...Object.values(TOKEN_ERRORS), ...OTHER_ERRORS].map(({ error }) => error))],
      },
      error_description: { type: "string" },
    },
  },
};
