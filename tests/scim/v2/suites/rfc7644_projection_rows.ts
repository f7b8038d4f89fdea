// RFC 7644 §3.4.2.5, §3.9 and §3.10: the attributes of an answer. §3.14: versions. §7: filters and names in requests.

import { ABSENT, contains, lacks, not, PRESENT, type Step, type SuiteRow } from "./suite_row.ts";
import { ENTERPRISE, get, group, patch, sent, USER, user } from "./suite_steps.ts";

export const PROJECTION_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.4.2.5",
    must: "attributes returns the named attributes and those that are always returned",
    steps: [
      user("ada", { title: "Dr.", displayName: "Ada", name: { givenName: "Ada", familyName: "B" } }),
      get("/Users/{ada}", {
        title: "Dr.",
        id: "{ada}",
        schemas: contains(USER),
        displayName: ABSENT,
        meta: ABSENT,
      }, {
        query: { attributes: "title" },
      }),
      get("/Users/{ada}", { "name/givenName": "Ada", "name/familyName": ABSENT }, {
        query: { attributes: "name.givenName" },
      }),
      get("/Users", {
        "Resources/0/title": "Dr.",
        "Resources/0/displayName": ABSENT,
        "Resources/0/id": "{ada}",
      }, {
        query: { attributes: "title", filter: 'userName eq "{row}-ada"' },
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.5",
    must: "excludedAttributes omits attributes, but not those that are always returned",
    steps: [
      user("ada", { title: "Dr.", displayName: "Ada" }),
      get("/Users/{ada}", { title: ABSENT, displayName: "Ada", id: "{ada}" }, {
        query: { excludedAttributes: "title,id" },
      }),
      group("staff", ["ada"]),
      get("/Groups/{staff}", { members: ABSENT, displayName: "{row}-staff" }, {
        query: { excludedAttributes: "members" },
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.9",
    must: "attributes and excludedAttributes also work in the answers to writes",
    steps: [
      user("ada", { title: "Dr.", displayName: "Ada" }),
      sent(
        "PUT /Users/{ada}?attributes=title",
        { schemas: [USER], userName: "{row}-ada", title: "Prof.", displayName: "Ada" },
        200,
        { title: "Prof.", displayName: ABSENT, id: "{ada}" },
      ),
      patch("/Users/{ada}?attributes=displayName", [{ op: "replace", path: "title", value: "Dr." }], {
        status: 200,
        json: { title: ABSENT, displayName: "Ada" },
      }),
      patch("/Users/{ada}?excludedAttributes=displayName", [{ op: "replace", path: "title", value: "Ms." }], {
        json: { title: "Ms.", displayName: ABSENT },
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.10",
    must: "Attribute names can have the URN of their schema, in any case",
    steps: [
      user("ada", {
        schemas: [USER, ENTERPRISE],
        title: "Dr.",
        name: { givenName: "Ada", familyName: "B" },
        [ENTERPRISE]: { department: "Sales", division: "North" },
      }),
      get("/Users/{ada}", { "name/givenName": "Ada", "name/familyName": ABSENT, title: ABSENT }, {
        query: { attributes: `${USER.toUpperCase()}:NAME.GIVENNAME` },
      }),
      get("/Users/{ada}", { [`${ENTERPRISE}/department`]: "Sales", [`${ENTERPRISE}/division`]: ABSENT }, {
        query: { attributes: `${ENTERPRISE}:department` },
      }),
      get("/Users/{ada}", { [`${ENTERPRISE}/division`]: "North" }, { query: { attributes: ENTERPRISE } }),
    ],
  },
];

const unless = (tag: string) => ({ headers: { "if-none-match": tag } });

export const VERSION_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.14",
    must: "The version is in the header ETag and in meta.version, and a change gives another one",
    steps: [
      { ...user("ada"), header: { etag: PRESENT }, save: { ada: "id", first: "header:etag" } },
      get("/Users/{ada}", { "meta/version": "{first}" }, { header: { etag: "{first}" } }),
      patch("/Users/{ada}", [{ op: "replace", path: "title", value: "Dr." }]),
      get("/Users/{ada}", { "meta/version": not("{first}") }, { header: { etag: PRESENT } }),
    ],
  },
  {
    ref: "RFC 7644 §3.14",
    must: "A GET with the current version in If-None-Match is 304",
    steps: [
      { ...user("ada"), save: { ada: "id", tag: "header:etag" } },
      { send: "GET /Users/{ada}", headers: { "if-none-match": "{tag}" }, status: 304 },
      get("/Users/{ada}", { id: "{ada}" }, { headers: { "if-none-match": 'W/"other"' } }),
    ],
  },
  {
    ref: "RFC 7644 §3.14",
    must: "A write with another version in If-Match is 412 and changes nothing",
    steps: [
      { ...user("ada", { title: "Dr." }), save: { ada: "id", tag: "header:etag" } },
      patch("/Users/{ada}", [{ op: "replace", path: "title", value: "x" }], {
        headers: { "if-match": 'W/"other"' },
        status: 412,
      }),
      {
        send: "PUT /Users/{ada}",
        headers: { "if-match": 'W/"other"' },
        body: { schemas: [USER], userName: "{row}-ada" },
        status: 412,
      },
      { send: "DELETE /Users/{ada}", headers: { "if-match": 'W/"other"' }, status: 412 },
      get("/Users/{ada}", { title: "Dr." }),
      patch("/Users/{ada}", [{ op: "replace", path: "title", value: "Prof." }], {
        headers: { "if-match": "{tag}" },
      }),
      { send: "DELETE /Users/{ada}", headers: { "if-match": "{tag}" }, status: 412 },
      { send: "DELETE /Users/{ada}", headers: { "if-match": "*" }, status: 204 },
    ],
  },
  {
    ref: "RFC 9110 §13.1.2",
    must: "A write with the current version, or *, in If-None-Match is 412; with another version it happens",
    steps: [
      { ...user("ada", { title: "Dr." }), save: { ada: "id", tag: "header:etag" } },
      ...["{tag}", "*"].flatMap((tag): Step[] => [
        patch("/Users/{ada}", [{ op: "remove", path: "title" }], { ...unless(tag), status: 412 }),
        { ...sent("PUT /Users/{ada}", { schemas: [USER], userName: "{row}-ada" }, 412), ...unless(tag) },
        { send: "DELETE /Users/{ada}", status: 412, ...unless(tag) },
      ]),
      get("/Users/{ada}", { title: "Dr." }),
      patch("/Users/{ada}", [{ op: "replace", path: "title", value: "Ms." }], unless('W/"other"')),
      {
        ...sent("PUT /Users/{ada}", { schemas: [USER], userName: "{row}-ada" }, 200, { title: ABSENT }),
        ...unless("{tag}"),
      },
      { send: "DELETE /Users/{ada}", status: 204, ...unless("{tag}") },
    ],
  },
  {
    ref: "RFC 7644 §7.5.2",
    must: "A filter can be sent in the body of /.search, so that it is in no URL",
    steps: [
      user("ada"),
      sent(
        "POST /Users/.search",
        {
          schemas: ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],
          filter: 'userName eq "{row}-ada"',
        },
        200,
        { "Resources/*/id": ["{ada}"] },
      ),
    ],
  },
  {
    ref: "RFC 7644 §7.8",
    must: "Names are compared without case and in one Unicode normal form",
    steps: [
      user("x", { userName: "{row}-Zo\u00eb" }),
      sent("POST /Users", { schemas: [USER], userName: "{row}-zoe\u0308" }, 409),
      get("/Users", { totalResults: 1 }, { query: { filter: 'userName eq "{row}-ZOE\u0308"' } }),
      get("/Users", { Resources: lacks({ userName: "{row}-zoe" }) }, {
        query: { filter: 'userName eq "{row}-zoe"' },
      }),
    ],
  },
];
