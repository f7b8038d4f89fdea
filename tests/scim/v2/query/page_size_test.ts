// Pages of large resources end early, and the next page continues there.

import { assert, assertEquals } from "@std/assert";
import { startV2World, USER_SCHEMA } from "../http/v2_world.ts";
import { answered, ask } from "./query_world.ts";

const GROUPS = 12;
const MEMBERS = ["a", "b", "c"];
const NAMES = Array.from({ length: GROUPS }, (_, at) => `g${String(at).padStart(2, "0")}`);

async function openGroups() {
  const world = await startV2World();
  const value = (id: string) => ({ value: id });
  const members: object[] = [];
  for (const name of MEMBERS) {
    members.push(value(await world.add("/Users", { schemas: [USER_SCHEMA], userName: name })));
  }
  for (const displayName of NAMES) await world.add("/Groups", { displayName, members });
  const directory = world.gateway.identity.targets.get("default")?.directory;
  if (directory === undefined) throw new Error("no directory");
  return { directory, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

/** A page ends after five groups. */
const LIMIT = { maxPageOctets: 1000 };

Deno.test("pages by index end early, and startIndex continues after the resources that were returned", async () => {
  await using world = await openGroups();
  const names: string[] = [];
  for (let pages = 0; names.length < GROUPS; pages++) {
    assert(pages < GROUPS, "the pages have an end");
    const asked = { kind: "group", startIndex: names.length + 1 } as const;
    const { resources, total } = answered(await ask(world.directory, asked, LIMIT));
    assertEquals(total, GROUPS);
    assertEquals(resources.length, Math.min(5, GROUPS - names.length));
    names.push(...resources.map(({ content }) => content.name));
  }
  assertEquals(names, NAMES);
});

Deno.test("pages by cursor that end early lead to all resources, forwards and backwards", async () => {
  await using world = await openGroups();
  const names: string[] = [];
  let back: string | null = null;
  for (let cursor: string | null = ""; cursor !== null;) {
    const page = answered(await ask(world.directory, { kind: "group", cursor }, LIMIT));
    names.push(...page.resources.map(({ content }) => content.name));
    [cursor, back] = [page.nextCursor, page.previousCursor];
    assert(names.length <= GROUPS, "no resource is repeated");
  }
  assertEquals(names, NAMES);
  const earlier: string[] = [];
  for (let cursor = back; cursor !== null;) {
    const page = answered(await ask(world.directory, { kind: "group", cursor }, LIMIT));
    earlier.unshift(...page.resources.map(({ content }) => content.name));
    cursor = page.previousCursor;
    assert(earlier.length <= GROUPS, "no resource is repeated");
  }
  assertEquals(earlier, NAMES.slice(0, 10));
});
