// Finding 16: images on another site made the visitor's browser call the OIDC callback, and five of them blocked the
// sign-in of that address.

import { assertEquals } from "@std/assert";
import { CONSOLE, createCaller, OWNER, startSecured } from "./console_caller.ts";

Deno.test("the OIDC callback without a provider answers 404 and blocks no sign-in", async () => {
  await using site = await startSecured();
  const image = createCaller(site.gateway, {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "no-cors",
    "sec-fetch-dest": "image",
  });
  for (let times = 0; times < 12; times += 1) {
    assertEquals((await image.call(`${CONSOLE}/oidc/callback`)).status, 404);
  }
  assertEquals((await createCaller(site.gateway).call(`${CONSOLE}/session`, { json: OWNER })).status, 200);
});
