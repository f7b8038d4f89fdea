// One validator for POST, PUT and PATCH of both interfaces: what one write refuses, all refuse, and a PUT of what a GET shows works after every
// accepted PATCH.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { BADGE_EXTENSION, BADGE_URN, ENTERPRISE_URN, USER_URN } from "../schema/read_bodies.ts";
import { PATCH_SCHEMA, startV2World } from "./v2_world.ts";

const TOML = `
[targets.default]
extensions = ${JSON.stringify(JSON.stringify([BADGE_EXTENSION]))}
[[scim.credential]]
name = "hr"
password = "the password of hr"
targets = ["default"]
access = "write"
`;
const SPECIFIED = {
  token: null,
  headers: {
    authorization: `Basic ${btoa("hr:the password of hr")}`,
    "content-type": "application/scim+json",
  },
};

/** Attributes that no user can have, and the name that the answer must have. */
const REFUSED: readonly (readonly [names: string, attributes: Readonly<Record<string, unknown>>])[] = [
  ["x509Certificates", { x509Certificates: [{ value: "not base64 !!" }] }],
  ["title", { title: "a\u0000b" }],
  ["nickName", { nickName: "\u001b[31m" }],
  ["emails", { emails: [{ value: "a\u0007@x.test" }] }],
  ["emails", { emails: [{ value: "a", primary: true }, { value: "b", primary: true }] }],
  ["familyName", { name: { familyName: "\u0085" } }],
  ["department", { [ENTERPRISE_URN]: { department: "\u007f" } }],
  ["issued", { [BADGE_URN]: { issued: "2024-02-28" } }],
  ["issued", { [BADGE_URN]: { issued: "28 Feb 2024" } }],
  ["issued", { [BADGE_URN]: { issued: "2024-02-30T00:00:00Z" } }],
  ["number", { [BADGE_URN]: { number: 1.5 } }],
  ["doors", { [BADGE_URN]: { doors: ["\u0000"] } }],
  ["title", { title: "\ud800" }],
  ["department", { [ENTERPRISE_URN]: { department: "\udc00" } }],
  [BADGE_URN, { [BADGE_URN]: "x" }],
  [BADGE_URN, { [BADGE_URN]: 5 }],
  [BADGE_URN, { [BADGE_URN]: [{ number: 5 }] }],
];

Deno.test("what a POST refuses, a PUT and a PATCH refuse, in both interfaces, with the name of the attribute", async () => {
  await using world = await startV2World({ adoption: "automatic" }, TOML);
  const id = await world.add("/Users", { userName: "ada" });
  const before = (await world.call("GET", `/Users/${id}`)).json;
  for (const [names, attributes] of REFUSED) {
    const body = { schemas: [USER_URN], userName: "ada", ...attributes };
    const [[key = "", value] = []] = Object.entries(attributes);
    const answers = [
      await world.call("POST", "/Users", { body: { ...body, userName: "eve" } }),
      await world.call("PUT", `/Users/${id}`, { body }),
      await world.patch(`/Users/${id}`, [{ op: "add", path: key, value }]),
      await world.patch(`/Users/${id}`, [{ op: "replace", value: attributes }]),
      await world.call("POST", "!/idm/scim/default/Users", {
        ...SPECIFIED,
        body: { ...body, userName: "eve" },
      }),
      await world.call("PUT", "!/idm/scim/default/Users/ada", { ...SPECIFIED, body }),
    ];
    for (const [at, { status, json }] of answers.entries()) {
      assertEquals([status, json.scimType], [400, "invalidValue"], `${at} ${JSON.stringify(attributes)}`);
      assertStringIncludes(String(json.detail), names);
    }
  }
  assertEquals((await world.call("GET", `/Users/${id}`)).json, before);
});

/** Operations that are accepted, one after the other. */
const PATCHES: readonly object[] = [
  { op: "add", path: "x509Certificates", value: [{ value: "MTIz" }] },
  { op: "add", path: `${BADGE_URN}:issued`, value: "2024-02-29T12:00:00+01:00" },
  { op: "add", path: `${BADGE_URN}:doors`, value: ["a", "b"] },
  { op: "add", path: "emails", value: [{ value: "a@x.test", type: "work", primary: true }] },
  { op: "add", path: 'emails[type eq "home"].value', value: "b@x.test" },
  { op: "replace", path: 'emails[type eq "home"].value', value: "a@x.test" },
  { op: "replace", path: 'emails[value eq "a@x.test"].type', value: "other" },
  { op: "add", path: "addresses", value: [{ formatted: "1 Main St\r\nHollywood" }] },
  { op: "replace", path: "manager", value: "boss" },
  { op: "remove", path: "active" },
  { op: "replace", path: "password", value: "a new \u0000 password" },
  { op: "add", value: { title: "", [ENTERPRISE_URN]: { department: "D" } } },
];

