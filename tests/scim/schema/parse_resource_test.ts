// Bodies of SCIM 1.1: how they are read, and their limits.

import { assert, assertEquals } from "@std/assert";
import type { JsonObject, JsonValue, ResourceKind } from "../../../scim/schema/resource.ts";
import { parseResource } from "../../../scim/schema/parse_resource.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { bodyOf, contentOf, DOCUMENT_MAPPING, GENERATED_NAME, read, refused, taken } from "./bodies.ts";
import fc from "../../packages/fast_check.ts";
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, parseJsonObject } from "../../../scim/schema/attributes.ts";

// Parsing a request body into a resource: spelling of names, types, members and passwords.

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const NAME = { familyName: "", givenName: "" };

const NAMING: readonly (readonly [ResourceKind, JsonObject, name: string, why: string])[] = [
  ["user", { userName: "anna", externalId: "e", id: "i" }, "anna", "userName before the others"],
  ["user", { externalId: "e", id: "i" }, "e", "externalId without a userName"],
  ["user", { id: "i" }, "i", "id without either"],
  ["user", {}, GENERATED_NAME, "a generated UUID without any"],
  ["user", { userName: null, externalId: "", id: [] }, GENERATED_NAME, "nothing that is unset or empty"],
  ["user", { USERNAME: "Anna" }, "Anna", "an attribute's name in any case"],
  [
    "user",
    { "urn:ietf:params:scim:schemas:core:2.0:User:userName": "anna" },
    "anna",
    "a name with its schema's URN",
  ],
  ["user", { displayName: "Anna", id: "i" }, "i", "no user's displayName"],
  ["user", { userName: "Mu\u0308ller" }, "M\u00fcller", "a composed name"],
  ["group", { displayName: "staff", externalId: "e", id: "i" }, "staff", "a group's displayName first"],
  ["group", { externalId: "e", id: "i" }, "e", "a group's externalId next"],
  ["group", { id: "i" }, "i", "a group's id last"],
  ["group", {}, GENERATED_NAME, "a generated UUID for a group too"],
];

for (const [kind, body, name, why] of NAMING) {
  Deno.test(`readContent() of a POST names by ${why}`, () => assertEquals(contentOf(kind, body).name, name));
}

const PUTS: readonly (readonly [ResourceKind, JsonObject, name: string | null, why: string])[] = [
  ["user", {}, "Anna", "takes the path's name when the body has none"],
  ["user", { userName: "ANNA" }, "ANNA", "takes another spelling"],
  ["user", { id: "x", externalId: "y" }, "Anna", "ignores id and externalId"],
  ["user", { id: 5, externalId: {} }, "Anna", "ignores them whatever they are"],
  ["user", { userName: "bob" }, null, "refuses another name"],
  ["group", { displayName: "anna" }, "anna", "takes another spelling of a group"],
  ["group", { displayName: "staff" }, null, "refuses another name of a group"],
  ["group", { userName: "bob" }, "Anna", "has no userName of a group"],
];

for (const [kind, body, name, why] of PUTS) {
  Deno.test(`readContent() of a PUT ${why}`, () => {
    const outcome = read(kind, body, { pathName: "Anna" });
    if (name === null) assert(!outcome.ok && outcome.code === "renamed");
    else assert(outcome.ok && outcome.content.name === name);
  });
}

const ACTIVE: readonly (readonly [JsonObject, boolean | null])[] = [
  [{}, true],
  [{ active: null }, true],
  [{ active: true }, true],
  [{ active: false }, false],
  [{ active: "False" }, false],
  [{ active: "false" }, false],
  [{ active: "TRUE" }, true],
  [{ Active: "False" }, false],
  [{ active: "no" }, null],
  [{ active: "" }, null],
  [{ active: 0 }, null],
  [{ active: [false] }, null],
  [{ active: { value: false } }, null],
];

for (const [body, active] of ACTIVE) {
  Deno.test(`readContent() reads ${JSON.stringify(body)} as ${active ?? "a bad value"}`, () => {
    const outcome = read("user", body);
    if (active === null) assert(!outcome.ok && outcome.code === "invalid_value");
    else assert(outcome.ok && outcome.content.kind === "user" && outcome.content.active === active);
  });
}

