// Merging the answer of a backend into a stored resource.

import { assertEquals } from "@std/assert";
import type { JsonObject, UserContent } from "../../../scim/schema/resource.ts";
import { coveredAttributes, fromFrontEnd, mergeContent, toFrontEnd } from "../../../scim/schema/mapping.ts";
import { DOCUMENT_MAPPING } from "./bodies.ts";

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const NAME = { familyName: "", givenName: "" };
const LDAP = coveredAttributes(
  [
    "familyName",
    "givenName",
    "mail",
    "phoneNumber",
    "title",
    "locality",
    "streetAddress",
    "department",
    "manager",
    "badge",
    "mark",
  ],
  DOCUMENT_MAPPING,
  "user",
);

function user(attributes: JsonObject, { active = true, name = "Anna" } = {}): UserContent {
  return { kind: "user", name, active, attributes: { name: NAME, ...attributes } };
}

/** Attributes before, the content of a backend with {@link LDAP}, attributes after. */
const CASES: readonly (readonly [why: string, before: JsonObject, read: JsonObject, after: JsonObject])[] = [
  ["adopts a changed value", { title: "A" }, { title: "B" }, { title: "B" }],
  ["adopts a new value", {}, { title: "B" }, { title: "B" }],
  ["removes a missing value", { title: "A" }, {}, {}],
  ["keeps attributes that the backend cannot store", { nickName: "N", photos: [{ value: "p" }] }, {}, {
    nickName: "N",
    photos: [{ value: "p" }],
  }],
  ["adopts no attribute that the backend cannot store", {}, { nickName: "N" }, {}],
  [
    "leaves the parts of a name that it cannot hold",
    { name: { ...NAME, familyName: "A", middleName: "M" } },
    {
      name: { ...NAME, familyName: "B" },
    },
    { name: { givenName: "", familyName: "B", middleName: "M" } },
  ],
  ["leaves the rest of an extension", { [ENTERPRISE]: { department: "A", costCenter: "C" } }, {
    [ENTERPRISE]: { department: "B" },
  }, { [ENTERPRISE]: { department: "B", costCenter: "C" } }],
  ["removes a part of an extension", { [ENTERPRISE]: { department: "A" } }, {}, {}],
  [
    "keeps type, primary and display with their value",
    {
      emails: [{ value: "a", type: "work", primary: true, display: "A" }, { value: "b", type: "home" }],
    },
    { emails: [{ value: "a" }, { value: "c" }] },
    {
      emails: [{ value: "a", type: "work", primary: true, display: "A" }, { value: "c" }],
    },
  ],
  ["keeps the known order", { emails: [{ value: "a", type: "work" }, { value: "b" }] }, {
    emails: [{ value: "b" }, { value: "a" }],
  }, { emails: [{ value: "a", type: "work" }, { value: "b" }] }],
  [
    "keeps one value with two types",
    { emails: [{ value: "a", type: "work" }, { value: "a", type: "home" }] },
    {
      emails: [{ value: "a" }],
    },
    { emails: [{ value: "a", type: "work" }, { value: "a", type: "home" }] },
  ],
  ["removes all entries", { emails: [{ value: "a", type: "work" }] }, {}, {}],
  ["keeps a number that comes back as a text", { badge: 5, mark: ["x"] }, { badge: "5", mark: "x" }, {
    badge: 5,
    mark: ["x"],
  }],
  [
    "keeps addresses whose parts come back by place",
    {
      addresses: [{ locality: "Bonn", type: "home" }, { streetAddress: "S", country: "DE" }],
    },
    { addresses: [{ locality: "Bonn", streetAddress: "S" }] },
    {
      addresses: [{ locality: "Bonn", type: "home" }, { streetAddress: "S", country: "DE" }],
    },
  ],
  [
    "keeps addresses whose parts come back as sets",
    {
      addresses: [{ locality: "Bonn", streetAddress: "S 1", type: "home" }, {
        locality: "Bonn",
        streetAddress: "S 2",
      }],
    },
    { addresses: [{ locality: "Bonn", streetAddress: "S 2" }, { streetAddress: "S 1" }] },
    {
      addresses: [{ locality: "Bonn", streetAddress: "S 1", type: "home" }, {
        locality: "Bonn",
        streetAddress: "S 2",
      }],
    },
  ],
  ["keeps the type of an address when its parts change", {
    addresses: [{ locality: "Bonn", country: "DE", type: "work" }],
  }, {
    addresses: [{ locality: "Kiel" }],
  }, { addresses: [{ type: "work", locality: "Kiel" }] }],
  ["finds the manager in the extension", { [ENTERPRISE]: { manager: { value: "b", displayName: "Bob" } } }, {
    manager: { displayName: "Bo" },
  }, { [ENTERPRISE]: { manager: { value: "b", displayName: "Bo" } } }],
  [
    "takes the manager away where it stands",
    { [ENTERPRISE]: { manager: { displayName: "Bob" }, costCenter: "C" } },
    {},
    {
      [ENTERPRISE]: { costCenter: "C" },
    },
  ],
];

