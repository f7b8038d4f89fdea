// What public bug reports about other servers show, as rows for this one.

import { bulkOf, newBulkUser } from "./bulk_steps.ts";
import { FIVE_USERS, listFive, namesOf } from "./five_users.ts";
import { ABSENT, size, type Step, type SuiteRow } from "./suite_row.ts";
import {
  BULK_REQUEST,
  ENTERPRISE,
  get,
  GROUP,
  group,
  patch,
  PATCH_OP,
  refusedPatch,
  sent,
  USER,
  user,
} from "./suite_steps.ts";

const manages = (bulkId: string) => ({
  schemas: [USER, ENTERPRISE],
  [ENTERPRISE]: { manager: { value: `bulkId:${bulkId}` }, department: "D" },
});
const managerOf = (name: string, manager: string): Step =>
  get("/Users", {
    [`Resources/0/${ENTERPRISE}/manager/value`]: `{${manager}}`,
    [`Resources/0/${ENTERPRISE}/department`]: "D",
  }, { query: { filter: `userName eq "{row}-${name}"` } });
const idOf = (name: string): Step => ({
  ...get("/Users", {}, { query: { filter: `userName eq "{row}-${name}"` } }),
  save: { [name]: "Resources/0/id" },
});

/** Messages without the URN that RFC 7644 requires. */
const TOLERATED_SCHEMAS: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { schemas: null },
  { schemas: [] },
  { schemas: [PATCH_OP.toUpperCase()] },
  { schemas: ["urn:ietf:params:scim:schemas:core:2.0:PatchOp"] },
];
const renamed = (schemas: Readonly<Record<string, unknown>>, name: string) =>
  JSON.parse(JSON.stringify(schemas).replaceAll(/PatchOp/gi, name)) as Readonly<Record<string, unknown>>;

const BULK_REPORTS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.7.1",
    must: "Two users that manage each other, and one that manages itself, are created and linked",
    steps: [
      bulkOf(
        [newBulkUser("a", manages("b")), newBulkUser("b", manages("a")), newBulkUser("c", manages("c"))],
        {
          "Operations/*/status": ["201", "201", "201"],
        },
      ),
      ...["a", "b", "c"].map(idOf),
      managerOf("a", "b"),
      managerOf("b", "a"),
      managerOf("c", "c"),
    ],
  },
  {
    ref: "RFC 7644 §3.7.2",
    must:
      "The filter of a path in a PATCH can refer to a bulkId; another text that begins with bulkId: is a value",
    steps: [
      user("old"),
      group("guides", ["old"]),
      bulkOf([
        newBulkUser("q", { displayName: "bulkId:q" }),
        {
          method: "PATCH",
          path: "/Groups/{guides}",
          data: {
            schemas: [PATCH_OP],
            Operations: [{ op: "add", path: "members", value: [{ value: "bulkId:q" }] }],
          },
        },
      ], { "Operations/*/status": ["201", "204"] }),
      get("/Groups/{guides}", { members: size(2) }),
      get("/Users", { "Resources/0/displayName": "bulkId:q" }, {
        query: { filter: 'userName eq "{row}-q"' },
      }),
      bulkOf([
        newBulkUser("r"),
        {
          method: "PATCH",
          path: "/Groups/{guides}",
          data: {
            schemas: [PATCH_OP],
            Operations: [
              { op: "add", path: "members", value: [{ value: "bulkId:r" }] },
              { op: "remove", path: 'members[value eq "bulkId:r"]' },
            ],
          },
        },
      ], { "Operations/*/status": ["201", "204"] }),
      get("/Groups/{guides}", { members: size(2) }),
    ],
  },
];

