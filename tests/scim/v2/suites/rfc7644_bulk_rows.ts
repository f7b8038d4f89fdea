// RFC 7644 §3.7: bulk requests.

import { bulkOf, newBulkUser } from "./bulk_steps.ts";
import {
  ABSENT,
  atLeast,
  contains,
  like,
  NUMBER,
  oneOf,
  PRESENT,
  size,
  type SuiteRow,
  TEXT,
} from "./suite_row.ts";
import { BULK_REQUEST, get, group, PATCH_OP, sent, UNKNOWN_ID, USER, user } from "./suite_steps.ts";

const METHOD_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.7",
    must: "A bulk request does POST, PUT, PATCH and DELETE, and answers each with status and location",
    steps: [
      user("ada"),
      user("bob"),
      user("eve"),
      bulkOf([
        newBulkUser("new"),
        { method: "PUT", path: "/Users/{ada}", data: { schemas: [USER], userName: "{row}-ada", title: "a" } },
        {
          method: "PATCH",
          path: "/Users/{bob}",
          data: { schemas: [PATCH_OP], Operations: [{ op: "replace", path: "title", value: "b" }] },
        },
        { method: "DELETE", path: "/Users/{eve}" },
      ], {
        Operations: size(4),
        "Operations/0/bulkId": "new",
        "Operations/0/status": "201",
        "Operations/0/location": PRESENT,
        "Operations/1/location": "{base}/Users/{ada}",
        "Operations/1/status": "200",
        "Operations/2/location": "{base}/Users/{bob}",
        "Operations/3/status": "204",
        "Operations/3/location": "{base}/Users/{eve}",
        "Operations/*/method": ["POST", "PUT", "PATCH", "DELETE"],
      }),
      get("/Users/{ada}", { title: "a" }),
      get("/Users/{bob}", { title: "b" }),
      { send: "GET /Users/{eve}", status: 404 },
      get("/Users", { totalResults: 1 }, { query: { filter: 'userName eq "{row}-new"' } }),
    ],
  },
  {
    ref: "RFC 7644 §3.7.3",
    must: "A failed operation has its status and an Error, and the others are done",
    steps: [
      user("ada"),
      bulkOf([
        newBulkUser("ada"),
        newBulkUser("new"),
        { method: "DELETE", path: `/Users/${UNKNOWN_ID}` },
        { method: "POST", path: "/Users", bulkId: "bad", data: { schemas: [USER] } },
      ], {
        "Operations/0/status": "409",
        "Operations/0/response/scimType": "uniqueness",
        "Operations/0/response/status": "409",
        "Operations/0/response/detail": TEXT,
        "Operations/0/location": ABSENT,
        "Operations/1/status": "201",
        "Operations/2/status": "404",
        "Operations/2/location": `{base}/Users/${UNKNOWN_ID}`,
        "Operations/2/response/status": "404",
        "Operations/3/status": "400",
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.7",
    must: "failOnErrors ends the request after so many errors",
    steps: [
      bulkOf(
        [
          { method: "DELETE", path: `/Users/${UNKNOWN_ID}` },
          newBulkUser("new"),
        ],
        { Operations: size(1), "Operations/0/status": "404" },
        { failOnErrors: 1 },
      ),
      get("/Users", { totalResults: 0 }, { query: { filter: 'userName eq "{row}-new"' } }),
      bulkOf(
        [
          { method: "DELETE", path: `/Users/${UNKNOWN_ID}` },
          newBulkUser("new"),
        ],
        { Operations: size(2), "Operations/1/status": "201" },
        { failOnErrors: 2 },
      ),
    ],
  },
];

const LIMIT_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.7",
    must: "A bulk request names its schema and has operations; a POST has a bulkId",
    steps: [
      sent("POST /Bulk", { schemas: [USER], Operations: [newBulkUser("x")] }, 400),
      sent("POST /Bulk", { schemas: [BULK_REQUEST] }, 400, "invalidSyntax"),
      sent(
        "POST /Bulk",
        {
          schemas: [BULK_REQUEST],
          Operations: [{ method: "POST", path: "/Users", data: { schemas: [USER], userName: "{row}-x" } }],
        },
        [200, 400],
        { "Operations/0/status": oneOf("400", undefined) },
      ),
    ],
  },
  {
    ref: "RFC 7644 §3.7.4",
    must: "The limits of a bulk request are published",
    steps: [
      get("/ServiceProviderConfig", { "bulk/maxOperations": NUMBER, "bulk/maxPayloadSize": atLeast(1000) }),
    ],
  },
  {
    ref: "RFC 7644 §3.7.4",
    must: "More operations than the limit, or more octets, are 413, and the answer says the limit",
    steps: [
      get("/ServiceProviderConfig", { "bulk/maxOperations": 1000, "bulk/maxPayloadSize": 1_048_576 }, {
        save: { operations: "bulk/maxOperations" },
      }),
      sent(
        "POST /Bulk",
        {
          schemas: [BULK_REQUEST],
          Operations: Array(1001).fill({ method: "DELETE", path: `/Users/${UNKNOWN_ID}` }),
        },
        413,
        { detail: contains("{operations}") },
      ),
      {
        send: "POST /Bulk",
        body: { schemas: [BULK_REQUEST], Operations: [newBulkUser("x", { title: "x".repeat(12_000_000) })] },
        status: 413,
        // The default is 1048576 octets.
        json: { detail: like(/1048576|1 MiB/) },
      },
    ],
  },
  {
    ref: "RFC 7644 §3.7",
    must: "A bulk request of members changes a group without losing any",
    steps: [
      user("ada"),
      user("bob"),
      group("staff", ["ada"]),
      bulkOf([
        {
          method: "PATCH",
          path: "/Groups/{staff}",
          data: {
            schemas: [PATCH_OP],
            Operations: [{ op: "add", path: "members", value: [{ value: "{bob}" }] }],
          },
        },
        {
          method: "PATCH",
          path: "/Groups/{staff}",
          data: { schemas: [PATCH_OP], Operations: [{ op: "remove", path: 'members[value eq "{ada}"]' }] },
        },
      ], { Operations: size(2) }),
      get("/Groups/{staff}", { "members/*/value": ["{bob}"] }),
    ],
  },
];

export const BULK_ROWS: readonly SuiteRow[] = [...METHOD_ROWS, ...LIMIT_ROWS];
