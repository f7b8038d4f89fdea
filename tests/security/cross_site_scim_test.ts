// Attack: a page of another site makes a browser that remembers a SCIM credential send a write. Also: names, methods
// and paths to which SCIM gave wrong answers.

import { assertEquals } from "@std/assert";
import { type RunningProgram, startProgram } from "../support/program.ts";

const NAME = "provisioner";
const PASSWORD = "correct horse battery staple";
const TOML = `
[[scim.credential]]
name = "${NAME}"
password = "${PASSWORD}"
targets = ["default"]
access = "write"
`;
const JSON_TYPE = { "content-type": "application/scim+json" };
const FORM = { "content-type": "application/x-www-form-urlencoded" };

const TEXT = { "content-type": "text/plain;charset=UTF-8" };
const BROWSER = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64)" };

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

async function send(
  gateway: RunningProgram,
  path: string,
  { method = "GET", headers = {}, body }: Sent = {},
) {
  const response = await fetch(`${gateway.httpUrl}/idm/scim/default${path}`, {
    method,
    headers: { authorization: `Basic ${btoa(`${NAME}:${PASSWORD}`)}`, ...headers },
    body,
  });
  await response.body?.cancel();
  return { status: response.status, allow: response.headers.get("allow") };
}

const post = (userName: string, headers: Record<string, string>): Sent => ({
  method: "POST",
  headers,
  body: JSON.stringify({ userName }),
});

Deno.test("a page of another site cannot write through the SCIM interface", async (t) => {
  await using gateway = await startProgram({ toml: TOML });
  const own = gateway.httpUrl;
  const cases: readonly (readonly [what: string, headers: Record<string, string>, status: number])[] = [
    ["a foreign Origin", { ...JSON_TYPE, origin: "http://evil.example" }, 403],
    ["an opaque Origin", { ...JSON_TYPE, origin: "null" }, 403],
    ["another port of this host", { ...JSON_TYPE, origin: "http://127.0.0.1:1" }, 403],
    ["Sec-Fetch-Site: cross-site", { ...JSON_TYPE, "sec-fetch-site": "cross-site" }, 403],
    ["Sec-Fetch-Site: same-site", { ...JSON_TYPE, "sec-fetch-site": "same-site" }, 403],
    ["a form of another site", { ...FORM, origin: "http://evil.example" }, 403],
    ["a text/plain form of a browser without Origin", { ...TEXT, ...BROWSER }, 415],
    ["a form of a browser without Origin", { ...FORM, ...BROWSER }, 415],
    ["a multipart form of a browser", { "content-type": "multipart/form-data; boundary=x", ...BROWSER }, 415],
    ["fetch() of a program", TEXT, 201],
    ["a client without Origin", JSON_TYPE, 201],
    ["curl -d", FORM, 201],
    ["a page of this site", { ...JSON_TYPE, origin: own, "sec-fetch-site": "same-origin" }, 201],
  ];
  for (const [at, [what, headers, status]] of cases.entries()) {
    await t.step(`${what}: ${status}`, async () => {
      assertEquals((await send(gateway, "/Users", post(`user${at}`, headers))).status, status);
      assertEquals((await send(gateway, `/Users/user${at}`)).status, status === 201 ? 200 : 404);
    });
  }
});

Deno.test("the SCIM interface answers reserved names, unknown methods and paths as documented", async () => {
  await using gateway = await startProgram({ toml: TOML });
  for (const name of [".search", ".SEARCH", ".", ".."]) {
    assertEquals((await send(gateway, "/Users", post(name, JSON_TYPE))).status, 400, name);
  }
  const options = (path: string) => send(gateway, path, { method: "OPTIONS" });
  assertEquals(await options("/Users"), { status: 405, allow: "GET, HEAD, POST" });
  assertEquals(await options("/Users/ann"), { status: 405, allow: "GET, HEAD, PUT, DELETE" });
  assertEquals(await options("/Nope"), { status: 404, allow: null });
  assertEquals((await options("/Me")).status, 501);
  assertEquals((await send(gateway, "/Users?page=9007199254740991")).status, 200);
});