/** The user that a body becomes; `name` is always present and omitted here. */
const SHAPES: readonly (readonly [why: string, body: JsonObject, attributes: JsonObject])[] = [
  ["the RFC's postalCode", { addresses: [{ postalCode: "1" }] }, { addresses: [{ postralCode: "1" }] }],
  ["the specification's postralCode", { addresses: [{ postralCode: "1" }] }, {
    addresses: [{ postralCode: "1" }],
  }],
  ["both, of which the specification's applies", { addresses: [{ postralCode: "1", postalCode: "2" }] }, {
    addresses: [{ postralCode: "1" }],
  }],
  [
    "the stored one of two names of an attribute",
    { imgs: [{ value: "x" }], ims: [{ value: "y" }], addresses: [{ postralCode: "1", postalCode: "2" }] },
    { imgs: [{ value: "x" }], addresses: [{ postralCode: "1" }] },
  ],
  ["the later of two other names", { ims: [{ value: "x" }], IMGS: [{ value: "y" }] }, {
    imgs: [{ value: "y" }],
  }],
  ["no value for a list of null", { manager: [null], name: [null] }, {}],
  ["the RFC's ims", { ims: [{ value: "x", type: "aim" }] }, { imgs: [{ value: "x", type: "aim" }] }],
  ["the specification's imgs", { imgs: [{ value: "x" }] }, { imgs: [{ value: "x" }] }],
  ["names in any case", { DISPLAYNAME: "A", Emails: [{ VALUE: "a", Type: "work" }] }, {
    displayName: "A",
    emails: [{ value: "a", type: "work" }],
  }],
  ["one object for a list", { emails: { value: "a" } }, { emails: [{ value: "a" }] }],
  ["a text for a list", { emails: "a" }, { emails: [{ value: "a" }] }],
  ["texts in a list", { phoneNumbers: ["1", { value: "2" }] }, {
    phoneNumbers: [{ value: "1" }, { value: "2" }],
  }],
  ["a text for an address", { addresses: "Main St" }, { addresses: [{ formatted: "Main St" }] }],
  [
    "null, [] and {} as unset",
    { emails: [], nickName: null, addresses: {}, title: {}, roles: [null, {}] },
    {},
  ],
  ["null inside of an entry as unset", { emails: [{ value: "a", type: null, primary: null }] }, {
    emails: [{ value: "a" }],
  }],
  ["a manager as a text", { manager: "bob" }, { manager: { value: "bob" } }],
  ["a manager as an object", { manager: { displayName: "Bob" } }, { manager: { displayName: "Bob" } }],
  ["a manager as a list of one", { manager: [{ $ref: "../Users/b", value: "b" }] }, {
    manager: { $ref: "../Users/b", value: "b" },
  }],
  ["a manager in the extension, as a text", { [ENTERPRISE]: { manager: "bob" } }, {
    [ENTERPRISE]: { manager: { value: "bob" } },
  }],
  ["the extension's URN in any case", { [ENTERPRISE.toUpperCase()]: { DEPARTMENT: "D" } }, {
    [ENTERPRISE]: { department: "D" },
  }],
  ["each value and type once, with the sub-attributes of both", {
    emails: [
      { value: "a", type: "work", primary: true },
      { value: "a", type: "work", display: "A", primary: false },
      { value: "a", type: "home" },
    ],
    phoneNumbers: ["1", "1", { value: "1" }],
  }, {
    emails: [{ value: "a", type: "work", primary: true, display: "A" }, { value: "a", type: "home" }],
    phoneNumbers: [{ value: "1" }],
  }],
  ["line breaks and tabs", { addresses: [{ formatted: "a\r\n\tb" }] }, {
    addresses: [{ formatted: "a\r\n\tb" }],
  }],
  ["an attribute of the extension with its URN in front", {
    [`${ENTERPRISE.toUpperCase()}:Department`]: "D",
    [ENTERPRISE]: { division: "V" },
  }, { [ENTERPRISE]: { division: "V", department: "D" } }],
  ["a whole extension with URNs in front", { [`${ENTERPRISE}:manager`]: "bob" }, {
    [ENTERPRISE]: { manager: { value: "bob" } },
  }],
  ["primary as a text", { roles: [{ value: '{"id":1}', primary: "True" }] }, {
    roles: [{ value: '{"id":1}', primary: true }],
  }],
  [
    "unknown attributes, as they are",
    { badge: 5, custom: { a: [null, {}], B: "x" }, "urn:x:y": { z: true } },
    {
      badge: 5,
      custom: { a: [null, {}], B: "x" },
      "urn:x:y": { z: true },
    },
  ],
  ["unknown sub-attributes, as they are", { emails: [{ value: "a", verified: true }] }, {
    emails: [{ value: "a", verified: true }],
  }],
  ["no attribute that the server sets", {
    schemas: ["urn:x"],
    meta: { resourceType: "Robot" },
    groups: [{ value: "admins" }],
    id: "x",
    externalId: "y",
  }, {}],
  ["no password, at any place", {
    PASSWORD: "secret-1",
    [ENTERPRISE]: { password: "secret-2", department: "D" },
    custom: { deep: [{ Password: "secret-3", kept: 1 }] },
  }, { [ENTERPRISE]: { department: "D" }, custom: { deep: [{ kept: 1 }] } }],
  ["an attribute of a million characters", { nickName: "x".repeat(1_000_000) }, {
    nickName: "x".repeat(1_000_000),
  }],
];

