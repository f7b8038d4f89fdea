// Answers of SCIM 1.1: how resources are written, times, and read-only attributes.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { isDeceptiveName } from "../../../platform/canonical_name.ts";
import fc from "../../packages/fast_check.ts";
import type { Content, JsonObject, Stored, UserContent } from "../../../scim/schema/resource.ts";
import { parseName } from "../../../scim/schema/resource_name.ts";
import { errorBody, isoTime, renderList, renderResource } from "../../../scim/schema/render_resource.ts";
import { createMapping, isFrontEndReadOnly } from "../../../scim/schema/mapping.ts";
import { bodyOf, contentOf, DOCUMENT_MAPPING, stored } from "./bodies.ts";
import { ENTERPRISE_USER, GROUP, MINIMAL_USER } from "./rfc7643_examples.ts";
import {
  commonReadOnly,
  readOnlyNames,
  toReadOnlyAttributes,
  withReadOnly,
} from "../../../scim/schema/merge.ts";

// Rendering of resources, lists and errors as SCIM answers, and parsing them again.

const LOCATION = "https://id.example.com/idm/scim/default/Users/anna";
const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

const render = (one: Stored, mapping = DOCUMENT_MAPPING) =>
  renderResource(one, { location: LOCATION, mapping });

Deno.test("renderResource() of a user without attributes has the specification's fields and no other", () => {
  const content = contentOf("user", { userName: "Anna" });
  assertEquals(bodyOf(render(stored(content))), {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
    id: "Anna",
    externalId: "Anna",
    userName: "Anna",
    name: { familyName: "", givenName: "" },
    active: true,
    meta: {
      resourceType: "User",
      created: "2026-01-02T03:04:05.006Z",
      lastModified: "2026-02-02T03:04:05.006Z",
      location: LOCATION,
      version: 'W/"00000000000000a1"',
    },
  });
});

Deno.test("renderResource() of a group", () => {
  const content = contentOf("group", { displayName: "staff", members: ["Anna", 'b"ob'], note: "x" });
  assertEquals(bodyOf(render(stored(content))), {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:Group"],
    id: "staff",
    externalId: "staff",
    displayName: "staff",
    note: "x",
    members: [{ value: "Anna", display: "Anna" }, { value: 'b"ob', display: 'b"ob' }],
    meta: {
      resourceType: "Group",
      created: "2026-01-02T03:04:05.006Z",
      lastModified: "2026-02-02T03:04:05.006Z",
      location: LOCATION,
      version: 'W/"00000000000000a1"',
    },
  });
});

Deno.test("renderResource() of a group without attributes and members", () => {
  const body = bodyOf(render(stored(contentOf("group", { displayName: "staff" }))));
  assertEquals(body["members"], []);
});

Deno.test("renderResource() lists a user's groups, and the extensions that are present", () => {
  const content = contentOf("user", {
    userName: "a",
    [ENTERPRISE]: { department: "D" },
    "urn:x:y": { z: 1 },
  });
  const body = bodyOf(render(stored(content, { groups: ["admins", "staff"] })));
  assertEquals(body["groups"], [{ value: "admins", display: "admins" }, {
    value: "staff",
    display: "staff",
  }]);
  assertEquals(body["schemas"], ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE, "urn:x:y"]);
});

Deno.test("renderResource() does not confuse a text with a schema that it resembles", () => {
  const content = contentOf("user", { userName: "a", nickName: "urn:x", custom: { "urn:x:y": 1 } });
  assertEquals(bodyOf(render(stored(content)))["schemas"], ["urn:ietf:params:scim:schemas:core:2.0:User"]);
});

