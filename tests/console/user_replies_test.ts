// The reply attributes of one user: in the console, which roles may change them, and that they follow the user.

import { assertEquals } from "@std/assert";
import type { UserReplyView } from "../../console/api/groups/group_types.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";

const PATH = "/console/api/users/ada/replies";
const ADDRESS = [{ name: "Framed-IP-Address", value: "192.0.2.7" }];
/** The code of a refusal. */
const refused = (site: PeopleConsole, cookie: string, change: ReturnType<typeof PUT>) =>
  site.call(PATH, { cookie, ...change }).then(codeOf);
const PUT = (attributes: readonly { name: string; value: string }[], version = 0) => ({
  method: "PUT",
  json: { attributes, version },
} as const);

Deno.test("an owner gives one user reply attributes; the record has the values before and after", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const cookie = await site.signIn("owner");
  const ask = apiCaller(site, cookie);
  assertEquals(await ask<UserReplyView>(PATH), { replies: [], repliesFrom: null, repliesVersion: 0 });
  const several = [...ADDRESS, { name: "Class", value: "a" }, { name: "Class", value: "b" }];
  const given = await ask<UserReplyView>(PATH, PUT(several));
  assertEquals(given, { replies: several, repliesFrom: "console", repliesVersion: 1 });
  assertEquals(await ask<UserReplyView>(PATH), given);
  const record = (await site.audits()).find(({ action }) => action === "user.replies");
  assertEquals([record?.before, record?.after, record?.object], [
    {},
    { "Framed-IP-Address": "192.0.2.7", Class: ["a", "b"] },
    "user:ada",
  ]);
  assertEquals(await refused(site, cookie, PUT(ADDRESS, 0)), "changed_meanwhile");
  assertEquals(
    await refused(site, cookie, PUT([{ name: "Framed-IP-Address", value: "nonsense" }], 1)),
    "bad_value",
  );
});

Deno.test("reply attributes of a user end with the record: a later user of the name does not have them", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const ask = apiCaller(site, await site.signIn("owner"));
  await ask(PATH, PUT(ADDRESS));
  await site.target.remove("user", "ada", { actor: { name: "scim:test", source: "192.0.2.1" } });
  await site.put("ada");
  assertEquals((await ask<UserReplyView>(PATH)).replies, []);
});

Deno.test("only an owner with a recent factor changes them; those of the settings are fixed", async () => {
  await using site = await startPeopleConsole({
    toml: '[radius.reply.user.ada]\n"Framed-IP-Address" = "192.0.2.7"\n',
  });
  await site.put("ada");
  const manager = await site.signIn("user_manager");
  assertEquals((await apiCaller(site, manager)<UserReplyView>(PATH)).replies, ADDRESS);
  assertEquals(await refused(site, manager, PUT([])), "role");
  assertEquals(await refused(site, await site.signIn("owner"), PUT([])), "settings_replies");
});
