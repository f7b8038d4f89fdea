// Commands on a KV Connect endpoint (store.kv) without a running server.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openOperator } from "./operator.ts";

const TOKEN = "a-very-secret-token";

/** Answers every request, also those after the metadata exchange. */
function serveEndpoint(answer: (request: Request) => Response | Promise<Response>) {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, answer);
  return { toml: `store.kv = "http://127.0.0.1:${server.addr.port}"\n`, shutdown: () => server.shutdown() };
}

Deno.test("a command says that the endpoint refuses the token, and shows no token", async () => {
  const seen: (string | null)[] = [];
  const endpoint = serveEndpoint((request) => {
    seen.push(request.headers.get("authorization"));
    return new Response(`bad token ${TOKEN}`, { status: 401 });
  });
  await using operator = await openOperator({ toml: endpoint.toml, env: { DENO_KV_ACCESS_TOKEN: TOKEN } });
  const { code, stdout, stderr } = await operator.start("pair", "--list");
  assertEquals([code, stdout], [1, ""]);
  assertStringIncludes(stderr, "the server refuses the access token (HTTP 401). Set DENO_KV_ACCESS_TOKEN");
  assert(!stderr.includes(TOKEN) && stderr.trim().split("\n").length === 1, stderr);
  assertEquals(seen, [`Bearer ${TOKEN}`]);
  await endpoint.shutdown();
});

Deno.test("a command ends although the runtime still retries a call to the endpoint", async () => {
  const endpoint = serveEndpoint(({ url }) =>
    new URL(url).pathname !== "/" ? new Response(null, { status: 503 }) : Response.json({
      version: 3,
      databaseId: crypto.randomUUID(),
      endpoints: [{ url: "/v2", consistency: "strong" }],
      token: "t",
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    })
  );
  await using operator = await openOperator({ toml: endpoint.toml, env: { DENO_KV_ACCESS_TOKEN: TOKEN } });
  const { code, stderr } = await operator.start("pair", "--list");
  assertEquals(code, 1);
  assertStringIncludes(stderr, "Cannot open the store");
  await endpoint.shutdown();
});

Deno.test("a command and check-config say that the token is missing", async () => {
  await using operator = await openOperator({
    toml: 'store.kv = "http://127.0.0.1:1"\n',
    env: { DENO_KV_ACCESS_TOKEN: "" },
  });
  for (const command of ["pair", "check_config"]) {
    const { code, stderr } = await operator.start(command, ...command === "pair" ? ["--list"] : []);
    assertEquals(code, 1);
    assertStringIncludes(stderr, "store.kv: the environment variable DENO_KV_ACCESS_TOKEN is not set");
  }
});