Deno.test("renderResource() inserts the text of the attributes without parsing it", () => {
  const content: Content = {
    kind: "user",
    name: "anna",
    active: false,
    get attributes(): JsonObject {
      throw new Error("The attributes were parsed");
    },
  };
  const text = '{"name":{"familyName":"A","givenName":""},"title":"T"}';
  const body = bodyOf(render({ ...stored(content), content, attributesText: text }));
  assertEquals([body["name"], body["title"], body["active"]], [
    { familyName: "A", givenName: "" },
    "T",
    false,
  ]);
});

Deno.test("renderResource() writes externalId once, also when the mapping has changed since it was stored", () => {
  const own = createMapping({ user: { externalId: "badge" }, group: {} });
  const content = contentOf("user", { userName: "anna", externalId: "b-1", title: "T" }, { mapping: own });
  for (const [mapping, externalId] of [[own, "b-1"], [DOCUMENT_MAPPING, "anna"]] as const) {
    const text = render({ ...stored(content), attributesText: JSON.stringify(content.attributes) }, mapping);
    assertEquals(text.split('"externalId"').length, 2);
    assertEquals([bodyOf(text)["externalId"], bodyOf(text)["title"]], [externalId, "T"]);
  }
});

Deno.test("renderList() has the specification's five fields", () => {
  assertEquals(bodyOf(renderList(['{"a":1}', '{"b":2}'], { total: 7, startIndex: 3 })), {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
    totalResults: 7,
    startIndex: 3,
    itemsPerPage: 2,
    Resources: [{ a: 1 }, { b: 2 }],
  });
  assertEquals(bodyOf(renderList([], { total: 7, startIndex: 101 }))["Resources"], []);
});

Deno.test("RFC 7644 §3.12: errorBody() writes the status as a text, and no extra key", () => {
  assertEquals(errorBody({ status: 404, detail: "There is no such resource." }), {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: "404",
    detail: "There is no such resource.",
  });
  assertEquals(errorBody({ status: 400, scimType: "mutability", detail: 'Attribute "id"' }), {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: "400",
    scimType: "mutability",
    detail: 'Attribute "id"',
  });
});

Deno.test("RFC 7643 §8.1: the minimal user", () => {
  assertEquals(contentOf("user", bodyOf(MINIMAL_USER)), {
    kind: "user",
    name: "bjensen@example.com",
    active: true,
    attributes: { name: { familyName: "", givenName: "" } },
  });
});

Deno.test("RFC 7643 §8.3: the enterprise user is returned as it was sent, except what the specification spells and the server sets", () => {
  const sent = bodyOf(ENTERPRISE_USER.replaceAll("postalCode", "postralCode").replace('"ims"', '"imgs"'));
  const content = contentOf("user", bodyOf(ENTERPRISE_USER));
  const { password: _, groups: __, meta: ___, id: ____, externalId: _____, ...kept } = sent;
  const { meta: ______, id, externalId, ...got } = bodyOf(render(stored(content)));
  assertEquals(got, kept);
  assertEquals([id, externalId], ["bjensen@example.com", "bjensen@example.com"]);
});

Deno.test("RFC 7643 §8.4: the group's members are its displays, as the specification maps them", () => {
  assertEquals(contentOf("group", bodyOf(GROUP)), {
    kind: "group",
    name: "Tour Guides",
    attributes: {},
    members: ["Babs Jensen", "Mandy Pepperidge"],
  });
});

