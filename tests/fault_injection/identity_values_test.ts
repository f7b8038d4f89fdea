// Malicious bodies and values of wrong types, sent to the real listener.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { basic, type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { residentMb } from "../support/process_memory.ts";
import { USER_MAPPING } from "../scim/rows/document_tables.ts";
import { sendRaw } from "./identity_world.ts";
import { unhandledLines } from "./unhandled_lines.ts";

// Malicious bodies, sent to the real listener: each gets a clear error, nothing is stored, and the program keeps
// running.

let gateway: RunningProgram;
let scim: Caller;
Deno.test.beforeAll(async () => {
  gateway = await startProgram({ toml: credentialsToml(["default"]) });
  scim = createCaller(gateway, { account: WRITER, target: "default" });
  await scim.post("/Users", { userName: "steady", title: "kept" });
  await scim.post("/Groups", { displayName: "steady", members: [{ display: "steady" }] });
});
Deno.test.afterAll(() => gateway.dispose());

const utf8 = (text: string) => new TextEncoder().encode(text);
const nested = (depth: number) => `{"userName":"deep","x":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;

/** Bodies that are not a JSON object, or that are too large. */
const NO_OBJECTS: Readonly<Record<string, string | Uint8Array>> = {
  "nothing": "",
  "blanks": "  \n",
  "an open brace": "{",
  "null": "null",
  "a list": "[]",
  "a list of users": '[{"userName":"listed"}]',
  "a number": "12",
  "a text": '"userName"',
  "two objects": '{"userName":"a"}{"userName":"b"}',
  "something after the end": '{"userName":"a"} x',
  "a comma too many": '{"userName":"a",}',
  "single quotes": "{'userName':'a'}",
  "a comment": '{/* */"userName":"a"}',
  "a form": "userName=a&active=true",
  "XML": "<user><userName>a</userName></user>",
  "NaN": '{"userName":"a","x":NaN}',
  "a control character in a text": '{"userName":"a\u0000b"}',
  "no UTF-8": Uint8Array.of(...utf8('{"userName":"'), 0xff, 0xfe, ...utf8('"}')),
  "UTF-16": Uint8Array.from([...'{"userName":"a"}'].flatMap((one) => [one.charCodeAt(0), 0])),
  "gzip": Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0),
  "a million open brackets": "[".repeat(1_000_000),
  "half a million nested lists in an attribute": nested(500_000),
  "half a million nested objects": `${'{"a":'.repeat(170_000)}1${"}".repeat(170_000)}`,
  "33 levels": nested(33),
};
for (const [title, body] of Object.entries(NO_OBJECTS)) {
  Deno.test(`a body that is ${title}: 400 invalidSyntax, and nothing is created`, async () => {
    const before = (await scim.get("/Users")).json.totalResults;
    for (
      const [method, path] of [["POST", "/Users"], ["POST", "/Groups"], ["PUT", "/Users/nobody"]] as const
    ) {
      const { status, json, text } = await scim.call(path, { method, body });
      assertEquals([status, json.status, json.scimType], [400, "400", "invalidSyntax"], text.slice(0, 500));
      assert(text.length < 1000, "the answer repeats the body");
    }
    assertEquals((await scim.get("/Users")).json.totalResults, before);
  });
}

Deno.test("a body of 32 levels, or with a byte order mark, is accepted", async () => {
  const deep = await scim.post("/Users", nested(32));
  assertEquals([deep.status, deep.json.userName], [201, "deep"]);
  const marked = await scim.post("/Users", '\ufeff{"userName":"marked"}');
  assertEquals([marked.status, marked.json.userName], [201, "marked"]);
});

Deno.test("a body of a hundred thousand values of any kind is refused", async () => {
  const many = "1,".repeat(100_000);
  for (const body of [`{"userName":"wide","x":[${many}1]}`, `{"userName":"wide","emails":[${many}1]}`]) {
    const { status, json } = await scim.post("/Users", body);
    assertEquals([status, json.status], [400, "400"]);
  }
  assertEquals((await scim.get("/Users/wide")).status, 404);
});

Deno.test("a body of exactly 1 MiB is accepted, and one octet more is 413", async () => {
  const sized = (octets: number) => {
    const frame = '{"userName":"sized","title":"short"}';
    return frame + " ".repeat(octets - frame.length);
  };
  assertEquals((await scim.post("/Users", sized(1024 * 1024))).status, 201);
  const { status, json } = await scim.put("/Users/sized", sized(1024 * 1024 + 1));
  assertEquals([status, json.status], [413, "413"]);
});

Deno.test("a single value of nearly 1 MiB is stored and shown, or refused as too large; never half of it", async () => {
  const title = "ü".repeat(520_000);
  const { status, json } = await scim.post("/Users", { userName: "bulky", title });
  if (status === 201) assertEquals((await scim.get("/Users/bulky")).json.title, title);
  else {
    assertEquals([status, json.status], [413, "413"]);
    assertEquals((await scim.get("/Users/bulky")).status, 404);
  }
});

const HUGE = 300 * 1024 * 1024;

function* pieces(octets: number, frame: (piece: Uint8Array) => Uint8Array): Iterable<Uint8Array> {
  const piece = frame(new Uint8Array(64 * 1024).fill(0x20));
  for (let at = 0; at < octets; at += 64 * 1024) yield piece;
}

const HUGE_BODIES = {
  "announced": {
    headers: `Content-Length: ${HUGE}\r\n`,
    frame: (piece: Uint8Array) => piece,
  },
  "in chunks": {
    headers: "Transfer-Encoding: chunked\r\n",
    frame: (piece: Uint8Array) =>
      Uint8Array.of(...utf8(`${piece.length.toString(16)}\r\n`), ...piece, ...utf8("\r\n")),
  },
} as const;
for (const [title, { headers, frame }] of Object.entries(HUGE_BODIES)) {
  Deno.test(`a body of 300 MB, ${title}: 413 long before its end, and memory stays small`, async () => {
    const { now: before } = await residentMb(gateway.pid);
    const head = `POST /idm/scim/default/Users HTTP/1.1\r\nAuthorization: ${basic(WRITER)}\r\n${headers}`;
    const answers = await Promise.all(
      [1, 2, 3].map(() => sendRaw({ httpUrl: gateway.httpUrl, head, body: pieces(HUGE, frame) })),
    );
    for (const { status, text, sentOctets } of answers) {
      assertEquals(status, 413);
      assertStringIncludes(text, '"status":"413"');
      assert(sentOctets < 32 * 1024 * 1024, `${sentOctets} octets were taken`);
    }
    const { now } = await residentMb(gateway.pid);
    assert(now - before < 64, "memory grew");
  });
}

Deno.test("a slow body: 408 after its deadline, and other clients are answered meanwhile", async () => {
  const head = `POST /idm/scim/default/Users HTTP/1.1\r\nAuthorization: ${
    basic(WRITER)
  }\r\nContent-Length: 100000\r\n`;
  const slow = Array.from({ length: 20 }, () =>
    sendRaw({
      httpUrl: gateway.httpUrl,
      head,
      body: Array.from({ length: 1000 }, () => utf8(" ")),
      paceMs: 100,
    }));
  assertEquals((await scim.post("/Users", { userName: "quick" })).status, 201);
  for (const { status, text } of await Promise.all(slow)) {
    assertEquals(status, 408);
    assertStringIncludes(text, '"status":"408"');
  }
});

Deno.test("a connection that ends in the middle of a body leaves nothing behind", async () => {
  const { hostname, port, host } = new URL(gateway.httpUrl);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const head = `POST /idm/scim/default/Users HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${
    basic(WRITER)
  }\r\n`;
  await connection.write(utf8(`${head}Content-Length: 25\r\n\r\n{"userName":"cut off"`));
  connection.close();
  assertEquals((await scim.get("/Users/cut%20off")).status, 404);
});

Deno.test("a wrong length smuggles no second request", async () => {
  const inner = '{"userName":"inner"}';
  const smuggled =
    `POST /idm/scim/default/Users HTTP/1.1\r\nHost: x\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`;
  const outer = '{"userName":"outer"}';
  for (
    const headers of [
      `Content-Length: ${outer.length}\r\nTransfer-Encoding: chunked\r\n`,
      `Content-Length: ${outer.length}\r\nContent-Length: ${outer.length + 5}\r\n`,
      `Content-Length: +${outer.length}\r\n`,
      `Transfer-Encoding: xchunked\r\n`,
    ]
  ) {
    const head = `POST /idm/scim/default/Users HTTP/1.1\r\nAuthorization: ${basic(WRITER)}\r\n${headers}`;
    const { status } = await sendRaw({ httpUrl: gateway.httpUrl, head, body: [utf8(outer + smuggled)] });
    assert(status >= 400 && status < 500, `${headers}: ${status}`);
  }
  assertEquals([(await scim.get("/Users/inner")).status, (await scim.get("/Users/outer")).status], [
    404,
    404,
  ]);
});

Deno.test("after all that the program keeps running, and its log has no unhandled error", async () => {
  assertEquals((await scim.get("/Users")).status, 200);
  const bad = unhandledLines(gateway.logLines());
  assertEquals(bad, []);
});

// Values of wrong types in every typed attribute, and values that break careless code, with the real listener.

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
