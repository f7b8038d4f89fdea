// Okta's SCIM 2.0 spec test: its 12 requests and 52 assertions.
// https://developer.okta.com/standards/SCIM/SCIMFiles/Okta-SCIM-20-SPEC-Test.json, in
// https://github.com/okta/okta-developer-docs (packages/@okta/vuepress-site/.vuepress/public/standards/SCIM/SCIMFiles).
// Its variables are {base}, {row}-... for random names, and {guid} for what does not exist.

import {
  contains,
  FILLED_LIST,
  NUMBER,
  oneOf,
  PRESENT,
  type Step,
  type SuiteRow,
  TEXT,
} from "./suite_row.ts";
import { LIST_RESPONSE, SCIM_ERROR, USER } from "./suite_steps.ts";

/** The headers of all its requests but POST. */
const HEADERS = {
  "accept": "application/scim+json",
  "accept-charset": "utf-8",
  "content-type": "application/scim+json; charset=utf-8",
  "user-agent": "OKTA SCIM Integration",
};
const POST_HEADERS = { "accept": "application/scim+json; charset=utf-8", "content-type": "application/json" };

/** "not empty": also false is a value of `active`. */
const FIRST_USER = {
  id: TEXT,
  "name/familyName": TEXT,
  "name/givenName": TEXT,
  userName: TEXT,
  active: PRESENT,
  "emails/0/value": TEXT,
};

const below = (prefix: string, checks: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(checks).map(([path, wanted]) => [`${prefix}${path}`, wanted]));

function create(email: string, more: Partial<Step>): Step {
  return {
    send: "POST /Users",
    headers: POST_HEADERS,
    body: {
      schemas: [USER],
      userName: "{row}.User@Example.com",
      name: { givenName: "Given{row}", familyName: "Family{row}" },
      emails: [{ primary: true, value: email, type: "work" }],
      displayName: "Given{row} Family{row}",
      active: true,
    },
    status: 201,
    ...more,
  };
}

/** Not a request of the test: it needs a user to begin with. */
const FIRST: Step = create("first@example.com", {
  body: {
    schemas: [USER],
    userName: "{row}.first@example.com",
    name: { givenName: "Isaac", familyName: "Brock" },
    emails: [{ primary: true, value: "first@example.com", type: "work" }],
    active: true,
  },
});

/** 52 assertions: the statuses and the entries of `json` that the rows share with Okta's file. */
export const OKTA_ROWS: readonly SuiteRow[] = [{
  ref: "Okta SCIM 2.0 SPEC Test",
  must: "all requests with all assertions, in their order",
  steps: [
    FIRST,
    {
      send: "GET /Users?count=1&startIndex=1",
      headers: HEADERS,
      status: 200,
      json: {
        Resources: FILLED_LIST,
        schemas: contains(LIST_RESPONSE),
        itemsPerPage: NUMBER,
        startIndex: NUMBER,
        totalResults: NUMBER,
        ...below("Resources/0/", FIRST_USER),
      },
      save: { first: "Resources/0/id" },
    },
    { send: "GET /Users/{first}", headers: HEADERS, status: 200, json: { ...FIRST_USER, id: "{first}" } },
    {
      send: "GET /Users",
      query: { filter: 'userName eq "{guid}@example.com"' },
      headers: HEADERS,
      status: 200,
      json: { schemas: contains(LIST_RESPONSE), totalResults: 0 },
    },
    {
      send: "GET /Users/{guid}",
      headers: HEADERS,
      status: 404,
      json: { detail: TEXT, schemas: contains(SCIM_ERROR) },
    },
    {
      send: "GET /Users",
      query: { filter: 'userName eq "{row}.mail@example.com"' },
      headers: HEADERS,
      status: 200,
      json: { totalResults: 0, schemas: contains(LIST_RESPONSE) },
    },
    create("{row}.mail@example.com", {
      json: {
        active: true,
        id: TEXT,
        "name/familyName": "Family{row}",
        "name/givenName": "Given{row}",
        schemas: contains(USER),
        userName: "{row}.User@Example.com",
      },
      save: { one: "id", mail: "emails/0/value" },
    }),
    {
      send: "GET /Users/{one}",
      headers: HEADERS,
      status: 200,
      json: {
        userName: "{row}.User@Example.com",
        "name/familyName": "Family{row}",
        "name/givenName": "Given{row}",
      },
    },
    create("{row}.User@Example.com", { status: 409 }),
    {
      send: "GET /Users",
      query: { filter: 'userName eq "{row:upper}.USER@EXAMPLE.COM"' },
      headers: HEADERS,
      status: 200,
      // The file asserts the status only. Its name is "Username Case Sensitivity Check".
      json: { "Resources/*/id": ["{one}"] },
    },
    {
      send: "GET /Groups",
      headers: HEADERS,
      status: 200,
      maxMs: 600,
      // The script of the request: no groups, or a list of them.
      json: { totalResults: NUMBER, Resources: oneOf([], undefined) },
    },
    {
      send: "GET /Users",
      query: { filter: 'userName eq "{row:upper}.USER@EXAMPLE.COM"' },
      headers: HEADERS,
      authorization: "non-token",
      status: 401,
      json: { detail: TEXT, status: "401", schemas: contains(SCIM_ERROR) },
    },
    {
      send: "GET /Users/00919288221112222",
      headers: HEADERS,
      status: 404,
      json: { detail: TEXT, status: "404", schemas: contains(SCIM_ERROR) },
    },
  ],
}];
