// The mapping of attributes: rows, laws and names of resources.

import { assert, assertEquals } from "@std/assert";
import {
  coveredAttributes,
  createMapping,
  DEFAULT_GROUP_MAPPING,
  DEFAULT_USER_MAPPING,
  fromFrontEnd,
  mergeContent,
  toFrontEnd,
} from "../../../scim/schema/mapping.ts";
import type { Content, GroupContent, JsonObject, UserContent } from "../../../scim/schema/resource.ts";
import { renderResource } from "../../../scim/schema/render_resource.ts";
import { bodyOf, contentOf, DOCUMENT_MAPPING, refused, stored } from "./bodies.ts";
import fc from "../../packages/fast_check.ts";
import { distinctNames, nameFromPath, parseName } from "../../../scim/schema/resource_name.ts";

// The mapping between SCIM attributes and front-end attributes: each row of the specified tables, the settings, and
// attributes of the same name.

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const NAME = { familyName: "", givenName: "" };

function user(attributes: JsonObject = {}, { active = true }: { active?: boolean } = {}): UserContent {
  return { kind: "user", name: "anna", active, attributes: { name: NAME, ...attributes } };
}

function group(members: readonly string[], attributes: JsonObject = {}): GroupContent {
  return { kind: "group", name: "staff", attributes, members };
}

const rendered = (content: UserContent | GroupContent, mapping = DOCUMENT_MAPPING) =>
  bodyOf(renderResource(stored(content), { location: "https://example.com/x", mapping }));

const readAnna = (frontEnd: Parameters<typeof fromFrontEnd>[0], mapping = DOCUMENT_MAPPING) =>
  fromFrontEnd(frontEnd, { kind: "user", name: "anna", mapping });

/** A user with only the attribute at that path of the specification's table. */
function userWith(scim: string, value: string): UserContent {
  const [head = "", sub = ""] = scim.split(".");
  if (head.endsWith("[]")) return user({ [head.slice(0, -2)]: [{ [sub]: value }] });
  return user(head === "name" ? { name: { ...NAME, [sub]: value } } : { [head]: { [sub]: value } });
}

for (const { scim, frontEnd } of DEFAULT_USER_MAPPING) {
  Deno.test(`the specification's table: a user's ${scim} is the front-end attribute ${frontEnd}`, () => {
    if (scim === "id" || scim === "externalId") {
      assertEquals(rendered(user())[scim], "anna");
      assertEquals(toFrontEnd(user(), DOCUMENT_MAPPING).get(frontEnd), ["anna"]);
      return;
    }
    const content = userWith(scim, "x");
    assertEquals([...toFrontEnd(content, DOCUMENT_MAPPING)], [
      ["userName", ["anna"]],
      ["active", ["true"]],
      [frontEnd, ["x"]],
    ]);
    const back = readAnna(new Map([[frontEnd, ["x"]]]));
    assertEquals(back, content);
  });
}

for (const { scim, frontEnd } of DEFAULT_GROUP_MAPPING) {
  Deno.test(`the specification's table: a group's ${scim} is the front-end attribute ${frontEnd}`, () => {
    const content = group(["anna", "Bob"]);
    const isMember = scim === "members[].display";
    assertEquals(toFrontEnd(content, DOCUMENT_MAPPING).get(frontEnd), isMember ? ["anna", "Bob"] : ["staff"]);
    assertEquals(
      rendered(content)[isMember ? "members" : scim],
      isMember ? [{ value: "anna", display: "anna" }, { value: "Bob", display: "Bob" }] : "staff",
    );
    assertEquals(
      fromFrontEnd(new Map([["groupName", ["x"]], ["member", ["anna", "ANNA", "Bob", ""]]]), {
        kind: "group",
        name: "staff",
        mapping: DOCUMENT_MAPPING,
      }),
      content,
    );
  });
}

/** Attributes that map by their own names, because the table omits them. */
const CORE = "displayName nickName title preferredLanguage locale timezone userType profileUrl".split(" ");
const EXTENSION = "employeeNumber costCenter organization division department".split(" ");
for (const name of [...CORE, ...EXTENSION]) {
  Deno.test(`toFrontEnd() and back: ${name} maps by its own name`, () => {
    const content = user(CORE.includes(name) ? { [name]: "x" } : { [ENTERPRISE]: { [name]: "x" } });
    const frontEnd = toFrontEnd(content, DOCUMENT_MAPPING);
    assertEquals(frontEnd.get(name), ["x"]);
    assertEquals(readAnna(frontEnd), content);
  });
}

