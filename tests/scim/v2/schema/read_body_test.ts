// Bodies of SCIM 2.0.

import { assert, assertEquals } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import type { JsonObject, JsonValue, ResourceKind } from "../../../../scim/schema/resource.ts";
import { bodyOf, read, taken } from "../../schema/bodies.ts";
import { ENTERPRISE_USER, GROUP, MINIMAL_USER } from "../../schema/rfc7643_examples.ts";
import {
  accepted,
  BADGE_URN,
  ENTERPRISE_URN,
  GROUP_URN,
  outcomeOf,
  problemOf,
  USER_URN,
} from "./read_bodies.ts";
import { property } from "../../../../scim/schema/attributes.ts";
import { VALUE_SHAPES } from "../../../../scim/schema/read_value.ts";
import { isMessage, MESSAGE_SHAPES, SCHEMAS_SHAPES } from "../../../../scim/v2/schema/read_body.ts";

// Bodies of POST and PUT (RFC 7643 §2, RFC 7644 §3.3 and §3.5.1).

const ada = { userName: "ada" };

Deno.test("readBody() accepts the examples of RFC 7643 §8, without the attributes of the server", () => {
  for (const [kind, text] of [["user", MINIMAL_USER], ["user", ENTERPRISE_USER], ["group", GROUP]] as const) {
    const body = bodyOf(text);
    const { schemas: _, id: _id, meta: _meta, groups: _groups, ...rest } = body;
    const expected = JSON.parse(
      JSON.stringify(
        rest,
        (key, value) =>
          key === "display" || key === "displayName" && value === "John Smith" ? undefined : value,
      ),
    );
    assertEquals(accepted(kind, body), expected, kind);
  }
});

/** Accepted bodies: what a body says, the body, and the resource. */
const ACCEPTED: readonly [string, JsonObject, JsonObject][] = [
  ["names without case (§2.1)", { USERNAME: "ada", NickName: "a" }, { userName: "ada", nickName: "a" }],
  ["sub-attributes without case", { ...ada, name: { FAMILYNAME: "L" } }, {
    ...ada,
    name: { familyName: "L" },
  }],
  ["names with the URN of the core schema", { [`${USER_URN}:userName`]: "ada" }, ada],
  ["names with the URN of an extension", { ...ada, [`${ENTERPRISE_URN.toUpperCase()}:department`]: "R" }, {
    ...ada,
    [ENTERPRISE_URN]: { department: "R" },
  }],
  ["an extension in another case", { ...ada, [ENTERPRISE_URN.toLowerCase()]: { Division: "D" } }, {
    ...ada,
    [ENTERPRISE_URN]: { division: "D" },
  }],
  [
    "null as unassigned (§2.5)",
    { ...ada, title: null, emails: null, name: null, [ENTERPRISE_URN]: null },
    ada,
  ],
  ["empty lists and objects as unassigned", { ...ada, emails: [], name: {}, [ENTERPRISE_URN]: {} }, ada],
  ["objects of nulls as unassigned", { ...ada, name: { givenName: null }, emails: [{ value: null }] }, ada],
  ["no value of a readOnly attribute, whatever its type", { ...ada, id: 5, meta: "x", groups: 7 }, ada],
  ["no value of a readOnly attribute that is there twice", { ...ada, id: 1, ID: 2, meta: {}, Meta: [] }, ada],
  [
    "an entry of nulls, although it lacks a required part",
    { ...ada, [BADGE_URN]: { floors: [{ primary: null }] } },
    ada,
  ],
  ["no value of an unknown attribute", { ...ada, shoeSize: 43, name: { nick: "x" } }, ada],
  [
    "no value of dangerous names",
    bodyOf('{"userName":"ada","__proto__":{"title":"x"},"constructor":"y"}'),
    ada,
  ],
  ["values of all types", {
    ...ada,
    [BADGE_URN]: {
      number: 5,
      weight: 1.5,
      issued: "2026-01-31T12:00:00.5+01:00",
      isLost: false,
      photo: "AA==",
      doors: ["a"],
    },
  }, {
    ...ada,
    [BADGE_URN]: {
      number: 5,
      weight: 1.5,
      issued: "2026-01-31T12:00:00.5+01:00",
      isLost: false,
      photo: "AA==",
      doors: ["a"],
    },
  }],
  ["a readOnly attribute of an extension is ignored", { ...ada, [BADGE_URN]: { lastSeen: "x" } }, ada],
  ["other values than the canonical ones (§7)", { ...ada, emails: [{ value: "a", type: "fax" }] }, {
    ...ada,
    emails: [{ value: "a", type: "fax" }],
  }],
  ["several tolerated shapes together", {
    ...ada,
    [ENTERPRISE_URN]: { manager: ["m"] },
    roles: '{"value":"a"}',
  }, {
    ...ada,
    roles: [{ value: "a" }],
    [ENTERPRISE_URN]: { manager: { value: "m" } },
  }],
  ["a falsy value is a value", { ...ada, active: false, title: "", [BADGE_URN]: { number: 0 } }, {
    ...ada,
    title: "",
    active: false,
    [BADGE_URN]: { number: 0 },
  }],
];

