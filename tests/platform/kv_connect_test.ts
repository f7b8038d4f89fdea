// The client of KV Connect: connections and which calls they carry, HTTP, TLS, keys and messages as octets.

import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { decodeKey, encodeKey } from "../../platform/kv_connect/client.ts";
import { ConnectionEnded, HttpConnection, KvEndpoint } from "../../platform/kv_connect/endpoint.ts";
import {
  decodeAtomicWriteOutput,
  decodeSnapshotReadOutput,
  encodeAtomicWrite,
  encodeSnapshotRead,
  encodeValue,
} from "../../platform/kv_connect/messages.ts";
import { makeAuthority } from "../support/certificates.ts";
import { runProgram } from "../support/child.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { createManualClock, eventually } from "../upstream/manual_clock.ts";

/** A server that answers calls when `together` of them have arrived. Each answer is the port of the client. */
function serve() {
  let waiting: (() => void)[] = [];
  const together = { count: 1 };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
    async (request, { remoteAddr }) => {
      if (new URL(request.url).pathname === "/") {
        return Response.json({
          ...{ version: 3, databaseId: "x", token: "t", expiresAt: "2099-01-01T00:00:00Z" },
          endpoints: [{ url: "/v2", consistency: "strong" }],
        });
      }
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length < together.count) return;
        for (const answer of waiting) answer();
        waiting = [];
      });
      return new Response(String(remoteAddr.port));
    },
  );
  return { url: `http://127.0.0.1:${server.addr.port}`, together, stop: () => server.shutdown() };
}

Deno.test("call() uses the last connection again, and never one that was idle for over 30 seconds", async () => {
  const server = serve();
  const clock = createManualClock();
  const endpoint = new KvEndpoint(server.url, { clock, token: "t" });
  const calls = async (count: number): Promise<string[]> => {
    server.together.count = count;
    const bodies = Array.from({ length: count }, () => endpoint.call("snapshot_read", new Uint8Array()));
    return (await Promise.all(bodies)).map((body) => new TextDecoder().decode(body));
  };
  const [first, second] = await calls(2);
  assertNotEquals(first, second);
  clock.advance(29_000);
  const [used = ""] = await calls(1);
  assert(used === first || used === second, "the call opened another connection");
  clock.advance(2000);
  // The connection in use stays. The other one was idle for 31 seconds.
  const ports = await calls(2);
  assertEquals([ports.includes(used), ports.filter((port) => port === first || port === second).length], [
    true,
    1,
  ]);
  clock.advance(30_001);
  const [last = ""] = await calls(1);
  assert(!ports.includes(last), "the call used a connection that was idle for too long");
  endpoint.close();
  await server.stop();
});

/** A server that answers the requests of a connection with the given texts, in pieces, and then closes it. */
function serveAnswers(answers: readonly string[], { pieceOctets = 65_536 }: { pieceOctets?: number } = {}) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const requests: string[] = [];
  const handle = async (): Promise<void> => {
    for await (const conn of listener) {
      conn.setNoDelay(true);
      for (const answer of answers) {
        const buffer = new Uint8Array(65_536);
        const length = await conn.read(buffer);
        requests.push(new TextDecoder().decode(buffer.subarray(0, length ?? 0)));
        const octets = new TextEncoder().encode(answer);
        for (let at = 0; at < octets.length; at += pieceOctets) {
          // The client closes the connection in the middle of an answer that is too long.
          if (await conn.write(octets.subarray(at, at + pieceOctets)).catch(() => 0) === 0) break;
        }
      }
      conn.close();
    }
  };
  const running = handle();
  return {
    url: new URL(`http://127.0.0.1:${listener.addr.port}/path`),
    requests,
    async [Symbol.asyncDispose]() {
      listener.close();
      await running;
    },
  };
}

const HEAD = "POST /v2/x HTTP/1.1\r\nhost: x\r\n";
const textOf = ({ body }: { body: Uint8Array }) => new TextDecoder().decode(body);

const FORMS: Readonly<Record<string, string>> = {
  "a length": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
  "chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
};

for (const [form, answer] of Object.entries(FORMS)) {
  for (const pieceOctets of [1, 7, 65_536]) {
    Deno.test(`post() reads an answer with ${form}, in pieces of ${pieceOctets}, and the connection is used again`, async () => {
      await using server = serveAnswers([answer, answer.replace("200 OK", "400 Bad Request")], {
        pieceOctets,
      });
      const connection = await HttpConnection.open(server.url);
      const first = await connection.post(HEAD, new TextEncoder().encode("body"));
      assertEquals([first.status, textOf(first)], [200, "hello"]);
      assertEquals(connection.isUsable, true);
      const second = await connection.post(HEAD, new Uint8Array());
      assertEquals([second.status, textOf(second)], [400, "hello"]);
      assertEquals(server.requests[0], `${HEAD}content-length: 4\r\n\r\nbody`);
      connection.close();
    });
  }
}

