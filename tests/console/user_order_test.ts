// The order of the list of users: each column in both directions, pages from the end, and the limit of what one request sorts.

import { assertEquals } from "@std/assert";
import type { UserPage } from "../../console/api/users/user_types.ts";
import { MAX_SORTED, readUserPage } from "../../console/api/users/user_list.ts";
import type { People } from "../../console/api/deps.ts";
import type { Target } from "../../scim/ports.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";

const USERS = "/console/api/users";

async function fill(site: PeopleConsole): Promise<void> {
  const nowMs = Date.now();
  await site.put("ada", { displayName: "Zoe" });
  await site.put("bob", { displayName: "adam" });
  await site.put("cyd", { active: false, displayName: "Mia" });
  await site.put("dee");
  for (const [user, agoMs] of [["bob", 60_000], ["cyd", 30_000], ["ada", 90_000]] as const) {
    site.lastSignIns.note({ user, factor: "totp", updatedMs: nowMs - agoMs });
  }
}

/** Users without a value come last in both directions. */
const ORDERS: readonly (readonly [query: string, names: string])[] = [
  ["", "ada bob cyd dee"],
  ["sort=name", "ada bob cyd dee"],
  ["sort=-name", "dee cyd bob ada"],
  ["sort=displayName", "bob cyd ada dee"],
  ["sort=-displayName", "ada cyd bob dee"],
  ["sort=status", "ada bob dee cyd"],
  ["sort=-status", "cyd ada bob dee"],
  ["sort=lastSignIn", "ada bob cyd dee"],
  ["sort=-lastSignIn", "cyd bob ada dee"],
  ["sort=-name&status=active", "dee bob ada"],
  ["sort=-displayName&q=a", "ada bob"],
  ["sort=-name&size=3", "dee cyd bob"],
  ["sort=-name&size=3&page=2", "ada"],
  ["sort=-name&size=3&page=3", ""],
  ["sort=-lastSignIn&size=2&page=2", "ada dee"],
];

Deno.test("users: the list in each order, with the last accepted sign-in", async (t) => {
  await using site = await startPeopleConsole();
  await fill(site);
  const get = apiCaller(site, await site.signIn("viewer"));
  for (const [query, names] of ORDERS) {
    await t.step(query === "" ? "without an order" : query, async () => {
      const page = await get<UserPage>(`${USERS}?${query}`);
      assertEquals(page.rows.map(({ name }) => name).join(" "), names);
      assertEquals(page.isUnsorted, false);
    });
  }
  const { rows } = await get<UserPage>(USERS);
  assertEquals(rows.map(({ lastSignInMs }) => lastSignInMs !== null), [true, true, true, false]);
  const refused = await site.call(`${USERS}?sort=mail`, { cookie: await site.signIn("viewer") });
  assertEquals(refused.status, 400);
  await refused.body?.cancel();
});

Deno.test("users: a directory with more users than a request sorts keeps the order of names, and says so", async () => {
  let read = 0;
  const directory = {
    count: () => MAX_SORTED + 1,
    page: (_kind: string, { page, size, isReverse }: { page: number; size: number; isReverse?: boolean }) => {
      read += size;
      const total = MAX_SORTED + 1;
      return Promise.resolve({ total, startIndex: (page - 1) * size + 1, resources: [], isReverse });
    },
  };
  const target = { name: "default", directory, backends: [] } as unknown as Target;
  const people = {
    loginTarget: () => "other",
    targets: { names: ["default"] },
    pairings: { all: () => [] },
    limits: {},
  } as unknown as People;
  const filters = { q: "", status: "", enrolled: "", backend: "", sync: "", page: 1, size: 50 } as const;
  const page = await readUserPage(people, target, { ...filters, sort: "-displayName" });
  assertEquals([page.isUnsorted, read], [true, 50]);
  // The index of names has both directions.
  assertEquals((await readUserPage(people, target, { ...filters, sort: "-name" })).isUnsorted, false);
});
