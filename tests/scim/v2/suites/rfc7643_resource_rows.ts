// RFC 7643 §4: users, groups and the enterprise extension.
//
// Requirements that no request can test: how passwords are stored (§9.2), the registration of schemas (§10), and what
// `externalId` means between provisioning domains (§3.1). For clients only: they do not send an `id` of their own (§3.1).

import {
  ABSENT,
  BOOLEAN,
  contains,
  FILLED_LIST,
  PRESENT,
  sameSet,
  type SuiteRow,
  TEXT,
} from "./suite_row.ts";
import { ENTERPRISE, get, GROUP, group, patch, refusedPatch, sent, USER, user } from "./suite_steps.ts";

/** §4: users, groups and the enterprise extension. */
export const RESOURCE_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7643 §4.1.1",
    must: "A user has a userName that is not empty",
    steps: [
      sent("POST /Users", { schemas: [USER], displayName: "x" }, 400, "invalidValue"),
      sent("POST /Users", { schemas: [USER], userName: "" }, 400, "invalidValue"),
      sent("POST /Users", { schemas: [USER], userName: null }, 400, "invalidValue"),
    ],
  },
  {
    ref: "RFC 7643 §4.1.1",
    must: "A userName is unique without regard to case",
    steps: [
      user("ada"),
      sent("POST /Users", { schemas: [USER], userName: "{row:upper}-ADA" }, 409, "uniqueness"),
      user("bob"),
      patch("/Users/{bob}", [{ op: "replace", path: "userName", value: "{row}-Ada" }], {
        status: 409,
        scimType: "uniqueness",
      }),
      sent("PUT /Users/{bob}", { schemas: [USER], userName: "{row}-ada" }, 409, "uniqueness"),
      get("/Users/{bob}", { userName: "{row}-bob" }),
    ],
  },
  {
    ref: "RFC 7643 §4.1.1",
    must: "A user keeps all singular attributes",
    steps: [
      user("ada", {
        name: {
          ...{ formatted: "Ms. Ada M. Byron, III", familyName: "Byron", givenName: "Ada", middleName: "M." },
          ...{ honorificPrefix: "Ms.", honorificSuffix: "III" },
        },
        ...{ displayName: "Ada", nickName: "Addie", title: "Countess", userType: "Employee" },
        ...{ preferredLanguage: "en-GB", locale: "en-GB", timezone: "Europe/London", active: true },
        profileUrl: "https://example.com/ada",
      }),
      get("/Users/{ada}", {
        "name/formatted": "Ms. Ada M. Byron, III",
        "name/middleName": "M.",
        "name/honorificPrefix": "Ms.",
        "name/honorificSuffix": "III",
        nickName: "Addie",
        userType: "Employee",
        preferredLanguage: "en-GB",
        locale: "en-GB",
        timezone: "Europe/London",
        profileUrl: "https://example.com/ada",
        active: BOOLEAN,
      }),
    ],
  },
  {
    ref: "RFC 7643 §4.1.1",
    must: "A password is never returned, also not when the client asks for it",
    steps: [
      user("ada", { password: "t1meMa$heen" }),
      get("/Users/{ada}", { password: ABSENT }),
      get("/Users/{ada}", { password: ABSENT }, { query: { attributes: "userName,password" } }),
      patch("/Users/{ada}", [{ op: "replace", path: "password", value: "an0ther$ecret" }]),
    ],
  },
  {
    ref: "RFC 7643 §4.1.2",
    must: "A user keeps all multi-valued attributes",
    steps: [
      user("ada", {
        emails: [{ value: "ada@example.com", type: "work" }],
        phoneNumbers: [{ value: "+44 20 7946 0000", type: "work" }, {
          value: "+44 20 7946 0001",
          type: "pager",
        }],
        ims: [{ value: "ada", type: "xmpp" }],
        photos: [{ value: "https://example.com/ada.png", type: "photo" }],
        addresses: [{
          type: "home",
          streetAddress: "12 St James's Square",
          locality: "London",
          country: "GB",
        }],
        entitlements: [{ value: "e1" }],
        roles: [{ value: "r1", type: "t", display: "d" }],
        x509Certificates: [{ value: "MIIB" }],
      }),
      get("/Users/{ada}", {
        "emails/0/value": "ada@example.com",
        "phoneNumbers/*/type": sameSet("work", "pager"),
        "ims/0/value": "ada",
        "photos/0/value": "https://example.com/ada.png",
        "addresses/0/locality": "London",
        "entitlements/0/value": "e1",
        "roles/0/display": "d",
        "x509Certificates/0/value": "MIIB",
      }),
    ],
  },
  {
    ref: "RFC 7643 §4.1.2",
    must: "Values with types that the schema does not list are kept",
    steps: [
      user("ada", { emails: [{ value: "a@example.com", type: "assistant" }] }),
      get("/Users/{ada}", { "emails/0/type": "assistant" }),
    ],
  },
  {
    ref: "RFC 7643 §4.1.2",
    must: "groups of a user is derived from the members of groups: value is the id, $ref the URI",
    steps: [
      user("ada"),
      group("staff", ["ada"]),
      get("/Users/{ada}", {
        "groups/*/value": ["{staff}"],
        "groups/0/$ref": "{base}/Groups/{staff}",
        "groups/0/display": "{row}-staff",
      }),
    ],
  },
  {
    ref: "RFC 7643 §4.1.2",
    must: "groups of a user changes only through the group",
    steps: [
      group("staff"),
      user("ada", { groups: [{ value: "{staff}" }] }),
      get("/Users/{ada}", { groups: ABSENT }),
      get("/Groups/{staff}", { members: ABSENT }),
      refusedPatch(
        "/Users/{ada}",
        [{ op: "add", path: "groups", value: [{ value: "{staff}" }] }],
        "mutability",
      ),
      get("/Groups/{staff}", { members: ABSENT }),
    ],
  },
  {
    ref: "RFC 7643 §4.2",
    must: "A group has a displayName",
    steps: [
      sent("POST /Groups", { schemas: [GROUP] }, 400, "invalidValue"),
      sent("POST /Groups", { schemas: [GROUP], displayName: "" }, 400, "invalidValue"),
    ],
  },
  {
    ref: "RFC 7643 §4.2",
    must: "A member has the id of the user, a $ref and the type",
    steps: [
      user("ada"),
      group("staff", ["ada"]),
      get("/Groups/{staff}", {
        members: FILLED_LIST,
        "members/0/value": "{ada}",
        "members/0/$ref": "{base}/Users/{ada}",
        "members/0/type": "User",
      }),
    ],
  },
  {
    ref: "RFC 7643 §4.2",
    must: "The value of a member is immutable",
    steps: [
      user("ada"),
      user("bob"),
      group("staff", ["ada"]),
      refusedPatch(
        "/Groups/{staff}",
        [{ op: "replace", path: 'members[value eq "{ada}"].value', value: "{bob}" }],
        "mutability",
      ),
      get("/Groups/{staff}", { "members/*/value": ["{ada}"] }),
    ],
  },
  {
    ref: "RFC 7643 §4.3",
    must: "The enterprise extension keeps its attributes and the manager",
    steps: [
      user("boss"),
      user("ada", {
        schemas: [USER, ENTERPRISE],
        [ENTERPRISE]: {
          ...{ employeeNumber: "701984", costCenter: "4130", organization: "Universal", division: "Parks" },
          ...{ department: "Tours", manager: { value: "{boss}" } },
        },
      }),
      get("/Users/{ada}", {
        [`${ENTERPRISE}/division`]: "Parks",
        [`${ENTERPRISE}/manager/value`]: "{boss}",
        schemas: contains(ENTERPRISE),
        "meta/version": PRESENT,
        id: TEXT,
      }),
    ],
  },
];
