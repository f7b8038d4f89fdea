// HttpConnection over TLS, with an authority that only the client process trusts.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { makeAuthority } from "../../support/certificates.ts";
import { runProgram } from "../../support/child.ts";
import { testNeeding } from "../../support/skip_unless.ts";

const MODULE = new URL("../../../platform/kv_connect/endpoint.ts", import.meta.url).href;
const ENDPOINT = new URL("../../../platform/kv_connect/endpoint.ts", import.meta.url).href;
const RUNTIME = new URL("../../../platform/runtime.ts", import.meta.url).href;

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
