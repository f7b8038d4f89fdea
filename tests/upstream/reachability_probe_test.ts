// The reachability probe of the telephony service: one HEAD, and what its answer means.

import { assertEquals } from "@std/assert";
import { createReachabilityProbe } from "../../upstream/telephony.ts";

const SETTINGS = { url: "https://telephony.example", timeoutMs: 5000 };

Deno.test("createReachabilityProbe() sends one HEAD, and takes any answer but a server error for good", async () => {
  for (const [status, ok] of [[200, true], [302, true], [404, true], [500, false], [503, false]] as const) {
    const calls: (string | undefined)[][] = [];
    const probe = createReachabilityProbe(SETTINGS, {
      fetch: (url, { method }) => {
        calls.push([method, url]);
        return Promise.resolve(new Response(null, { status }));
      },
    });
    assertEquals(await probe(), { ok, detail: `It answered with status ${status}.` });
    assertEquals(calls, [["HEAD", SETTINGS.url]]);
  }
});

Deno.test("createReachabilityProbe() reports a service that cannot be reached", async () => {
  const probe = createReachabilityProbe(SETTINGS, { fetch: () => Promise.reject(new TypeError("refused")) });
  assertEquals(await probe(), { ok: false, detail: "It did not answer." });
});