Deno.test("toFrontEnd() and back: unknown attributes map by their own names, one text or several", () => {
  const content = user({ badge: "7", colours: ["red", "blue"] });
  const frontEnd = toFrontEnd(content, DOCUMENT_MAPPING);
  assertEquals([frontEnd.get("badge"), frontEnd.get("colours")], [["7"], ["red", "blue"]]);
  assertEquals(readAnna(frontEnd), content);
});

Deno.test("toFrontEnd() returns numbers and booleans as texts, and nothing for empty or complex values", () => {
  const content = user({ badge: 7, remote: false, note: "", custom: { a: 1 }, emails: [{ value: "" }] });
  assertEquals([...toFrontEnd(content, DOCUMENT_MAPPING)], [
    ["userName", ["anna"]],
    ["active", ["true"]],
    ["badge", ["7"]],
    ["remote", ["false"]],
  ]);
});

Deno.test("toFrontEnd() also finds the manager in the extension", () => {
  const content = user({ [ENTERPRISE]: { manager: { value: "b", displayName: "Bob" } } });
  assertEquals(toFrontEnd(content, DOCUMENT_MAPPING).get("manager"), ["Bob"]);
});

const ACTIVE: readonly (readonly [texts: readonly string[] | null, active: boolean])[] = [
  [null, true],
  [["true"], true],
  [["TRUE"], true],
  [["false"], false],
  [["FALSE"], false],
  [["maybe"], false],
];

for (const [texts, active] of ACTIVE) {
  Deno.test(`fromFrontEnd() reads active ${texts?.[0] ?? "when it is absent"} as ${active}`, () => {
    const frontEnd = new Map(texts === null ? [] : [["active", texts] as const]);
    assertEquals(
      readAnna(frontEnd),
      user({}, { active }),
    );
  });
}

Deno.test("fromFrontEnd() ignores attributes that the server sets, paths, and __proto__", () => {
  const names = [
    "id",
    "groups",
    "meta",
    "schemas",
    "password",
    "externalId",
    "name",
    "emails",
    "a.b",
    "a[]",
    "__proto__",
    "",
    "NAME",
  ];
  const frontEnd = new Map(names.map((name) => [name, ["x"]] as const));
  assertEquals(readAnna(frontEnd), user());
});

Deno.test("fromFrontEnd() combines lists of an address's parts by position", () => {
  const frontEnd = new Map([["locality", ["Bonn", "Kiel"]], ["postralCode", ["1", "2"]]]);
  assertEquals(
    readAnna(frontEnd).attributes["addresses"],
    [{ locality: "Bonn", postralCode: "1" }, { locality: "Kiel", postralCode: "2" }],
  );
});

Deno.test("createMapping() without settings is the specification's table", () => {
  assertEquals(DOCUMENT_MAPPING, { user: [...DEFAULT_USER_MAPPING], group: [...DEFAULT_GROUP_MAPPING] });
});

/** Settings, and the resulting row. */
const SPELLINGS: readonly (readonly [setting: string, row: string])[] = [
  ["name.familyName", "name.familyName"],
  ["NAME.FAMILYNAME", "name.familyName"],
  ["emails[].value", "emails[].value"],
  ["emails.value", "emails[].value"],
  ["emails", "emails[].value"],
  ["addresses[].postalCode", "addresses[].postralCode"],
  ["addresses[].postralCode", "addresses[].postralCode"],
  ["ims[].value", "imgs[].value"],
  ["urn:ietf:params:scim:schemas:core:2.0:User:name.givenName", "name.givenName"],
];

for (const [setting, row] of SPELLINGS) {
  Deno.test(`createMapping() uses ${setting} for the row ${row} and keeps its position`, () => {
    const mapping = createMapping({ user: { [setting]: "somewhere" }, group: {} });
    assertEquals(
      mapping.user,
      DEFAULT_USER_MAPPING.map((one) => one.scim === row ? { scim: row, frontEnd: "somewhere" } : one),
    );
  });
}