for (const [why, body, attributes] of SHAPES) {
  Deno.test(`readContent() stores ${why}`, () => {
    assertEquals(contentOf("user", { userName: "anna", ...body }).attributes, { name: NAME, ...attributes });
  });
}

Deno.test("readContent() gives every user both names, as texts", () => {
  assertEquals(contentOf("user", {}).attributes, { name: { familyName: "", givenName: "" } });
  assertEquals(contentOf("user", { name: { givenName: "Anna", formatted: "A" } }).attributes, {
    name: { givenName: "Anna", formatted: "A", familyName: "" },
  });
});

const BAD: readonly (readonly [ResourceKind, JsonObject, names: string, why: string])[] = [
  ["user", { userName: 5 }, "userName", "a number for a name"],
  ["user", { userName: ["anna"] }, "userName", "a list for a name"],
  ["user", { userName: "a\u0000" }, "userName cannot be a name", "a control character in a name"],
  ["user", { userName: "a/../b" }, "userName", "a step upwards in a name"],
  ["user", { userName: "" }, "userName", "an empty name"],
  ["group", { displayName: "" }, "displayName", "an empty name of a group"],
  ["user", { title: "a", TITLE: "b" }, "title", "two values of an attribute"],
  [
    "user",
    { userName: "a", "urn:ietf:params:scim:schemas:core:2.0:User:username": "b" },
    "userName",
    "two names",
  ],
  ["user", { name: { familyName: "a", FamilyName: "b" } }, "familyName", "two values of a sub-attribute"],
  [
    "user",
    { [ENTERPRISE]: { department: "a" }, [`${ENTERPRISE}:department`]: "b" },
    "department",
    "an attribute of an extension in it and beside it",
  ],
  ["user", { title: "a\u0000b" }, "title", "U+0000"],
  [
    "user",
    { emails: [{ value: "a\u0007" }] },
    "An entry of emails.value must",
    "a control character in an entry",
  ],
  ["user", { emails: ["a\u0085"] }, "emails", "a control character in the text of an entry"],
  ["user", { manager: "a\u001b" }, "manager", "a control character in a manager"],
  ["user", { [ENTERPRISE]: { department: "\u007f" } }, "department", "a control character in an extension"],
  ["user", { emails: [{ value: "a", $ref: 5 }] }, "emails.$ref must be", "a number for the URL of an entry"],
  ["user", { badge: { "a b": "\u0001" } }, "badge.… must", "a name that is not shown"],
  ["user", { name: { "a b": "\u0001" } }, "name.… must", "such a name of a sub-attribute"],
  ["user", { badge: { a: ["\u0001"] } }, "badge.a", "a control character in an unknown attribute"],
  ["user", { "a\u0000": 1 }, "name of an attribute", "a control character in the name of an attribute"],
  ["group", { note: "\u0000" }, "note", "U+0000 in an attribute of a group"],
  [
    "user",
    { x509Certificates: [{ value: "not base64 !!" }] },
    "x509Certificates",
    "a value that is not base64",
  ],
  ["user", { x509Certificates: "not base64 !!" }, "x509Certificates", "a text that is not base64"],
  [
    "user",
    { emails: [{ value: "a", primary: true }, { value: "b", primary: "True" }] },
    "emails",
    "two primary values",
  ],
  ["user", { userName: "anna " }, "userName", "a blank at the end of a name"],
  ["user", { userName: "\u00a0anna" }, "userName", "a blank at the start of a name"],
  ["user", { userName: "an\u200bna" }, "userName", "a zero-width space in a name"],
  ["user", { externalId: "an\u00adna" }, "externalId", "a soft hyphen in what becomes the name"],
  ["user", { id: 5 }, "id", "a number for what becomes the name"],
  ["group", { displayName: true }, "displayName", "a truth for a group's name"],
  ["user", { schemas: { a: 1 } }, "schemas", "schemas that are an object"],
  ["user", { schemas: [1] }, "schemas", "schemas that are numbers"],
  ["user", { name: "Anna" }, "name", "a text for the name's parts"],
  ["user", { name: { familyName: 5 } }, "name.familyName", "a number for a family name"],
  ["user", { displayName: { a: 1 } }, "displayName", "an object for a text"],
  ["user", { emails: [5] }, "emails", "a number for an entry"],
  ["user", { emails: [[{ value: "a" }]] }, "emails", "a list for an entry"],
  ["user", { emails: [{ value: 5 }] }, "emails", "a number for an entry's value"],
  ["user", { emails: [{ value: "a", primary: "yes" }] }, "primary", "a text that is no truth"],
  ["user", { manager: ["a", "b"] }, "manager", "two managers"],
  ["user", { [ENTERPRISE]: "x" }, ENTERPRISE, "a text for an extension"],
  ["user", { ["x".repeat(257)]: 1 }, "name of an attribute", "a name of 257 characters"],
  ["user", { a: { b: { ["x".repeat(257)]: 1 } } }, "name of an attribute", "such a name further down"],
  ["user", { emails: new Array(10_001).fill("a") }, "emails has over 10000 entries", "10,001 entries"],
  ["user", { badge: new Array(10_001).fill("a") }, "An attribute", "10,001 entries of unknown attributes"],
  ["user", { badge: Infinity }, "number", "a number that JSON cannot write again"],
  ["user", { password: "" }, "password", "an empty password"],
  ["user", { password: 5 }, "password", "a number for a password"],
  ["user", { password: "x".repeat(1025) }, "password", "a password of 1,025 characters"],
  ["group", { members: [{}] }, "members[0]", "a member without a name"],
  ["group", { members: ["a", { value: 5 }] }, "members[1].value", "a number for a member"],
  ["group", { members: ["a", "b", { display: "x\u0000" }] }, "members[2]", "a control character in a member"],
  ["group", { members: [["a"]] }, "members[0]", "a list for a member"],
  ["group", { members: 5 }, "members[0]", "a number for the members"],
  ["group", { members: new Array(50_001).fill("a") }, "members", "50,001 members"],
];

