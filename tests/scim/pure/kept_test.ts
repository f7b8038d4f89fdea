// What backends keep for themselves: how it is spelled, what it leaves of a write, and when clients may not change it.

import { assert, assertEquals } from "@std/assert";
import type { JsonObject, UserContent } from "../../../scim/schema/resource.ts";
import { keptAttributes, keptByAll, keptNames, layKept } from "../../../scim/schema/read_only_attributes.ts";
import { createMapping, isFrontEndKept } from "../../../scim/schema/mapping.ts";

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const PATHS = ["title", "name.givenName", "emails[].value", `${ENTERPRISE}:department`];

function user(attributes: JsonObject): UserContent {
  const name = { familyName: "", givenName: "" };
  return { kind: "user", name: "ada", active: true, attributes: { name, ...attributes } };
}

Deno.test("keptAttributes() spells paths as coverage does, and keptNames() as people do", () => {
  const kept = keptAttributes(PATHS);
  assertEquals([...kept].toSorted(), [
    "emails",
    "emails.value",
    "name",
    "name.givenName",
    "title",
    ENTERPRISE,
    `${ENTERPRISE}:department`,
  ]);
  assertEquals(keptNames(kept), ["title", "name.givenName", "emails", "department"]);
  assert(keptNames(keptAttributes(["name"])).includes("name.givenName"), "an object is named by its parts");
  assertEquals(keptAttributes(["emails"]), keptAttributes(["emails[].value"]), "one path, two spellings");
});

/** What is kept, what is wanted, what is held, and what comes of it. */
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
  Deno.test(`layKept() of ${path}: ${JSON.stringify(wanted)} over ${JSON.stringify(held)}`, () => {
    const before = held === null ? null : user(held);
    assertEquals(layKept(user(wanted), before, keptAttributes([path])), user(laid));
  });
}

Deno.test("layKept() leaves active and groups to the writer, and everything where nothing is kept", () => {
  const wanted = { ...user({ title: "new" }), active: false };
  assertEquals(layKept(wanted, user({}), keptAttributes([])), wanted);
  assertEquals(layKept(wanted, user({ title: "old" }), keptAttributes(["title"])), {
    ...user({ title: "old" }),
    active: false,
  });
  const group = { kind: "group", name: "staff", attributes: { title: "x" }, members: ["ada"] } as const;
  assertEquals(layKept(group, null, keptAttributes(["title"])), group);
});

const [title, mails] = [keptAttributes(["title"]), keptAttributes(["emails[].value"])];
const both = keptAttributes(["title", "emails[].value"]);

/** Backends, and what is readOnly then. */
const BY_ALL = [
  ["one keeps", [{ covers: null, keeps: both }], ["title", "emails"]],
  ["both keep one", [{ covers: null, keeps: both }, { covers: null, keeps: title }], ["title"]],
  ["one takes it", [{ covers: null, keeps: title }, { covers: null }], []],
  ["the other cannot hold it", [{ covers: null, keeps: both }, { covers: new Set(["emails"]) }], ["title"]],
  [
    "the other holds another part",
    [{ covers: null, keeps: mails }, { covers: new Set(["emails", "emails.type"]) }],
    ["emails"],
  ],
  ["nobody keeps", [{ covers: null }], []],
  ["nobody is there", [], []],
] as const;

for (const [what, backends, names] of BY_ALL) {
  Deno.test(`keptByAll() where ${what}: ${names.join(", ") || "nothing"}`, () => {
    assertEquals(keptNames(keptByAll(backends)), [...names]);
  });
}

Deno.test("isFrontEndKept() follows the mapping", () => {
  const mapping = createMapping({ user: { title: "jobTitle" }, group: {} });
  const asked = ["jobTitle", "title", "mail", "familyName"].map((name) =>
    isFrontEndKept(name, mapping, both)
  );
  assertEquals(asked, [true, false, true, false]);
});