Deno.test("createMapping() gives any other SCIM attribute a row, and it no longer maps by its own name", () => {
  const mapping = createMapping({
    user: { displayName: "cn", [`${ENTERPRISE}:department`]: "ou", "custom[].code": "code" },
    group: { "members[].display": "uniqueMember" },
  });
  const content = user({
    displayName: "A",
    [ENTERPRISE]: { department: "D" },
    custom: [{ code: "1" }, { code: "2" }],
  });
  const frontEnd = toFrontEnd(content, mapping);
  assertEquals([...frontEnd], [
    ["userName", ["anna"]],
    ["active", ["true"]],
    ["cn", ["A"]],
    ["ou", ["D"]],
    ["code", ["1", "2"]],
  ]);
  assertEquals(readAnna(frontEnd, mapping), content);
  assertEquals(
    readAnna(new Map([["displayName", ["B"]]]), mapping),
    user(),
  );
  assertEquals(toFrontEnd(group(["anna"]), mapping).get("uniqueMember"), ["anna"]);
});

Deno.test("createMapping() can rename the name and active; the name also keeps its own front-end attribute", () => {
  const mapping = createMapping({ user: { userName: "uid", active: "enabled" }, group: {} });
  const frontEnd = toFrontEnd(user({}, { active: false }), mapping);
  assertEquals([...frontEnd], [["userName", ["anna"]], ["uid", ["anna"]], ["enabled", ["false"]]]);
  assertEquals(readAnna(frontEnd, mapping), user({}, { active: false }));
});

Deno.test("externalId with its own front-end attribute is an attribute, and id follows its mapping", () => {
  const mapping = createMapping({ user: { externalId: "badge", id: "employeeNumber" }, group: {} });
  const content = user({ externalId: "b-1", [ENTERPRISE]: { employeeNumber: "42" } });
  const frontEnd = toFrontEnd(content, mapping);
  assertEquals([frontEnd.get("badge"), frontEnd.get("employeeNumber")], [["b-1"], ["42"]]);
  assertEquals(readAnna(frontEnd, mapping), content);
  const { id, externalId, userName } = rendered(content, mapping);
  assertEquals({ id, externalId, userName }, { id: "42", externalId: "b-1", userName: "anna" });
  const bare = rendered(user(), mapping);
  assertEquals([bare["id"], bare["externalId"]], ["anna", ""]);
});

Deno.test("coveredAttributes() lists the attributes that front-end names cover, and their parts", () => {
  assertEquals(
    [...coveredAttributes(
      ["userName", "active", "mail", "familyName", "title", "department", "manager"],
      DOCUMENT_MAPPING,
      "user",
    )],
    [
      "emails",
      "emails.value",
      "name",
      "name.familyName",
      "title",
      ENTERPRISE,
      `${ENTERPRISE}:department`,
      "manager",
      "manager.displayName",
    ],
  );
  assertEquals([...coveredAttributes(["groupName", "member", "description"], DOCUMENT_MAPPING, "group")], [
    "description",
  ]);
  assert(!coveredAttributes(["id", "meta", "password"], DOCUMENT_MAPPING, "user").has("id"));
});

