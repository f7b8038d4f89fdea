// Which resources a filter matches: one user and one group, with many filters.

import { assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { parseFilter } from "../../../scim/filter/filter.ts";
import { filterView, matchesFilter } from "../../../scim/filter/filter_match.ts";
import { renderResource } from "../../../scim/schema/render_resource.ts";
import { bodyOf, contentOf, DOCUMENT_MAPPING, stored, taken } from "../schema/bodies.ts";
import { ENTERPRISE_USER } from "../schema/rfc7643_examples.ts";

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
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
