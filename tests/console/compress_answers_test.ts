// Compression of the console's pages and of the answers of its API.

import { assertEquals } from "@std/assert";
import { Hono } from "hono";
import { compressAnswers } from "../../console/compress_answers.ts";
import { PAGE_POLICY } from "../../platform/http/security_headers.ts";
import { startConsole } from "../fakes/console_app.ts";

const BODIES = {
  large: { "content-type": "application/json" },
  text: { "content-type": "text/plain" },
  download: { "content-type": "application/json", "content-disposition": "attachment" },
};
const LARGE = JSON.stringify(Array.from({ length: 500 }, (_, at) => `user-${at}`));

for (
  const [what, method, path, encodings, isCompressed] of [
    ["a large answer", "GET", "/large", "gzip, br", true],
    ["a large page for a browser that excludes gzip", "GET", "/large", "br, gzip;q=0", false],
    ["an answer without Accept-Encoding", "GET", "/large", "", false],
    ["a small answer", "GET", "/small", "gzip", false],
    ["an answer to a change: it may contain a secret", "POST", "/large", "gzip", false],
    ["an export", "GET", "/download", "gzip", false],
    ["plain text", "GET", "/text", "gzip", false],
  ] as const
) {
  Deno.test(`compressAnswers() ${isCompressed ? "compresses" : "leaves"} ${what}`, async () => {
    const app = new Hono().use(compressAnswers);
    for (const [name, headers] of Object.entries(BODIES)) {
      app.all(`/${name}`, (c) => c.body(LARGE, 200, headers));
    }
    app.get("/small", (c) => c.json({ ok: true }));
    const headers = { "accept-encoding": encodings };
    const answer = await app.request(path, { method, headers });
    assertEquals(answer.headers.get("content-encoding"), isCompressed ? "gzip" : null);
    const octets = await answer.bytes();
    assertEquals(octets.length < LARGE.length / 2, isCompressed || path === "/small");
    const text = isCompressed
      ? await new Response(new Blob([octets]).stream().pipeThrough(new DecompressionStream("gzip"))).text()
      : new TextDecoder().decode(octets);
    assertEquals(text, path === "/small" ? '{"ok":true}' : LARGE);
    assertEquals(
      answer.headers.get("vary"),
      method === "GET" && /large|small/.test(path) ? "accept-encoding" : null,
    );
  });
}

Deno.test("the console's pages and answers are compressed", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("owner");
  const headers = { "accept-encoding": "gzip" };
  const settings = await site.call("/console/api/settings", { cookie, headers });
  assertEquals([settings.status, settings.headers.get("content-encoding")], [200, "gzip"]);
  await settings.body?.cancel();
  const page = await site.call("/users", { cookie, headers });
  assertEquals([page.status, page.headers.get("vary")], [200, "accept-encoding"]);
  assertEquals(page.headers.get("content-security-policy"), PAGE_POLICY);
  await page.body?.cancel();
});
