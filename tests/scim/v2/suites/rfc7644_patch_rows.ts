// RFC 7644 §3.5.2: PATCH in general.

import { ABSENT, sameSet, type SuiteRow } from "./suite_row.ts";
import {
  ENTERPRISE,
  get,
  group,
  patch,
  PATCH_OP,
  refusedPatch,
  sent,
  UNKNOWN_ID,
  USER,
  user,
} from "./suite_steps.ts";

const WORK = { value: "w@example.com", type: "work" };
const HOME = { value: "h@example.com", type: "home" };

export const PATCH_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.5.2",
    must: "A PATCH without the schema PatchOp, or without operations, is refused",
    steps: [
      user("ada"),
      sent(
        "PATCH /Users/{ada}",
        { schemas: [USER], Operations: [{ op: "add", path: "title", value: "x" }] },
        400,
      ),
      sent("PATCH /Users/{ada}", { schemas: [PATCH_OP] }, 400, "invalidSyntax"),
      sent("PATCH /Users/{ada}", { schemas: [PATCH_OP], Operations: {} }, 400),
      get("/Users/{ada}", { title: ABSENT }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2",
    must: "An operation has an op, which is add, remove or replace",
    steps: [
      user("ada"),
      refusedPatch("/Users/{ada}", [{ path: "title", value: "x" }], "invalidSyntax"),
      refusedPatch("/Users/{ada}", [{ op: "move", path: "title", value: "x" }], "invalidSyntax"),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2",
    must: "A path that is no path is 400 with invalidPath",
    steps: [
      user("ada"),
      ...[
        "emails[",
        "emails[type eq]",
        "..",
        "title.",
        'emails[type eq "work"]value',
        "nothing",
        "name.nothing",
      ].map((path) => refusedPatch("/Users/{ada}", [{ op: "replace", path, value: "x" }], undefined)),
      refusedPatch("/Users/{ada}", [{ op: "replace", path: "emails[type eq", value: "x" }], "invalidPath"),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2",
    must: "The operations are done in their order, each on the result of the one before it",
    steps: [
      user("ada", { title: "a" }),
      patch("/Users/{ada}", [
        { op: "replace", path: "title", value: "b" },
        { op: "remove", path: "title" },
        { op: "add", path: "title", value: "c" },
        { op: "add", path: "emails", value: [WORK] },
        { op: "replace", path: 'emails[type eq "work"].value', value: "x@example.com" },
      ]),
      get("/Users/{ada}", { title: "c", "emails/*/value": ["x@example.com"] }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2",
    must: "If one operation fails, nothing changes",
    steps: [
      user("ada", { title: "a" }),
      user("bob"),
      group("staff", ["ada"]),
      refusedPatch("/Users/{ada}", [
        { op: "replace", path: "title", value: "b" },
        { op: "remove" },
      ], "noTarget"),
      get("/Users/{ada}", { title: "a" }),
      patch("/Groups/{staff}", [
        { op: "add", path: "members", value: [{ value: "{bob}" }] },
        { op: "replace", path: "id", value: "x" },
      ], { status: 400 }),
      get("/Groups/{staff}", { "members/*/value": ["{ada}"] }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2",
    must: "readOnly attributes cannot be changed: mutability",
    steps: [
      user("ada"),
      group("staff"),
      refusedPatch("/Users/{ada}", [{ op: "replace", path: "id", value: "other" }], "mutability"),
      refusedPatch(
        "/Users/{ada}",
        [{ op: "replace", path: "meta.created", value: "1999-01-01T00:00:00Z" }],
        "mutability",
      ),
      refusedPatch(
        "/Users/{ada}",
        [{ op: "add", path: "groups", value: [{ value: "{staff}" }] }],
        "mutability",
      ),
      refusedPatch("/Users/{ada}", [{ op: "remove", path: "id" }], "mutability"),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2",
    must: "A value of another type is 400 with invalidValue",
    steps: [
      user("ada", { title: "a" }),
      refusedPatch("/Users/{ada}", [{ op: "replace", path: "title", value: { a: 1 } }], "invalidValue"),
      refusedPatch("/Users/{ada}", [{ op: "replace", path: "active", value: "perhaps" }], "invalidValue"),
      refusedPatch("/Users/{ada}", [{ op: "replace", path: "name", value: "text" }], "invalidValue"),
      get("/Users/{ada}", { title: "a" }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2",
    must: "A new primary value makes the others not primary",
    steps: [
      user("ada", { emails: [{ ...WORK, primary: true }, HOME] }),
      patch("/Users/{ada}", [{ op: "replace", path: 'emails[type eq "home"].primary', value: true }]),
      get("/Users/{ada}", { emails: sameSet({ ...HOME, primary: true }, { value: WORK.value }) }),
      get("/Users", { totalResults: 1 }, {
        query: { filter: 'id eq "{ada}" and emails[type eq "home" and primary eq true]' },
      }),
      get("/Users", { totalResults: 0 }, {
        query: { filter: 'id eq "{ada}" and emails[type eq "work" and primary eq true]' },
      }),
      patch("/Users/{ada}", [{
        op: "add",
        path: "emails",
        value: [{ value: "n@example.com", type: "other", primary: true }],
      }]),
      get("/Users", { totalResults: 0 }, {
        query: { filter: 'id eq "{ada}" and emails[type eq "home" and primary eq true]' },
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2",
    must: "A PATCH is 200 with the resource, or 204; with attributes it is 200",
    steps: [
      user("ada"),
      patch("/Users/{ada}", [{ op: "replace", path: "title", value: "x" }], {
        json: { id: "{ada}", title: "x" },
      }),
      patch("/Users/{ada}?attributes=title", [{ op: "replace", path: "title", value: "y" }], {
        status: 200,
        json: { id: "{ada}", title: "y", userName: ABSENT },
      }),
      group("staff", ["ada"]),
      patch("/Groups/{staff}?attributes=displayName", [{ op: "remove", path: 'members[value eq "{ada}"]' }], {
        status: 200,
        json: { displayName: "{row}-staff", members: ABSENT },
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2",
    must: "A PATCH of an unknown resource is 404",
    steps: [patch(`/Users/${UNKNOWN_ID}`, [{ op: "replace", path: "title", value: "x" }], { status: 404 })],
  },
  {
    ref: "RFC 7644 §3.5.2",
    must: "A PATCH of schemas applies, and later operations use it",
    steps: [
      user("ada"),
      patch("/Users/{ada}", [
        { op: "add", path: "schemas", value: [ENTERPRISE] },
        { op: "add", path: `${ENTERPRISE}:department`, value: "Sales" },
      ]),
      get("/Users/{ada}", { [`${ENTERPRISE}/department`]: "Sales", schemas: sameSet(USER, ENTERPRISE) }),
    ],
  },
  {
    ref: "RFC 7644 §3.10",
    must: "A path can have the URN of its schema, in any case",
    steps: [
      user("ada"),
      patch("/Users/{ada}", [
        { op: "add", path: `${USER}:name.familyName`, value: "Byron" },
        { op: "add", path: `${ENTERPRISE}:department`, value: "Sales" },
        { op: "replace", path: "NAME.GivenName", value: "Ada" },
        { op: "add", path: `${USER}:emails[type eq "work"].value`, value: "w@example.com" },
      ]),
      get("/Users/{ada}", {
        name: { familyName: "Byron", givenName: "Ada" },
        [`${ENTERPRISE}/department`]: "Sales",
        "emails/0/value": "w@example.com",
      }),
      patch("/Users/{ada}", [{ op: "add", path: ENTERPRISE, value: { division: "North" } }]),
      get("/Users/{ada}", { [ENTERPRISE]: { department: "Sales", division: "North" } }),
    ],
  },
];