Deno.test("readContent() reads the name of a stored user or group that a new one cannot have", () => {
  for (const name of ["anna ", "an\u200bna", "Sales/EMEA"]) {
    assertEquals(contentOf("user", { userName: name }, { pathName: name }).name, name);
    assertEquals(contentOf("group", { displayName: name }, { pathName: name }).name, name);
    if (!name.includes("/")) {
      assertEquals(refused(read("group", { displayName: name })).code, "invalid_value");
    }
    const options = { mapping: DOCUMENT_MAPPING, newName: () => "", isStored: true } as const;
    const outcome = parseResource("user", { userName: name }, options);
    assertEquals(outcome.ok && outcome.content.name, name);
  }
});

Deno.test("readContent() checks of a stored resource only the types", () => {
  const body = {
    title: "a\u0000",
    TITLE: "b",
    emails: [{ value: "x", primary: true }, { value: "x", primary: true }],
    x509Certificates: [{ value: "not base64 !!" }],
    badge: { a: "\u0001" },
  };
  const options = { mapping: DOCUMENT_MAPPING, newName: () => "", isStored: true } as const;
  const { TITLE: _, ...attributes } = body;
  assertEquals(taken(parseResource("user", body, options)).content.attributes, { ...attributes, name: NAME });
  const outcome = refused(parseResource("user", { emails: [{ value: 5 }] }, options));
  assertEquals(outcome.detail, "An entry of emails.value must be a string.");
});

for (const [kind, body, names, why] of BAD) {
  Deno.test(`readContent() refuses ${why}, naming it`, () => {
    const outcome = refused(read(kind, body));
    assertEquals(outcome.code, "invalid_value");
    assert(outcome.detail.includes(names), outcome.detail);
  });
}

