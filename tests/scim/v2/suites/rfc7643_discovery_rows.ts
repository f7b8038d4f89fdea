// RFC 7643 §5 to §7 and RFC 7644 §4: what the server publishes about itself.

import {
  BOOLEAN,
  contains,
  FILLED_LIST,
  lacks,
  LIST,
  NUMBER,
  PRESENT,
  type SuiteRow,
  TEXT,
} from "./suite_row.ts";
import { ENTERPRISE, get, GROUP, LIST_RESPONSE, sent, USER } from "./suite_steps.ts";

const CONFIG = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig";
const RESOURCE_TYPE = "urn:ietf:params:scim:schemas:core:2.0:ResourceType";
const SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Schema";

/** Characteristics that RFC 7643 §7 and §8.7.1 prescribe, by the path in the definition. */
const CHARACTERISTICS: readonly (readonly [schema: string, attribute: Record<string, unknown>])[] = [
  [USER, { name: "userName", type: "string", required: true, caseExact: false, uniqueness: "server" }],
  [USER, { name: "password", mutability: "writeOnly", returned: "never" }],
  [USER, { name: "groups", mutability: "readOnly", multiValued: true, type: "complex" }],
  [USER, { name: "active", type: "boolean", multiValued: false, mutability: "readWrite" }],
  [USER, { name: "profileUrl", type: "reference" }],
  [USER, { name: "emails", type: "complex", multiValued: true, returned: "default" }],
  [USER, { name: "x509Certificates", type: "complex", multiValued: true }],
  [GROUP, { name: "members", type: "complex", multiValued: true }],
  [GROUP, { name: "displayName", type: "string", multiValued: false }],
  [ENTERPRISE, { name: "manager", type: "complex", multiValued: false }],
  [ENTERPRISE, { name: "employeeNumber", type: "string" }],
];

const CONFIG_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §4",
    must: "/ServiceProviderConfig is one object with its schema",
    steps: [
      get("/ServiceProviderConfig", {
        schemas: contains(CONFIG),
        "meta/resourceType": "ServiceProviderConfig",
      }),
    ],
  },
  {
    ref: "RFC 7643 §5",
    must: "/ServiceProviderConfig has every required attribute",
    steps: [
      get("/ServiceProviderConfig", {
        "patch/supported": BOOLEAN,
        "bulk/supported": BOOLEAN,
        "bulk/maxOperations": NUMBER,
        "bulk/maxPayloadSize": NUMBER,
        "filter/supported": BOOLEAN,
        "filter/maxResults": NUMBER,
        "changePassword/supported": BOOLEAN,
        "sort/supported": BOOLEAN,
        "etag/supported": BOOLEAN,
        authenticationSchemes: FILLED_LIST,
        "authenticationSchemes/0/type": TEXT,
        "authenticationSchemes/0/name": TEXT,
        "authenticationSchemes/0/description": TEXT,
      }),
    ],
  },
  {
    ref: "RFC 7643 §5",
    must: "The published authentication scheme is the one that works",
    steps: [get("/ServiceProviderConfig", { "authenticationSchemes/*/type": contains("oauthbearertoken") })],
  },
  {
    ref: "RFC 9865 §4",
    must: "/ServiceProviderConfig says how pages work",
    steps: [
      get("/ServiceProviderConfig", {
        "pagination/cursor": BOOLEAN,
        "pagination/index": BOOLEAN,
      }),
    ],
  },
  {
    ref: "RFC 7644 §4",
    must: "Discovery can only be read",
    steps: ["/ServiceProviderConfig", "/Schemas", "/ResourceTypes"].flatMap((path) =>
      ["POST", "PUT", "PATCH", "DELETE"].map((method) => sent(`${method} ${path}`, {}, [403, 404, 405]))
    ),
  },
];