// Laws of the mapping for generated resources: a round trip keeps every mapped attribute, and merging its result
// changes nothing.

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
        readAnna(toFrontEnd(content, mapping), mapping),
        content,
      );
    }));
  });

  Deno.test(`mergeContent() of content that was mapped there and back changes nothing, with mapping ${at}`, () => {
    fc.assert(fc.property(fc.oneof(covered, anything), (body) => {
      const content = userOf(body, mapping);
      const frontEnd = toFrontEnd(content, mapping);
      const back = readAnna(frontEnd, mapping);
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

// Which texts are valid names of resources.

const TAKEN: readonly (readonly [given: string, name: string, why: string])[] = [
  ["anna", "anna", "a plain name"],
  ["Anna", "Anna", "case is kept"],
  ["a", "a", "one character"],
  ["a.b", "a.b", "dots within"],
  ["Sales/EMEA", "Sales/EMEA", "a slash"],
  ["/", "/", "a slash alone"],
  ["a//b.c/.d", "a//b.c/.d", "slashes beside dots that are no step"],
  ["...", "...", "three dots are no step"],
  ["anna@example.com", "anna@example.com", "an address"],
  ["DOMAIN\\anna", "DOMAIN\\anna", "a backslash"],
  ["Anna Müller", "Anna Müller", "a blank and an umlaut"],
  ["Mu\u0308ller", "M\u00fcller", "decomposed comes out composed"],
  ["名前", "名前", "another script"],
  ["=cmd|' /C calc'!A0".replace("/", ""), "=cmd|' C calc'!A0", "what a spreadsheet takes for a formula"],
  ["x".repeat(256), "x".repeat(256), "256 characters"],
  ["😀".repeat(256), "😀".repeat(256), "256 characters of two units each"],
  ["__proto__", "__proto__", "a name of the language"],
];

const REFUSED: readonly (readonly [given: string, why: string])[] = [
  ["", "nothing"],
  [".", "a step of a path"],
  ["..", "a step of a path upwards"],
  ["../../etc/passwd", "steps upwards"],
  ["a/..", "a step upwards at the end"],
  ["a/./b", "a step beside slashes"],
  ["x".repeat(257), "257 characters"],
  ["x".repeat(1_000_000), "a million characters"],
  ["a\u0000b", "NUL"],
  ["a\r\nb", "a line break"],
  ["a\u007f", "delete"],
  ["a\u0085", "a control character above ASCII"],
  ["a\u2028b", "a line separator"],
  ["a\u2029b", "a paragraph separator"],
  ["a\u202eb", "a right-to-left override"],
  ["a\u2066b", "an isolate"],
  ["a\ud800", "half a character"],
];

for (const [given, name, why] of TAKEN) {
  Deno.test(`parseName() accepts ${why}`, () => assertEquals(parseName(given), { ok: true, name }));
}
for (const [given, why] of REFUSED) {
  Deno.test(`parseName() refuses ${why}`, () => {
    const read = refused(parseName(given));
    assert(read.problem.startsWith("a name "), read.problem);
  });
}

const SEGMENTS: readonly (readonly [segment: string, name: string | null, why: string])[] = [
  ["anna", "anna", "as it is"],
  ["Anna%20M%C3%BCller", "Anna Müller", "percent-encoded UTF-8"],
  ["anna+x", "anna+x", "a plus, which is no blank in a path"],
  ["100%25", "100%", "an encoded percent sign"],
  ["%2561nna", "%61nna", "decoded once only"],
  ["Sales%2FEMEA", "Sales/EMEA", "an encoded slash"],
  ["Sales%2fEMEA", "Sales/EMEA", "a slash in small letters"],
  ["..%2F..", null, "an encoded step upwards beside a slash"],
  ["%2e%2e", null, "an encoded step upwards"],
  ["a%00", null, "an encoded NUL"],
  ["%zz", null, "no hexadecimal"],
  ["%", null, "a lone percent sign"],
  ["%ff", null, "no UTF-8"],
  ["%ed%a0%80", null, "an encoded surrogate"],
];

for (const [segment, name, why] of SEGMENTS) {
  Deno.test(`nameFromPath() ${name === null ? "refuses" : "reads"} ${why}`, () => {
    const read = nameFromPath(segment);
    assertEquals(read.ok ? read.name : null, name);
  });
}

Deno.test("parseName() returns its own results unchanged, for any text", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    const read = parseName(text);
    if (read.ok) assertEquals(parseName(read.name), read);
  }));
});

Deno.test("distinctNames() keeps the first spelling of each name, in order", () => {
  assertEquals(distinctNames(["Anna", "bob", "ANNA", "M\u00fcller", "MU\u0308LLER"]), [
    "Anna",
    "bob",
    "M\u00fcller",
  ]);
});

Deno.test("law: distinctNames() returns the same with names that are known", () => {
  const name = fc.constantFrom(..."abcdefghijklmnABCDEFGHIJKLMN");
  const known = fc.uniqueArray(name, { selector: (one) => one.toLowerCase() });
  fc.assert(fc.property(known, fc.array(name), fc.boolean(), (before, other, isAlike) => {
    const names = isAlike ? [...before.slice(0, 5), ...other.slice(0, 3), ...before.slice(6)] : other;
    const seen = new Set(names.map((one) => one.toLowerCase()));
    const expected = names.filter((one) => seen.delete(one.toLowerCase()));
    assertEquals([distinctNames([...names], before), distinctNames(names)], [expected, expected]);
  }));
});
