// RFC 7644 §3.7.1 and §3.7.2: references between the operations of a bulk request.

import { bulkOf, newBulkGroup, newBulkUser } from "./bulk_steps.ts";
import { contains, PRESENT, type SuiteRow } from "./suite_row.ts";
import { BULK_REQUEST, ENTERPRISE, get, PATCH_OP, sent, USER } from "./suite_steps.ts";

export const BULK_REFERENCE_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.7.2",
    must: "bulkId:x in a value becomes the id of the new resource",
    steps: [
      {
        ...bulkOf([newBulkUser("alice"), newBulkGroup("guides", ["bulkId:alice"])], {
          "Operations/*/status": ["201", "201"],
          "Operations/*/bulkId": ["alice", "guides"],
        }),
        save: { place: "Operations/1/location" },
      },
      get("/Groups", {
        "Resources/0/members/0/value": PRESENT,
        "Resources/0/members/0/display": "{row}-alice",
      }, { query: { filter: 'displayName eq "{row}-guides"', attributes: "members.value,members.display" } }),
    ],
  },
  {
    ref: "RFC 7644 §3.7.2",
    must: "An operation can refer to a later one",
    steps: [
      bulkOf([newBulkGroup("guides", ["bulkId:alice"]), newBulkUser("alice")], {
        "Operations/*/status": ["201", "201"],
      }),
      get("/Groups", { "Resources/0/members/0/display": "{row}-alice" }, {
        query: { filter: 'displayName eq "{row}-guides"', attributes: "members.display" },
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.7.2",
    must: "References in extensions work in the same way: the manager",
    steps: [
      bulkOf([
        newBulkUser("boss"),
        newBulkUser("bob", {
          schemas: [USER, ENTERPRISE],
          [ENTERPRISE]: { manager: { value: "bulkId:boss" } },
        }),
      ], { "Operations/*/status": ["201", "201"] }),
      {
        ...get("/Users", {}, { query: { filter: 'userName eq "{row}-boss"' } }),
        save: { boss: "Resources/0/id" },
      },
      get("/Users", { [`Resources/0/${ENTERPRISE}/manager/value`]: "{boss}" }, {
        query: { filter: 'userName eq "{row}-bob"' },
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.7.2",
    must: "A path can have a bulkId",
    steps: [
      bulkOf([
        newBulkUser("alice"),
        {
          method: "PATCH",
          path: "/Users/bulkId:alice",
          data: { schemas: [PATCH_OP], Operations: [{ op: "replace", path: "title", value: "x" }] },
        },
      ], { "Operations/0/status": "201", "Operations/1/location": PRESENT }),
      get("/Users", { "Resources/0/title": "x" }, { query: { filter: 'userName eq "{row}-alice"' } }),
    ],
  },
  {
    ref: "RFC 7644 §3.7.1",
    must: "Circular references are resolved, or 409",
    steps: [
      sent("POST /Bulk", {
        schemas: [BULK_REQUEST],
        Operations: [
          newBulkUser("a", {
            schemas: [USER, ENTERPRISE],
            [ENTERPRISE]: { manager: { value: "bulkId:b" } },
          }),
          newBulkUser("b", {
            schemas: [USER, ENTERPRISE],
            [ENTERPRISE]: { manager: { value: "bulkId:a" } },
          }),
        ],
      }, [200, 409]),
    ],
  },
  {
    ref: "RFC 7644 §3.7.2",
    must: "A reference to an unknown bulkId fails that operation",
    steps: [
      bulkOf([newBulkGroup("guides", ["bulkId:nothing"]), newBulkUser("alice")], {
        "Operations/0/status": contains("4"),
        "Operations/1/status": "201",
      }),
    ],
  },
];