Deno.test("readContent() returns the password separately and quotes it nowhere", () => {
  const secret = "correct horse \u0000 battery";
  const outcome = taken(read("user", { userName: "anna", password: secret }));
  assertEquals(outcome.password, secret);
  assert(!JSON.stringify(outcome.content).includes("horse"));
  const refused = read("user", { password: `${secret}${"x".repeat(1024)}` });
  assert(!refused.ok && !refused.detail.includes("horse"));
  assertEquals(read("user", { password: null }), read("user", {}));
  const group = read("group", { displayName: "g", password: secret });
  assert(group.ok && group.password === undefined && !JSON.stringify(group.content).includes("horse"));
});

const MEMBERS: readonly (readonly [why: string, value: JsonValue, members: readonly string[]])[] = [
  ["display, as in the specification's mapping", [{ display: "anna" }], ["anna"]],
  ["value, as other clients send it", [{ value: "anna", type: "User", $ref: null }], ["anna"]],
  ["display before value", [{ value: "7", display: "anna" }], ["anna"]],
  ["value when display is empty or null", [{ value: "a", display: "" }, { value: "b", display: null }], [
    "a",
    "b",
  ]],
  ["plain texts", ["anna", "bob"], ["anna", "bob"]],
  ["one object", { value: "anna" }, ["anna"]],
  ["one text", "anna", ["anna"]],
  ["each name once, without case", ["Anna", { value: "ANNA" }, "bob"], ["Anna", "bob"]],
  ["names in any case", [{ VALUE: "anna" }], ["anna"]],
  ["none for null", null, []],
  ["none for []", [], []],
  ["none for {}", {}, []],
];

for (const [why, value, members] of MEMBERS) {
  Deno.test(`readContent() reads members: ${why}`, () => {
    const content = contentOf("group", { displayName: "staff", members: value });
    assertEquals(content, { kind: "group", name: "staff", attributes: {}, members });
  });
}

Deno.test("readContent() accepts Entra's group with a second schema, and drops the server's attributes", () => {
  const content = contentOf(
    "group",
    bodyOf(`{
      "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group",
        "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
      "externalId": "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
      "displayName": "displayName",
      "meta": { "resourceType": "Group" }
    }`),
  );
  assertEquals(content, { kind: "group", name: "displayName", attributes: {}, members: [] });
});

Deno.test("readContent() accepts OneLogin's SCIM 1 schema", () => {
  assertEquals(contentOf("user", { schemas: ["urn:scim:schemas:core:1.0"], userName: "anna" }).name, "anna");
});

Deno.test("readContent() keeps a separate externalId only if the mapping gives it an attribute", () => {
  const mapping = createMapping({ user: { externalId: "employeeId" }, group: {} });
  const body = { userName: "anna", externalId: "701984" };
  assertEquals(contentOf("user", body, { mapping }).attributes, { externalId: "701984", name: NAME });
  assertEquals(contentOf("user", body).attributes, { name: NAME });
  assert(!read("user", { userName: "anna", externalId: 5 }, { mapping }).ok);
});

Deno.test("readContent() ignores an attribute __proto__", () => {
  const content = contentOf(
    "user",
    bodyOf('{"userName":"a","__proto__":{"x":1},"custom":{"__proto__":{"y":1},"z":1}}'),
  );
  assertEquals(Object.keys(content.attributes), ["name", "custom"]);
  assertEquals(JSON.stringify(content.attributes["custom"]), '{"z":1}');
});

Deno.test("readContent() keeps what the resource has, and refuses the same value as a new one", () => {
  const held = { title: "a\u0000", emails: [{ value: "b" }, { value: "b" }] };
  const options = { pathName: "anna" };
  assert(!read("user", held, options).ok);
  const outcome = read("user", { ...held, nickName: "n" }, { ...options, previous: held });
  assertEquals(outcome.ok && outcome.content.attributes, { name: NAME, ...held, nickName: "n" });
  assert(!read("user", { ...held, title: "\u0001" }, { ...options, previous: held }).ok);
});

// The limits of a JSON body: size, depth, number of members and values, and refused forms.

const utf8 = new TextEncoder();
const parse = (text: string) => parseJsonObject(utf8.encode(text));
const nested = (depth: number) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
const many = (values: number) => `{"a":[${new Array(values - 2).fill("0").join(",")}]}`;