const MESSAGE_REPORTS: readonly SuiteRow[] = [
  {
    ref: "RFC 7643 §2.1",
    must:
      "The names in a PATCH, a bulk request and a search are compared without case, and each is sent once",
    steps: [
      user("ada"),
      sent("PATCH /Users/{ada}", { operations: [{ OP: "replace", Path: "title", VALUE: "T" }] }, 200, {
        title: "T",
      }),
      sent(
        "POST /Bulk",
        {
          OPERATIONS: [{
            Method: "PATCH",
            PATH: "/Users/{ada}",
            Data: { Operations: [{ op: "remove", path: "title" }] },
          }],
        },
        200,
        { "Operations/0/status": "200" },
      ),
      sent("POST /Users/.search", { Filter: 'userName eq "{row}-ada"', COUNT: 1 }, 200, { totalResults: 1 }),
      ...[
        {
          send: "PATCH /Users/{ada}",
          body: { Operations: [], operations: [{ op: "remove", path: "title" }] },
        },
        { send: "POST /Bulk", body: { Operations: [], operations: [] } },
        { send: "POST /Users/.search", body: { filter: 'userName eq "{row}-ada"', FILTER: "id pr" } },
      ].map((step): Step => ({ ...step, status: 400, scimType: "invalidSyntax" })),
      sent(
        "POST /Bulk",
        {
          Operations: [{ method: "PATCH", METHOD: "DELETE", path: "/Users/{ada}", data: { Operations: [] } }],
        },
        200,
        { "Operations/0/status": "400" },
      ),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2",
    must:
      "PATCH, bulk and search accept messages without their URN, in another case, and with a known misspelling",
    steps: [
      user("ada"),
      ...TOLERATED_SCHEMAS.flatMap((schemas, at): Step[] => [
        sent(
          "PATCH /Users/{ada}",
          { ...schemas, Operations: [{ op: "replace", path: "title", value: `${at}` }] },
          200,
          { title: `${at}` },
        ),
        sent(
          "POST /Users/.search",
          { ...renamed(schemas, "SearchRequest"), filter: 'userName eq "{row}-ada"' },
          200,
          { totalResults: 1 },
        ),
        sent("POST /Bulk", { ...renamed(schemas, "BulkRequest"), Operations: [newBulkUser(`b${at}`)] }, 200, {
          "Operations/0/status": "201",
        }),
      ]),
      sent("PATCH /Users/{ada}", { schemas: [BULK_REQUEST], Operations: [] }, 400),
    ],
  },
];

const MEMBER_REPORTS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.5.2.2",
    must: "Members can be removed by any filter of their sub-attributes",
    steps: [
      ...["a", "b", "c"].map((name) => user(name)),
      group("guides", ["a", "b", "c"]),
      patch("/Groups/{guides}", [{ op: "remove", path: 'members[type eq "Group"]' }], { status: 204 }),
      get("/Groups/{guides}", { members: size(3) }),
      patch("/Groups/{guides}", [{ op: "remove", path: 'members[value eq "{a}" and type eq "User"]' }]),
      get("/Groups/{guides}", { members: size(2) }),
      patch("/Groups/{guides}", [{ op: "remove", path: 'members[display eq "{row}-b"]' }]),
      get("/Groups/{guides}", { members: size(1), "members/0/value": "{c}" }),
      patch("/Groups/{guides}", [{ op: "remove", path: 'members[type eq "User"]' }]),
      get("/Groups/{guides}", { members: ABSENT }),
    ],
  },
  {
    ref: "RFC 7643 §4.2",
    must: "A member can be named by $ref; an entry without an id is refused in POST, PUT and PATCH alike",
    steps: [
      user("a"),
      group("guides"),
      patch("/Groups/{guides}", [{ op: "add", path: "members", value: [{ $ref: "../Users/{a}" }] }]),
      get("/Groups/{guides}", { "members/0/value": "{a}" }),
      sent(
        "POST /Groups",
        { schemas: [GROUP], displayName: "{row}-r", members: [{ $ref: "Users/{a}" }] },
        201,
        { "members/0/value": "{a}" },
      ),
      ...[{}, { value: null }, { display: "np" }].flatMap((member): Step[] => [
        sent(
          "POST /Groups",
          { schemas: [GROUP], displayName: "{row}-n", members: [member] },
          400,
          "invalidValue",
        ),
        sent(
          "PUT /Groups/{guides}",
          { schemas: [GROUP], displayName: "{row}-guides", members: [member] },
          400,
          "invalidValue",
        ),
        refusedPatch("/Groups/{guides}", [{ op: "add", path: "members", value: [member] }], "invalidValue"),
        refusedPatch(
          "/Groups/{guides}",
          [{ op: "replace", path: "members", value: [member] }],
          "invalidValue",
        ),
      ]),
      refusedPatch("/Groups/{guides}", [{ op: "remove", path: "members", value: null }], "invalidValue"),
      get("/Groups/{guides}", { members: size(1) }),
    ],
  },
];

