// RFC 7644 §3.4.2.2: filters.

import { type Step, type SuiteRow, TEXT } from "./suite_row.ts";
import {
  ENTERPRISE,
  found,
  get,
  GROUP,
  group,
  patch,
  refusedFilter,
  SEARCH_REQUEST,
  sent,
  USER,
  user,
} from "./suite_steps.ts";

/** Three users: ada (active, Sales), bob (inactive, with two addresses), eve (nothing but a name). */
const THREE: readonly Step[] = [
  user("ada", {
    schemas: [USER, ENTERPRISE],
    ...{ title: "Doctor", displayName: "Ada B", active: true, externalId: "{row}-E1" },
    name: { familyName: "O'Malley", givenName: "Ada" },
    emails: [{ value: "{row}.ada@example.com", type: "work", primary: true }],
    profileUrl: "https://example.com/Ada",
    x509Certificates: [{ value: "MIIB" }],
    [ENTERPRISE]: { department: "Sales", employeeNumber: "0042" },
  }),
  user("bob", {
    ...{ title: "doctor of arts", displayName: "Bob", active: false, nickName: 'the "B"' },
    emails: [
      { value: "{row}.bob@example.com", type: "home" },
      { value: "{row}.bob@example.org", type: "work" },
    ],
  }),
  user("eve", { active: true }),
];

/** One filter and the names that it finds of the three users. */
type FilterCase = readonly [filter: string, names: readonly string[]];

const OPERATORS: Readonly<Record<string, readonly FilterCase[]>> = {
  "eq": [
    ['userName eq "{row}-ada"', ["ada"]],
    ['title eq "doctor"', ["ada"]],
    ["active eq false", ["bob"]],
    ['id eq "{eve}"', ["eve"]],
    ['displayName eq "BOB"', ["bob"]],
  ],
  "ne": [
    ['userName ne "{row}-ada"', ["bob", "eve"]],
    ["active ne true", ["bob"]],
  ],
  "co": [
    ['name.familyName co "mall"', ["ada"]],
    ['userName co "-b"', ["bob"]],
    ['title co "doctor"', ["ada", "bob"]],
  ],
  "sw": [
    ['userName sw "{row}-e"', ["eve"]],
    ['title sw "Doctor o"', ["bob"]],
  ],
  "ew": [
    ['userName ew "-bob"', ["bob"]],
    ['title ew "ARTS"', ["bob"]],
  ],
  "pr": [
    ["title pr", ["ada", "bob"]],
    ["emails pr", ["ada", "bob"]],
    ["name.familyName pr", ["ada"]],
    ["nickName pr", ["bob"]],
  ],
  "gt, ge, lt and le of texts, in lexicographic order": [
    ['userName gt "{row}-bob"', ["eve"]],
    ['userName ge "{row}-bob"', ["bob", "eve"]],
    ['userName lt "{row}-bob"', ["ada"]],
    ['userName le "{row}-bob"', ["ada", "bob"]],
  ],
  "gt, ge, lt and le of dates, in chronological order": [
    ['meta.created gt "2011-05-13T04:42:34Z"', ["ada", "bob", "eve"]],
    ['meta.lastModified lt "2011-05-13T04:42:34Z"', []],
    ['meta.lastModified ge "2011-05-13T06:42:34+02:00"', ["ada", "bob", "eve"]],
    ['meta.created le "2999-01-01T00:00:00Z"', ["ada", "bob", "eve"]],
  ],
  "and, or, not and parentheses, in this order of precedence": [
    ['title pr and userName co "-b"', ["bob"]],
    ['userName ew "-ada" or userName ew "-eve"', ["ada", "eve"]],
    ["not (title pr)", ["eve"]],
    ['userName ew "-ada" or userName ew "-bob" and active eq true', ["ada"]],
    ['(userName ew "-ada" or userName ew "-bob") and active eq true', ["ada"]],
    ['not (userName ew "-ada" or userName ew "-bob")', ["eve"]],
    ["not (title pr) and active eq true", ["eve"]],
  ],
  "values of multi-valued attributes: one match is enough": [
    ['emails.value ew "example.org"', ["bob"]],
    ['emails.type eq "work"', ["ada", "bob"]],
    ['emails.value co "example.com"', ["ada", "bob"]],
    ['emails co "example.org"', ["bob"]],
  ],
  "value paths: all conditions hold for one value": [
    ['emails[type eq "work"]', ["ada", "bob"]],
    ['emails[type eq "work" and value co "@example.com"]', ["ada"]],
    ['emails[type eq "home" or primary eq true]', ["ada", "bob"]],
    ['emails[not (type eq "home")]', ["ada", "bob"]],
    ['title pr and emails[type eq "home"]', ["bob"]],
  ],
  "attributes with the URN of their schema": [
    [`${USER}:userName ew "-ada"`, ["ada"]],
    [`${USER}:name.familyName co "Malley"`, ["ada"]],
    [`${ENTERPRISE}:department eq "sales"`, ["ada"]],
    [`${ENTERPRISE}:employeeNumber pr`, ["ada"]],
  ],
  "schemas and meta": [
    [`schemas eq "${ENTERPRISE}"`, ["ada"]],
    ['meta.resourceType eq "User"', ["ada", "bob", "eve"]],
  ],
  "operators and attribute names in any case": [
    ['USERNAME EQ "{row}-ada"', ["ada"]],
    ['Title Pr AND Emails[TYPE Eq "home"]', ["bob"]],
    ["NOT (title PR)", ["eve"]],
  ],
  "case-exact attributes with their case": [
    ['externalId eq "{row}-E1"', ["ada"]],
    ['externalId eq "{row}-e1"', []],
    ['profileUrl co "Ada"', ["ada"]],
    ['profileUrl co "ADA"', []],
  ],
  "texts with JSON escapes and apostrophes": [
    ['nickName eq "the \\"B\\""', ["bob"]],
    ['name.familyName eq "O\'Malley"', ["ada"]],
    ['displayName eq "\\u0041da B"', ["ada"]],
    ['displayName eq "Ada) or (title pr"', []],
  ],
  "null, which is an unassigned attribute": [
    ["title eq null", ["eve"]],
    ["title ne null", ["ada", "bob"]],
  ],
};

