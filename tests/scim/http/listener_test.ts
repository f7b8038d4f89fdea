// Requests that the listener refuses before SCIM handles them: in SCIM's format below its prefix, elsewhere in the
// console's.

import { assertEquals } from "@std/assert";
import { ERROR_SCHEMA } from "../../../scim/schema/attribute_table.ts";
import { basic, JSON_TYPE, openSite, WRITER } from "./site.ts";

const OVER = 1024 * 1024 + 1;

const RAW: Readonly<Record<string, { readonly request: string; readonly status: number }>> = {
  "TRACE": { request: "TRACE /idm/scim/default/Users HTTP/1.1\r\nHost: HERE\r\n", status: 405 },
  "OPTIONS": { request: "OPTIONS /idm/scim/default/Users HTTP/1.1\r\nHost: HERE\r\n", status: 405 },
  "an unknown method": { request: "PURGE /idm/scim/default/Users HTTP/1.1\r\nHost: HERE\r\n", status: 405 },
  "an unknown method of an unknown path": {
    request: "PURGE /idm/scim/default/Nope HTTP/1.1\r\nHost: HERE\r\n",
    status: 404,
  },
  "another site's Host": {
    request: "GET /idm/scim/default/Users HTTP/1.1\r\nHost: evil.test\r\n",
    status: 421,
  },
  "no Host": { request: "GET /idm/scim/default/Users HTTP/1.1\r\n", status: 400 },
  "an over-long target": {
    request: `GET /idm/scim/default/Users/${"a".repeat(9000)} HTTP/1.1\r\nHost: HERE\r\n`,
    status: 414,
  },
};
for (const [what, { request, status }] of Object.entries(RAW)) {
  Deno.test(`the listener refuses ${what} in SCIM's format: ${status}`, async () => {
    await using site = await openSite();
    const here = new URL(site.console.origin);
    const connection = await Deno.connect({ hostname: here.hostname, port: Number(here.port) });
    const text = `${request.replaceAll("HERE", here.host)}Connection: close\r\n\r\n`;
    await connection.write(new TextEncoder().encode(text));
    const answer = await new Response(connection.readable).text();
    assertEquals(answer.split(" ")[1], String(status));
    const head = answer.toLowerCase();
    for (const line of [`content-type: ${JSON_TYPE}`, "content-language: en", "x-frame-options: deny"]) {
      assertEquals(head.includes(`\r\n${line}\r\n`), true, line);
    }
    const { schemas, status: said } = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
    assertEquals([schemas, said], [[ERROR_SCHEMA], String(status)]);
  });
}

Deno.test("the listener refuses a body over 1 MiB in SCIM's format, with or without a declared length", async () => {
  await using site = await openSite();
  const announced = await site.call("/Users", { method: "POST", body: " ".repeat(OVER) });
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new Uint8Array(65_536).fill(32));
      if ((sent += 65_536) > 3 * OVER) controller.close();
    },
  });
  const streamed = await site.call("/Users", { method: "POST", body });
  for (const answer of [announced, streamed]) {
    assertEquals([answer.status, answer.json["status"]], [413, "413"]);
    assertEquals(answer.headers.get("content-type"), JSON_TYPE);
  }
});

Deno.test("the listener refuses other paths in the console's format", async () => {
  await using site = await openSite();
  const response = await fetch(`${site.console.origin}/console/api/session`, { method: "OPTIONS" });
  assertEquals([response.status, Object.keys(await response.json())], [405, ["error"]]);
});

Deno.test("createHttpApp() serves the OpenAPI description without authentication", async () => {
  await using site = await openSite();
  const answer = await site.call("!/openapi.json", { as: null });
  assertEquals([answer.status, answer.headers.get("content-type")], [200, "application/json"]);
  assertEquals(answer.json["servers"], [{ url: site.console.origin }]);
  const signed = await site.call("!/openapi.json", { headers: { authorization: basic(WRITER) } });
  assertEquals(signed.text, answer.text);
});
