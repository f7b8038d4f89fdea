// Filters: the parser, and what matches.

import { assert, assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import type { ResourceKind } from "../../../scim/schema/resource.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import {
  FILTER_QUIRKS,
  filterProblem,
  parseFilter,
  pathText,
  type ScimFilter,
} from "../../../scim/filter/filter.ts";
import { bodyOf, contentOf, DOCUMENT_MAPPING, refused, stored, taken } from "../schema/bodies.ts";
import { filterView, matchesFilter } from "../../../scim/filter/filter_match.ts";
import { renderResource } from "../../../scim/schema/render_resource.ts";
import { ENTERPRISE_USER } from "../schema/rfc7643_examples.ts";

// Parsing of filters: the RFC's examples, its grammar, limits, and invalid filters.

/** A tree as one line, fully bracketed. */
function line(filter: ScimFilter): string {
  switch (filter.kind) {
    case "and":
    case "or":
      return `(${filter.filters.map(line).join(` ${filter.kind} `)})`;
    case "not":
      return `not ${line(filter.filter)}`;
    case "each":
      return `${pathText(filter.path)}[${line(filter.filter)}]`;
    case "present":
      return `${pathText(filter.path)} pr`;
    case "compare":
      return `${pathText(filter.path)} ${filter.operator} ${JSON.stringify(filter.value)}`;
  }
}

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/** The examples of RFC 7644 §3.4.2.2, and their trees. */
const RFC_EXAMPLES: readonly (readonly [filter: string, tree: string])[] = [
  ['userName eq "bjensen"', 'userName eq "bjensen"'],
  [`name.familyName co "O'Malley"`, `name.familyName co "O'Malley"`],
  ['userName sw "J"', 'userName sw "J"'],
  ['urn:ietf:params:scim:schemas:core:2.0:User:userName sw "J"', 'userName sw "J"'],
  ["title pr", "title pr"],
  ['meta.lastModified gt "2011-05-13T04:42:34Z"', 'meta.lastModified gt "2011-05-13T04:42:34Z"'],
  ['title pr and userType eq "Employee"', '(title pr and userType eq "Employee")'],
  ['title pr or userType eq "Intern"', '(title pr or userType eq "Intern")'],
  [`schemas eq "${ENTERPRISE}"`, `schemas eq "${ENTERPRISE}"`],
  [
    'userType eq "Employee" and (emails co "example.com" or emails.value co "example.org")',
    '(userType eq "Employee" and (emails co "example.com" or emails.value co "example.org"))',
  ],
  [
    'userType ne "Employee" and not (emails co "example.com" or emails.value co "example.org")',
    '(userType ne "Employee" and not (emails co "example.com" or emails.value co "example.org"))',
  ],
  [
    'userType eq "Employee" and (emails.type eq "work")',
    '(userType eq "Employee" and emails.type eq "work")',
  ],
  [
    'userType eq "Employee" and emails[type eq "work" and value co "@example.com"]',
    '(userType eq "Employee" and emails[(type eq "work" and value co "@example.com")])',
  ],
  [
    'emails[type eq "work" and value co "@example.com"] or ims[type eq "xmpp" and value co "@foo.com"]',
    '(emails[(type eq "work" and value co "@example.com")] or imgs[(type eq "xmpp" and value co "@foo.com")])',
  ],
];

