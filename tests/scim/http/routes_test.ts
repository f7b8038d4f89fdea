// The routes of SCIM 1.1, and the listener.

import { assertEquals, assertMatch } from "@std/assert";
import { type RouteRow, SCIM_ROUTES } from "../../../scim/http/routes.ts";
import { ERROR_SCHEMA } from "../../../scim/schema/attribute_table.ts";
import { userContent } from "../../fakes/scim_target.ts";
import { type Answer, basic, JSON_TYPE, openSite, type Site, WRITER } from "./site.ts";

function seed({ target }: Site): void {
  target.put(userContent("ann"));
  target.put({ kind: "group", name: "ann", attributes: {}, members: [] });
}

function assertHeaders({ status, headers, text }: Answer): void {
  assertEquals(headers.get("content-type"), status === 204 ? null : JSON_TYPE);
  assertEquals(headers.get("content-language"), "en");
  assertEquals(headers.get("vary")?.split(/, */).slice(0, 2), ["Accept-Language", "Cookie"]);
  assertEquals(headers.get("x-frame-options"), "DENY");
  if (status >= 400) {
    const { schemas, status: said, detail, scimType, ...rest } = JSON.parse(text);
    assertEquals([schemas, said, typeof detail, rest], [[ERROR_SCHEMA], String(status), "string", {}]);
    if (scimType !== undefined) assertMatch(scimType, /^[a-zA-Z]+$/);
  }
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
for (const path of new Set(SCIM_ROUTES.map((row) => row.path))) {
  const rows: readonly RouteRow[] = SCIM_ROUTES.filter((row) => row.path === path);
  if (rows.some(({ method }) => method === "any")) continue;
  Deno.test(`createScimApp() answers other methods at ${path} with 405 and the allowed ones`, async () => {
    await using site = await openSite();
    const supported = rows.filter((row) => row.supported).flatMap(({ method }) =>
      method === "GET" ? ["GET", "HEAD"] : [method]
    );
    for (const method of METHODS.filter((one) => !rows.some((row) => row.method === one))) {
      const answer = await site.call(path.replace(/<\w+>/, "ann"), { method });
      assertEquals([answer.status, answer.headers.get("allow")], [405, supported.join(", ")]);
      assertHeaders(answer);
    }
  });
}

const NOWHERE = [
  "",
  "/",
  "/users",
  "/Users/",
  "/Groups/vpn/members",
  "/User",
  "/Me/x",
  "/ServiceProviderConfig",
  "/v2/Users",
];
Deno.test("createScimApp() answers paths without a row with 404", async (t) => {
  await using site = await openSite();
  for (const path of NOWHERE) {
    await t.step(path || "the target itself", async () => {
      const answer = await site.call(path);
      assertEquals([answer.status, answer.json["detail"]], [404, "This interface has nothing at that path."]);
      assertHeaders(answer);
    });
  }
});

const ROOTS: readonly (readonly [path: string, status: number, detail: RegExp])[] = [
  ["!/idm/scim", 404, /nothing at that path/],
  ["!/idm/scim/", 404, /nothing at that path/],
  ["!/idm/scim/elsewhere/Users", 404, /no directory/],
  ["!/idm/scim/%ff/Users", 404, /no directory/],
  ["!/idm/scim/default%2FUsers", 404, /no directory/],
  ["!/idm/scim/other/Users", 403, /other targets/],
  ["!/idm/scim/d%65fault/Users", 200, /^$/],
];
Deno.test("createScimApp() finds the target in the path, or reports that there is none", async (t) => {
  await using site = await openSite();
  for (const [path, status, detail] of ROOTS) {
    await t.step(path, async () => {
      const answer = await site.call(path);
      assertEquals(answer.status, status);
      assertMatch(String(answer.json["detail"] ?? ""), detail);
      assertHeaders(answer);
    });
  }
});

Deno.test("createScimApp() answers HEAD like GET, without the body", async () => {
  await using site = await openSite();
  seed(site);
  for (const path of ["/Users", "/Users/ann", "/Users/nobody", "/Me"]) {
    const get = await site.call(path);
    const head = await site.call(path, { method: "HEAD" });
    assertEquals([head.status, head.text], [get.status, ""]);
    assertEquals(head.headers.get("etag"), get.headers.get("etag"));
    assertHeaders({ ...head, text: get.text });
    const length = head.headers.get("content-length");
    if (length !== null) assertEquals(Number(length), new TextEncoder().encode(get.text).length);
  }
});

Deno.test("createScimApp() refuses a request without a credential before anything else", async () => {
  await using site = await openSite();
  for (const path of ["/Users", "/Me", "/nothing", "!/idm/scim/elsewhere/Users", "!/idm/scim"]) {
    const answer = await site.call(path, { as: null });
    assertEquals(answer.status, 401);
    assertEquals(
      answer.headers.get("www-authenticate"),
      'Basic realm="Countersign", charset="UTF-8"',
    );
    assertHeaders(answer);
  }
  assertEquals(site.target.calls, []);
});

// Requests that the listener refuses before SCIM handles them: in SCIM's format below its prefix, elsewhere in the
// console's.

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
  assertEquals(answer.text, await Deno.readTextFile(new URL("../../../docs/openapi.json", import.meta.url)));
  const signed = await site.call("!/openapi.json", { headers: { authorization: basic(WRITER) } });
  assertEquals(signed.text, answer.text);
});
