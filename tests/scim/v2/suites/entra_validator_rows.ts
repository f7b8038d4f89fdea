// The tests of Microsoft's SCIM validator: 23 mandatory ones and 7 in preview, with the shapes of its requests.
// https://learn.microsoft.com/entra/identity/app-provisioning/scim-validator-tutorial. The list and the recorded requests are
// from published runs: https://github.com/pranems/SCIMServer (docs/archive/SCIM_VALIDATOR_RESULTS_26_ANALYSIS.md and
// SCIM_VALIDATOR_FALSE_POSITIVES_REPORT.md).

import { filtered, MANDATORY, newEntraGroup, PREVIEW, wholeUser } from "./entra_validator_steps.ts";
import { VALIDATOR_USER_ROWS } from "./entra_validator_user_rows.ts";
import { ABSENT, sameSet, type SuiteRow, TEXT } from "./suite_row.ts";
import { get, patch, UNKNOWN_ID } from "./suite_steps.ts";

const GROUP_ROWS: readonly SuiteRow[] = [
  {
    ref: MANDATORY,
    must: "Get a group by id and by filter, without and with members",
    steps: [
      wholeUser("ada"),
      newEntraGroup("staff"),
      patch("/Groups/{staff}", [{ op: "add", path: "members", value: [{ value: "{ada}" }] }]),
      get("/Groups/{staff}", { members: ABSENT, displayName: "{row}-staff" }, {
        query: { excludedAttributes: "members" },
      }),
      filtered("/Groups", 'displayName eq "{row}-staff"', 1, {
        query: { excludedAttributes: "members", filter: 'displayName eq "{row}-staff"' },
        json: { "Resources/0/id": "{staff}", "Resources/0/members": ABSENT },
      }),
      filtered("/Groups", 'externalId eq "{row}-ext-staff"', 1, {
        json: { "Resources/0/members/0/value": "{ada}" },
      }),
    ],
  },
  {
    ref: MANDATORY,
    must: "Filter for a missing group, and for one in another case",
    steps: [
      newEntraGroup("staff"),
      filtered("/Groups", 'displayName eq "{guid}"', 0),
      filtered("/Groups", 'externalId eq "{guid}"', 0),
      filtered("/Groups", 'displayName eq "{row:upper}-STAFF"', 1),
    ],
  },
  {
    ref: MANDATORY,
    must: "Create a new group",
    steps: [newEntraGroup("staff"), get("/Groups/{staff}", { id: "{staff}" })],
  },
  {
    ref: MANDATORY,
    must: "Create a duplicate group",
    steps: [newEntraGroup("staff"), newEntraGroup("staff", 409)],
  },
  {
    ref: MANDATORY,
    must: "Patch group: replace attributes, and update the externalId",
    steps: [
      newEntraGroup("staff"),
      patch("/Groups/{staff}", [{ op: "replace", path: "displayName", value: "{row}-crew" }], {
        status: [200, 204],
      }),
      get("/Groups/{staff}", { displayName: "{row}-crew", externalId: "{row}-ext-staff" }),
      patch("/Groups/{staff}", [{ op: "replace", path: "externalId", value: "{row}-ext-crew" }]),
      get("/Groups/{staff}", { externalId: "{row}-ext-crew", displayName: "{row}-crew" }),
      filtered("/Groups", 'externalId eq "{row}-ext-crew"', 1),
    ],
  },
  {
    ref: MANDATORY,
    must: "Patch group: add a member, and remove one",
    steps: [
      wholeUser("ada"),
      wholeUser("bob"),
      newEntraGroup("staff"),
      patch("/Groups/{staff}", [{
        op: "replace",
        path: "members",
        value: [{ value: "{ada}" }, { value: "{bob}" }],
      }]),
      get("/Groups/{staff}", { "members/*/value": sameSet("{ada}", "{bob}") }),
      patch("/Groups/{staff}", [{ op: "remove", path: "members", value: [{ value: "{ada}" }] }]),
      get("/Groups/{staff}", { "members/*/value": ["{bob}"] }),
      patch("/Groups/{staff}", [{ op: "remove", path: 'members[value eq "{bob}"]' }]),
      get("/Groups/{staff}", { members: ABSENT }),
    ],
  },
  {
    ref: MANDATORY,
    must: "Delete a group",
    steps: [
      newEntraGroup("staff"),
      { send: "DELETE /Groups/{staff}", status: 204 },
      { send: "GET /Groups/{staff}", status: 404 },
    ],
  },
];

const PREVIEW_ROWS: readonly SuiteRow[] = [
  {
    ref: PREVIEW,
    must: "Patch user: several operations on different attributes",
    steps: [
      wholeUser("ada"),
      patch("/Users/{ada}", [
        { op: "remove", path: "title" },
        { op: "add", path: "nickName", value: "n" },
        { op: "replace", path: "displayName", value: "d" },
      ]),
      get("/Users/{ada}", { title: ABSENT, nickName: "n", displayName: "d" }),
    ],
  },
  {
    ref: PREVIEW,
    must: "Patch user: several operations on the same attribute",
    steps: [
      wholeUser("ada"),
      patch("/Users/{ada}", [
        { op: "remove", path: "displayName" },
        { op: "add", path: "displayName", value: "a" },
        { op: "replace", path: "displayName", value: "b" },
      ]),
      get("/Users/{ada}", { displayName: "b" }),
    ],
  },
  {
    ref: PREVIEW,
    must: "Patch group: several operations on the same attribute",
    steps: [
      wholeUser("ada"),
      newEntraGroup("staff"),
      patch("/Groups/{staff}", [
        { op: "add", path: "members", value: [{ value: "{ada}" }] },
        { op: "remove", path: "members", value: [{ value: "{ada}" }] },
      ]),
      get("/Groups/{staff}", { members: ABSENT }),
    ],
  },
  ...(["Users", "Groups"] as const).flatMap((path): SuiteRow[] => [
    {
      ref: PREVIEW,
      must: `Delete a resource of /${path} that does not exist`,
      steps: [{ send: `DELETE /${path}/${UNKNOWN_ID}`, status: 404, json: { detail: TEXT } }],
    },
    {
      ref: PREVIEW,
      must: `Delete a resource of /${path} twice`,
      steps: [
        path === "Users" ? wholeUser("one") : newEntraGroup("one"),
        { send: `DELETE /${path}/{one}`, status: 204 },
        { send: `DELETE /${path}/{one}`, status: 404 },
      ],
    },
  ]),
];

export const VALIDATOR_ROWS: readonly SuiteRow[] = [...VALIDATOR_USER_ROWS, ...GROUP_ROWS, ...PREVIEW_ROWS];