for (const [why, before, read, after] of CASES) {
  Deno.test(`mergeContent() ${why}`, () => {
    assertEquals(mergeContent(user(before), user(read), LDAP), user(after));
  });
}

const FIRST_ONLY = coveredAttributes(
  [{ frontEnd: "locality", single: true }, { frontEnd: "streetAddress", single: true }, { frontEnd: "mail" }],
  DOCUMENT_MAPPING,
  "user",
);
const HOME = { locality: "Bonn", streetAddress: "S 1", country: "DE", type: "home" };
const WORK = { locality: "Bonn", streetAddress: "S 2", type: "work" };
const NOTHING_HELD = { formatted: "Main St" };

/** Addresses before, the address of the backend, addresses after. */
const FIRSTS:
  readonly (readonly [why: string, before: JsonObject[], read: JsonObject[], after: JsonObject[]])[] = [
    ["keeps the other entries", [HOME, WORK], [{ locality: "Bonn", streetAddress: "S 1" }], [HOME, WORK]],
    ["changes the first", [HOME, WORK], [{ locality: "Kiel" }], [{
      locality: "Kiel",
      country: "DE",
      type: "home",
    }, WORK]],
    ["removes the first", [WORK, HOME], [], [HOME]],
    ["keeps the other parts of the first", [HOME], [], [{ country: "DE", type: "home" }]],
    ["keeps an entry of which it stores nothing", [NOTHING_HELD], [], [NOTHING_HELD]],
    ["adopts a new one", [], [{ locality: "Kiel" }], [{ locality: "Kiel" }]],
  ];

for (const [why, before, read, after] of FIRSTS) {
  Deno.test(`mergeContent() of a backend that stores only the first entry ${why}`, () => {
    const merged = mergeContent(user({ addresses: before }), user({ addresses: read }), FIRST_ONLY);
    assertEquals(merged.attributes["addresses"], after);
  });
}

Deno.test("mergeContent() keeps entries of which the backend stores no part, and knows which attributes have a list", () => {
  assertEquals(
    mergeContent(user({ addresses: [NOTHING_HELD] }), user({}), LDAP),
    user({ addresses: [NOTHING_HELD] }),
  );
  assertEquals([...FIRST_ONLY], [
    "addresses",
    "addresses.locality",
    "addresses[0].locality",
    "addresses.streetAddress",
    "addresses[0].streetAddress",
    "emails",
    "emails.value",
  ]);
});

Deno.test("mergeContent() of a backend that stores everything adopts all of it, and keeps types with their values", () => {
  const before = user({ title: "A", nickName: "N", emails: [{ value: "a", type: "work" }] });
  const read = user({ title: "B", emails: [{ value: "a", primary: true }] }, { active: false });
  assertEquals(
    mergeContent(before, read, null),
    user({ title: "B", emails: [{ value: "a", type: "work", primary: true }] }, { active: false }),
  );
});

Deno.test("mergeContent() of a backend that stores everything distinguishes equal values by their order", () => {
  const both = user({ emails: [{ value: "a", type: "work" }, { value: "a", type: "home" }] });
  assertEquals(mergeContent(both, both, null), both);
  const one = user({ emails: [{ value: "a", type: "home" }] });
  assertEquals(mergeContent(both, one, null), one);
});

Deno.test("mergeContent() keeps the spelling of names and members, and adopts the membership", () => {
  assertEquals(
    mergeContent(
      { kind: "group", name: "Staff", attributes: { note: "x" }, members: ["Anna", "bob"] },
      { kind: "group", name: "staff", attributes: {}, members: ["carl", "ANNA"] },
      new Set(),
    ),
    { kind: "group", name: "Staff", attributes: { note: "x" }, members: ["carl", "Anna"] },
  );
  assertEquals(mergeContent(user({}), user({}, { name: "ANNA" }), null).name, "Anna");
});

Deno.test("mergeContent() of content that was sent to a backend changes nothing", () => {
  const content = user({
    name: { ...NAME, givenName: "Anna", middleName: "M" },
    emails: [{ value: "a", type: "work" }],
    addresses: [{ locality: "Bonn", type: "home" }, { streetAddress: "S" }],
    [ENTERPRISE]: { department: "D", manager: { value: "b", displayName: "Bob" } },
    badge: 5,
  });
  const names = [...toFrontEnd(content, DOCUMENT_MAPPING).keys()];
  const back = fromFrontEnd(toFrontEnd(content, DOCUMENT_MAPPING), {
    kind: "user",
    name: "anna",
    mapping: DOCUMENT_MAPPING,
  });
  assertEquals(mergeContent(content, back, coveredAttributes(names, DOCUMENT_MAPPING, "user")), content);
});