for (const [name, body, expected] of ACCEPTED) {
  Deno.test(`readBody() reads ${name}`, () => assertEquals(accepted("user", body), expected));
}

/** Refused bodies: the body, the scimType, and a part of the sentence. */
const REFUSED: readonly [ResourceKind, JsonObject, string, string][] = [
  ["user", {}, "invalidValue", "userName is required"],
  ["user", { userName: "" }, "invalidValue", "userName is required"],
  ["user", { userName: null }, "invalidValue", "userName is required"],
  ["group", {}, "invalidValue", "displayName is required"],
  ["user", { userName: 5 }, "invalidValue", "userName must be a string"],
  ["user", { userName: "\ud800" }, "invalidValue", "userName must be a string"],
  ["user", { ...ada, active: "yes" }, "invalidValue", "active must be true or false"],
  ["user", { ...ada, active: 1 }, "invalidValue", "active must be true or false"],
  ["user", { ...ada, title: ["x"] }, "invalidValue", "title must be a string"],
  ["user", { ...ada, name: [1, 2] }, "invalidValue", "name must be an object"],
  ["user", { ...ada, emails: [["x"]] }, "invalidValue", "emails must be an object"],
  ["user", { ...ada, emails: [{ value: {}, type: 5 }] }, "invalidValue", "emails.type must be a string"],
  ["user", { ...ada, emails: new Array(10_001).fill({ value: "a" }) }, "invalidValue", "at most 10000"],
  [
    "user",
    { ...ada, emails: [{ value: "a", primary: true }, { value: "b", primary: "True" }] },
    "invalidValue",
    "at most one primary",
  ],
  ["user", { ...ada, [BADGE_URN]: { doors: [5] } }, "invalidValue", `A value of ${BADGE_URN}:doors must be`],
  ["user", { ...ada, name: [null] }, "invalidValue", "name must be an object"],
  ["user", { ...ada, x509Certificates: [{ value: "§" }] }, "invalidValue", "must be base64"],
  ["user", { ...ada, [ENTERPRISE_URN]: "x" }, "invalidValue", "must be an object"],
  ["user", { ...ada, [BADGE_URN]: { number: 1.5 } }, "invalidValue", "number must be a whole number"],
  ["user", { ...ada, [BADGE_URN]: { number: "5" } }, "invalidValue", "number must be a whole number"],
  ["user", { ...ada, [BADGE_URN]: { weight: "1" } }, "invalidValue", "weight must be a number"],
  [
    "user",
    { ...ada, [BADGE_URN]: { issued: "2026-13-31T12:00:00Z" } },
    "invalidValue",
    "issued must be a date and time",
  ],
  [
    "user",
    { ...ada, [BADGE_URN]: { issued: "yesterday" } },
    "invalidValue",
    "issued must be a date and time",
  ],
  [
    "user",
    { ...ada, [BADGE_URN]: { floors: [{ primary: true }] } },
    "invalidValue",
    "floors.value is required",
  ],
  ["user", { userName: "ada", USERNAME: "eve" }, "invalidSyntax", "userName twice"],
  ["user", { userName: "ada", [`${USER_URN}:userName`]: "eve" }, "invalidSyntax", "userName twice"],
  ["user", { ...ada, name: { givenName: "a", GIVENNAME: "a" } }, "invalidSyntax", "name has givenName twice"],
  [
    "user",
    { ...ada, [ENTERPRISE_URN]: { division: "a" }, [`${ENTERPRISE_URN}:division`]: "b" },
    "invalidSyntax",
    "division twice",
  ],
  ["user", { ...ada, schemas: USER_URN }, "invalidSyntax", "schemas must be a list"],
  ["user", { ...ada, schemas: [5] }, "invalidSyntax", "schemas must be a list"],
  ["user", { ...ada, schemas: [GROUP_URN] }, "invalidValue", `schemas must contain ${USER_URN}`],
  ["user", { ...ada, SCHEMAS: [USER_URN] }, "invalidSyntax", "schemas twice"],
];

