// The mandatory tests of users of Microsoft's SCIM validator; see entra_validator_rows.ts.

import { filtered, MANDATORY, wholeUser } from "./entra_validator_steps.ts";
import { ABSENT, sameSet, type SuiteRow, TEXT } from "./suite_row.ts";
import { ENTERPRISE, get, patch, USER } from "./suite_steps.ts";

export const VALIDATOR_USER_ROWS: readonly SuiteRow[] = [
  {
    ref: MANDATORY,
    must: "Create a new user",
    steps: [
      wholeUser("ada"),
      get("/Users/{ada}", {
        userName: "{row}_ada@bauch.co.uk",
        "roles/0/primary": true,
        "roles/0/value": "OGCIACGFVVRR",
        "addresses/0/country": "Belize",
        [`${ENTERPRISE}/manager/value`]: "GZFDHGRKQLCG",
        [`${ENTERPRISE}/costCenter`]: "XDQMRXTSMYGO",
        "name/honorificSuffix": "Catalina",
      }),
    ],
  },
  {
    ref: MANDATORY,
    must: "Create a duplicate user",
    steps: [wholeUser("ada"), { ...wholeUser("ada"), status: 409, scimType: "uniqueness", save: {} }],
  },
  {
    ref: MANDATORY,
    must: "Filter for an existing user, a missing one, and one in another case",
    steps: [
      wholeUser("ada"),
      filtered("/Users", 'userName eq "{row}_ada@bauch.co.uk"', 1, { json: { "Resources/*/id": ["{ada}"] } }),
      filtered("/Users", 'userName eq "{guid}"', 0),
      filtered("/Users", 'userName eq "{row:upper}_ADA@BAUCH.CO.UK"', 1, {
        json: { "Resources/*/id": ["{ada}"] },
      }),
    ],
  },
  {
    ref: MANDATORY,
    must: "Patch user: replace attributes, one operation for each",
    steps: [
      wholeUser("ada"),
      patch("/Users/{ada}", [
        { op: "replace", path: "displayName", value: "new1" },
        { op: "replace", path: "title", value: "new2" },
        { op: "replace", path: 'emails[type eq "work"].value', value: "new@hermann.ca" },
        { op: "replace", path: 'emails[type eq "work"].primary', value: true },
        { op: "replace", path: "name.givenName", value: "new3" },
        { op: "replace", path: 'addresses[type eq "work"].country', value: "Belgium" },
        { op: "replace", path: 'phoneNumbers[type eq "mobile"].value', value: "9" },
        { op: "replace", path: `${ENTERPRISE}:department`, value: "new4" },
        { op: "replace", path: 'roles[primary eq "True"].display', value: "new5" },
        { op: "replace", path: "timezone", value: "America/Anguilla" },
      ]),
      get("/Users/{ada}", {
        displayName: "new1",
        title: "new2",
        emails: [{ type: "work", value: "new@hermann.ca", primary: true }],
        "name/givenName": "new3",
        "addresses/0/country": "Belgium",
        "phoneNumbers/1/value": "9",
        [`${ENTERPRISE}/department`]: "new4",
        "roles/0/display": "new5",
        timezone: "America/Anguilla",
      }),
    ],
  },
  {
    ref: MANDATORY,
    must: "Patch user: update the userName",
    steps: [
      wholeUser("ada"),
      patch("/Users/{ada}", [{ op: "replace", path: "userName", value: "{row}_new@bauch.co.uk" }]),
      get("/Users/{ada}", { id: "{ada}", userName: "{row}_new@bauch.co.uk" }),
      filtered("/Users", 'userName eq "{row}_ada@bauch.co.uk"', 0),
    ],
  },
  {
    ref: MANDATORY,
    must: "Patch user: disable",
    steps: [
      wholeUser("ada"),
      patch("/Users/{ada}", [{ op: "replace", path: "active", value: false }]),
      get("/Users/{ada}", { active: false }),
      filtered("/Users", 'userName eq "{row}_ada@bauch.co.uk"', 1),
    ],
  },
  {
    ref: MANDATORY,
    must: "Patch user: add attributes to a user without any, one operation for each",
    steps: [
      {
        send: "POST /Users",
        body: { userName: "{row}_ada@boyercorwin.biz", schemas: [USER] },
        status: 201,
        save: { ada: "id" },
      },
      patch("/Users/{ada}", [
        { op: "add", path: "active", value: true },
        { op: "add", path: "displayName", value: "RJEXKNFYZKXS" },
        { op: "add", path: 'emails[type eq "work"].value', value: "a@example.com" },
        { op: "add", path: 'emails[type eq "work"].primary', value: true },
        { op: "add", path: "name.givenName", value: "Gia" },
        { op: "add", path: "name.formatted", value: "Gia G" },
        { op: "add", path: 'addresses[type eq "work"].formatted', value: "x" },
        { op: "add", path: 'addresses[type eq "work"].locality', value: "y" },
        { op: "add", path: 'phoneNumbers[type eq "work"].value', value: "1" },
        { op: "add", path: 'phoneNumbers[type eq "mobile"].value', value: "2" },
        { op: "add", path: 'phoneNumbers[type eq "fax"].value', value: "3" },
        { op: "add", path: `${ENTERPRISE}:employeeNumber`, value: "e1" },
        { op: "add", path: `${ENTERPRISE}:division`, value: "e2" },
        { op: "add", path: 'roles[primary eq "True"].display', value: "TQBJFQYVJCAG" },
        { op: "add", path: 'roles[primary eq "True"].value', value: "UOYTUVLKIPND" },
        { op: "add", path: 'roles[primary eq "True"].type', value: "VGNBBCPQEMYC" },
      ]),
      get("/Users/{ada}", {
        displayName: "RJEXKNFYZKXS",
        emails: [{ type: "work", value: "a@example.com", primary: true }],
        name: { givenName: "Gia", formatted: "Gia G" },
        addresses: [{ type: "work", formatted: "x", locality: "y" }],
        phoneNumbers: sameSet({ type: "work", value: "1" }, { type: "mobile", value: "2" }, {
          type: "fax",
          value: "3",
        }),
        [ENTERPRISE]: { employeeNumber: "e1", division: "e2" },
        roles: [{ primary: true, display: "TQBJFQYVJCAG", value: "UOYTUVLKIPND", type: "VGNBBCPQEMYC" }],
      }),
    ],
  },
  {
    ref: MANDATORY,
    must: "Patch user: add, replace and remove the manager",
    steps: [
      wholeUser("boss"),
      wholeUser("ada", { [ENTERPRISE]: { department: "x" } }),
      patch("/Users/{ada}", [{ op: "add", path: `${ENTERPRISE}:manager`, value: "{boss}" }]),
      get("/Users/{ada}", { [`${ENTERPRISE}/manager/value`]: "{boss}" }),
      filtered("/Users", `id eq "{ada}" and manager eq "{boss}"`, 1),
      patch("/Users/{ada}", [{ op: "replace", path: `${ENTERPRISE}:manager`, value: { value: "{ada}" } }]),
      get("/Users/{ada}", { [`${ENTERPRISE}/manager/value`]: "{ada}" }),
      patch("/Users/{ada}", [{ op: "replace", path: `${ENTERPRISE}:manager`, value: "" }]),
      get("/Users/{ada}", { [`${ENTERPRISE}/manager`]: ABSENT, [`${ENTERPRISE}/department`]: "x" }),
      patch("/Users/{ada}", [{
        op: "add",
        path: `${ENTERPRISE}:manager`,
        value: [{ $ref: "x", value: "{boss}" }],
      }]),
      patch("/Users/{ada}", [{ op: "remove", path: `${ENTERPRISE}:manager` }]),
      get("/Users/{ada}", { [`${ENTERPRISE}/manager`]: ABSENT }),
    ],
  },
  {
    ref: MANDATORY,
    must: "Delete a user",
    steps: [
      wholeUser("ada"),
      { send: "DELETE /Users/{ada}", status: 204 },
      { send: "GET /Users/{ada}", status: 404, json: { detail: TEXT } },
    ],
  },
];