const GRAMMAR: readonly (readonly [filter: string, tree: string])[] = [
  ["  title   pr  ", "title pr"],
  ["title PR", "title pr"],
  ['USERNAME Eq "a"', 'userName eq "a"'],
  ["NAME.FAMILYNAME pr AND title pr", "(name.familyName pr and title pr)"],
  ["title pr or title pr and title pr", "(title pr or (title pr and title pr))"],
  ["title pr and title pr or title pr", "((title pr and title pr) or title pr)"],
  ["(title pr or title pr) and title pr", "((title pr or title pr) and title pr)"],
  ["not (title pr) and title pr", "(not title pr and title pr)"],
  ["not(title pr)", "not title pr"],
  ["NOT (title pr)", "not title pr"],
  ["((title pr))", "title pr"],
  ["active eq true", "active eq true"],
  ["active eq false or title eq null", "(active eq false or title eq null)"],
  ["badge ge -1.5e3", "badge ge -1500"],
  ['title eq "a\\"b\\\\ \\u00fc"', 'title eq "a\\"b\\\\ ü"'],
  ['title eq "a and b) or [c]"', 'title eq "a and b) or [c]"'],
  ['title eq ""', 'title eq ""'],
  ['addresses.postalCode eq "1"', 'addresses.postralCode eq "1"'],
  ['addresses[postralCode eq "1"]', 'addresses[postralCode eq "1"]'],
  [`${ENTERPRISE}:department eq "D"`, `${ENTERPRISE}:department eq "D"`],
  [`${ENTERPRISE.toUpperCase()}:MANAGER.DISPLAYNAME sw "B"`, `${ENTERPRISE}:manager.displayName sw "B"`],
  ["urn:x:y:2.0:Z:thing.part pr", "urn:x:y:2.0:Z:thing.part pr"],
  ['emails[not (type eq "work") or primary eq true]', 'emails[(not type eq "work" or primary eq true)]'],
  ['members[value eq "7"]', 'members[value eq "7"]'],
  ["and pr and or pr", "(and pr and or pr)"],
  ["not pr", "not pr"],
];

const QUIRKS: readonly (readonly [filter: string, tree: string, who: string])[] = [
  ["externalId eq jyoung", 'externalId eq "jyoung"', "Entra: no quotes"],
  [
    "userName eq jyoung and active eq True",
    '(userName eq "jyoung" and active eq "True")',
    "Entra: no quotes twice",
  ],
  [
    'emails[type eq "work"].value eq "a@x"',
    'emails[(type eq "work" and value eq "a@x")]',
    "Entra: a path of PATCH",
  ],
  [
    'roles[primary eq "True"].value pr',
    'roles[(primary eq "True" and value pr)]',
    "Entra: a truth as a text",
  ],
  ['id eq "7" and manager eq "8"', '(id eq "7" and manager eq "8")', "Entra: whether a reference is there"],
];

for (const [filter, tree] of RFC_EXAMPLES) {
  Deno.test(`RFC 7644 §3.4.2.2: ${filter}`, () => {
    const parsed = taken(parseFilter(filter)).filter;
    assertEquals(line(parsed), tree);
    assertEquals(filterProblem("user", parsed), null);
  });
}
for (const [filter, tree] of GRAMMAR) {
  Deno.test(`parseFilter() reads ${filter}`, () =>
    assertEquals(line(taken(parseFilter(filter)).filter), tree));
}
for (const [filter, tree, who] of QUIRKS) {
  Deno.test(`parseFilter() reads ${filter} (${who})`, () => {
    assertEquals(line(taken(parseFilter(filter)).filter), tree);
  });
}

for (const [what, { who, sample }] of Object.entries(FILTER_QUIRKS)) {
  Deno.test(`parseFilter() accepts from ${who} ${what}`, () => {
    assertEquals(filterProblem("user", taken(parseFilter(sample)).filter), null);
  });
}

const NO_FILTERS: readonly string[] = [
  "",
  " ",
  "anna",
  "anna smith",
  "Anna Le Smith",
  "Miller Co KG",
  "smith eq bob",
  "not anna",
  "anna and bob",
  "title",
  "title eq",
  'eq "x"',
  'title "x"',
  'title is "x"',
  'title eq "x',
  "title eq 'x'",
  'title eq "\\x"',
  'title eq "x" "y"',
  'title eq "x" and',
  'and title eq "x"',
  "title pr title pr",
  "(title pr",
  "title pr)",
  "()",
  "not title pr",
  "not ()",
  "emails[]",
  "emails[type]",
  'emails[type eq "work"',
  'emails[type eq "work"] eq "x"',
  'emails[type eq "work"] .value eq "x"',
  'emails[type eq "work"].value',
  'emails[type[a eq "b"]]',
  'emails[emails.type eq "work"]',
  'emails.type[value eq "x"]',
  'a.b.c eq "x"',
  '.a eq "x"',
  'a. eq "x"',
  '1a eq "x"',
  'a-ü eq "x"',
  'urn: eq "x"',
  'urn:x eq "y"',
  "title eq True False",
  "anna@example.com",
  "+49 151 1234567",
  "\u0000",
];