for (const [kind, body, scimType, part] of REFUSED) {
  Deno.test(`readBody() refuses ${JSON.stringify(body).slice(0, 80)}: ${part}`, () => {
    const [type, detail] = problemOf(kind, body);
    assertEquals([type, detail?.includes(part)], [scimType, true], detail);
  });
}

Deno.test("readBody() lets a value stay that only a backend could set", () => {
  const previous = {
    ...ada,
    title: "a\u0000",
    emails: [{ value: "\u0007" }, { value: "b" }, { value: "b" }],
  };
  const body = { ...previous, emails: [{ value: "c" }, { value: "\u0007" }] };
  assertEquals([accepted("user", previous, { previous }), accepted("user", body, { previous })], [
    previous,
    body,
  ]);
  assertEquals(problemOf("user", body), ["invalidValue", "title must not contain control characters."]);
});

Deno.test("readBody() lists the core schema and the extensions that have values", () => {
  const outcome = outcomeOf("user", {
    ...ada,
    [ENTERPRISE_URN]: { division: "D" },
    [BADGE_URN]: { doors: [] },
  });
  assertEquals(taken(outcome).resource["schemas"], [USER_URN, ENTERPRISE_URN]);
});

Deno.test("readBody() keeps an immutable value, and refuses another one (RFC 7644 §3.5.1)", () => {
  const previous = { ...ada, [BADGE_URN]: { serial: "A1", chip: { vendor: "V", key: "k" } } };
  const badge = (value: JsonObject) => ({ ...ada, [BADGE_URN]: value });
  const kept = { [BADGE_URN]: { serial: "A1", chip: { vendor: "V" } } };
  assertEquals(accepted("user", ada, { previous }), { ...ada, [BADGE_URN]: { serial: "A1" } });
  assertEquals(accepted("user", badge({ serial: "A1", chip: { vendor: "v" } }), { previous }), {
    ...ada,
    ...kept,
  });
  assertEquals(problemOf("user", badge({ serial: "a1" }), { previous })[0], "mutability");
  assertEquals(problemOf("user", badge({ chip: { vendor: "W" } }), { previous })[0], "mutability");
  assertEquals(accepted("user", badge({ serial: "B2" }), { previous: ada }), badge({ serial: "B2" }));
});

/** Names of attributes, so that generated bodies reach every branch. */
const names = fc.constantFrom(
  ...[
    "userName",
    "USERNAME",
    "name",
    "emails",
    "roles",
    "active",
    "manager",
    "schemas",
    "id",
    "__proto__",
    "value",
  ],
  ...[
    "primary",
    "givenName",
    "serial",
    "number",
    "issued",
    "photo",
    "floors",
    "chip",
    ENTERPRISE_URN,
    BADGE_URN,
  ],
  ...[`${USER_URN}:title`, `${BADGE_URN}:weight`, `${ENTERPRISE_URN}:manager`],
);
const { body: bodies } = fc.letrec<{ value: JsonValue; body: JsonObject }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthIdentifier: "json" },
    fc.constantFrom<JsonValue>(
      null,
      true,
      "True",
      "x",
      "",
      5,
      1.5,
      -0,
      [],
      {},
      '{"value":"a"}',
      "2026-01-31T12:00:00Z",
    ),
    fc.array(tie("value"), { maxLength: 3, depthIdentifier: "json" }),
    tie("body"),
  ),
  body: fc.dictionary(names, tie("value"), { maxKeys: 5, depthIdentifier: "json", noNullPrototype: true }),
}));

Deno.test("law: readBody() never throws, and reads its own result as the same resource", () => {
  let read = 0;
  fc.assert(
    fc.property(bodies, fc.boolean(), (body, isNamed) => {
      const outcome = outcomeOf("user", isNamed ? { ...body, userName: "ada" } : body);
      if (!outcome.ok) return;
      read++;
      assertEquals(outcomeOf("user", outcome.resource), outcome);
    }),
    { numRuns: 500 },
  );
  assert(read > 10, `${read} bodies were accepted`);
});

// The tolerated shapes of bodies: each row has an example that is read as the row says, and that is not without the row.

