// RFC 7643 §3: schemas and common attributes.

import { ABSENT, contains, DATE_TIME, FILLED_LIST, like, not, sameSet, type SuiteRow } from "./suite_row.ts";
import { ENTERPRISE, get, GROUP, group, patch, sent, USER, user } from "./suite_steps.ts";

/** §3: schemas and common attributes. */
export const COMMON_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7643 §3",
    must: "A resource names its base schema in schemas",
    steps: [user("ada"), get("/Users/{ada}", { schemas: contains(USER) })],
  },
  {
    ref: "RFC 7643 §3",
    must: "schemas has only the schema and the extensions of the resource type",
    steps: [
      sent(
        "POST /Users",
        { schemas: [USER, "urn:example:unknown:2.0:Nothing", USER], userName: "{row}-ada" },
        [201, 400],
        { schemas: not(["urn:example:unknown:2.0:Nothing"]) },
      ),
      user("bob", { schemas: [USER, ENTERPRISE], [ENTERPRISE]: { department: "Sales" } }),
      get("/Users/{bob}", { schemas: sameSet(USER, ENTERPRISE) }),
      group("staff"),
      get("/Groups/{staff}", { schemas: [GROUP] }),
    ],
  },
  {
    ref: "RFC 7643 §3",
    must: "A body without schemas is refused, or becomes a resource with the base schema",
    steps: [
      sent("POST /Users", { userName: "{row}-ada" }, [201, 400], { schemas: FILLED_LIST }),
      sent("POST /Users", { schemas: [GROUP], userName: "{row}-bob" }, 400),
    ],
  },
  {
    ref: "RFC 7643 §3",
    must: "The order of schemas does not matter",
    steps: [
      user("ada", { schemas: [ENTERPRISE, USER], [ENTERPRISE]: { department: "Sales" } }),
      get("/Users/{ada}", { [`${ENTERPRISE}/department`]: "Sales" }),
    ],
  },
  {
    ref: "RFC 7643 §3.1",
    must: "The server issues the id, and ignores an id in a body",
    steps: [
      user("ada", { id: "chosen-by-the-client" }),
      get("/Users/{ada}", { id: not("chosen-by-the-client") }),
      { send: "GET /Users/chosen-by-the-client", status: 404 },
    ],
  },
  {
    ref: "RFC 7643 §3.1",
    must: "The id is unique across all resources, is not empty, and does not contain bulkId",
    steps: [
      user("ada"),
      group("staff"),
      get("/Users/{ada}", { id: not("{staff}") }),
      get("/Users/{ada}", { id: like(/^(?!.*bulkId).+$/i) }),
      { send: "GET /Users/{staff}", status: 404 },
      { send: "GET /Groups/{ada}", status: 404 },
    ],
  },
  {
    ref: "RFC 7643 §3.1",
    must: "The id stays when the resource is renamed",
    steps: [
      user("ada"),
      patch("/Users/{ada}", [{ op: "replace", path: "userName", value: "{row}-lovelace" }]),
      get("/Users/{ada}", { id: "{ada}", userName: "{row}-lovelace" }),
      get("/Users", { "Resources/*/id": ["{ada}"] }, { query: { filter: 'userName eq "{row}-lovelace"' } }),
      group("staff", ["ada"]),
      sent(
        "PUT /Groups/{staff}",
        { schemas: [GROUP], displayName: "{row}-crew", members: [{ value: "{ada}" }] },
        200,
        { id: "{staff}", displayName: "{row}-crew" },
      ),
      get("/Groups/{staff}", { id: "{staff}", displayName: "{row}-crew", "members/*/value": ["{ada}"] }),
    ],
  },
  {
    ref: "RFC 7643 §3.1",
    must: "An id is not used again",
    steps: [
      user("ada"),
      { send: "DELETE /Users/{ada}", status: 204 },
      { ...user("ada"), save: { again: "id" }, json: { id: not("{ada}") } },
      { send: "GET /Users/{ada}", status: 404 },
    ],
  },
  {
    ref: "RFC 7643 §3.1",
    must: "Only the client sets externalId, and its case is exact",
    steps: [
      user("ada"),
      get("/Users/{ada}", { externalId: ABSENT }),
      user("bob", { externalId: "{row}-Ext" }),
      get("/Users/{bob}", { externalId: "{row}-Ext" }),
      get("/Users", { totalResults: 1 }, { query: { filter: 'externalId eq "{row}-Ext"' } }),
      get("/Users", { totalResults: 0 }, { query: { filter: 'externalId eq "{row}-EXT"' } }),
    ],
  },
  {
    ref: "RFC 7643 §3.1",
    must: "The server sets meta, and ignores meta in a body",
    steps: [
      user("ada", {
        meta: { resourceType: "Group", created: "1999-01-01T00:00:00Z", location: "urn:x", version: "W/x" },
      }),
      get("/Users/{ada}", {
        "meta/resourceType": "User",
        "meta/created": not("1999-01-01T00:00:00Z"),
        "meta/location": "{base}/Users/{ada}",
      }),
    ],
  },
  {
    ref: "RFC 7643 §3.1",
    must: "lastModified is created until the first change",
    steps: [
      { ...user("ada"), save: { ada: "id", created: "meta/created" } },
      get("/Users/{ada}", { "meta/lastModified": "{created}", "meta/created": "{created}" }),
    ],
  },
  {
    ref: "RFC 7643 §3.1",
    must: "meta has resourceType, created, lastModified, location and version",
    steps: [
      group("staff"),
      get("/Groups/{staff}", {
        "meta/resourceType": "Group",
        "meta/created": DATE_TIME,
        "meta/lastModified": DATE_TIME,
        "meta/location": "{base}/Groups/{staff}",
        "meta/version": like(/^(W\/)?".*"$/),
      }),
    ],
  },
  {
    ref: "RFC 7643 §3.3",
    must: "The attributes of an extension are below its URI",
    steps: [
      user("ada", { schemas: [USER, ENTERPRISE], [ENTERPRISE]: { employeeNumber: "7", costCenter: "9" } }),
      get("/Users/{ada}", {
        [ENTERPRISE]: { employeeNumber: "7", costCenter: "9" },
        employeeNumber: ABSENT,
      }),
    ],
  },
];