Deno.test("postStream() ends the connection if the stream is too long, in small chunks or in one", async () => {
  const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
  const pings = `${head}${"4\r\nping\r\n".repeat(60_000)}`;
  const large = `${head}4c4b40\r\n${"x".repeat(5_000_000)}\r\n`;
  for (const answer of [pings, large]) {
    await using server = serveAnswers([answer]);
    const connection = await HttpConnection.open(server.url);
    let octets = 0;
    const isLast = (chunkOctets: number) => (octets += chunkOctets) > 10_000_000;
    await assertRejects(
      () => connection.postStream(HEAD, new Uint8Array(), isLast),
      ConnectionEnded,
      "The answer is too long",
    );
    assertEquals([octets <= 262_144, connection.isUsable], [true, false]);
  }
});

const BROKEN: Readonly<Record<string, string>> = {
  "that ends before its head": "HTTP/1.1 200",
  "that ends before its body": "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe",
  "without a length": "HTTP/1.1 200 OK\r\n\r\nhello",
  "with a wrong length": "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\nhello",
  "that is too long": "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
  "that is not HTTP": "SSH-2.0-OpenSSH\r\n\r\n",
  "with a wrong chunk": "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
  "with an endless head": `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(4000)}`,
};

for (const [what, answer] of Object.entries(BROKEN)) {
  Deno.test(`post() ends the connection after an answer ${what}`, async () => {
    await using server = serveAnswers([answer]);
    const connection = await HttpConnection.open(server.url);
    await assertRejects(() => connection.post(HEAD, new Uint8Array()), ConnectionEnded);
    assertEquals(connection.isUsable, false);
  });
}

const STREAM =
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\0\0\0\0\r\n5\r\nfirst\r\n6\r\nsecond\r\n";

for (const pieceOctets of [1, 65_536]) {
  Deno.test(`postStream() reads chunks until one is the last, in pieces of ${pieceOctets}, and ends the connection`, async () => {
    await using server = serveAnswers([STREAM], { pieceOctets });
    const connection = await HttpConnection.open(server.url);
    const sizes: number[] = [];
    await connection.postStream(HEAD, new Uint8Array(), (octets) => sizes.push(octets) === 3);
    assertEquals([sizes, connection.isUsable], [[4, 5, 6], false]);
  });
}

for (
  const answer of ["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", FORMS["a length"] ?? "", STREAM]
) {
  Deno.test(`postStream() rejects after an answer that is no stream or ends: ${answer.slice(0, 16)} ${answer.length}`, async () => {
    await using server = serveAnswers([answer]);
    const connection = await HttpConnection.open(server.url);
    await assertRejects(() => connection.postStream(HEAD, new Uint8Array(), () => false), ConnectionEnded);
  });
}

Deno.test("a connection that the server closed while it was idle is not usable", async () => {
  await using server = serveAnswers([FORMS["a length"] ?? ""]);
  const connection = await HttpConnection.open(server.url);
  await connection.post(HEAD, new Uint8Array());
  await eventually("the end is seen", () => !connection.isUsable);
});

Deno.test("a connection is not used after an answer with Connection: close", async () => {
  await using server = serveAnswers(["HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"]);
  const connection = await HttpConnection.open(server.url);
  await connection.post(HEAD, new Uint8Array());
  assertEquals(connection.isUsable, false);
});

Deno.test("close() ends a request in progress", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connection = await HttpConnection.open(new URL(`http://127.0.0.1:${listener.addr.port}`));
  const pending = assertRejects(() => connection.post(HEAD, new Uint8Array()), ConnectionEnded);
  connection.close();
  await pending;
  listener.close();
});

const MODULE = new URL("../../platform/kv_connect/endpoint.ts", import.meta.url).href;
const ENDPOINT = new URL("../../platform/kv_connect/endpoint.ts", import.meta.url).href;
const RUNTIME = new URL("../../platform/runtime.ts", import.meta.url).href;

