// RFC 7644 §3.5.2.1: the operation add of PATCH.

import { like, not, sameSet, type SuiteRow, TEXT } from "./suite_row.ts";
import { get, GROUP, group, patch, refusedPatch, user } from "./suite_steps.ts";

const WORK = { value: "w@example.com", type: "work" };
const HOME = { value: "h@example.com", type: "home" };

export const PATCH_ADD_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.5.2.1",
    must: "add has a value",
    steps: [user("ada"), refusedPatch("/Users/{ada}", [{ op: "add", path: "title" }], undefined)],
  },
  {
    ref: "RFC 7644 §3.5.2.1",
    must: "add without a path sets the attributes of the value",
    steps: [
      user("ada", { emails: [WORK] }),
      patch("/Users/{ada}", [{
        op: "add",
        value: { nickName: "Babs", emails: [HOME], name: { givenName: "Ada" } },
      }]),
      get("/Users/{ada}", { nickName: "Babs", emails: sameSet(WORK, HOME), "name/givenName": "Ada" }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.1",
    must: "add to an attribute without a value sets it; to a singular one replaces it",
    steps: [
      user("ada"),
      patch("/Users/{ada}", [{ op: "add", path: "title", value: "a" }]),
      get("/Users/{ada}", { title: "a" }),
      patch("/Users/{ada}", [{ op: "add", path: "title", value: "b" }]),
      get("/Users/{ada}", { title: "b" }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.1",
    must: "add to a complex attribute sets the given sub-attributes",
    steps: [
      user("ada", { name: { givenName: "Ada", familyName: "Byron" } }),
      patch("/Users/{ada}", [{
        op: "add",
        path: "name",
        value: { familyName: "Lovelace", middleName: "K." },
      }]),
      get("/Users/{ada}", { name: { givenName: "Ada", familyName: "Lovelace", middleName: "K." } }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.1",
    must: "add to a multi-valued attribute adds values",
    steps: [
      user("ada", { emails: [WORK] }),
      patch("/Users/{ada}", [{ op: "add", path: "emails", value: [HOME] }]),
      get("/Users/{ada}", { emails: sameSet(WORK, HOME) }),
      patch("/Users/{ada}", [{
        op: "add",
        path: "emails",
        value: { value: "o@example.com", type: "other" },
      }]),
      get("/Users/{ada}", { "emails/*/type": sameSet("work", "home", "other") }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.1",
    must: "add of a value that exists changes nothing, also not lastModified",
    steps: [
      {
        ...user("ada", { emails: [WORK], title: "a" }),
        save: { ada: "id", tag: "meta/version", at: "meta/lastModified" },
      },
      patch("/Users/{ada}", [{ op: "add", path: "emails", value: [WORK] }, {
        op: "add",
        path: "title",
        value: "a",
      }]),
      get("/Users/{ada}", { emails: [WORK], "meta/lastModified": "{at}", "meta/version": "{tag}" }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.1",
    must: "add of members adds them, and adding a member again changes nothing",
    steps: [
      user("ada"),
      user("bob"),
      group("staff"),
      patch("/Groups/{staff}", [{ op: "add", path: "members", value: [{ value: "{ada}" }] }]),
      patch("/Groups/{staff}", [{
        op: "add",
        path: "members",
        value: [{ value: "{ada}" }, { value: "{bob}" }],
      }]),
      patch("/Groups/{staff}", [{ op: "add", value: { members: [{ value: "{bob}" }] } }]),
      get("/Groups/{staff}", { "members/*/value": sameSet("{ada}", "{bob}"), schemas: [GROUP] }),
      get("/Users/{bob}", { "groups/*/value": ["{staff}"] }),
    ],
  },
  {
    ref: "RFC 7644 §3.5.2.1",
    must: "add with a value path sets a sub-attribute of the matching values",
    steps: [
      user("ada", { emails: [WORK, HOME] }),
      patch("/Users/{ada}", [{ op: "add", path: 'emails[type eq "work"].display', value: "office" }]),
      get("/Users/{ada}", {
        emails: sameSet({ ...WORK, display: "office" }, HOME),
        "meta/version": like(/./),
      }),
      get("/Users/{ada}", { id: not("x"), userName: TEXT }),
    ],
  },
];
