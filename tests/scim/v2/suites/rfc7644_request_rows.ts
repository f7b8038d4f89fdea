// RFC 7644 §1.3 to §3.4.1 and §3.8 to §3.13: requests in general, creation, reading, media types and errors.
//
// For clients only: percent-encoding (§1.2), no `userinfo` in URLs (§7.1), TLS identity checks (§7.2), and that they expect
// inconsistent pages (§3.4.2.4). Tested elsewhere: TLS (§7.2, the HTTPS listener), the entropy and the expiry of tokens (§7.3,
// the tests of connections), and stored secrets (§7.7, the tests of passwords).

import { ABSENT, DATE_TIME, like, not, PRESENT, type SuiteRow, TEXT } from "./suite_row.ts";
import { get, GROUP, group, SCIM_ERROR, sent, UNKNOWN_ID, USER, user } from "./suite_steps.ts";

const AUTHENTICATION_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §2",
    must: "A request without or with a wrong credential is 401, with the supported schemes",
    steps: [null, "Bearer wrong", "Bearer", "Basic d3Jvbmc6d3Jvbmc=", "Nothing"].map((authorization) => ({
      send: "GET /Users?count=1",
      authorization,
      status: 401,
      header: { "www-authenticate": like(/Bearer/i) },
      json: { detail: TEXT, schemas: [SCIM_ERROR], status: "401" },
    })),
  },
  {
    ref: "RFC 7644 §1.3",
    must: "Unknown query parameters are ignored",
    steps: [
      user("ada"),
      get("/Users/{ada}?aadOptscim062020&x=1", { id: "{ada}" }),
      get("/Users?count=1&x=1"),
    ],
  },
];

const CREATE_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.3",
    must: "A creation is 201 with the resource, its Location and its version",
    steps: [
      {
        send: "POST /Users",
        body: { schemas: [USER], userName: "{row}-ada", name: { givenName: "Ada" } },
        status: 201,
        json: {
          id: TEXT,
          userName: "{row}-ada",
          "name/givenName": "Ada",
          "meta/location": like(/\/Users\/[^/]+$/),
          "meta/created": DATE_TIME,
        },
        header: { location: PRESENT, etag: PRESENT },
        save: { ada: "id" },
      },
      get("/Users/{ada}", { "meta/location": "{base}/Users/{ada}" }),
    ],
  },
  {
    ref: "RFC 7644 §3.3",
    must: "readOnly attributes in the body of a creation are ignored",
    steps: [
      user("ada", { id: "x", groups: [{ value: "x" }], meta: { created: "1999-01-01T00:00:00Z" } }),
      get("/Users/{ada}", { groups: ABSENT, id: "{ada}", "meta/created": not("1999-01-01T00:00:00Z") }),
    ],
  },
  {
    ref: "RFC 7644 §3.3",
    must: "A duplicate is 409 with uniqueness",
    steps: [
      user("ada"),
      {
        send: "POST /Users",
        body: { schemas: [USER], userName: "{row}-ada" },
        status: 409,
        scimType: "uniqueness",
        json: { detail: TEXT, status: "409" },
      },
      group("staff"),
      sent("POST /Groups", { schemas: [GROUP], displayName: "{row}-staff" }, 409, "uniqueness"),
    ],
  },
  {
    ref: "RFC 7644 §3.3",
    must: "A client that names attributes in a creation receives only these",
    steps: [
      sent("POST /Users?attributes=userName", { schemas: [USER], userName: "{row}-ada", title: "Dr." }, 201, {
        userName: "{row}-ada",
        title: ABSENT,
        id: TEXT,
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.3.1",
    must: "meta.resourceType follows from the endpoint",
    steps: [
      user("ada", { meta: { resourceType: "Group" } }),
      get("/Users/{ada}", { "meta/resourceType": "User" }),
      group("staff", [], { meta: { resourceType: "User" } }),
      get("/Groups/{staff}", { "meta/resourceType": "Group" }),
    ],
  },
];

const READ_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.4.1",
    must: "A resource is returned whole by its id",
    steps: [
      user("ada", { title: "Dr.", emails: [{ value: "a@example.com", type: "work" }] }),
      get("/Users/{ada}", { id: "{ada}", title: "Dr.", "emails/0/value": "a@example.com" }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.1",
    must: "An unknown resource is 404, and so is an id of another form",
    steps: [UNKNOWN_ID, "1", "a%20b", "..%2F..%2Fetc", "%00", "__proto__", "constructor"].flatMap((id) =>
      ["GET", "DELETE"].map((method) => ({
        send: `${method} /Users/${id}`,
        status: [404, 400],
        json: { detail: TEXT },
      }))
    ),
  },
  {
    ref: "RFC 7644 §3.2",
    must: "An unknown endpoint is 404",
    steps: [
      { send: "GET /Nothing", status: 404 },
      { send: "GET /Nothing/1", status: 404 },
      sent("POST /Nothing", { schemas: [USER] }, 404),
    ],
  },
];

const FORMAT_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.8",
    must: "Bodies are UTF-8, as application/scim+json and as application/json",
    steps: [
      {
        ...user("ada", { displayName: "Ädä 日本" }),
        headers: { "content-type": "application/json; charset=utf-8" },
      },
      get("/Users/{ada}", { displayName: "Ädä 日本" }),
    ],
  },
  {
    ref: "RFC 7644 §3.8",
    must: "Accept: application/scim+json, application/json and */* are accepted",
    steps: [
      user("ada"),
      ...["application/scim+json", "application/json", "*/*", "application/scim+json, application/json;q=0.5"]
        .map(
          (accept) => get("/Users/{ada}", { id: "{ada}" }, { headers: { accept } }),
        ),
    ],
  },
  {
    ref: "RFC 7644 §3.12",
    must: "A body that is no JSON object is 400 with invalidSyntax",
    steps: ["{", "[]", '"text"', "null", "{'a':1}", "\u0000"].map((
      body,
    ) => sent("POST /Users", body, 400, "invalidSyntax")),
  },
  {
    ref: "RFC 7644 §3.12",
    must: "An error says in a text what is wrong",
    steps: [
      { send: `GET /Users/${UNKNOWN_ID}`, status: 404, json: { detail: TEXT, status: "404" } },
      sent("POST /Users", { schemas: [USER] }, 400, { detail: TEXT, status: "400" }),
    ],
  },
  {
    ref: "RFC 7644 §3.12",
    must: "An unsupported method of an endpoint is 405",
    steps: ["PUT /Users", "DELETE /Users", "PATCH /Groups"].map((send) => ({
      send,
      body: { schemas: [USER] },
      status: [405, 501],
    })),
  },
  {
    ref: "RFC 7644 §3.11",
    must: "/Me is 501 if the client is no user; else its Location is that of the user",
    steps: [{ send: "GET /Me", status: [501, 308, 200] }],
  },
  {
    ref: "RFC 7644 §3.13",
    must: "The version is in the path before the endpoint",
    steps: [user("ada"), get("/Users/{ada}", { "meta/location": like(/\/v2\/.*\/Users\//) })],
  },
];

export const REQUEST_ROWS: readonly SuiteRow[] = [
  ...AUTHENTICATION_ROWS,
  ...CREATE_ROWS,
  ...READ_ROWS,
  ...FORMAT_ROWS,
];
