// RFC 7644 §3.5.1 and §3.6: PUT and DELETE.

import { ABSENT, contains, like, not, sameSet, type SuiteRow } from "./suite_row.ts";
import { ENTERPRISE, get, GROUP, group, patch, sent, UNKNOWN_ID, USER, user } from "./suite_steps.ts";

const REPLACE_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.5.1",
    must: "PUT replaces the attributes, and answers 200 with the resource",
    steps: [
      user("ada", {
        title: "Dr.",
        nickName: "Addie",
        externalId: "{row}-x",
        emails: [{ value: "a@example.com" }, { value: "b@example.com" }],
      }),
      sent(
        "PUT /Users/{ada}",
        {
          schemas: [USER],
          userName: "{row}-ada",
          title: "Prof.",
          emails: [{ value: "c@example.com" }],
        },
        200,
        {
          id: "{ada}",
          title: "Prof.",
          nickName: ABSENT,
          "emails/*/value": ["c@example.com"],
          "meta/location": "{base}/Users/{ada}",
        },
      ),
      get("/Users/{ada}", {
        title: "Prof.",
        nickName: ABSENT,
        externalId: ABSENT,
        "emails/*/value": ["c@example.com"],
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.1",
    must: "PUT does not create a resource",
    steps: [
      sent(`PUT /Users/${UNKNOWN_ID}`, { schemas: [USER], userName: "{row}-ada" }, 404),
      sent(`PUT /Groups/${UNKNOWN_ID}`, { schemas: [GROUP], displayName: "{row}-staff" }, 404),
      get("/Users", { totalResults: 0 }, { query: { filter: 'userName eq "{row}-ada"' } }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.1",
    must: "PUT ignores readOnly attributes",
    steps: [
      { ...user("ada"), save: { ada: "id", created: "meta/created" } },
      sent(
        "PUT /Users/{ada}",
        {
          schemas: [USER],
          id: "{ada}",
          userName: "{row}-ada",
          groups: [{ value: "x" }],
          meta: { created: "1999-01-01T00:00:00Z", resourceType: "Group" },
        },
        200,
        { id: "{ada}", groups: ABSENT, "meta/created": "{created}", "meta/resourceType": "User" },
      ),
    ],
  },
  {
    ref: "RFC 7644 §3.5.1",
    must: "A PUT without a required attribute is 400 and changes nothing",
    steps: [
      user("ada", { title: "Dr." }),
      sent("PUT /Users/{ada}", { schemas: [USER], title: "x" }, 400, "invalidValue"),
      get("/Users/{ada}", { title: "Dr.", userName: "{row}-ada" }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.1",
    must: "PUT of what GET returned changes nothing but the time",
    steps: [
      user("ada", {
        schemas: [USER, ENTERPRISE],
        emails: [{ value: "a@example.com", type: "work", primary: true }],
        [ENTERPRISE]: { department: "Sales" },
      }),
      sent(
        "PUT /Users/{ada}",
        {
          schemas: [USER, ENTERPRISE],
          id: "{ada}",
          userName: "{row}-ada",
          active: true,
          emails: [{ value: "a@example.com", type: "work", primary: true }],
          [ENTERPRISE]: { department: "Sales" },
          meta: { resourceType: "User", location: "{base}/Users/{ada}" },
        },
        200,
        {
          emails: [{ value: "a@example.com", type: "work", primary: true }],
          [ENTERPRISE]: { department: "Sales" },
        },
      ),
    ],
  },
  {
    ref: "RFC 7644 §3.5.1",
    must: "PUT of a group replaces its members",
    steps: [
      user("ada"),
      user("bob"),
      user("eve"),
      group("staff", ["ada", "bob"]),
      sent("PUT /Groups/{staff}", {
        schemas: [GROUP],
        displayName: "{row}-staff",
        members: [{ value: "{bob}" }, { value: "{eve}" }],
      }, 200),
      get("/Groups/{staff}", { "members/*/value": sameSet("{bob}", "{eve}") }),
      get("/Users/{ada}", { groups: ABSENT }),
      get("/Users/{eve}", { "groups/*/value": ["{staff}"] }),
      sent("PUT /Groups/{staff}", { schemas: [GROUP], displayName: "{row}-staff", members: [] }, 200),
      get("/Groups/{staff}", { members: ABSENT }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.1",
    must: "PUT changes lastModified and the version",
    steps: [
      { ...user("ada"), save: { ada: "id", tag: "meta/version" } },
      sent("PUT /Users/{ada}", { schemas: [USER], userName: "{row}-ada", title: "x" }, 200, {
        "meta/version": not("{tag}"),
        "meta/lastModified": like(/^\d{4}-/),
      }),
    ],
  },
];

const DELETE_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.6",
    must: "DELETE is 204, and then every operation on the resource is 404",
    steps: [
      user("ada"),
      { send: "DELETE /Users/{ada}", status: 204 },
      { send: "GET /Users/{ada}", status: 404 },
      sent("PUT /Users/{ada}", { schemas: [USER], userName: "{row}-ada" }, 404),
      patch("/Users/{ada}", [{ op: "replace", path: "title", value: "x" }], { status: 404 }),
      { send: "DELETE /Users/{ada}", status: 404 },
    ],
  },
  {
    ref: "RFC 7644 §3.6",
    must: "A deleted resource is in no list",
    steps: [
      user("ada"),
      user("bob"),
      group("staff", ["ada", "bob"]),
      { send: "DELETE /Users/{ada}", status: 204 },
      get("/Users", { "Resources/*/id": ["{bob}"], totalResults: 1 }, {
        query: { filter: 'userName sw "{row}-"' },
      }),
      get("/Groups/{staff}", { "members/*/value": ["{bob}"] }),
      { send: "DELETE /Groups/{staff}", status: 204 },
      { send: "GET /Groups/{staff}", status: 404 },
      get("/Users/{bob}", { groups: ABSENT }),
    ],
  },
  {
    ref: "RFC 7644 §3.6",
    must: "The name of a deleted resource is free again",
    steps: [
      user("ada"),
      { send: "DELETE /Users/{ada}", status: 204 },
      { ...user("ada"), json: { id: not("{ada}"), schemas: contains(USER) } },
      group("staff"),
      { send: "DELETE /Groups/{staff}", status: 204 },
      { ...group("staff"), json: { id: not("{staff}") } },
    ],
  },
];

export const WRITE_ROWS: readonly SuiteRow[] = [...REPLACE_ROWS, ...DELETE_ROWS];