const REFUSED: readonly (readonly [text: string, problem: string, why: string])[] = [
  ["", "The body is not JSON.", "nothing"],
  ["{", "The body is not JSON.", "half an object"],
  ["{} {}", "The body is not JSON.", "two objects"],
  ["{'a':1}", "The body is not JSON.", "single quotes"],
  ['{"a":1,}', "The body is not JSON.", "a comma too many"],
  ['{"a":NaN}', "The body is not JSON.", "NaN"],
  ['{"a":"\n"}', "The body is not JSON.", "a line break in a text"],
  ['{"a":"', "The body is not JSON.", "an open text"],
  ['{"a":"\\', "The body is not JSON.", "an open escape"],
  ['{"a":1,"a":2}', "The body has an object with the same name twice: a.", "a name twice"],
  [
    '{"a":[{"b c":1,"b c":1}]}',
    "The body has an object with the same name twice: ….",
    "a text as a name, twice",
  ],
  ["[]", "The body is JSON, but not an object.", "an array"],
  ["null", "The body is JSON, but not an object.", "null"],
  ['"x"', "The body is JSON, but not an object.", "a text"],
  [nested(MAX_JSON_DEPTH + 1), "The body is nested over 32 levels deep.", "33 levels"],
  ["[".repeat(5_000_000), "The body is nested over 32 levels deep.", "5,000,000 brackets"],
  ['{"a":'.repeat(100_000), "The body is nested over 32 levels deep.", "100,000 objects in one another"],
  [many(MAX_JSON_VALUES + 1), "The body has over 200000 values.", "200,001 values"],
  [`{${",".repeat(MAX_JSON_VALUES)}`, "The body has over 200000 values.", "200,000 commas"],
];

for (const [text, problem, why] of REFUSED) {
  Deno.test(`parseJsonObject() refuses ${why}`, () => assertEquals(parse(text), { ok: false, problem }));
}

Deno.test("parseJsonObject() refuses octets that are not UTF-8", () => {
  for (const octets of [[0x7b, 0xff, 0x7d], [0x22, 0xed, 0xa0, 0x80, 0x22], [0xff, 0xfe, 0x7b, 0x00]]) {
    assertEquals(parseJsonObject(Uint8Array.from(octets)), { ok: false, problem: "The body is not UTF-8." });
  }
});

const TAKEN: readonly (readonly [text: string, value: Record<string, JsonValue>, why: string])[] = [
  ["{}", {}, "an empty object"],
  ["\ufeff{}", {}, "a byte order mark"],
  ['{"a":"[[[[{{{{,,,,"}', { a: "[[[[{{{{,,,," }, "brackets inside of a text"],
  ['{"a":"\\"[","b":"\\\\"}', { a: '"[', b: "\\" }, "escaped quotes and backslashes"],
  [
    '{"a":1e400,"b":123456789012345678901234567890}',
    { a: Infinity, b: 123456789012345678901234567890 },
    "huge numbers",
  ],
  ['{"a":"\\ud800"}', { a: "\ud800" }, "an escaped lone surrogate"],
];

for (const [text, value, why] of TAKEN) {
  Deno.test(`parseJsonObject() accepts ${why}`, () => assertEquals(parse(text), { ok: true, value }));
}

Deno.test("parseJsonObject() accepts 32 levels and 50,000 values", () => {
  assert(parse(nested(MAX_JSON_DEPTH)).ok);
  assert(parse(many(MAX_JSON_VALUES)).ok);
});

Deno.test("parseJsonObject() does not change an object's prototype when a name is __proto__", () => {
  const read = taken(parse('{"__proto__":{"active":false},"a":{"__proto__":{"b":1}}}'));
  assertEquals(read.value["active"], undefined);
  assertEquals(Object.getPrototypeOf(read.value), Object.prototype);
});

Deno.test("parseJsonObject() returns the same as JSON.parse for any small object", () => {
  fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 6 })), (value) => {
    const text = JSON.stringify(value);
    const read = taken(parse(text));
    assertEquals(JSON.stringify(read.value), text);
  }));
});

Deno.test("parseJsonObject() never throws, for any octets", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => {
    const read = parseJsonObject(octets);
    assert(read.ok || read.problem !== "");
  }));
});
