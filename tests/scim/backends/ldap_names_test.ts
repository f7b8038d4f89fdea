// Distinguished names: escaping and parsing round-trip any text.

import { assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { dnKey, escapeDnValue, firstRdn, makeDn } from "../../../scim/backends/ldap/ldap_dn.ts";

const ESCAPED: readonly (readonly [string, string])[] = [
  ['James "Jim" Smith, III', 'James \\"Jim\\" Smith\\, III'],
  ["Before\rAfter", "Before\\0dAfter"],
  ["Lučić", "Lučić"],
  ["#hash", "\\#hash"],
  ["a#b", "a#b"],
  [" lead", "\\ lead"],
  ["trail ", "trail\\ "],
  [" ", "\\ "],
  ["a\0b", "a\\00b"],
  ["a,ou=x", "a\\,ou\\=x"],
  ["a+b;c<d>e\\f", "a\\+b\\;c\\<d\\>e\\\\f"],
];

for (const [value, text] of ESCAPED) {
  Deno.test(`escapeDnValue() writes ${JSON.stringify(value)} as in RFC 4514`, () => {
    assertEquals(escapeDnValue(value), text);
    assertEquals(firstRdn(makeDn({ attribute: "uid", value }, "ou=people"))?.value, value);
  });
}

Deno.test("firstRdn() returns the value that makeDn() wrote", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (value) => {
    assertEquals(firstRdn(makeDn({ attribute: "uid", value }, "dc=x")), { attribute: "uid", value });
  }));
});

const READ: readonly (readonly [string, string | null])[] = [
  ["UID=anna,ou=people", "anna"],
  ["uid = anna , ou=people", "anna"],
  ["cn=Lu\\C4\\8Di\\C4\\87,dc=x", "Lučić"],
  ["cn=a\\20,dc=x", "a "],
  // An em space is not a blank of the syntax.
  ["cn=\u2003\\ ,dc=x", "\u2003 "],
  ["cn=a+sn=b,dc=x", null],
  ["cn=#0403414243,dc=x", null],
  ["cn=\\FF,dc=x", null],
  ["cn=a\\", null],
  ["=a,dc=x", null],
  ["nothing", null],
  ["", null],
];

for (const [dn, value] of READ) {
  Deno.test(`firstRdn() reads ${JSON.stringify(dn)}`, () => assertEquals(firstRdn(dn)?.value ?? null, value));
}

Deno.test("dnKey() ignores case and blanks around commas", () => {
  assertEquals(dnKey("UID=Anna, OU=People"), dnKey("uid=anna,ou=people"));
});