const TYPE_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §4",
    must: "/ResourceTypes is a ListResponse",
    steps: [
      get("/ResourceTypes", {
        schemas: [LIST_RESPONSE],
        totalResults: NUMBER,
        "Resources/*/name": contains("User"),
      }),
    ],
  },
  {
    ref: "RFC 7643 §6",
    must: "A resource type has name, endpoint, schema and its extensions",
    steps: [
      get("/ResourceTypes", {
        Resources: contains({ name: "User", endpoint: "/Users", schema: USER }),
      }),
      get("/ResourceTypes", { Resources: contains({ name: "Group", endpoint: "/Groups", schema: GROUP }) }),
      get("/ResourceTypes/User", {
        schemas: [RESOURCE_TYPE],
        "schemaExtensions/*/schema": contains(ENTERPRISE),
        "schemaExtensions/0/required": BOOLEAN,
        "meta/resourceType": "ResourceType",
        "meta/location": "{base}/ResourceTypes/User",
      }),
      get("/ResourceTypes/Group", { name: "Group" }),
      { send: "GET /ResourceTypes/Nothing", status: 404 },
    ],
  },
  {
    ref: "RFC 7643 §6",
    must: "The schema of a resource type is one of /Schemas",
    steps: [
      get("/ResourceTypes/User", { schema: USER }),
      get(`/Schemas/${USER}`, { id: USER }),
      get(`/Schemas/${GROUP}`, { id: GROUP }),
      get(`/Schemas/${ENTERPRISE}`, { id: ENTERPRISE }),
    ],
  },
];

const SCHEMA_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §4",
    must: "/Schemas returns all schemas in a ListResponse",
    steps: [
      get("/Schemas", {
        schemas: [LIST_RESPONSE],
        "Resources/*/id": contains(USER),
      }),
      get("/Schemas", { "Resources/*/id": contains(GROUP) }),
      get("/Schemas", { "Resources/*/id": contains(ENTERPRISE) }),
    ],
  },
  {
    ref: "RFC 7644 §3.1",
    must: "/Schemas has no schemas of messages",
    steps: [
      get("/Schemas", { "Resources/*/id": lacks("urn:ietf:params:scim:api:messages:2.0:ListResponse") }),
      { send: "GET /Schemas/urn:ietf:params:scim:api:messages:2.0:PatchOp", status: 404 },
    ],
  },
  {
    ref: "RFC 7643 §7",
    must: "A schema has id, name, description and attributes with all characteristics",
    steps: [
      get(`/Schemas/${USER}`, {
        schemas: [SCHEMA],
        id: USER,
        name: TEXT,
        description: TEXT,
        attributes: FILLED_LIST,
        "attributes/0/name": TEXT,
        "attributes/0/type": TEXT,
        "attributes/0/multiValued": BOOLEAN,
        "attributes/0/description": PRESENT,
        "attributes/0/required": BOOLEAN,
        "attributes/0/caseExact": BOOLEAN,
        "attributes/0/mutability": TEXT,
        "attributes/0/returned": TEXT,
        "attributes/0/uniqueness": TEXT,
        "meta/resourceType": "Schema",
        "meta/location": PRESENT,
      }),
      { send: "GET /Schemas/urn:example:nothing", status: 404 },
    ],
  },
  ...CHARACTERISTICS.map(([schema, attribute]): SuiteRow => ({
    ref: "RFC 7643 §8.7.1",
    must: `${schema.split(":").at(-1)} defines ${JSON.stringify(attribute)}`,
    steps: [get(`/Schemas/${schema}`, { attributes: contains(attribute) })],
  })),
  {
    ref: "RFC 7644 §4",
    must: "Sorting, pages and attributes are ignored in discovery",
    steps: [
      get("/Schemas", { "Resources/*/id": contains(USER) }, { query: { startIndex: "2", count: "1" } }),
      get("/ResourceTypes", { "Resources/*/name": contains("User") }, {
        query: { startIndex: "2", count: "1", sortBy: "name", sortOrder: "descending" },
      }),
      get("/Schemas", { Resources: LIST, "Resources/*/attributes": FILLED_LIST }, {
        query: { attributes: "id" },
      }),
    ],
  },
  {
    ref: "RFC 7644 §4",
    must: "A filter in discovery is refused with 403, so that no client believes that it was applied",
    steps: ["/Schemas", "/ResourceTypes", "/ServiceProviderConfig"].map((path) => ({
      send: `GET ${path}`,
      query: { filter: 'name eq "User"' },
      status: 403,
    })),
  },
];

export const DISCOVERY_ROWS: readonly SuiteRow[] = [...CONFIG_ROWS, ...TYPE_ROWS, ...SCHEMA_ROWS];