for (const [name, row] of Object.entries(VALUE_SHAPES)) {
  Deno.test(`VALUE_SHAPES.${name} is tolerated as its row says, and refused or stored as sent without the row`, () => {
    const sent = bodyOf(row.example);
    const [attribute] = Object.keys(sent);
    const place = (body: JsonObject): JsonObject =>
      attribute === "manager" ? { ...ada, [ENTERPRISE_URN]: body } : { ...ada, ...body };
    assertEquals(accepted("user", place(sent)), place(bodyOf(row.becomes)));
    const without = outcomeOf("user", place(sent), { strict: new Set([name]) });
    const isSame = without.ok &&
      JSON.stringify(without.resource).includes(JSON.stringify(bodyOf(row.becomes)).slice(1, -1));
    assertEquals(isSame, false);
    assert(row.link.startsWith("https://"));
  });
}

for (const [name, row] of Object.entries(SCHEMAS_SHAPES)) {
  Deno.test(`SCHEMAS_SHAPES.${name} is tolerated, and refused without the row`, () => {
    const { schemas = [], ...rest } = bodyOf(row.example);
    const kind = "userName" in rest ? "user" : "group";
    assertEquals(accepted(kind, { schemas, ...rest }), rest);
    assertEquals(problemOf(kind, { schemas, ...rest }, { strict: new Set([name]) })[0], "invalidValue");
  });
}

Deno.test("readBody() never reads JSON text that is too large, and no text that only looks like JSON", () => {
  for (const value of ["{", "{}", '{"value":5}', `{"value":"${"x".repeat(5000)}"}`, `{"a":{"b":{"c":1}}}`]) {
    assertEquals(accepted("user", { ...ada, roles: [{ value }] }), { ...ada, roles: [{ value }] });
  }
});

Deno.test("readBody() reads members without the names that the server sets", () => {
  const answered = { value: "3", $ref: "https://a.example/Users/3", type: "User" };
  const members: JsonObject["members"] = [{ value: "1", display: 5 }, { VALUE: "2" }, answered, {
    ...answered,
    display: "eve",
  }, null];
  assertEquals(accepted("group", { displayName: "g", members }), {
    displayName: "g",
    members: [{ value: "1" }, { value: "2" }, answered, answered],
  });
  assertEquals(accepted("group", { displayName: "g", members: [answered] }).members, [answered]);
  for (const part of ["$ref", "type"]) {
    const problem = problemOf("group", { displayName: "g", members: [{ ...answered, [part]: "\u0007" }] });
    assertEquals(problem, ["invalidValue", `members.${part} must not contain control characters.`]);
  }
});

Deno.test("law: the fast and the slow way to read members take and refuse the same, in both interfaces", () => {
  const name = fc.constantFrom("value", "display", "$ref", "type", "VALUE", "primary", "__proto__", "");
  const odd = [
    "ann",
    "User",
    "",
    " a",
    "a/..",
    "\u0007",
    "\u007f",
    "\u0085",
    "\u202e",
    "é",
    "\ud800",
    '"\\',
    "x".repeat(2000),
  ];
  const value = fc.oneof(
    fc.constantFrom(...odd),
    fc.string(),
    fc.constantFrom(null, 5, true, [], ["a"], { value: "a" }),
  );
  const entry = fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 5 }).map(Object.fromEntries);
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 3 }), (members: readonly JsonObject[]) => {
      // No fast way takes another spelling, or an attribute that does not exist. Neither has an effect.
      const respelled = (one: JsonObject) =>
        Object.entries(one).map(([name, value]) => [name === "value" ? "Value" : name, value]);
      const others = members.map((one) => Object.fromEntries([...respelled(one), ["other", 1]]));
      const slow = { displayName: "g", members: others };
      const fast = { displayName: "g", members };
      assertEquals(read("group", fast), read("group", slow));
      assertEquals(outcomeOf("group", fast), outcomeOf("group", slow));
    }),
    { numRuns: 1000 },
  );
});

const PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

for (const [name, row] of Object.entries(MESSAGE_SHAPES)) {
  Deno.test(`MESSAGE_SHAPES.${name} is tolerated`, () => {
    assert(isMessage(property(bodyOf(row.example), "schemas"), PATCH_OP));
    assert(row.link.startsWith("https://"));
  });
}

Deno.test("isMessage() accepts the URN in any case, and no other message", () => {
  for (const schemas of [[PATCH_OP], [PATCH_OP.toUpperCase()], ["urn:x", PATCH_OP], [], null, undefined]) {
    assert(isMessage(schemas, PATCH_OP), JSON.stringify(schemas));
  }
  const other = PATCH_OP.replace("PatchOp", "BulkRequest");
  for (const schemas of ["x", 5, {}, [other], ["urn:x"], [5], ["PatchOp"], new Array(101).fill(PATCH_OP)]) {
    assert(!isMessage(schemas, PATCH_OP), JSON.stringify(schemas).slice(0, 100));
  }
});
