// Values of wrong types in every typed attribute, and values that break careless code, with the real listener.

import { assert, assertEquals } from "@std/assert";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { type Caller, createCaller } from "../scim/rows/caller.ts";
import { USER_MAPPING } from "../scim/rows/document_tables.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { unhandledLines } from "./unhandled_lines.ts";

let gateway: RunningProgram;
let scim: Caller;
Deno.test.beforeAll(async () => {
  gateway = await startProgram({ toml: credentialsToml(["default"]) });
  scim = createCaller(gateway, { account: WRITER, target: "default" });
  await scim.post("/Users", { userName: "steady", title: "kept" });
  await scim.post("/Groups", { displayName: "steady", members: [{ display: "steady" }] });
});
Deno.test.afterAll(() => gateway.dispose());

/** Values that are not a text. */
const NO_TEXTS: readonly unknown[] = [1, true, { a: 1 }, ["a"], [["a"]]];
/** Values that are not a boolean. */
const NO_TRUTHS: readonly unknown[] = [1, "yes", { a: true }, [true]];

const multi = (attribute: string, sub: string, values: readonly unknown[]) => [
  ...values.map((value) => ({ [attribute]: [{ [sub]: value }] })),
  { [attribute]: 7 },
  { [attribute]: true },
  { [attribute]: [7] },
  { [attribute]: [[{ [sub]: "x" }]] },
];

/** Bodies of users with one wrong value each, by the attribute. */
const WRONG: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
  userName: NO_TEXTS.map((userName) => ({ userName })),
  active: NO_TRUTHS.map((active) => ({ active })),
  password: [...NO_TEXTS.map((password) => ({ password })), { password: "" }, { password: "x".repeat(1025) }],
  schemas: [{ schemas: 7 }, { schemas: [7] }, { schemas: { a: 1 } }],
  name: [{ name: 7 }, { name: "Ann Lee" }, { name: ["Ann"] }, { name: true }],
  title: NO_TEXTS.map((title) => ({ title })),
  displayName: NO_TEXTS.map((displayName) => ({ displayName })),
  "emails[].primary": NO_TRUTHS.filter((one) => !Array.isArray(one)).map((primary) => ({
    emails: [{ primary }],
  })),
  "emails[].type": NO_TEXTS.map((type) => ({ emails: [{ value: "x", type }] })),
  ...Object.fromEntries(
    USER_MAPPING.filter(([scim]) => /[.[]/.test(scim)).map(([scim]) => {
      const [attribute = "", sub = ""] = scim.split(/\[\]\.|\./);
      const bodies = scim.includes("[]")
        ? multi(attribute, sub, NO_TEXTS)
        : NO_TEXTS.map((value) => ({ [attribute]: { [sub]: value } }));
      return [scim, bodies];
    }),
  ),
};
for (const [attribute, bodies] of Object.entries(WRONG)) {
  Deno.test(`User: ${attribute} of another type is 400 invalidValue, and changes nothing`, async () => {
    const before = (await scim.get("/Users/steady")).text;
    for (const wrong of bodies) {
      const shown = JSON.stringify(wrong).slice(0, 200);
      for (const [method, path] of [["POST", "/Users"], ["PUT", "/Users/steady"]] as const) {
        const body = method === "POST" ? { userName: "never", ...wrong } : wrong;
        const { status, json, text } = await scim.call(path, { method, body });
        assertEquals([status, json.scimType], [400, "invalidValue"], `${shown}: ${text}`);
      }
    }
    assertEquals((await scim.get("/Users/never")).status, 404);
    assertEquals((await scim.get("/Users/steady")).text, before);
  });
}

/** Bodies of groups with one wrong value each. */
const WRONG_GROUPS: readonly Record<string, unknown>[] = [
  ...NO_TEXTS.map((displayName) => ({ displayName })),
  { members: 7 },
  { members: true },
  { members: [7] },
  { members: [[]] },
  { members: [{}] },
  { members: [{ display: 7 }] },
  { members: [{ display: "" }] },
  { members: [{ value: { a: 1 } }] },
  { members: [{ display: null }] },
  { members: [{ type: "User" }] },
];
for (const [at, wrong] of WRONG_GROUPS.entries()) {
  Deno.test(`Group ${at}: ${JSON.stringify(wrong)} is 400 invalidValue, and changes nothing`, async () => {
    const before = (await scim.get("/Groups/steady")).text;
    const created = await scim.post("/Groups", { displayName: "never", ...wrong });
    const replaced = await scim.put("/Groups/steady", wrong);
    for (const { status, json, text } of [created, replaced]) {
      assertEquals([status, json.scimType], [400, "invalidValue"], text);
    }
    assertEquals((await scim.get("/Groups/never")).status, 404);
    assertEquals((await scim.get("/Groups/steady")).text, before);
  });
}

