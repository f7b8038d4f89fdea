// Finding 5: an unused invitation paired a former employee's phone with the next person of the same name. Everything
// that is issued for a user is void after that user left.

import { assertEquals } from "@std/assert";
import { fromBase32, totpCode } from "../support/totp.ts";
import { CODES } from "../support/radius_packets.ts";
import { CONSOLE, createCaller, startSecured } from "./console_caller.ts";

type Site = Awaited<ReturnType<typeof startSecured>>;

/** How a user is removed; `back`: there is an active user of that name again. */
const DEPARTURES:
  readonly (readonly [what: string, leave: (site: Site) => Promise<unknown>, back: boolean])[] = [
    ["is deleted", (site) => site.deleteUser("bob"), false],
    ["is deactivated", (site) => site.setActive("bob", false), false],
    [
      "is deleted, and another bob is created",
      (site) => site.deleteUser("bob").then(() => site.createUser("bob")),
      true,
    ],
    [
      "is deactivated and activated again",
      (site) => site.setActive("bob", false).then(() => site.setActive("bob", true)),
      true,
    ],
  ];

async function factorsOf({ owner }: Site): Promise<number> {
  const view = await owner.take<{ login: { pairings: unknown[] } }>(`${CONSOLE}/users/bob`);
  return view.login.pairings.length;
}

for (const [what, leave, back] of DEPARTURES) {
  Deno.test(`everything that was issued for a user is void after the user ${what}`, async (t) => {
    await using site = await startSecured();
    const { owner, gateway } = site;
    await site.createUser("bob");
    const { link } = await owner.take<{ link: string }>(`${CONSOLE}/users/bob/invitation`, { json: {} });
    const invitation = link.split("invite=")[1] ?? "";
    const printed = await gateway.pair("bob", "--invite");
    const [, ofCommand = ""] = /invite=([\w-]+)/.exec(printed.stdout) ?? [];
    const { url } = await owner.take<{ url: string }>(`${CONSOLE}/users/bob/me-link`, { json: {} });
    const begun = await owner.take<{ id: string; secret: string }>(`${CONSOLE}/users/bob/totp`, { json: {} });
    const visitor = createCaller(gateway);
    const second = await owner.take<{ url: string }>(`${CONSOLE}/users/bob/me-link`, { json: {} });
    await visitor.take("/me/api/session", { json: { link: second.url.split("#")[1] } });
    const third = await owner.take<{ url: string }>(`${CONSOLE}/users/bob/me-link`, { json: {} });
    await visitor.take("/me/api/factors");
    const phone = createCaller(gateway);
    const { phrase } = await phone.take<{ phrase: string }>("/device/api/phrase", { json: {} });
    assertEquals(phrase.length > 5 && url !== third.url && ofCommand !== "", true);

    await leave(site);

    await t.step("the invitations pair no phone, and the page says why", async () => {
      const formerPhone = createCaller(gateway);
      for (const given of [invitation, ofCommand]) {
        for (const path of ["look", "accept"]) {
          const answer = await formerPhone.call(`/device/api/invitation/${path}`, {
            json: { invitation: given },
          });
          assertEquals([answer.status, answer.code], [410, "account_changed"]);
        }
      }
      assertEquals(formerPhone.cookies.size, 0);
    });
    await t.step("the link and the session on the user's own page are over", async () => {
      const link = third.url.split("#")[1];
      const answer = await createCaller(gateway).call("/me/api/session", { json: { link } });
      assertEquals(answer.status >= 400, true);
      assertEquals((await visitor.call("/me/api/factors")).status, 401);
    });
    await t.step("the authenticator app whose set-up was in progress is not confirmed", async () => {
      const code = totpCode(fromBase32(begun.secret), Date.now());
      const answer = await owner.call(`${CONSOLE}/users/bob/totp/confirm`, { json: { id: begun.id, code } });
      assertEquals([answer.status, answer.code], [410, "no_totp_begun"]);
    });
    await t.step("the name has no factor, and a login does not reach the former user's phone", async () => {
      assertEquals(await factorsOf(site), 0);
      using client = gateway.client();
      const reply = await client.ask({ userName: "bob", password: "", nasPort: 1 });
      assertEquals(reply.code, back ? CODES.accessChallenge : CODES.accessReject);
    });
  });
}

Deno.test("a later user of the same name sees no login of an earlier one", async () => {
  await using site = await startSecured();
  const { owner, gateway } = site;
  await site.createUser("bob");
  using client = gateway.client();
  const first = await client.ask({ userName: "bob", password: "", nasPort: 1 });
  assertEquals(first.code, CODES.accessChallenge);
  await site.deleteUser("bob");
  const recentOf = async () => {
    const { url } = await owner.take<{ url: string }>(`${CONSOLE}/users/bob/me-link`, { json: {} });
    const visitor = createCaller(gateway);
    await visitor.take("/me/api/session", { json: { link: url.split("#")[1] } });
    return (await visitor.take<{ recent: unknown[] }>("/me/api/logins")).recent;
  };
  await site.createUser("bob");
  assertEquals(await recentOf(), []);
});