testNeeding({ peers: ["opensslProgram"] }, "open() checks the certificate of an https endpoint", async () => {
  const folder = await Deno.makeTempDir({ prefix: "countersign-test-" });
  const authority = await makeAuthority(folder);
  const { certFile, keyFile } = await authority.issue(["IP:127.0.0.1"]);
  const server = Deno.serve({
    ...{ hostname: "127.0.0.1", port: 0, onListen: () => undefined },
    cert: await Deno.readTextFile(certFile),
    key: await Deno.readTextFile(keyFile),
  }, async (request) => new Response(`got ${await request.text()}`));
  const code = `const { HttpConnection } = await import("${MODULE}");
    const connection = await HttpConnection.open(new URL("https://127.0.0.1:${server.addr.port}"));
    const { body } = await connection.post("POST / HTTP/1.1\\r\\nhost: x\\r\\n", new TextEncoder().encode("this"));
    console.log(new TextDecoder().decode(body));
    Deno.exit(0);`;
  const run = (env: Record<string, string>) =>
    runProgram(Deno.execPath(), { args: ["eval", "--no-lock", code], env });
  const trusted = await run({ DENO_CERT: authority.caFile });
  assertEquals([trusted.code, trusted.stdout], [0, "got this\n"], trusted.stderr);
  const untrusted = await run({});
  assertEquals(untrusted.code, 1);
  assertStringIncludes(untrusted.stderr, "UnknownIssuer");
  await server.shutdown();
  await Deno.remove(folder, { recursive: true });
});

testNeeding(
  { peers: ["opensslProgram"] },
  "an https endpoint whose metadata names an http endpoint is refused",
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "countersign-test-" });
    const authority = await makeAuthority(folder);
    const { certFile, keyFile } = await authority.issue(["IP:127.0.0.1"]);
    const metadata = {
      ...{ version: 3, databaseId: "x", token: "t", expiresAt: "2099-01-01T00:00:00Z" },
      endpoints: [{ url: "http://127.0.0.1:9/v2", consistency: "strong" }],
    };
    const server = Deno.serve({
      ...{ hostname: "127.0.0.1", port: 0, onListen: () => undefined },
      cert: await Deno.readTextFile(certFile),
      key: await Deno.readTextFile(keyFile),
    }, () => Response.json(metadata));
    const code = `const { KvEndpoint } = await import("${ENDPOINT}");
    const { systemClock } = await import("${RUNTIME}");
    const endpoint = new KvEndpoint("https://127.0.0.1:${server.addr.port}", { clock: systemClock, token: "t" });
    console.log(await endpoint.call("snapshot_read", new Uint8Array()).catch((fault) => fault.message));
    Deno.exit(0);`;
    const { stdout, stderr } = await runProgram(Deno.execPath(), {
      args: ["eval", "--no-lock", code],
      env: { DENO_CERT: authority.caFile },
    });
    assertStringIncludes(stdout, "names an endpoint without https", stderr);
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  },
);

/** https://github.com/apple/foundationdb/blob/main/design/tuple.md, and doubles as Deno KV writes numbers. */
const EXAMPLES: readonly (readonly [Deno.KvKey, string])[] = [
  [[], ""],
  [[Uint8Array.of(0x66, 0x6f, 0x6f, 0, 0x62, 0x61, 0x72)], "01666f6f00ff62617200"],
  [["FÔO\0bar"], "0246c3944f00ff62617200"],
  [[5551212n], "1754b46c"],
  [[-5551212n], "11ab4b93"],
  [[0n], "14"],
  [[-42], "213fbaffffffffffff"],
  [[42], "21c045000000000000"],
  [[true, false], "2726"],
  [["a", 1, "b"], "02610021bff0000000000000026200"],
];

for (const [key, hex] of EXAMPLES) {
  Deno.test(`encodeKey() writes ${Deno.inspect(key)} as ${hex || "nothing"}`, () => {
    assertEquals(encodeKey(key).toHex(), hex);
    assertEquals(decodeKey(Uint8Array.fromHex(hex)), key);
  });
}

const PARTS: readonly Deno.KvKeyPart[] = [
  ...["", "a", "a\0", "a\0b", "aa", "ä", "😀", "\uffff"],
  ...[Uint8Array.of(), Uint8Array.of(0), Uint8Array.of(0, 0), Uint8Array.of(255), Uint8Array.of(0, 255)],
  ...[-Infinity, -1e300, -1, -1e-300, 0, 1e-300, 0.5, 1, 2 ** 53, Infinity],
  ...[-(2n ** 64n) + 1n, -65_536n, -256n, -255n, -1n, 0n, 1n, 255n, 256n, 2n ** 64n - 1n],
  ...[false, true],
];

Deno.test("decodeKey() reverses encodeKey() for every pair of parts", () => {
  for (const a of PARTS) for (const b of PARTS) assertEquals(decodeKey(encodeKey([a, b])), [a, b]);
});

Deno.test("encodeKey() writes keys that sort as Deno KV sorts them", async () => {
  using kv = await Deno.openKv(":memory:");
  for (const a of PARTS) for (const b of PARTS.slice(0, 12)) await kv.set([a, b], 0);
  const listed = await Array.fromAsync(kv.list({ prefix: [] }), ({ key }) => encodeKey(key).toHex());
  assertEquals(listed, listed.toSorted());
});

