// The tables of the specification, copied by hand, so that an error in the program's own tables is found.

export const USER_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User";
export const GROUP_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const LIST_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
export const ERROR_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error";
export const SEARCH_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";

/** A row of the table of endpoints. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "any";
  readonly path: string;
  readonly operation: string;
  readonly query: readonly Parameter[];
  readonly supported: boolean;
}

export type Parameter = "refresh" | "page" | "q" | "backends";

type Line = readonly [Endpoint["method"], path: string, operation: string, query: string, "yes" | "no"];

// deno-fmt-ignore
const ENDPOINT_LINES: readonly Line[] = [
  ["GET", "/Users", "list users", "refresh, page, q", "yes"],
  ["POST", "/Users", "create user", "backends", "yes"],
  ["POST", "/Users", "retrieve (search)", "", "no"],
  ["GET", "/Groups", "list groups", "refresh, page, q", "yes"],
  ["POST", "/Groups", "create group", "backends", "yes"],
  ["POST", "/Groups", "retrieve (search)", "", "no"],
  ["GET", "/Users/<userName>", "get one user", "refresh", "yes"],
  ["PUT", "/Users/<userName>", "replace user", "backends", "yes"],
  ["PATCH", "/Users/<userName>", "modify user", "", "no"],
  ["DELETE", "/Users/<userName>", "delete user", "backends", "yes"],
  ["GET", "/Groups/<groupName>", "get one group", "refresh", "yes"],
  ["PUT", "/Groups/<groupName>", "replace group", "backends", "yes"],
  ["PATCH", "/Groups/<groupName>", "modify group", "", "no"],
  ["DELETE", "/Groups/<groupName>", "delete group", "backends", "yes"],
  ["any", "/Me", "", "", "no"],
  ["any", "/Bulk", "bulk processing", "", "no"],
  ["any", "[prefix]/.search", "", "", "no"],
];

export const ENDPOINTS: readonly Endpoint[] = ENDPOINT_LINES.map((
  [method, path, operation, query, supported],
) => ({
  method,
  path,
  operation,
  query: query === "" ? [] : query.split(", ") as Parameter[],
  supported: supported === "yes",
}));

/** SCIM attribute, front-end attribute. */
export const USER_MAPPING: readonly (readonly [scim: string, frontEnd: string])[] = [
  ["id", "userName"],
  ["externalId", "userName"],
  ["name.familyName", "familyName"],
  ["name.givenName", "givenName"],
  ["name.formatted", "formatted"],
  ["name.middleName", "middleName"],
  ["name.honorificPrefix", "honorificPrefix"],
  ["name.honorificSuffix", "honirificSuffix"],
  ["emails[].value", "mail"],
  ["phoneNumbers[].value", "phoneNumber"],
  ["imgs[].value", "img"],
  ["photos[].value", "photo"],
  ["addresses[].streetAddress", "streetAddress"],
  ["addresses[].locality", "locality"],
  ["addresses[].region", "region"],
  ["addresses[].postralCode", "postralCode"],
  ["addresses[].country", "country"],
  ["entitlements[].value", "entitlement"],
  ["roles[].value", "role"],
  ["x509Certificates[].value", "x509Certificate"],
  ["manager.displayName", "manager"],
];

export const GROUP_MAPPING: readonly (readonly [scim: string, frontEnd: string])[] = [
  ["id", "groupName"],
  ["displayName", "groupName"],
  ["externalId", "groupName"],
  ["members[].display", "member"],
];

/** Field, and a check of its type. */
export const LIST_FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  schemas: (value) =>
    Array.isArray(value) && value.every((one) => typeof one === "string") && value.includes(LIST_SCHEMA),
  totalResults: Number.isInteger,
  startIndex: Number.isInteger,
  itemsPerPage: Number.isInteger,
  Resources: (value) => Array.isArray(value) && value.every((one) => isObject(one)),
};

/** The fields of each user of a list. */
export const LISTED_USER_FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  schemas: (value) => Array.isArray(value) && value.includes(USER_SCHEMA),
  meta: (value) => isObject(value) && value.resourceType === "User",
  externalId: (value) => typeof value === "string",
  id: (value) => typeof value === "string",
  name: (value) =>
    isObject(value) && typeof value.familyName === "string" && typeof value.givenName === "string",
  userName: (value) => typeof value === "string",
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A SCIM attribute of the mapping, as it is written in a body and read from one. */
export function bodyWith(scim: string, text: string): Record<string, unknown> {
  const [head = "", sub] = scim.split(/\[\]\.|\./);
  if (sub === undefined) return { [head]: text };
  return { [head]: scim.includes("[]") ? [{ [sub]: text }] : { [sub]: text } };
}

/** The texts of a resource at a SCIM attribute of the mapping. */
export function textsAt(resource: Readonly<Record<string, unknown>>, scim: string): unknown[] {
  const [head = "", sub] = scim.split(/\[\]\.|\./);
  const value = resource[head];
  if (sub === undefined) return value === undefined ? [] : [value];
  const entries = Array.isArray(value) ? value : value === undefined ? [] : [value];
  return entries.map((entry) => entry[sub]).filter((text) => text !== undefined);
}
