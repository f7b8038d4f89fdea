// Malicious bodies, sent to the real listener: each gets a clear error, nothing is stored, and the program keeps
// running.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { basic, type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { sendRaw } from "./identity_raw.ts";
import { residentMb } from "../support/process_memory.ts";
import { unhandledLines } from "./unhandled_lines.ts";

let gateway: RunningProgram;
let scim: Caller;
Deno.test.beforeAll(async () => {
  gateway = await startProgram({ toml: credentialsToml(["default"]) });
  scim = createCaller(gateway, { account: WRITER, target: "default" });
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
