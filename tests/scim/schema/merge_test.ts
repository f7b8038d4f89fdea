// Merging a write into a resource, and what recorded clients send.

import { assert, assertEquals } from "@std/assert";
import type { JsonObject, ResourceKind, UserContent } from "../../../scim/schema/resource.ts";
import { coveredAttributes, fromFrontEnd, mergeContent, toFrontEnd } from "../../../scim/schema/mapping.ts";
import { bodyOf, DOCUMENT_MAPPING, read, taken } from "./bodies.ts";

// Merging the answer of a backend into a stored resource.

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

// The bodies that Okta, Microsoft Entra and other provisioning clients send, and the resulting resources.

const CORE = "urn:ietf:params:scim:schemas:core:2.0:User";

interface Row {
  readonly kind?: ResourceKind;
  readonly pathName?: string;
  readonly body: string;
  readonly name: string;
  readonly active?: boolean;
  readonly attributes: JsonObject;
  readonly members?: readonly string[];
  readonly password?: string;
  /** The source of the example. */
  readonly ref: string;
}

const CLIENTS: Readonly<Record<string, Row>> = {
  "Entra creates a user: roles as an empty list, meta in the body": {
    body: `{"schemas":["${CORE}","${ENTERPRISE}"],"externalId":"0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
      "userName":"Test_User_ab6490ee","active":true,
      "emails":[{"primary":true,"type":"work","value":"Test_User_fd0ea19b@testuser.com"}],
      "meta":{"resourceType":"User"},
      "name":{"formatted":"givenName familyName","familyName":"familyName","givenName":"givenName"},"roles":[]}`,
    name: "Test_User_ab6490ee",
    attributes: {
      name: { formatted: "givenName familyName", familyName: "familyName", givenName: "givenName" },
      emails: [{ primary: true, type: "work", value: "Test_User_fd0ea19b@testuser.com" }],
    },
    ref: "Entra documentation, use-scim-to-provision-users-and-groups",
  },
  "Entra disables a user with a text": {
    pathName: "anna",
    body: `{"userName":"anna","active":"False"}`,
    name: "anna",
    active: false,
    attributes: { name: { familyName: "", givenName: "" } },
    ref: "Entra documentation, application-provisioning-config-problem-scim-compatibility",
  },
  "Entra sends a manager as a text in the extension, and as a list of one beside it": {
    body: `{"userName":"anna","manager":[{"$ref":"../Users/7","value":"7"}],"${ENTERPRISE}":{"manager":"7"}}`,
    name: "anna",
    attributes: {
      name: { familyName: "", givenName: "" },
      manager: { $ref: "../Users/7", value: "7" },
      [ENTERPRISE]: { manager: { value: "7" } },
    },
    ref: "SCIM-SDK #541, scimple PR #1244",
  },
  "Entra sends a role as JSON inside of a text, and primary as a text": {
    body: `{"userName":"anna","roles":[{"primary":"True","type":"WindowsAzureActiveDirectoryRole",
      "value":"{\\"id\\":\\"18d1\\",\\"value\\":null}"}]}`,
    name: "anna",
    attributes: {
      name: { familyName: "", givenName: "" },
      roles: [{
        primary: true,
        type: "WindowsAzureActiveDirectoryRole",
        value: '{"id":"18d1","value":null}',
      }],
    },
    ref: "SCIM-SDK #516, tuist #13238",
  },
  "Okta creates a user: a password, groups as an empty list": {
    body: `{"schemas":["${CORE}"],"userName":"test.user@okta.local",
      "name":{"givenName":"Test","familyName":"User"},
      "emails":[{"primary":true,"value":"test.user@okta.local","type":"work"}],
      "displayName":"Test User","locale":"en-US","externalId":"00ujl29u0le5T6Aj10h7",
      "groups":[],"password":"1mz050nq","active":true}`,
    name: "test.user@okta.local",
    attributes: {
      name: { givenName: "Test", familyName: "User" },
      emails: [{ primary: true, value: "test.user@okta.local", type: "work" }],
      displayName: "Test User",
      locale: "en-US",
    },
    password: "1mz050nq",
    ref: "Okta developer documentation, SCIM 2.0 reference",
  },
  "Okta replaces a user by the whole object that it read": {
    pathName: "test.user@okta.local",
    body: `{"schemas":["${CORE}"],"id":"23a35c27","userName":"test.user@okta.local","active":false,
      "name":{"givenName":"Another","middleName":"","familyName":"User"},
      "groups":[{"value":"x","display":"X"}],"meta":{"resourceType":"User","version":"W/\\"1\\""}}`,
    name: "test.user@okta.local",
    active: false,
    attributes: { name: { givenName: "Another", middleName: "", familyName: "User" } },
    ref: "Okta developer documentation, SCIM 2.0 reference",
  },
  "Okta sends members without a type": {
    kind: "group",
    body: `{"displayName":"Test SCIMv2","members":[{"value":"anna","display":"anna"},{"value":"bob"}]}`,
    name: "Test SCIMv2",
    attributes: {},
    members: ["anna", "bob"],
    ref: "SCIM-SDK #419",
  },
  "Entra sends a member with a reference that is null": {
    kind: "group",
    body: `{"displayName":"g","members":[{"$ref":null,"value":"anna"}]}`,
    name: "g",
    attributes: {},
    members: ["anna"],
    ref: "Entra documentation, use-scim-to-provision-users-and-groups",
  },
  "OneLogin names the schema of SCIM 1": {
    body: `{"schemas":["urn:scim:schemas:core:1.0"],"userName":"anna","title":null}`,
    name: "anna",
    attributes: { name: { familyName: "", givenName: "" } },
    ref: "scim.dev, guide for OneLogin",
  },
};

for (const [title, row] of Object.entries(CLIENTS)) {
  const { kind = "user", body, name, active = true, attributes, members = [], password, pathName } = row;
  Deno.test(`readContent(): ${title}`, () => {
    const outcome = taken(read(kind, bodyOf(body), pathName === undefined ? {} : { pathName }));
    assertEquals(
      outcome.content,
      kind === "user" ? { kind, name, active, attributes } : { kind, name, attributes, members },
    );
    assertEquals(outcome.password, password);
  });
}

Deno.test("mergeContent() is fast for many entries with one value", () => {
  const startedMs = performance.now();
  const held = () => user({ emails: Array.from({ length: 30_000 }, () => ({ value: "a" })) });
  assertEquals(mergeContent(held(), held(), null).attributes["emails"], held().attributes["emails"]);
  assert(performance.now() - startedMs < 3000);
});
