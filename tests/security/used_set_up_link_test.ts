// A used set-up link stays in no file of the data directory: the real program, from its first start to the first owner.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { startProgram } from "../support/program.ts";

Deno.test("the used set-up link leaves first-start.txt", async () => {
  await using gateway = await startProgram();
  const file = `${gateway.dataDir}/first-start.txt`;
  const read = () =>
    Deno.readTextFile(file).catch((fault: unknown) => {
      if (fault instanceof Deno.errors.NotFound) return "";
      throw fault;
    });
  const [, token = ""] = /\/setup#(\S+)/.exec(await read()) ?? [];
  assertMatch(token, /^[A-Za-z0-9_-]{22}$/);
  const setUp = async (password: string) => {
    const response = await fetch(`${gateway.httpUrl}/console/api/setup`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        origin: gateway.httpUrl,
      },
      body: JSON.stringify({ token, name: "owner", password }),
    });
    await response.body?.cancel();
    return response.status;
  };
  // A refused attempt does not use the link up.
  assertEquals(await setUp("short"), 400);
  assertStringIncludes(await read(), token);
  assertEquals(await setUp("a long password for the owner"), 200);
  assertEquals((await read()).includes("/setup#"), false);
  assertEquals(await setUp("a long password for another"), 410);
});
