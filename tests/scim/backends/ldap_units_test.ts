// The parts of the LDAP backend that need no directory.

import { assertEquals } from "@std/assert";
import type { LdapConnection } from "../../../scim/backends/ldap/ldap_connection.ts";
import type { LdapEntry, LdapSearch } from "../../../scim/backends/ldap/ldap_client.ts";
import { LdapRefusal } from "../../../scim/backends/ldap/ldap_result_codes.ts";
import { readMemberDns } from "../../../scim/backends/ldap/ldap_members.ts";
import { encodePasswordModify, encodeUnicodePassword } from "../../../scim/backends/ldap/ldap_writes.ts";
import { createLdapLayout } from "../../../scim/backends/ldap/ldap_schemas.ts";

const PLACES = { usersDn: "ou=p", groupsDn: "ou=g", attributes: {} } as const;

Deno.test("memberDns() follows Active Directory's ranges to the end (MS-ADTS 3.1.1.3.1.3.3)", async () => {
  const all = Array.from({ length: 3100 }, (_, n) => `cn=m${n},ou=p`);
  const asked: string[] = [];
  const part = (from: number): LdapEntry => {
    const to = Math.min(all.length, from + 1500);
    const last = to === all.length ? "*" : String(to - 1);
    return {
      dn: "cn=g,ou=g",
      texts: new Map([[`member;range=${from}-${last}`, all.slice(from, to)]]),
      octets: new Map(),
    };
  };
  const connection: Pick<LdapConnection, "search"> = {
    search({ attributes: [attribute = ""] }: LdapSearch) {
      asked.push(attribute);
      return Promise.resolve([part(Number(/range=(\d+)/.exec(attribute)?.[1]))]);
    },
  };
  const layout = createLdapLayout({ schema: "active_directory", ...PLACES });
  assertEquals(await readMemberDns(connection as LdapConnection, { entry: part(0), layout }), all);
  assertEquals(asked, ["member;range=1500-*", "member;range=3000-*"]);
});

Deno.test("encodePasswordModify() returns the octets of RFC 3062 §2", () => {
  assertEquals([...encodePasswordModify("a", "bc")], [0x30, 7, 0x80, 1, 0x61, 0x82, 2, 0x62, 0x63]);
  const long = encodePasswordModify("d".repeat(300), "p".repeat(70_000));
  assertEquals([...long.subarray(0, 5)], [0x30, 0x83, 1, 0x12, 0xa5]);
  assertEquals(long.length, 5 + 0x112a5);
});

Deno.test("encodeUnicodePassword() adds quotes and writes UTF-16, low octet first", () => {
  assertEquals([...encodeUnicodePassword("n€")], [0x22, 0, 0x6e, 0, 0xac, 0x20, 0x22, 0]);
});

Deno.test("createLdapLayout() replaces attributes of the schema by those of the settings, and drops empty ones", () => {
  const layout = createLdapLayout({
    schema: "openldap",
    usersDn: "ou=p",
    groupsDn: "ou=g",
    attributes: {
      userName: "mail",
      phoneNumber: "mobile",
      title: "",
      costCenter: "roomNumber",
      active: "employeeType",
    },
  });
  assertEquals([layout.user.naming, layout.user.rdn, layout.activeText], ["mail", "mail", "employeeType"]);
  const rows = new Map(layout.user.rows.map((row) => [row.frontEnd, row.ldap]));
  assertEquals([rows.get("phoneNumber"), rows.get("title"), rows.get("costCenter")], [
    "mobile",
    undefined,
    "roomNumber",
  ]);
  assertEquals(rows.has("active"), false);
});

/** What directories say about a value that must be unique, or about another value. */
const CONSTRAINTS: readonly (readonly [text: string, isTaken: boolean])[] = [
  ["some attributes not unique", true],
  ['Another entry with the same attribute value already exists (attribute: "mail")', true],
  ["A unique attribute conflict was detected for attribute mail", true],
  ["000021C8: AtrErr: DSID-03200BBA, data 0, Att 90290 (userPrincipalName)", true],
  ["mail: value is too long", false],
];

Deno.test("LdapRefusal knows a value that another entry has", () => {
  for (const [text, isTaken] of CONSTRAINTS) {
    assertEquals(new LdapRefusal(19, text).fault.isTaken ?? false, isTaken, text);
  }
});

const CODES: readonly (readonly [number, string, boolean])[] = [
  [19, "refused", false],
  [32, "refused", true],
  [49, "refused", true],
  [50, "refused", true],
  [51, "busy", true],
  [52, "unreachable", true],
  [53, "refused", false],
  [68, "refused", true],
  [9999, "refused", true],
];

for (const [code, kind, retry] of CODES) {
  Deno.test(`LdapRefusal maps code ${code} to ${kind}`, () => {
    const { fault } = new LdapRefusal(code, "server\nwords");
    assertEquals([fault.kind, fault.retry, fault.unsure], [kind, retry, false]);
    assertEquals(fault.detail.includes("server words"), true);
  });
}