/** Bodies of users and groups with every attribute, and with hostile names. */
const name = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => parseName(text).ok);
/** New users and groups may not have a name that looks like another one. */
const newName = name.filter((text) => !isDeceptiveName(text));
const text = fc.string({ unit: "binary", maxLength: 20 }).map((one) => one.replace(/[^\P{Cc}\t\n\r]/gu, ""));
const entry = fc.record({
  value: text,
  type: text,
  primary: fc.constant(false),
  display: text,
  odd: fc.jsonValue(),
}, {
  requiredKeys: [],
});
const userBody = fc.record({
  userName: newName,
  active: fc.constantFrom(true, false, "True", "FALSE"),
  name: fc.record({ familyName: text, givenName: text, middleName: text }, { requiredKeys: [] }),
  title: text,
  emails: fc.array(entry, { maxLength: 4 }),
  addresses: fc.array(
    fc.record({ postralCode: text, postalCode: text, region: text }, { requiredKeys: [] }),
    {
      maxLength: 3,
    },
  ),
  manager: fc.oneof(text, fc.record({ displayName: text, value: text }, { requiredKeys: [] })),
  [ENTERPRISE]: fc.record({ department: text, manager: text }, { requiredKeys: [] }),
  badge: fc.jsonValue({ maxDepth: 4 }),
  "urn:x:y:2.0:z": fc.dictionary(text, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
}, { requiredKeys: ["userName"] });
const groupBody = fc.record({
  displayName: newName,
  members: fc.array(fc.oneof(name, fc.record({ value: name }))),
  note: text,
}, {
  requiredKeys: ["displayName"],
});

Deno.test("renderResource() and readContent(): an answer that is sent again has the same content", () => {
  fc.assert(fc.property(
    fc.oneof(
      userBody.map((body) => ["user", body] as const),
      groupBody.map((body) => ["group", body] as const),
    ),
    ([kind, body]) => {
      const content = contentOf(kind, bodyOf(JSON.stringify(body)));
      const answered = render({
        ...stored(content, { groups: ["g"] }),
        attributesText: JSON.stringify(content.attributes),
      });
      assertEquals(answered, render(stored(content, { groups: ["g"] })));
      const again = contentOf(kind, bodyOf(answered), { pathName: content.name });
      assertEquals(JSON.stringify(again), JSON.stringify(content));
    },
  ));
});

// Timestamps as texts.

Deno.test("isoTime() writes the same as Date.toISOString(), for any time and in any order", () => {
  const limitMs = 8.64e15;
  const anyMs = fc.oneof(fc.integer({ min: -limitMs, max: limitMs }), fc.integer({ min: 0, max: 4e12 }));
  fc.assert(fc.property(fc.array(anyMs, { maxLength: 5 }), (times) => {
    for (const ms of times) assertEquals(isoTime(ms), new Date(ms).toISOString());
  }));
});

Deno.test("isoTime() is right at the edges of a day", () => {
  for (
    const text of [
      "2026-01-01T00:00:00.000Z",
      "2025-12-31T23:59:59.999Z",
      "2024-02-29T12:00:00.001Z",
      "1969-12-31T23:59:59.999Z",
    ]
  ) {
    assertEquals(isoTime(Date.parse(text)), text);
  }
});

Deno.test("isoTime() throws for an invalid time", () => {
  assertThrows(() => isoTime(NaN), RangeError);
  assertThrows(() => isoTime(1e17), RangeError);
});

// Read-only attributes of backends: their spelling, their effect on a write, and when a client may not change them.

const PATHS = ["title", "name.givenName", "emails[].value", `${ENTERPRISE}:department`];

function user(attributes: JsonObject): UserContent {
  const name = { familyName: "", givenName: "" };
  return { kind: "user", name: "ada", active: true, attributes: { name, ...attributes } };
}

Deno.test("toReadOnlyAttributes() spells paths as in the coverage, and readOnlyNames() for people", () => {
  const kept = toReadOnlyAttributes(PATHS);
  assertEquals([...kept].toSorted(), [
    "emails",
    "emails.value",
    "name",
    "name.givenName",
    "title",
    ENTERPRISE,
    `${ENTERPRISE}:department`,
  ]);
  assertEquals(readOnlyNames(kept), ["title", "name.givenName", "emails", "department"]);
  assert(
    readOnlyNames(toReadOnlyAttributes(["name"])).includes("name.givenName"),
    "an object is named by its parts",
  );
  assertEquals(
    toReadOnlyAttributes(["emails"]),
    toReadOnlyAttributes(["emails[].value"]),
    "one path, two spellings",
  );
});

/** The read-only attribute, the wanted value, the present value, and the result. */
const LAID: readonly (readonly [string, JsonObject, JsonObject | null, JsonObject])[] = [
  ["title", { title: "new" }, { title: "old" }, { title: "old" }],
  ["title", { title: "new" }, {}, {}],
  ["title", { title: "new" }, null, {}],
  ["title", {}, { title: "old" }, { title: "old" }],
  ["title", { title: "new", nickName: "n" }, { title: "old", nickName: "o" }, {
    title: "old",
    nickName: "n",
  }],
  [
    "name.givenName",
    { name: { givenName: "new", familyName: "new" } },
    { name: { givenName: "old", familyName: "old" } },
    { name: { givenName: "old", familyName: "new" } },
  ],
  [
    "emails[].value",
    { emails: [{ value: "new@example.org", type: "work" }] },
    { emails: [{ value: "old@example.org", type: "home" }] },
    { emails: [{ value: "old@example.org", type: "home" }] },
  ],
  [
    `${ENTERPRISE}:department`,
    { [ENTERPRISE]: { department: "new", division: "new" } },
    { [ENTERPRISE]: { department: "old", division: "old" } },
    { [ENTERPRISE]: { department: "old", division: "new" } },
  ],
];

for (const [path, wanted, held, laid] of LAID) {
  Deno.test(`withReadOnly() of ${path}: ${JSON.stringify(wanted)} over ${JSON.stringify(held)}`, () => {
    const before = held === null ? null : user(held);
    assertEquals(withReadOnly(user(wanted), before, toReadOnlyAttributes([path])), user(laid));
  });
}

Deno.test("withReadOnly() leaves active and groups to the writer, and everything if nothing is read-only", () => {
  const wanted = { ...user({ title: "new" }), active: false };
  assertEquals(withReadOnly(wanted, user({}), toReadOnlyAttributes([])), wanted);
  assertEquals(withReadOnly(wanted, user({ title: "old" }), toReadOnlyAttributes(["title"])), {
    ...user({ title: "old" }),
    active: false,
  });
  const group = { kind: "group", name: "staff", attributes: { title: "x" }, members: ["ada"] } as const;
  assertEquals(withReadOnly(group, null, toReadOnlyAttributes(["title"])), group);
});

const [title, mails] = [toReadOnlyAttributes(["title"]), toReadOnlyAttributes(["emails[].value"])];
const both = toReadOnlyAttributes(["title", "emails[].value"]);

/** Backends, and the resulting common read-only attributes. */
const BY_ALL = [
  ["the only backend has both read-only", [{ covers: null, readOnly: both }], ["title", "emails"]],
  [
    "both backends have one read-only",
    [{ covers: null, readOnly: both }, { covers: null, readOnly: title }],
    ["title"],
  ],
  ["one backend accepts writes", [{ covers: null, readOnly: title }, { covers: null }], []],
  ["the other backend cannot store it", [{ covers: null, readOnly: both }, { covers: new Set(["emails"]) }], [
    "title",
  ]],
  [
    "the other holds another part",
    [{ covers: null, readOnly: mails }, { covers: new Set(["emails", "emails.type"]) }],
    ["emails"],
  ],
  ["no backend has any", [{ covers: null }], []],
  ["no backend", [], []],
] as const;

for (const [what, backends, names] of BY_ALL) {
  Deno.test(`commonReadOnly() where ${what}: ${names.join(", ") || "nothing"}`, () => {
    assertEquals(readOnlyNames(commonReadOnly(backends)), [...names]);
  });
}

Deno.test("isFrontEndReadOnly() follows the mapping", () => {
  const mapping = createMapping({ user: { title: "jobTitle" }, group: {} });
  const asked = ["jobTitle", "title", "mail", "familyName"].map((name) =>
    isFrontEndReadOnly(name, mapping, both)
  );
  assertEquals(asked, [true, false, true, false]);
});
