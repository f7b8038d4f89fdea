// The mapping between SCIM attributes and front-end attributes: each row of the specified tables, the settings, and
// attributes of the same name.

import { assert, assertEquals } from "@std/assert";
import {
  coveredAttributes,
  createMapping,
  DEFAULT_GROUP_MAPPING,
  DEFAULT_USER_MAPPING,
  fromFrontEnd,
  toFrontEnd,
} from "../../../scim/schema/mapping.ts";
import type { GroupContent, JsonObject, UserContent } from "../../../scim/schema/resource.ts";
import { renderResource } from "../../../scim/schema/render_resource.ts";
import { bodyOf, DOCUMENT_MAPPING, stored } from "./bodies.ts";

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
    const back = fromFrontEnd(new Map([[frontEnd, ["x"]]]), {
      kind: "user",
      name: "anna",
      mapping: DOCUMENT_MAPPING,
    });
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

/** Attributes with the same name on both sides, which the table omits. */
const SAME = [
  "displayName",
  "nickName",
  "title",
  "preferredLanguage",
  "locale",
  "timezone",
  "userType",
  "profileUrl",
];

for (const name of SAME) {
  Deno.test(`toFrontEnd() and back: ${name} maps by its own name`, () => {
    const content = user({ [name]: "x" });
    const frontEnd = toFrontEnd(content, DOCUMENT_MAPPING);
    assertEquals(frontEnd.get(name), ["x"]);
    assertEquals(fromFrontEnd(frontEnd, { kind: "user", name: "anna", mapping: DOCUMENT_MAPPING }), content);
  });
}

for (const name of ["employeeNumber", "costCenter", "organization", "division", "department"]) {
  Deno.test(`toFrontEnd() and back: the extension's ${name} maps by its last name`, () => {
    const content = user({ [ENTERPRISE]: { [name]: "x" } });
    const frontEnd = toFrontEnd(content, DOCUMENT_MAPPING);
    assertEquals(frontEnd.get(name), ["x"]);
    assertEquals(fromFrontEnd(frontEnd, { kind: "user", name: "anna", mapping: DOCUMENT_MAPPING }), content);
  });
}

Deno.test("toFrontEnd() and back: unknown attributes map by their own names, one text or several", () => {
  const content = user({ badge: "7", colours: ["red", "blue"] });
  const frontEnd = toFrontEnd(content, DOCUMENT_MAPPING);
  assertEquals([frontEnd.get("badge"), frontEnd.get("colours")], [["7"], ["red", "blue"]]);
  assertEquals(fromFrontEnd(frontEnd, { kind: "user", name: "anna", mapping: DOCUMENT_MAPPING }), content);
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
      fromFrontEnd(frontEnd, { kind: "user", name: "anna", mapping: DOCUMENT_MAPPING }),
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
  assertEquals(fromFrontEnd(frontEnd, { kind: "user", name: "anna", mapping: DOCUMENT_MAPPING }), user());
});

Deno.test("fromFrontEnd() combines lists of an address's parts by position", () => {
  const frontEnd = new Map([["locality", ["Bonn", "Kiel"]], ["postralCode", ["1", "2"]]]);
  assertEquals(
    fromFrontEnd(frontEnd, { kind: "user", name: "anna", mapping: DOCUMENT_MAPPING }).attributes["addresses"],
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
  assertEquals(fromFrontEnd(frontEnd, { kind: "user", name: "anna", mapping }), content);
  assertEquals(
    fromFrontEnd(new Map([["displayName", ["B"]]]), { kind: "user", name: "anna", mapping }),
    user(),
  );
  assertEquals(toFrontEnd(group(["anna"]), mapping).get("uniqueMember"), ["anna"]);
});

Deno.test("createMapping() can rename the name and active; the name also keeps its own front-end attribute", () => {
  const mapping = createMapping({ user: { userName: "uid", active: "enabled" }, group: {} });
  const frontEnd = toFrontEnd(user({}, { active: false }), mapping);
  assertEquals([...frontEnd], [["userName", ["anna"]], ["uid", ["anna"]], ["enabled", ["false"]]]);
  assertEquals(fromFrontEnd(frontEnd, { kind: "user", name: "anna", mapping }), user({}, { active: false }));
});

Deno.test("externalId with its own front-end attribute is an attribute, and id follows its mapping", () => {
  const mapping = createMapping({ user: { externalId: "badge", id: "employeeNumber" }, group: {} });
  const content = user({ externalId: "b-1", [ENTERPRISE]: { employeeNumber: "42" } });
  const frontEnd = toFrontEnd(content, mapping);
  assertEquals([frontEnd.get("badge"), frontEnd.get("employeeNumber")], [["b-1"], ["42"]]);
  assertEquals(fromFrontEnd(frontEnd, { kind: "user", name: "anna", mapping }), content);
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
