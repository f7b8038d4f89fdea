// Permissions of SCIM credentials, over HTTP.

import { assertEquals } from "@std/assert";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { basic, openSite, READER, STRANGER, WRITER } from "./site.ts";

type Who = { name: string; password: string } | null;
const WRONG = { ...WRITER, password: "not it" };
const UNKNOWN = { name: "nobody", password: WRITER.password };

const MATRIX: readonly (readonly [title: string, who: Who, read: number, write: number])[] = [
  ["nobody", null, 401, 401],
  ["a wrong password", WRONG, 401, 401],
  ["an unknown name", UNKNOWN, 401, 401],
  ["a reader", READER, 200, 403],
  ["a writer", WRITER, 200, 201],
  ["a writer of another target", STRANGER, 403, 403],
];
for (const [title, as, read, write] of MATRIX) {
  Deno.test(`${title} reads: ${read}, writes: ${write}`, async () => {
    await using site = await openSite();
    assertEquals((await site.call("/Users", { as })).status, read);
    assertEquals((await site.call("/Users", { as, method: "POST", body: {} })).status, write);
  });
}

Deno.test("five failures for one name from one address lead to 429 with Retry-After, but the correct credential passes", async () => {
  const clock = createManualClock();
  await using site = await openSite({ clock });
  for (let guess = 0; guess < 5; guess++) {
    assertEquals((await site.call("/Users", { as: WRONG })).status, 401);
  }
  const stopped = await site.call("/Users", { as: WRONG });
  assertEquals([stopped.status, stopped.headers.get("retry-after")], [429, "60"]);
  assertEquals(stopped.json["status"], "429");
  clock.advance(1000);
  assertEquals((await site.call("/Users")).status, 200);
  assertEquals((await site.call("/Users", { as: WRONG })).status, 429);
  clock.advance(60_000);
  assertEquals((await site.call("/Users", { as: WRONG })).status, 401);
});

Deno.test("a header that is no credential gets 401, and counts as no failure", async () => {
  await using site = await openSite();
  for (const authorization of ["", "Basic", "Basic !!!", "Bearer abc", "Basic YQ==", `${basic(WRITER)}, x`]) {
    for (let round = 0; round < 2; round++) {
      const { status } = await site.call("/Users", { as: null, headers: { authorization } });
      assertEquals(status, 401);
    }
  }
  assertEquals((await site.call("/Users")).status, 200);
});

Deno.test("a revoked credential is refused at once", async () => {
  await using site = await openSite();
  const actor = { name: "command", source: "" };
  const added = await site.credentials.add({ name: "saas", targets: ["default"], access: "read" }, actor);
  const as = { name: "saas", password: added.ok ? added.password : "" };
  assertEquals((await site.call("/Users", { as })).status, 200);
  await site.credentials.revoke("saas", actor);
  assertEquals((await site.call("/Users", { as })).status, 401);
});

Deno.test("the log contains no password and no Authorization header", async () => {
  await using site = await openSite();
  await site.call("/Users");
  await site.call("/Users", { as: { name: WRITER.password, password: "planted-guess" } });
  await site.console.log.flush();
  const lines = site.console.lines.join("");
  for (const secret of [WRITER.password, "planted-guess", basic(WRITER).slice(6)]) {
    assertEquals(lines.includes(secret), false);
  }
});