Deno.test("a PUT of what a GET shows works after every PATCH, and changes nothing", async () => {
  await using world = await startV2World({ adoption: "automatic" }, TOML);
  const id = await world.add("/Users", { userName: "ada" });
  for (const operation of PATCHES) {
    const patched = await world.patch(`/Users/${id}`, [operation]);
    assertEquals(patched.status, 200, JSON.stringify([operation, patched.json]));
    const { meta: _before, active: _active, ...shown } = (await world.call("GET", `/Users/${id}`)).json;
    const put = await world.call("PUT", `/Users/${id}`, { body: shown });
    const { meta: _after, active: _same, ...stored } = put.json;
    assertEquals([put.status, stored], [200, shown], JSON.stringify(operation));
  }
});

Deno.test("a PUT of the specified interface without the name keeps the spelling of the stored one", async () => {
  await using world = await startV2World({ adoption: "automatic" }, TOML);
  await world.add("/Users", { userName: "Ada" });
  const put = await world.call("PUT", "!/idm/scim/default/Users/ada", { ...SPECIFIED, body: { title: "T" } });
  assertEquals([put.status, put.json.userName, put.json.title], [200, "Ada", "T"]);
  const empty = await world.call("POST", "!/idm/scim/default/Users", {
    ...SPECIFIED,
    body: { userName: "" },
  });
  assertEquals([empty.status, empty.json.scimType], [400, "invalidValue"]);
});

Deno.test("a body with a Content-Encoding gets 415 and the encodings that are accepted", async () => {
  await using world = await startV2World({}, TOML);
  const headers = { "content-encoding": "gzip" };
  for (
    const answer of [
      await world.call("POST", "/Users", { body: {}, headers }),
      await world.call("POST", "!/idm/scim/default/Users", {
        ...{ ...SPECIFIED, headers: { ...SPECIFIED.headers, ...headers } },
        body: {},
      }),
    ]
  ) {
    assertEquals([answer.status, answer.headers.get("accept-encoding")], [415, "identity"]);
  }
  const plain = await world.call("POST", "/Users", {
    body: { schemas: [USER_URN], userName: "ada" },
    headers: { "content-encoding": "identity" },
  });
  assertEquals(plain.status, 201);
});

/** Bodies with two values of one name, and the name. */
const REPEATED_NAMES: readonly (readonly [method: string, body: string, name: string])[] = [
  ["POST", '{"schemas":[],"userName":"eve","active":false,"active":true}', "active"],
  ["POST", '{"userName":"eve","user\\u004eame":"ada"}', "userName"],
  ["POST", '{"userName":"eve","emails":[{"value":"a@x.test","value":"b@x.test"}]}', "value"],
  ["PUT", '{"userName":"ada","title":"a","title":"b"}', "title"],
  [
    "PATCH",
    `{"schemas":["${PATCH_SCHEMA}"],"Operations":[{"op":"replace","path":"active","value":false,"value":true}]}`,
    "value",
  ],
  [
    "PATCH",
    `{"schemas":["${PATCH_SCHEMA}"],"Operations":[],"Operations":[{"op":"remove","path":"title"}]}`,
    "Operations",
  ],
];

Deno.test("a body that has a name twice in one object is refused with the name, in both interfaces", async () => {
  await using world = await startV2World({ adoption: "automatic" }, TOML);
  const id = await world.add("/Users", { userName: "ada", title: "T" });
  for (const [method, body, name] of REPEATED_NAMES) {
    const v2 = await world.call(method, method === "POST" ? "/Users" : `/Users/${id}`, { body });
    const specified = method === "PATCH" ? [] : [
      await world.call(method, `!/idm/scim/default/Users${method === "POST" ? "" : "/ada"}`, {
        ...SPECIFIED,
        body,
      }),
    ];
    for (const { status, json } of [v2, ...specified]) {
      assertEquals([status, json.scimType], [400, "invalidSyntax"], body);
      assertStringIncludes(String(json.detail), name);
    }
  }
  assertEquals((await world.call("GET", `/Users/${id}`)).json.title, "T");
  assertEquals((await world.call("GET", "/Users")).json.totalResults, 1);
});

const MEMBER = "the member";
const DOORS = `${BADGE_URN}:doors`;
/**
 * A value of an attribute that has one, and what a PUT, a PATCH `replace` and a PATCH `add` of it leave: `all` of the values, `none`, or an
 * error. RFC 7643 §2.5: null and an empty list are the same.
 */
