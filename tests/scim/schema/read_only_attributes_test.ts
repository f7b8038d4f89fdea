// Read-only attributes of backends: their spelling, their effect on a write, and when a client may not change them.

import { assert, assertEquals } from "@std/assert";
import type { JsonObject, UserContent } from "../../../scim/schema/resource.ts";
import {
  commonReadOnly,
  readOnlyNames,
  toReadOnlyAttributes,
  withReadOnly,
} from "../../../scim/schema/read_only_attributes.ts";
import { createMapping, isFrontEndReadOnly } from "../../../scim/schema/mapping.ts";

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
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
