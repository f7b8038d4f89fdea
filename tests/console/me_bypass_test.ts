// The account API with a bypass code: its user sees until when it is valid, and ends it.

import { assertEquals, assertNotMatch } from "@std/assert";
import type { AccountFactors } from "../../console/api/account/account_types.ts";
import type { IssuedBypass } from "../../console/api/help_desk/help_desk_types.ts";
import type { PeopleConsole } from "../fakes/console_people.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { enteredByLink, pairPhone, PHONE_COOKIE, post, startWithAda, visitor } from "./account_visitor.ts";

async function issue(site: PeopleConsole): Promise<IssuedBypass> {
  const ask = apiCaller(site, await site.signIn("user_manager"));
  return await ask<IssuedBypass>("/console/api/users/ada/bypass", post({ uses: 2, minutes: 60 }));
}

Deno.test("me bypass: a user sees the own code without its digits, and revokes it, with a record of the user", async () => {
  await using site = await startWithAda();
  const browser = await enteredByLink(site, "ada");
  assertEquals((await browser.ask<AccountFactors>("/factors")).bypass, null);
  assertEquals(await browser.refused("/bypass", { method: "DELETE" }), [404, "no_bypass"]);
  const { code, bypass } = await issue(site);
  const factors = await browser.ask<AccountFactors>("/factors");
  assertEquals([factors.bypass?.usesLeft, factors.bypass?.expiresMs], [2, bypass.expiresMs]);
  assertNotMatch(JSON.stringify(factors), new RegExp(`${code}|${code.replace("-", "")}`));
  await browser.ask("/bypass", { method: "DELETE" });
  assertEquals((await browser.ask<AccountFactors>("/factors")).bypass, null);
  const record = (await site.audits()).findLast(({ action }) => action === "bypass.revoke");
  assertEquals(
    [record?.actor, record?.object, record?.how, record?.bypass, record?.usesLeft],
    ["user:ada", "user:ada", "account", bypass.id, 2],
  );
});

Deno.test("me bypass: a session by the phone alone cannot end the code", async () => {
  await using site = await startWithAda();
  await pairPhone(site);
  await issue(site);
  const browser = visitor(site, PHONE_COOKIE);
  await browser.ask("/session", post({ phone: true, userName: "ada" }));
  assertEquals(await browser.refused("/bypass", { method: "DELETE" }), [403, "me_step_up"]);
  assertEquals(await visitor(site).refused("/bypass", { method: "DELETE" }), [401, "me_over"]);
  assertEquals((await browser.ask<AccountFactors>("/factors")).bypass?.usesLeft, 2);
});
