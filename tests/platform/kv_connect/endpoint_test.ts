// KvEndpoint: which connections carry the calls.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { KvEndpoint } from "../../../platform/kv_connect/endpoint.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";

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