for (const filter of NO_FILTERS) {
  Deno.test(`parseFilter() refuses ${JSON.stringify(filter)}`, () => {
    assert(refused(parseFilter(filter)).problem !== "");
  });
}

const nested = (levels: number) => `${"(".repeat(levels)}title pr${")".repeat(levels)}`;
const chain = (comparisons: number) => new Array(comparisons).fill("title pr").join(" or ");

Deno.test("parseFilter() accepts up to 10 levels, 50 comparisons and 2,048 characters", () => {
  taken(parseFilter(nested(10)));
  assertEquals(refused(parseFilter(nested(11))).problem, "a filter has at most 10 levels");
  taken(parseFilter(`${"not (".repeat(9)}emails[type pr]${")".repeat(9)}`));
  refused(parseFilter(`${"not (".repeat(10)}emails[type pr]${")".repeat(10)}`));
  taken(parseFilter(chain(50)));
  assertEquals(refused(parseFilter(chain(51))).problem, "a filter has at most 50 comparisons");
  taken(parseFilter(`title eq "${"x".repeat(8192 - 11)}"`));
  assertEquals(
    refused(parseFilter(`title eq "${"x".repeat(8192 - 10)}"`)).problem,
    "a filter has at most 8192 characters",
  );
});

Deno.test("parseFilter() never throws and always ends, for any combination of its words", () => {
  const words = [" ", ...'( ) [ ] not and or eq pr title emails "x" " \\ .value true urn:a:b 1'.split(" ")];
  const soup = fc.array(fc.constantFrom(...words), { maxLength: 400 }).chain((parts) =>
    fc.constantFrom(" ", "").map((glue) => parts.join(glue))
  );
  fc.assert(
    fc.property(fc.oneof(soup, fc.string({ unit: "binary", maxLength: 300 })), (text) => {
      const read = parseFilter(text);
      if (read.ok) {
        assertEquals(
          typeof filterProblem("user", read.filter),
          filterProblem("user", read.filter) === null ? "object" : "string",
        );
      } else assert(!read.problem.includes("title"));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("parseFilter() of a million characters reads none of them", () => {
  // A parser that reads them would report the levels or the quote instead.
  for (const character of ["(", '"']) {
    const { problem } = refused(parseFilter(character.repeat(1_000_000)));
    assertEquals(problem, "a filter has at most 8192 characters");
  }
});

/** Filters that parse, and their problem for a kind of resource; "" for none. */
const PROBLEMS: readonly (readonly [ResourceKind, filter: string, names: string])[] = [
  ["user", 'nonsense eq "x"', '"nonsense"'],
  ["user", 'name.nonsense eq "x"', '"name.nonsense"'],
  ["user", 'title.part eq "x"', '"title.part"'],
  ["user", 'emails[nonsense eq "x"]', '"emails.nonsense"'],
  ["user", "title pr and (title pr or not (nonsense pr))", '"nonsense"'],
  ["user", 'password eq "x"', '"password"'],
  ["user", "password pr", '"password"'],
  ["user", 'members eq "x"', '"members"'],
  ["user", 'department eq "x"', '"department"'],
  ["user", "urn:x:y:2.0:Z:thing pr", '"urn:x:y:2.0:Z:thing"'],
  ["user", "__proto__ pr", "an attribute"],
  ["user", "constructor pr", '"constructor"'],
  ["user", "active gt true", '"gt"'],
  ["user", 'active co "t"', '"co"'],
  ["user", "title lt null", '"lt"'],
  ["user", "title co 5", '"co"'],
  ["user", 'meta.created ge "yesterday"', '"meta.created"'],
  ["user", 'meta.created sw "2026"', ""],
  ["user", "active eq true", ""],
  ["user", 'groups.value eq "x" or groups eq "x"', ""],
  ["user", `${ENTERPRISE}:manager.value eq "x"`, ""],
  ["group", 'members.value eq "x" and displayName pr', ""],
  ["group", 'userName eq "x"', '"userName"'],
  ["group", 'emails[type eq "work"]', '"emails.type"'],
];

for (const [kind, filter, names] of PROBLEMS) {
  Deno.test(`filterProblem() of a ${kind}: ${filter}`, () => {
    const parsed = parseFilter(filter);
    const problem = parsed.ok ? filterProblem(kind, parsed.filter) : parsed.problem;
    if (names === "") assertEquals(problem, null);
    else assert(problem?.includes(names), String(problem));
  });
}

Deno.test("filterProblem() knows the attributes that a mapping adds", () => {
  const mapping = createMapping({ user: { badge: "badge", "custom[].code": "code" }, group: {} });
  for (
    const filter of ['badge eq "x"', 'BADGE eq "x"', 'custom.code eq "x"', "custom[code pr]", "custom pr"]
  ) {
    const parsed = taken(parseFilter(filter)).filter;
    assertEquals(filterProblem("user", parsed, mapping), null);
    assert(filterProblem("user", parsed) !== null);
    assert(filterProblem("group", parsed, mapping) !== null);
  }
  assert(filterProblem("user", taken(parseFilter('custom.other eq "x"')).filter, mapping) !== null);
});

// Which resources a filter matches: one user and one group, with many filters.

const USER = stored(contentOf("user", { ...bodyOf(ENTERPRISE_USER), badge: 7, empty: "" }), {
  groups: ["Tour Guides", "staff"],
});
const GROUP = stored(contentOf("group", { displayName: "Tour Guides", members: ["anna", "Müller"] }));
const VIEWS = { user: filterView(USER, DOCUMENT_MAPPING), group: filterView(GROUP, DOCUMENT_MAPPING) };

const OF_USER: readonly (readonly [filter: string, holds: boolean])[] = [
  ['userName eq "bjensen@example.com"', true],
  ['userName eq "BJENSEN@EXAMPLE.COM"', true],
  ['id eq "BJensen@example.com"', true],
  ['externalId eq "bjensen@example.com"', true],
  ['externalId eq "701984"', false],
  ['userName ne "bjensen@example.com"', false],
  ['userName ne "x"', true],
  ['userName co "JENSEN"', true],
  ['userName sw "bj"', true],
  ['userName sw "jensen"', false],
  ['userName ew ".COM"', true],
  ['userName gt "a"', true],
  ['userName lt "a"', false],
  ['userName ge "bjensen@example.com" and userName le "bjensen@example.com"', true],
  ["userName eq 5", false],
  ["userName ne 5", true],
  ['name.familyName eq "jensen"', true],
  ['name.givenName eq "bob"', false],
  ["name pr", true],
  ["title pr", true],
  ["nonsense pr", false],
  ["empty pr", false],
  ['empty eq ""', true],
  ["title eq null", false],
  ["title ne null", true],
  ["nonsense eq null", true],
  ["nonsense ne null", false],
  ["empty eq null", true],
  ["title gt null", false],
  ['nonsense ne "x"', true],
  ['nonsense eq "x"', false],
  ['not (nonsense eq "x")', true],
  ["active eq true", true],
  ['active eq "True"', true],
  ['active eq "no"', false],
  ["active ne false", true],
  ["active pr", true],
  ["badge eq 7", true],
  ["badge gt 6.5 and badge lt 1e1", true],
  ['badge eq "7"', false],
  ['emails eq "babs@jensen.org"', true],
  ['emails.value co "@JENSEN."', true],
  ['emails.type eq "other"', false],
  ['emails.type ne "work"', true],
  ['emails[type eq "work" and value co "@example.com"]', true],
  ['emails[type eq "home" and value co "@example.com"]', false],
  ['emails[not (type eq "home")]', true],
  ['emails[primary eq "True"].value eq "bjensen@example.com"', true],
  ['emails[primary eq "True"].value eq "babs@jensen.org"', false],
  ["emails[primary eq true and type pr]", true],
  ["emails[display pr]", false],
  ['addresses.postalCode eq "91608"', true],
  ['addresses[postralCode eq "91608" and type eq "home"]', true],
  ['addresses co "hollywood blvd"', true],
  ['ims.value eq "someaimhandle"', true],
  ['imgs[type eq "aim"]', true],
  ['x509Certificates.value sw "MIID"', true],
  ['x509Certificates.value sw "miid"', false],
  ['profileUrl eq "https://login.example.com/BJENSEN"', false],
  ['groups eq "tour guides"', true],
  ['groups.display eq "STAFF"', true],
  ['groups[value eq "zoe"]', false],
  [`${ENTERPRISE}:department eq "tour operations"`, true],
  [`${ENTERPRISE}:manager.displayName sw "john"`, true],
  ['manager eq "26118915-6090-4610-87e4-49d8ca9f808d"', true],
  ['manager.displayName eq "zoe"', false],
  [`${ENTERPRISE} pr`, false],
  [`schemas eq "${ENTERPRISE}"`, true],
  ['schemas eq "urn:x"', false],
  ['meta.resourceType eq "User"', true],
  ['meta.created eq "2026-01-02T04:04:05.006+01:00"', true],
  ['meta.lastModified gt "2026-01-31T00:00:00Z"', true],
  ['meta.lastModified lt "2026-01-31T00:00:00Z"', false],
  ['meta.lastModified gt "yesterday"', false],
  ['meta.created sw "2026-01-02"', true],
  ['title pr and userType eq "Employee" or nonsense pr', true],
  ['(title eq "x" or nickName eq "babs") and active eq true', true],
  ["constructor pr", false],
  ["toString pr", false],
];

const OF_GROUP: readonly (readonly [filter: string, holds: boolean])[] = [
  ['displayName eq "TOUR GUIDES"', true],
  ['id eq "tour guides"', true],
  ['members eq "ANNA"', true],
  ['members.value eq "müller"', true],
  ['members[display eq "MU\\u0308LLER"]', true],
  ['members.value eq "bob"', false],
  ["members pr", true],
  ['meta.resourceType eq "Group"', true],
  ['userName eq "anna"', false],
];

for (const [filter, holds] of OF_USER) {
  Deno.test(`matchesFilter() of the RFC's user is ${holds}: ${filter}`, () => {
    assertEquals(matchesFilter(taken(parseFilter(filter)).filter, VIEWS.user), holds);
  });
}
for (const [filter, holds] of OF_GROUP) {
  Deno.test(`matchesFilter() of a group is ${holds}: ${filter}`, () => {
    assertEquals(matchesFilter(taken(parseFilter(filter)).filter, VIEWS.group), holds);
  });
}

Deno.test("filterView() has the same attributes as renderResource(), except the location", () => {
  for (const mapping of [DOCUMENT_MAPPING, createMapping({ user: { externalId: "badge" }, group: {} })]) {
    for (const one of [USER, GROUP]) {
      const { meta, ...rest } = bodyOf(renderResource(one, { location: "x", mapping }));
      const view = filterView(one, mapping);
      assertEquals({ ...view, meta: { ...Object(view["meta"]), location: "x" } }, { ...rest, meta });
    }
  }
});

Deno.test("matchesFilter() of a filter and of its negation differ, for any resource", () => {
  const filters = fc.constantFrom(...OF_USER.map(([filter]) => filter));
  fc.assert(fc.property(filters, fc.jsonValue({ maxDepth: 3 }), (filter, value) => {
    const view = { ...VIEWS.user, title: null, badge: bodyOf(JSON.stringify({ value }))["value"] ?? null };
    const holds = matchesFilter(taken(parseFilter(filter)).filter, view);
    assertEquals(matchesFilter(taken(parseFilter(`not (${filter})`)).filter, view), !holds);
  }));
});
