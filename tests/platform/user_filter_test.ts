// The filter that finds a user by a typed name.

import { assertEquals } from "@std/assert";
import { fillValue, findsUserBy, parseUserFilter, readTypedName } from "../../platform/user_filter.ts";
import fc from "../packages/fast_check.ts";

const equals = (attribute: string, value: string) => ({ kind: "equals", attribute, value });

const READ: readonly (readonly [string, unknown])[] = [
  ["(uid={name})", equals("uid", "{name}")],
  ["(mail={account}@corp.example)", equals("mail", "{account}@corp.example")],
  ["(cn=a\\2ab\\c3\\a4\\28)", equals("cn", "a*bä(")],
  ["(uid=*)", { kind: "present", attribute: "uid" }],
  ["(|(uid={name})(!(ou=x)))", {
    kind: "or",
    of: [equals("uid", "{name}"), { kind: "not", of: equals("ou", "x") }],
  }],
  ["(memberOf:1.2.840.113556.1.4.1941:=cn=vpn,dc=x)", {
    ...{ kind: "matches", attribute: "memberOf", rule: "1.2.840.113556.1.4.1941", value: "cn=vpn,dc=x" },
  }],
  // What was typed must not be a pattern, a rule or an exclusion.
  ...["(uid={name}*)", "(uid=*{name})", "(uid:rule:={name})", "(!(uid={name}))", "(!(&(a=b)(uid={name})))"]
    .map((text) => [text, null] as const),
  // No filters.
  ...["", "uid={name}", "(uid={name}", "(uid={name}))", "(uid={name})(a=b)", "()", "(&)", "(=x)", "(uid=)"]
    .map((text) => [text, null] as const),
  ...["(a b=c)", "(uid=\\zz)", "(uid=\\ff)", "(uid=a\0b)", "(!(a=b)(c=d))", "(uid>=1)"]
    .map((text) => [text, null] as const),
  [`${"(&".repeat(20)}(a=b)${")".repeat(20)}`, null],
  [`(uid={name}${"x".repeat(2000)})`, null],
];

for (const [text, filter] of READ) {
  Deno.test(`parseUserFilter() reads ${JSON.stringify(text.slice(0, 60))}`, () => {
    assertEquals(parseUserFilter(text), filter as ReturnType<typeof parseUserFilter>);
  });
}

Deno.test("parseUserFilter() returns a filter or null for every text", () => {
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom(..."()&|!=*\\a{name}2") }), (text) => {
    parseUserFilter(text);
  }));
});

Deno.test("findsUserBy() needs a comparison with the whole value of the attribute", () => {
  const finds = (text: string) => findsUserBy(parseUserFilter(text) ?? equalsNothing, "sAMAccountName");
  const equalsNothing = { kind: "present", attribute: "x" } as const;
  assertEquals(finds("(|(samaccountname={account})(userPrincipalName={name}))"), true);
  for (const text of ["(uid={name})", "(sAMAccountName=x{name})", "(sAMAccountName=*)"]) {
    assertEquals(finds(text), false, text);
  }
});

const DOMAINS = ["CORP", "corp.example"];
const NAMES: readonly (readonly [name: string, account: string])[] = [
  ["ada", "ada"],
  ["CORP\\ada", "ada"],
  ["corp\\ada", "ada"],
  ["ada@Corp.Example", "ada"],
  // Another domain has other users.
  ["OTHER\\ada", "OTHER\\ada"],
  ["ada@other.example", "ada@other.example"],
  ["ada@x@corp.example", "ada@x"],
  ["CORP\\ada@corp.example", "ada@corp.example"],
  ["\\ada", "\\ada"],
  ["@corp.example", "@corp.example"],
  ["CORP\\", ""],
];

for (const [name, account] of NAMES) {
  Deno.test(`readTypedName() takes the account ${JSON.stringify(account)} out of ${JSON.stringify(name)}`, () => {
    assertEquals(readTypedName(name, DOMAINS), { name, account });
  });
}

Deno.test("fillValue() inserts a typed name once, whatever it contains", () => {
  const typed = { name: "{account}$&", account: "{name}" };
  assertEquals(fillValue("{name}-{account}", typed), "{account}$&-{name}");
});
