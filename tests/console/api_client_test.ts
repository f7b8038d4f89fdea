// The typed API client: the value of a path parameter stays in one path segment.

import { assertEquals } from "@std/assert";
import { hc } from "hono/client";
import type { ConsoleApi } from "../../console/api/console_api.ts";
import { escapeParams } from "../../console/web/app/api_client.ts";

const SOURCES = ["console/web/", "console/account/"];
/** Path parameters as a literal, without {@link escapeParams}. */
const UNESCAPED = /\bparam: \{ (?!\.\.\.param, line: String\(line\) \})/;

async function requested(id: string): Promise<string> {
  let path = "";
  const client = hc<ConsoleApi>("http://console.test/console/api", {
    fetch: (address: string | URL | Request) => {
      path = new URL(String(address)).pathname;
      return Promise.resolve(Response.json({}));
    },
  });
  await client.users[":id"].groups.$put({
    param: escapeParams({ id }),
    query: {},
    json: { add: [], remove: [] },
  });
  return path;
}

const IDS = {
  "ada": "ada",
  "../../session?x#y": "..%2F..%2Fsession%3Fx%23y",
  "a%20b": "a%2520b",
  "$& ü": "%24%26%20%C3%BC",
};
for (const [id, segment] of Object.entries(IDS)) {
  Deno.test(`escapeParams() keeps "${id}" in one segment of the path`, async () => {
    assertEquals(await requested(id), `/console/api/users/${segment}/groups`);
  });
}

async function* sourcesBelow(folder: string): AsyncGenerator<{ path: string; text: string }> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(`../../${folder}`, import.meta.url))) {
    const path = folder + name;
    if (isDirectory) yield* sourcesBelow(`${path}/`);
    else if (/\.tsx?$/.test(name)) {
      yield { path, text: await Deno.readTextFile(new URL(`../../${path}`, import.meta.url)) };
    }
  }
}

Deno.test("every call of the pages escapes the parameters of its path", async () => {
  const found: string[] = [];
  for (const folder of SOURCES) {
    for await (const { path, text } of sourcesBelow(folder)) if (UNESCAPED.test(text)) found.push(path);
  }
  assertEquals(found, []);
});
