// RFC 7644 §3.5.2.2 and §3.5.2.3: the operations remove and replace of PATCH.

import { ABSENT, sameSet, type SuiteRow } from "./suite_row.ts";
import { ENTERPRISE, get, group, patch, refusedPatch, USER, user } from "./suite_steps.ts";

const WORK = { value: "w@example.com", type: "work" };
const HOME = { value: "h@example.com", type: "home" };

const REMOVE_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.5.2.2",
    must: "remove without a path is 400 with noTarget",
    steps: [user("ada"), refusedPatch("/Users/{ada}", [{ op: "remove" }], "noTarget")],
  },
  {
    ref: "RFC 7644 §3.5.2.2",
    must: "remove of a singular attribute makes it unassigned",
    steps: [
      user("ada", { title: "a", name: { givenName: "Ada", familyName: "B" } }),
      patch("/Users/{ada}", [{ op: "remove", path: "title" }, { op: "remove", path: "name.familyName" }]),
      get("/Users/{ada}", { title: ABSENT, name: { givenName: "Ada" } }),
      get("/Users", { totalResults: 0 }, { query: { filter: 'id eq "{ada}" and title pr' } }),
      patch("/Users/{ada}", [{ op: "remove", path: "name" }]),
      get("/Users/{ada}", { name: ABSENT }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.2",
    must: "remove of a multi-valued attribute without a filter removes all values",
    steps: [
      user("ada", { emails: [WORK, HOME] }),
      patch("/Users/{ada}", [{ op: "remove", path: "emails" }]),
      get("/Users/{ada}", { emails: ABSENT }),
      user("bob"),
      group("staff", ["ada", "bob"]),
      patch("/Groups/{staff}", [{ op: "remove", path: "members" }]),
      get("/Groups/{staff}", { members: ABSENT }),
      get("/Users/{bob}", { groups: ABSENT }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.2",
    must: "remove with a filter removes the matching values only",
    steps: [
      user("ada", { emails: [WORK, HOME, { value: "x@example.com", type: "home" }] }),
      patch("/Users/{ada}", [{ op: "remove", path: 'emails[type eq "home" and value sw "x"]' }]),
      get("/Users/{ada}", { emails: sameSet(WORK, HOME) }),
      patch("/Users/{ada}", [{ op: "remove", path: 'emails[type eq "home"]' }]),
      get("/Users/{ada}", { emails: [WORK] }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.2",
    must: "After the last value is removed, the attribute is unassigned",
    steps: [
      user("ada", { emails: [WORK] }),
      patch("/Users/{ada}", [{ op: "remove", path: 'emails[value eq "w@example.com"]' }]),
      get("/Users/{ada}", { emails: ABSENT }),
      get("/Users", { totalResults: 0 }, { query: { filter: 'id eq "{ada}" and emails pr' } }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.2",
    must: "remove of a sub-attribute of matching values leaves the rest",
    steps: [
      user("ada", { emails: [{ ...WORK, display: "office" }, { ...HOME, display: "flat" }] }),
      patch("/Users/{ada}", [{ op: "remove", path: 'emails[type eq "work"].display' }]),
      get("/Users/{ada}", { emails: sameSet(WORK, { ...HOME, display: "flat" }) }),
      get("/Users", { totalResults: 0 }, {
        query: { filter: 'id eq "{ada}" and emails[type eq "work" and display pr]' },
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.2",
    must: "remove of a required or readOnly attribute is 400 with mutability",
    steps: [
      user("ada"),
      refusedPatch("/Users/{ada}", [{ op: "remove", path: "userName" }], "mutability"),
      refusedPatch("/Users/{ada}", [{ op: "remove", path: "id" }], "mutability"),
      refusedPatch("/Users/{ada}", [{ op: "remove", path: "meta" }], "mutability"),
      group("staff"),
      refusedPatch("/Groups/{staff}", [{ op: "remove", path: "displayName" }], "mutability"),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.2",
    must: "remove of a member removes that member, and succeeds if it is no member",
    steps: [
      user("ada"),
      user("bob"),
      group("staff", ["ada", "bob"]),
      patch("/Groups/{staff}", [{ op: "remove", path: 'members[value eq "{ada}"]' }]),
      get("/Groups/{staff}", { "members/*/value": ["{bob}"] }),
      get("/Users/{ada}", { groups: ABSENT }),
      patch("/Groups/{staff}", [{ op: "remove", path: 'members[value eq "{ada}"]' }]),
      get("/Groups/{staff}", { "members/*/value": ["{bob}"] }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.2",
    must: "remove of an attribute that has no value succeeds or is noTarget, and changes nothing",
    steps: [
      user("ada", { title: "a" }),
      patch("/Users/{ada}", [{ op: "remove", path: "nickName" }], { status: [200, 204, 400] }),
      get("/Users/{ada}", { title: "a", nickName: ABSENT }),
    ],
  },
];

const REPLACE_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.5.2.3",
    must: "replace without a path replaces the attributes of the value and no others",
    steps: [
      user("ada", { title: "a", nickName: "n", emails: [WORK, HOME] }),
      patch("/Users/{ada}", [{ op: "replace", value: { title: "b", emails: [{ value: "x@example.com" }] } }]),
      get("/Users/{ada}", { title: "b", nickName: "n", emails: [{ value: "x@example.com" }] }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.3",
    must:
      "replace without a path does not change attributes that it does not name: a group keeps its members",
    steps: [
      user("ada"),
      group("staff", ["ada"]),
      patch("/Groups/{staff}", [{ op: "replace", value: { id: "{staff}", displayName: "{row}-crew" } }]),
      get("/Groups/{staff}", { displayName: "{row}-crew", "members/*/value": ["{ada}"] }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.3",
    must: "replace of a singular attribute replaces the value, and adds it if there is none",
    steps: [
      user("ada", { title: "a" }),
      patch("/Users/{ada}", [
        { op: "replace", path: "title", value: "b" },
        { op: "replace", path: "nickName", value: "n" },
        { op: "replace", path: "name.givenName", value: "Ada" },
      ]),
      get("/Users/{ada}", { title: "b", nickName: "n", name: { givenName: "Ada" } }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.3",
    must: "replace of a multi-valued attribute without a filter replaces all values",
    steps: [
      user("ada", { emails: [WORK, HOME] }),
      patch("/Users/{ada}", [{
        op: "replace",
        path: "emails",
        value: [{ value: "x@example.com", type: "other" }],
      }]),
      get("/Users/{ada}", { emails: [{ value: "x@example.com", type: "other" }] }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.3",
    must: "replace of members replaces all members",
    steps: [
      user("ada"),
      user("bob"),
      user("eve"),
      group("staff", ["ada", "bob"]),
      patch("/Groups/{staff}", [{
        op: "replace",
        path: "members",
        value: [{ value: "{bob}" }, { value: "{eve}" }],
      }]),
      get("/Groups/{staff}", { "members/*/value": sameSet("{bob}", "{eve}") }),
      patch("/Groups/{staff}", [{ op: "replace", path: "members", value: [] }]),
      get("/Groups/{staff}", { members: ABSENT }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.3",
    must: "replace of a complex attribute leaves sub-attributes that the value does not name",
    steps: [
      user("ada", { name: { givenName: "Ada", familyName: "Byron" } }),
      patch("/Users/{ada}", [{ op: "replace", path: "name", value: { familyName: "Lovelace" } }]),
      get("/Users/{ada}", { name: { givenName: "Ada", familyName: "Lovelace" } }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.3",
    must: "replace with a value path replaces the matching values",
    steps: [
      user("ada", { emails: [WORK, HOME] }),
      patch("/Users/{ada}", [{
        op: "replace",
        path: 'emails[type eq "work"]',
        value: { value: "n@example.com", type: "work" },
      }]),
      get("/Users/{ada}", { emails: sameSet({ value: "n@example.com", type: "work" }, HOME) }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.3",
    must: "replace with a value path and a sub-attribute replaces it in all matching values",
    steps: [
      user("ada", {
        addresses: [
          { type: "work", streetAddress: "1 A St", locality: "X" },
          { type: "work", streetAddress: "2 B St", locality: "Y" },
          { type: "home", streetAddress: "3 C St" },
        ],
      }),
      patch("/Users/{ada}", [{
        op: "replace",
        path: 'addresses[type eq "work"].streetAddress',
        value: "9 Z St",
      }]),
      get("/Users/{ada}", {
        addresses: sameSet(
          { type: "work", streetAddress: "9 Z St", locality: "X" },
          { type: "work", streetAddress: "9 Z St", locality: "Y" },
          { type: "home", streetAddress: "3 C St" },
        ),
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.3",
    must: "replace with a value path that matches nothing is 400 with noTarget",
    steps: [
      user("ada", { emails: [WORK] }),
      refusedPatch("/Users/{ada}", [{
        op: "replace",
        path: 'emails[value co "zzz"]',
        value: { value: "n@example.com" },
      }], "noTarget"),
      refusedPatch(
        "/Users/{ada}",
        [{ op: "replace", path: 'emails[value co "zzz"].type', value: "home" }],
        "noTarget",
      ),
      get("/Users/{ada}", { emails: [WORK] }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.3",
    must: "replace of an extension attribute replaces only that attribute",
    steps: [
      user("ada", { schemas: [USER, ENTERPRISE], [ENTERPRISE]: { department: "Sales", division: "North" } }),
      patch("/Users/{ada}", [{ op: "replace", path: `${ENTERPRISE}:department`, value: "R&D" }]),
      get("/Users/{ada}", { [ENTERPRISE]: { department: "R&D", division: "North" } }),
      patch("/Users/{ada}", [{ op: "replace", value: { [ENTERPRISE]: { division: "South" } } }]),
      get("/Users/{ada}", { [ENTERPRISE]: { department: "R&D", division: "South" } }),
    ],
  },
];

export const PATCH_CHANGE_ROWS: readonly SuiteRow[] = [...REMOVE_ROWS, ...REPLACE_ROWS];
