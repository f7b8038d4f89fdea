// HttpConnection: answers in every form, and connections that end.

import { assertEquals, assertRejects } from "@std/assert";
import { ConnectionEnded, HttpConnection } from "../../../platform/kv_connect/endpoint.ts";
import { eventually } from "../../upstream/manual_clock.ts";

/** A server that answers the requests of a connection with the given texts, in pieces, and then closes it. */
function serve(answers: readonly string[], { pieceOctets = 65_536 }: { pieceOctets?: number } = {}) {
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
      await using server = serve([answer, answer.replace("200 OK", "400 Bad Request")], { pieceOctets });
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
    await using server = serve([answer]);
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
    await using server = serve([answer]);
    const connection = await HttpConnection.open(server.url);
    await assertRejects(() => connection.post(HEAD, new Uint8Array()), ConnectionEnded);
    assertEquals(connection.isUsable, false);
  });
}

const STREAM =
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\0\0\0\0\r\n5\r\nfirst\r\n6\r\nsecond\r\n";

for (const pieceOctets of [1, 65_536]) {
  Deno.test(`postStream() reads chunks until one is the last, in pieces of ${pieceOctets}, and ends the connection`, async () => {
    await using server = serve([STREAM], { pieceOctets });
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
    await using server = serve([answer]);
    const connection = await HttpConnection.open(server.url);
    await assertRejects(() => connection.postStream(HEAD, new Uint8Array(), () => false), ConnectionEnded);
  });
}

Deno.test("a connection that the server closed while it was idle is not usable", async () => {
  await using server = serve([FORMS["a length"] ?? ""]);
  const connection = await HttpConnection.open(server.url);
  await connection.post(HEAD, new Uint8Array());
  await eventually("the end is seen", () => !connection.isUsable);
});

Deno.test("a connection is not used after an answer with Connection: close", async () => {
  await using server = serve(["HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"]);
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