const REFUSED = [
  ["of no known operator", ['userName xx "a"', 'userName like "a"', 'userName = "a"']],
  ["that is no filter", [
    "userName",
    "eq",
    '"a"',
    "()",
    "userName eq",
    'userName eq "a" and',
    "(title pr",
    "title pr)",
  ]],
  ["with a broken value path", [
    'emails[type eq "work"',
    "emails[]",
    'emails[type eq "work"]]',
    "emails[type]",
  ]],
  ["with an unknown attribute, which would match nothing", [
    'nothing eq "x"',
    "name.nothing pr",
    'urn:example:x:y eq "x"',
  ]],
  ["that orders booleans", ["active gt true", "active le false", "active ge true", "active lt false"]],
  ["that orders binary values", ['x509Certificates.value gt "MIIB"', 'x509Certificates.value le "MIIB"']],
] as const;

const MORE_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §7.5.2",
    must: "A filter on the password is refused",
    steps: ['password eq "x"', "password pr"].map((filter) => ({
      send: "GET /Users",
      query: { filter },
      status: [400, 403],
    })),
  },
  {
    ref: "RFC 7644 §3.4.2.2",
    must: "A filter finds groups by name, member and id",
    steps: [
      user("ada"),
      user("bob"),
      group("staff", ["ada", "bob"]),
      group("crew", ["bob"]),
      get("/Groups", { "Resources/*/id": ["{staff}"] }, {
        query: { filter: 'displayName eq "{row}-STAFF"' },
      }),
      get("/Groups", { "Resources/*/id": ["{staff}"] }, { query: { filter: 'members.value eq "{ada}"' } }),
      get("/Groups", { "Resources/*/id": ["{staff}"] }, { query: { filter: 'members[value eq "{ada}"]' } }),
      get("/Groups", { totalResults: 2 }, { query: { filter: 'members eq "{bob}"' } }),
      get("/Groups", { "Resources/*/id": ["{crew}"] }, {
        query: { filter: 'id eq "{crew}" and members.value eq "{bob}"' },
      }),
      get("/Users", { "Resources/*/id": ["{ada}"] }, {
        query: { filter: 'groups.value eq "{staff}" and userName ew "-ada"' },
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.2",
    must: "A filter uses the state after the last change",
    steps: [
      user("ada", { title: "Dr." }),
      patch("/Users/{ada}", [{ op: "replace", path: "title", value: "{row} Prof." }]),
      get("/Users", { "Resources/*/id": ["{ada}"] }, { query: { filter: 'title eq "{row} prof."' } }),
      { send: "DELETE /Users/{ada}", status: 204 },
      get("/Users", { totalResults: 0 }, { query: { filter: 'title eq "{row} prof."' } }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.2",
    must: "A filter of the enterprise manager works",
    steps: [
      user("boss"),
      user("ada", { schemas: [USER, ENTERPRISE], [ENTERPRISE]: { manager: { value: "{boss}" } } }),
      get("/Users", { "Resources/*/id": ["{ada}"] }, {
        query: { filter: `id eq "{ada}" and ${ENTERPRISE}:manager.value eq "{boss}"` },
      }),
      get("/Users", { totalResults: 0 }, {
        query: { filter: `id eq "{boss}" and ${ENTERPRISE}:manager.value eq "{boss}"` },
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.2",
    must: "A filter that is too long or too deep is refused",
    steps: [
      refusedFilter(`${"(".repeat(300)}title pr${")".repeat(300)}`),
      sent(
        "POST /Users/.search",
        { schemas: [SEARCH_REQUEST], filter: Array(2000).fill("title pr").join(" or ") },
        400,
        { detail: TEXT },
      ),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.2",
    must: "A filter in a list of groups knows no attributes of users",
    steps: [refusedFilter("nickName pr", "/Groups"), refusedFilter(`${GROUP}:userName pr`, "/Groups")],
  },
];

export const FILTER_ROWS: readonly SuiteRow[] = [
  ...Object.entries(OPERATORS).map(([name, cases]): SuiteRow => ({
    ref: "RFC 7644 §3.4.2.2",
    must: `A filter matches ${name}`,
    steps: [...THREE, ...cases.map(([filter, names]) => found(filter, names))],
  })),
  ...REFUSED.map(([name, filters]): SuiteRow => ({
    ref: "RFC 7644 §3.4.2.2",
    must: `A filter ${name} is 400 with invalidFilter`,
    steps: filters.map((filter) => refusedFilter(filter)),
  })),
  ...MORE_ROWS,
];