const UNASSIGNED:
  readonly (readonly [attribute: string, value: unknown, set: "all" | "none" | 400, add: "all" | 400])[] = [
    ...["emails", DOORS, "members"].flatMap((attribute) => [
      [attribute, null, "none", "all"] as const,
      [attribute, [], "none", "all"] as const,
      [attribute, [[]], 400, 400] as const,
      [attribute, 5, 400, 400] as const,
    ]),
    ["emails", [null], "none", "all"],
    ["emails", [{}], "none", "all"],
    ["emails", "", "none", "all"],
    ["emails", [""], "none", "all"],
    [DOORS, [null], "none", "all"],
    // A client that loses the ids of members must not empty the group.
    ["members", [null], 400, 400],
    ["members", [{}], 400, 400],
    ["members", [{ value: null }], 400, 400],
    ["members", [{ value: MEMBER }, null], 400, 400],
    ["members", "", 400, 400],
  ];

Deno.test("an attribute without a value is unassigned in the same way by PUT and PATCH, in both interfaces", async () => {
  await using world = await startV2World({ adoption: "automatic" }, TOML);
  const member = await world.add("/Users", { userName: MEMBER });
  const user = await world.add("/Users", { userName: "ada" });
  const group = await world.add("/Groups", { displayName: "staff" });
  for (const [attribute, value, set, add] of UNASSIGNED) {
    const isGroup = attribute === "members";
    const path = isGroup ? `/Groups/${group}` : `/Users/${user}`;
    const name = isGroup ? { displayName: "staff" } : { userName: "ada" };
    const bodyWith = (one: unknown) => ({
      ...name,
      ...attribute === DOORS ? { [BADGE_URN]: { doors: one } } : { [attribute]: one },
    });
    const full = { emails: [{ value: "a@x.test" }], [DOORS]: ["a"], members: [{ value: member }] }[attribute];
    const specified = `!/idm/scim/default${isGroup ? "/Groups/staff" : "/Users/ada"}`;
    const writes = [
      [set, () => world.call("PUT", path, { body: bodyWith(value) })],
      [set, () => world.call("PUT", specified, { ...SPECIFIED, body: bodyWith(value) })],
      [set, () => world.patch(path, [{ op: "replace", path: attribute, value }])],
      [add, () => world.patch(path, [{ op: "add", path: attribute, value }])],
    ] as const;
    for (const [at, [expected, write]] of writes.entries()) {
      await world.call("PUT", path, { body: bodyWith(full) });
      const { status } = await write();
      const { json } = await world.call("GET", path);
      const left = attribute === DOORS
        ? (json[BADGE_URN] as { doors?: unknown } | undefined)?.doors
        : json[attribute];
      const kept = Array.isArray(left) ? "all" : "none";
      assertEquals(
        [status >= 400 ? status : kept, kept],
        [expected, expected === "none" ? "none" : "all"],
        `${at} ${attribute} ${JSON.stringify(value)}`,
      );
    }
  }
});

Deno.test("a PUT without members keeps them at /scim/v2, and removes them in the specified interface", async () => {
  await using world = await startV2World({ adoption: "automatic" }, TOML);
  const member = await world.add("/Users", { userName: "ada" });
  const id = await world.add("/Groups", { displayName: "staff", members: [{ value: member }] });
  const body = { displayName: "staff" };
  assertEquals((await world.call("PUT", `/Groups/${id}`, { body })).json.members !== undefined, true);
  await world.call("PUT", "!/idm/scim/default/Groups/staff", { ...SPECIFIED, body });
  assertEquals((await world.call("GET", `/Groups/${id}`)).json.members, undefined);
});

Deno.test("members that are no users have no id, and stay in every write of /scim/v2", async () => {
  await using world = await startV2World({ adoption: "automatic", removeAllMembers: true }, TOML);
  const specified = async () => {
    const { json } = await world.call("GET", "!/idm/scim/default/Groups/outer", SPECIFIED);
    return (json.members as { display: string }[]).map(({ display }) => display).sort();
  };
  const ada = await world.add("/Users", { userName: "ada" });
  await world.add("/Groups", { displayName: "inner" });
  const id = await world.add("/Groups", { displayName: "outer" });
  await world.call("PUT", "!/idm/scim/default/Groups/outer", {
    ...SPECIFIED,
    body: { members: [{ display: "ada" }, { display: "inner" }] },
  });
  const { json } = await world.call("GET", `/Groups/${id}`);
  assertEquals((json.members as unknown[]).length, 1);
  await world.call("PUT", `/Groups/${id}`, { body: json });
  assertEquals(await specified(), ["ada", "inner"]);
  await world.call("PUT", `/Groups/${id}`, { body: { displayName: "outer", members: [] } });
  assertEquals(await specified(), ["inner"]);
  await world.patch(`/Groups/${id}`, [{ op: "replace", path: "members", value: [{ value: ada }] }]);
  assertEquals(await specified(), ["ada", "inner"]);
  await world.patch(`/Groups/${id}`, [{ op: "remove", path: "members" }]);
  assertEquals(await specified(), ["inner"]);
});