/** Valid bodies, and what is stored of them besides the name. */
const TAKEN: readonly (readonly [title: string, body: string, kept: Record<string, unknown>])[] = [
  ["truths as texts", '{"active":"False"}', { active: false }],
  ["null as unset", '{"title":null,"emails":null,"active":null}', {
    title: undefined,
    emails: undefined,
    active: true,
  }],
  ["empty lists as unset", '{"emails":[],"addresses":[{}]}', { emails: undefined, addresses: undefined }],
  ["__proto__", '{"__proto__":{"active":false,"polluted":1},"title":"x"}', {
    active: true,
    polluted: undefined,
  }],
  ["__proto__ inside", '{"name":{"__proto__":{"familyName":"evil"}}}', {
    name: { familyName: "", givenName: "" },
  }],
  ["constructor", '{"constructor":{"prototype":{"active":false}}}', { active: true }],
  ["numbers at the edge", '{"x":[1e308,-0,0.1,9007199254740993]}', { x: [1e308, 0, 0.1, 9007199254740992] }],
  ["what the server makes", '{"meta":{"version":"W/\\"1\\""},"groups":[{"value":"steady"}]}', {
    groups: undefined,
  }],
  ["markup", '{"title":"<script>alert(1)</script>"}', { title: "<script>alert(1)</script>" }],
  ["escapes", '{"title":"\\t\\ud83e\\udd8a\\u2028"}', { title: "\t🦊\u2028" }],
  ["a name of 256 characters", `{"${"a".repeat(256)}":1}`, { ["a".repeat(256)]: 1 }],
];
for (const [at, [title, text, kept]] of TAKEN.entries()) {
  Deno.test(`User: ${title} is accepted, and stored correctly`, async () => {
    const path = `/Users/taken${at}`;
    assertEquals((await scim.post("/Users", { userName: `taken${at}` })).status, 201);
    const replaced = await scim.put(path, text);
    assertEquals(replaced.status, 200, replaced.text);
    const { json, text: shown } = await scim.get(path);
    assertEquals(shown, replaced.text);
    for (const [attribute, value] of Object.entries(kept)) assertEquals(json[attribute], value, shown);
  });
}

for (const body of ['{"x":1e999}', `{"${"a".repeat(257)}":1}`, '{"x":{"y":[{"z":-1e400}]}}']) {
  Deno.test(`User: ${body.slice(0, 30)}, which could not be returned again, is refused`, async () => {
    const { status, json } = await scim.put("/Users/steady", body);
    assertEquals([status, json.scimType], [400, "invalidValue"]);
  });
}

Deno.test("lone surrogates in a value are stored, replaced or refused; every answer stays valid JSON in UTF-8", async () => {
  const { status, text } = await scim.put("/Users/steady", '{"title":"a\\ud800b"}');
  assert(status === 200 || status === 400, text);
  const bytes = new TextEncoder().encode((await scim.get("/Users/steady")).text);
  JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
});

Deno.test("a password is in no answer, wherever it was in the body", async () => {
  const secret = "never-to-be-shown-4471";
  const body = {
    userName: "secretive",
    password: secret,
    name: { password: secret, familyName: "x" },
    emails: [{ value: "a@example.org", password: secret }],
    "urn:example:ext": { Password: secret, deeper: [{ PASSWORD: secret }] },
    "urn:ietf:params:scim:schemas:core:2.0:User:password": secret,
  };
  const created = await scim.post("/Users", body);
  assertEquals(created.status, 201, created.text);
  const answers = [
    created,
    await scim.put("/Users/secretive", body),
    await scim.get("/Users/secretive"),
    await scim.get("/Users?q=secretive"),
    await scim.post("/Users", body),
    await scim.post("/Groups", { displayName: "secretive", password: secret }),
    await scim.get(`/Users?q=${encodeURIComponent(`password eq "${secret}"`)}`),
  ];
  for (const { text } of answers) assert(!text.includes(secret), text);
  assertEquals(answers.at(-1)?.status, 400);
});

Deno.test("after all that the log has no unhandled error", () => {
  const bad = unhandledLines(gateway.logLines());
  assertEquals(bad, []);
});
