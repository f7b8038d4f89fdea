// /ServiceProviderConfig, /ResourceTypes and /Schemas (RFC 7644 §4).

import { ScimRefusal } from "../../http/refusals.ts";
import type { JsonObject } from "../../schema/resource.ts";
import { BULK_LIMITS } from "../bulk/bulk_plan.ts";
import {
  renderResourceType,
  renderSchema,
  renderServiceProviderConfig,
  type ServerFeatures,
} from "../schema/discovery.ts";
import { renderListResponse } from "../schema/list_response.ts";
import { PAGE_SIZE } from "./list_parameters.ts";
import type { OperationContext, OperationResult } from "./operation.ts";

/** How long a cursor is valid. */
const CURSOR_TIMEOUT_S = 3600;

const FEATURES: ServerFeatures = {
  isPatchSupported: true,
  isPasswordChangeSupported: true,
  isSortSupported: true,
  bulk: { supported: true, ...BULK_LIMITS },
  filter: { maxResults: PAGE_SIZE.max },
  pagination: {
    cursor: true,
    defaultPageSize: PAGE_SIZE.preset,
    maxPageSize: PAGE_SIZE.max,
    cursorTimeout: CURSOR_TIMEOUT_S,
  },
  authenticationSchemes: [
    {
      type: "oauthbearertoken",
      name: "Bearer token",
      description: "A token of a connection (RFC 6750).",
      specUri: "https://www.rfc-editor.org/info/rfc6750",
      primary: true,
    },
    {
      type: "oauth2",
      name: "OAuth 2.0 client credentials",
      description: "A short-lived token for the client secret of a connection (RFC 6749 §4.4).",
      specUri: "https://www.rfc-editor.org/info/rfc6749",
    },
    {
      type: "httpbasic",
      name: "HTTP Basic",
      description: "The name and password of a provisioning credential (RFC 7617).",
      specUri: "https://www.rfc-editor.org/info/rfc7617",
    },
  ],
};

export function serviceProviderConfig({ baseUrl }: OperationContext): OperationResult {
  return found(renderServiceProviderConfig(FEATURES, baseUrl));
}

/** @param id `null`: all of them. */
export function resourceTypes({ schemas, baseUrl }: OperationContext, id: string | null): OperationResult {
  const types = Object.values(schemas.types);
  if (id === null) return listed(types.map((type) => renderResourceType(type, baseUrl)));
  const type = types.find(({ name }) => name.toLowerCase() === id.toLowerCase());
  if (type === undefined) {
    throw new ScimRefusal("not_found", { detail: "There is no resource type of that name." });
  }
  return found(renderResourceType(type, baseUrl));
}

/** @param id the URN. `null`: all of them. */
export function schemaList({ schemas, baseUrl }: OperationContext, id: string | null): OperationResult {
  if (id === null) return listed(schemas.schemas.map((schema) => renderSchema(schema, baseUrl)));
  const schema = schemas.schemas.find((one) => one.id.toLowerCase() === id.toLowerCase());
  if (schema === undefined) {
    throw new ScimRefusal("not_found", { detail: "There is no schema with that URN." });
  }
  return found(renderSchema(schema, baseUrl));
}

function found(body: JsonObject): OperationResult {
  return { status: 200, text: JSON.stringify(body) };
}

function listed(bodies: readonly JsonObject[]): OperationResult {
  const texts = bodies.map((body) => JSON.stringify(body));
  return { status: 200, text: renderListResponse({ total: texts.length, texts, startIndex: 1 }) };
}
