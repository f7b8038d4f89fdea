// Laws of the mapping for generated resources: a round trip keeps every mapped attribute, and merging its result
// changes nothing.

import { assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import type { Content } from "../../../scim/schema/resource.ts";
import {
  coveredAttributes,
  createMapping,
  fromFrontEnd,
  mergeContent,
  toFrontEnd,
} from "../../../scim/schema/mapping.ts";
import { bodyOf, contentOf, DOCUMENT_MAPPING } from "./bodies.ts";

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const MAPPINGS = [
  DOCUMENT_MAPPING,
  createMapping({
    user: {
      "name.familyName": "sn",
      externalId: "badge",
      displayName: "cn",
      active: "enabled",
      userName: "uid",
    },
    group: { "members[].display": "uniqueMember" },
  }),
];

const filled = fc.string({ minLength: 1, maxLength: 8 });
const some = (keys: readonly string[]) =>
  fc.record(Object.fromEntries(keys.map((key) => [key, filled])), { requiredKeys: [] });
const values = fc.array(filled.map((value) => ({ value })), { minLength: 1, maxLength: 3 });

/** Users without anything that the front end cannot store. */
const covered = fc.record({
  active: fc.boolean(),
  externalId: filled,
  name: some(["familyName", "givenName", "formatted", "middleName", "honorificPrefix", "honorificSuffix"]),
  emails: values,
  phoneNumbers: values,
  imgs: values,
  roles: values,
  addresses: fc.array(
    fc.record({
      streetAddress: filled,
      locality: filled,
      region: filled,
      postralCode: filled,
      country: filled,
    }),
    { minLength: 1, maxLength: 3 },
  ),
  manager: fc.record({ displayName: filled }),
  [ENTERPRISE]: some(["employeeNumber", "department", "costCenter"]),
  displayName: filled,
  title: filled,
  shoeSize: filled,
}, { requiredKeys: [] });

/** Users with more: types, sub-attributes, numbers, empty texts, missing parts. */
const anyText = fc.string({ maxLength: 5 });
const anything = fc.record({
  name: fc.record({ familyName: anyText, odd: fc.integer() }, { requiredKeys: [] }),
  emails: fc.array(
    fc.record({ value: anyText, type: anyText, primary: fc.constant(false) }, { requiredKeys: [] }),
    { maxLength: 4 },
  ),
  addresses: fc.array(
    fc.record({ locality: anyText, region: anyText, formatted: anyText, type: anyText }, {
      requiredKeys: [],
    }),
    { maxLength: 4 },
  ),
  manager: fc.record({ value: filled, displayName: anyText }, { requiredKeys: [] }),
  [ENTERPRISE]: fc.record({ department: anyText, manager: filled, odd: fc.integer() }, { requiredKeys: [] }),
  shoeSize: fc.oneof(fc.integer(), filled, fc.array(filled, { minLength: 1, maxLength: 2 })),
}, { requiredKeys: [] });

const userOf = (body: object, mapping: typeof DOCUMENT_MAPPING): Content =>
  contentOf("user", bodyOf(JSON.stringify({ ...body, userName: "anna" })), { mapping });

for (const [at, mapping] of MAPPINGS.entries()) {
  Deno.test(`fromFrontEnd() of toFrontEnd() is the same user, with mapping ${at}`, () => {
    fc.assert(fc.property(covered, (body) => {
      const content = userOf(body, mapping);
      assertEquals(
        fromFrontEnd(toFrontEnd(content, mapping), { kind: "user", name: "anna", mapping }),
        content,
      );
    }));
  });

  Deno.test(`mergeContent() of content that was mapped there and back changes nothing, with mapping ${at}`, () => {
    fc.assert(fc.property(fc.oneof(covered, anything), (body) => {
      const content = userOf(body, mapping);
      const frontEnd = toFrontEnd(content, mapping);
      const back = fromFrontEnd(frontEnd, { kind: "user", name: "anna", mapping });
      const covers = coveredAttributes(
        ["mail", "locality", "region", "manager", ...frontEnd.keys()],
        mapping,
        "user",
      );
      assertEquals(mergeContent(content, back, covers), content);
    }));
  });

  Deno.test(`fromFrontEnd() of toFrontEnd() is the same group, with mapping ${at}`, () => {
    fc.assert(fc.property(fc.uniqueArray(fc.integer().map((one) => `m${one}`)), filled, (members, note) => {
      const content = contentOf("group", { displayName: "staff", members, note }, { mapping });
      assertEquals(
        fromFrontEnd(toFrontEnd(content, mapping), { kind: "group", name: "staff", mapping }),
        content,
      );
    }));
  });
}