const QUERY_REPORTS: readonly SuiteRow[] = [
  {
    ref: "RFC 7643 §2.4",
    must: "primary is false if it is not given, in filters and in value paths",
    steps: [
      user("ada", { emails: [{ value: "a@{row}", primary: true }, { value: "b@{row}", type: "home" }] }),
      user("eve", { emails: [{ value: "c@{row}", primary: true }] }),
      ...[
        "emails.primary eq false",
        "emails[primary eq false]",
        'emails[primary eq "False" and type eq "home"]',
      ]
        .map((condition) =>
          get("/Users", { "Resources/*/userName": ["{row}-ada"] }, {
            query: { filter: `userName sw "{row}-" and ${condition}` },
          })
        ),
      patch("/Users/{ada}", [{ op: "replace", path: "emails[primary eq false].value", value: "d@{row}" }]),
      get("/Users/{ada}", { "emails/*/value": ["a@{row}", "d@{row}"] }),
      patch("/Users/{ada}", [{ op: "remove", path: "emails[primary eq false]" }]),
      get("/Users/{ada}", { "emails/*/value": ["a@{row}"] }),
    ],
  },
  {
    ref: "RFC 7643 §2.4",
    must: "The same value and type is returned once, after every write",
    steps: [
      user("ada", {
        emails: [{ value: "a@{row}", type: "work" }, { value: "a@{row}", type: "work", primary: true }],
      }),
      get("/Users/{ada}", { emails: [{ value: "a@{row}", type: "work", primary: true }] }),
      sent(
        "PUT /Users/{ada}",
        { schemas: [USER], userName: "{row}-ada", phoneNumbers: [{ value: "1" }, { value: "1" }] },
        200,
        { phoneNumbers: [{ value: "1" }] },
      ),
      patch("/Users/{ada}", [{
        op: "replace",
        path: "phoneNumbers",
        value: [{ value: "2" }, { value: "3" }],
      }]),
      patch("/Users/{ada}", [{ op: "replace", path: 'phoneNumbers[value eq "3"].value', value: "2" }]),
      get("/Users/{ada}", { phoneNumbers: [{ value: "2" }] }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.2",
    must: "A filter can have 8,192 characters, 50 comparisons and 10 levels, in an address and in /.search",
    steps: [
      user("ada"),
      ...([["x".repeat(8150), 200], ["x".repeat(8192), 400]] as const).map((
        [text, status],
      ): Step => sent("POST /Users/.search", { filter: `userName eq "${text}"` }, status)),
      get("/Users", { totalResults: 0 }, { query: { filter: `userName eq "${"x".repeat(7000)}"` } }),
      ...([[50, 200], [51, 400]] as const).map((
        [count, status],
      ): Step =>
        sent(
          "POST /Users/.search",
          { filter: new Array(count).fill('id eq "x"').join(" or ") },
          status,
        )
      ),
    ],
  },
  {
    ref: "RFC 9865 §2.1",
    must: "With a cursor, a count that is no integer from 1 is 400 with invalidCount",
    steps: [
      ...["abc", "0", "-1", "1.5"].map((count): Step => ({
        ...{ send: "GET /Users", query: { cursor: "", count } },
        ...{ status: 400, scimType: "invalidCount" },
      })),
      sent("POST /Users/.search", { cursor: "", count: 0 }, 400, "invalidCount"),
      { send: "GET /Users", query: { count: "abc" }, status: 400, scimType: "invalidValue" },
      get("/Users", {}, { query: { count: "0" } }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.3",
    must:
      "sortOrder can be shortened, and an unknown order is refused; repeated and respelt attributes all count",
    steps: [
      ...FIVE_USERS,
      listFive({ sortBy: "userName", sortOrder: "desc", count: "2" }, {
        "Resources/*/userName": namesOf("eva", "dan"),
      }),
      { send: "GET /Users", query: { sortOrder: "down" }, status: 400, scimType: "invalidValue" },
      get("/Users/{ann}?attributes=userName&Attributes=title", { userName: "{row}-ann", active: ABSENT }),
      { send: "GET /Users?filter=title%20pr&filter=id%20pr", status: 400, scimType: "invalidValue" },
    ],
  },
];

const NAME_REPORTS: readonly SuiteRow[] = [
  {
    ref: "RFC 7643 §4.2",
    must: "Names can have a slash",
    steps: [
      user("ada"),
      {
        send: "POST /Groups",
        body: { schemas: [GROUP], displayName: "{row}/EMEA", members: [{ value: "{ada}" }] },
        status: 201,
        save: { sales: "id" },
      },
      get("/Groups", { "Resources/0/id": "{sales}" }, { query: { filter: 'displayName eq "{row}/EMEA"' } }),
      patch("/Groups/{sales}", [{ op: "replace", path: "displayName", value: "{row}/APAC" }]),
      get("/Groups/{sales}", { displayName: "{row}/APAC", members: size(1) }),
      {
        send: "POST /Users",
        body: { schemas: [USER], userName: "{row}/ada" },
        status: 201,
        save: { slashed: "id" },
      },
      get("/Users/{slashed}", { userName: "{row}/ada" }),
      { send: "DELETE /Users/{slashed}", status: 204 },
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.3",
    must: "A replacement by a value path changes only the sub-attributes that it names",
    steps: [
      user("ada", { roles: [{ value: "Member", type: "t", primary: true }] }),
      patch("/Users/{ada}", [{
        op: "replace",
        path: 'roles[value eq "Member"]',
        value: { display: "Team" },
      }]),
      get("/Users/{ada}", { roles: [{ value: "Member", type: "t", primary: true, display: "Team" }] }),
      patch("/Users/{ada}", [{ op: "add", path: "emails.value", value: "a@{row}" }]),
      get("/Users/{ada}", { emails: [{ value: "a@{row}" }] }),
    ],
  },
];

export const REPORTED_ROWS: readonly SuiteRow[] = [
  ...BULK_REPORTS,
  ...MESSAGE_REPORTS,
  ...MEMBER_REPORTS,
  ...QUERY_REPORTS,
  ...NAME_REPORTS,
];
