// The reachability probe of the telephony service: one HEAD request, and the meaning of its answer.

import { assertEquals } from "@std/assert";
import { createReachabilityProbe } from "../../upstream/telephony.ts";
import { createManualClock } from "./manual_clock.ts";

const SETTINGS = { url: "https://telephony.example", timeoutMs: 5000 };

Deno.test("createReachabilityProbe() sends one HEAD, and accepts any answer except a server error", async () => {
  for (const [status, ok] of [[200, true], [302, true], [404, true], [500, false], [503, false]] as const) {
    const calls: (string | undefined)[][] = [];
    const probe = createReachabilityProbe(SETTINGS, {
      clock: createManualClock(),
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
  const clock = createManualClock();
  const silent = { ok: false, detail: "It did not answer." };
  const refused = () => Promise.reject(new TypeError("refused"));
  assertEquals(await createReachabilityProbe(SETTINGS, { clock, fetch: refused })(), silent);
  const never = new Promise<Response>(() => undefined);
  const probing = createReachabilityProbe(SETTINGS, { clock, fetch: () => never })();
  clock.advance(SETTINGS.timeoutMs);
  assertEquals(await probing, silent);
});
