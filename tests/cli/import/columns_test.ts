// Headers and rows of a table, with the target's mapping and as SCIM paths.

import { assertEquals } from "@std/assert";
import { readHeader } from "../../../scim/transfer/columns.ts";
import { NameHashSet } from "../../../scim/directory/name_hashes.ts";
import { bodyOfRow } from "../../../scim/transfer/row_reader.ts";
import type { JsonObject, Mapping } from "../../../scim/schema/resource.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";

const DEFAULT = createMapping({ user: {}, group: {} });
const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

function bodyOf(table: Readonly<Record<string, string>>, mapping: Mapping = DEFAULT) {
  const read = readHeader(Object.keys(table), mapping);
  if (!read.ok) throw new Error(read.problem);
  return bodyOfRow(read.table.columns, Object.values(table));
}

const ROWS: readonly (readonly [string, Readonly<Record<string, string>>, JsonObject])[] = [
  ["names of the mapping", {
    userName: "anna",
    familyName: "A",
    givenName: "B",
    mail: "a@x|b@x",
    phoneNumber: "'+49",
  }, {
    userName: "anna",
    name: { familyName: "A", givenName: "B" },
    emails: [{ value: "a@x" }, { value: "b@x" }],
    phoneNumbers: [{ value: "+49" }],
  }],
  ["SCIM paths beside them", {
    userName: "anna",
    mail: "a@x|b@x",
    "emails[].type": "work|",
    "Title": "Dr|Prof",
  }, {
    userName: "anna",
    emails: [{ value: "a@x", type: "work" }, { value: "b@x" }],
    title: "Dr|Prof",
  }],
  ["a multi-valued attribute by its bare name", { USERNAME: "anna", emails: "a@x", roles: "r|s" }, {
    userName: "anna",
    emails: [{ value: "a@x" }],
    roles: [{ value: "r" }, { value: "s" }],
  }],
  ["the enterprise extension, by its last name and in full", {
    userName: "a",
    department: "D",
    [`${ENTERPRISE}:costCenter`]: "1",
  }, {
    userName: "a",
    [ENTERPRISE]: { department: "D", costCenter: "1" },
  }],
  ["what people's own tables call it", {
    "User name": "anna",
    "First name": "B",
    "last_name": "A",
    "E-mail": "a@x|b@x",
    "Phone": "+49",
    "Job title": "Dr",
  }, {
    userName: "anna",
    name: { familyName: "A", givenName: "B" },
    emails: [{ value: "a@x" }, { value: "b@x" }],
    phoneNumbers: [{ value: "+49" }],
    title: "Dr",
  }],
  ["what no schema knows", { userName: "a", badge: "7", "tags[]": "x", "badges": "7|8" }, {
    userName: "a",
    badge: "7",
    tags: ["x"],
    badges: ["7", "8"],
  }],
  ["the document's spellings and the RFC's", {
    userName: "a",
    honirificSuffix: "x",
    "addresses[].postalCode": "1",
  }, {
    userName: "a",
    name: { honorificSuffix: "x" },
    addresses: [{ postralCode: "1" }],
  }],
  ["groups", { groupName: "staff", member: "anna|bob" }, {
    displayName: "staff",
    members: [{ display: "anna" }, { display: "bob" }],
  }],
  ["empty cells as nothing", { userName: "a", mail: "", active: "", password: "" }, { userName: "a" }],
];

for (const [what, table, body] of ROWS) {
  Deno.test(`bodyOfRow() puts ${what} where they belong`, () => assertEquals(bodyOf(table).body, body));
}

Deno.test("bodyOfRow() follows the mapping of the target", () => {
  const mapping = createMapping({ user: { "name.familyName": "sn", "title": "rank" }, group: {} });
  assertEquals(bodyOf({ userName: "a", sn: "A", rank: "1" }, mapping).body, {
    userName: "a",
    name: { familyName: "A" },
    title: "1",
  });
});

Deno.test("bodyOfRow() also reads the name, active and the members by their front-end attributes", () => {
  const mapping = createMapping({
    user: { userName: "login", active: "enabled", externalId: "staffNumber" },
    group: { displayName: "cn", "members[].display": "uniqueMember" },
  });
  assertEquals(bodyOf({ login: "a", enabled: "false", staffNumber: "7" }, mapping).body, {
    userName: "a",
    active: "false",
    externalId: "7",
  });
  assertEquals(bodyOf({ cn: "g", uniqueMember: "a" }, mapping).body, {
    displayName: "g",
    members: [{ display: "a" }],
  });
});

Deno.test("bodyOfRow() returns the groups of a user separately", () => {
  assertEquals(bodyOf({ userName: "a", groups: "x|y\\|z|" }), {
    body: { userName: "a" },
    groups: ["x", "y|z"],
  });
});

/** Headers, and the errors. */
const WRONG: readonly (readonly [readonly string[], string])[] = [
  [["familyName"], "The header has no userName (for groups: no groupName)."],
  [["userName", ""], "Column 2 of the header: it is empty."],
  [["userName", "mail", "emails[].value"], 'The header names "emails[].value" twice.'],
  [
    ["userName", "name"],
    'Column 2 of the header: "name" has parts: name.formatted, name.familyName, name.givenName….',
  ],
  [["userName", "__proto__"], 'Column 2 of the header: "__proto__" is not an attribute.'],
];
for (const [headers, problem] of WRONG) {
  Deno.test(`readHeader() refuses ${headers.join(",")}`, () => {
    assertEquals(readHeader(headers, DEFAULT), { ok: false, problem });
  });
}

Deno.test("readHeader() reports unknown and ignored columns, and returns the attributes that a row can set", () => {
  const read = readHeader(["userName", "mail", "usrName", "meta.created", "groups"], DEFAULT);
  if (!read.ok) throw new Error(read.problem);
  assertEquals(read.table.notes, [
    'No schema has "usrName": stored unchanged.',
    'The server sets "meta.created": ignored.',
  ]);
  assertEquals(read.table.covers, ["userName", "emails", "emails.value", "usrName", "groups"]);
});

Deno.test("NameHashSet contains each of 100,000 names once", () => {
  const names = new NameHashSet(7);
  let fresh = 0;
  for (let at = 0; at < 100_000; at++) if (names.add(`user${at}`)) fresh++;
  for (let at = 0; at < 100_000; at++) if (names.add(`user${at}`)) fresh++;
  assertEquals(fresh, 100_000);
});