Deno.test("encodeKey() refuses what the store refuses", () => {
  assertEquals(encodeKey(["x".repeat(2046)]).length, 2048);
  for (
    const key of [
      ["x".repeat(2047)],
      ["x".repeat(10_000)],
      ["x".repeat(2040), "x", "x", "x"],
      [new Uint8Array(1200)],
      ["\0".repeat(1200)],
      [2n ** 64n],
      [Symbol()],
    ]
  ) assertThrows(() => encodeKey(key), TypeError, "Cannot encode a key");
});

Deno.test("decodeKey() throws for octets that are no key, and for each truncation", () => {
  assertThrows(() => decodeKey(Uint8Array.of(0xfe)), TypeError, "tag 254");
  const whole = encodeKey([Uint8Array.of(1)]);
  for (let length = 1; length < whole.length; length++) {
    assertThrows(() => decodeKey(whole.subarray(0, length)), TypeError, "has no end");
  }
  assertThrows(() => decodeKey(encodeKey([1.5]).subarray(0, 5)), TypeError, "has no end");
  assertThrows(() => decodeKey(encodeKey([70_000n]).subarray(0, 2)), TypeError, "has no end");
});

const KEY = Uint8Array.of(2, 0x61, 0);

/** Field by field; a nested message has a length of four octets. */
Deno.test("encodeSnapshotRead() writes ranges", () => {
  const range = { start: KEY, end: Uint8Array.of(...KEY, 0), limit: 300, reverse: true };
  assertEquals(encodeSnapshotRead([range]).toHex(), "0a908080000a030261001204026100001" + "8ac022001");
});

Deno.test("encodeAtomicWrite() writes checks, values, deletions and expiry times", () => {
  const checks = [{ key: KEY, versionstamp: null }, { key: KEY, versionstamp: "000000000000000a0000" }];
  const mutations = [
    { key: KEY, value: { octets: Uint8Array.of(7), encoding: 3 }, expireAtMs: 1_800_000_000_000 },
    { key: KEY, value: null, expireAtMs: 0 },
  ];
  assertEquals(
    encodeAtomicWrite(checks, mutations).toHex(),
    "0a858080000a03026100" +
      "0a918080000a03026100120a000000000000000a0000" +
      "12988080000a030261001285808000" + "0a0107" + "1003" + "1801" + "2080a0f1c2b134" +
      "12878080000a03026100" + "1802",
  );
});

/** A read of one range with ["a"] = { b: 1 }. */
const READ_ANSWER = "0a210a1f0a03026100120aff106f22016249027b011801220a0000000000000007000020014001";

Deno.test("decodeSnapshotReadOutput() reads an answer, and throws for each truncation of its entry", () => {
  const answer = Uint8Array.fromHex(READ_ANSWER);
  assertEquals(decodeSnapshotReadOutput(answer), [[
    { key: KEY, value: { b: 1 }, versionstamp: "00000000000000070000" },
  ]]);
  for (let length = 0; length < answer.length; length++) {
    // Without the last field, its preset is success.
    if (length === answer.length - 2) continue;
    assertThrows(() => decodeSnapshotReadOutput(answer.subarray(0, length)), TypeError);
  }
});

for (
  const [what, hex] of [
    ["reads are disabled", "0a00" + "1001" + "2001"],
    ["the answer may be old", "0a00"],
    ["the status is not success", "0a00" + "2001" + "4002"],
  ] as const
) {
  Deno.test(`decodeSnapshotReadOutput() throws if ${what}`, () => {
    assertThrows(() => decodeSnapshotReadOutput(Uint8Array.fromHex(hex)), TypeError, "Cannot read");
  });
}

Deno.test("decodeAtomicWriteOutput() tells a commit, a failed check, and another failure apart", () => {
  const decode = (hex: string) => decodeAtomicWriteOutput(Uint8Array.fromHex(hex));
  assertEquals(decode("0801120a00000000000000050000"), "00000000000000050000");
  assertEquals(decode("080222" + "0100"), null);
  assertThrows(() => decode("0805"), TypeError, "status 5");
  assertThrows(() => decode(""), TypeError, "status 0");
});

Deno.test("encodeValue() writes a Uint8Array as it is, and any other value in the form of Deno KV", () => {
  assertEquals(encodeValue(Uint8Array.of(1, 2)), { octets: Uint8Array.of(1, 2), encoding: 3 });
  const { octets, encoding } = encodeValue({ u: Uint8Array.of(1) });
  // 0x42 is an ArrayBuffer, 0x56 a view of one.
  assertEquals([encoding, new Uint8Array(octets).toHex()], [1, "ff0f6f2201754201015642000100" + "7b01"]);
  assertThrows(() => encodeValue(() => 1));
});
