// The account page with a hardware token and a bypass code: readable at 320 px, and the code is revoked by the keyboard.

import { assertEquals } from "@std/assert";
import { openHelpDesk } from "../console/help_desk_site.ts";
import { addToken } from "../radius/rows/tokens.ts";
import { browserTest, currentDist, type LookName } from "./browser.ts";
import { findPageProblems } from "./page_checks.ts";

const LOOKED_AT: readonly (readonly [LookName, string, RegExp])[] = [
  ["wide", "en", /Revoke the code/],
  ["narrow", "de", /Code widerrufen/],
];

for (const [look, language, revoke] of LOOKED_AT) {
  browserTest(
    `me: a token and a bypass code, ${look} in ${language}; the user revokes the code`,
    async ({ page }) => {
      await using site = await openHelpDesk({ dist: await currentDist() });
      await using server = Deno.serve(
        { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
        (request) => site.app(request, { remoteAddress: "192.0.2.9" }),
      );
      await addToken({ hardwareTokens: site.radius.hardwareTokens, store: site.store }, "ada");
      await site.ask("POST", "/users/ada/bypass", { uses: 2, minutes: 60 });
      const { url } = JSON.parse((await site.ask("POST", "/users/ada/me-link", {})).text);
      await page.addInitScript((one) => localStorage.setItem("countersign-language", String(one)), language);
      const origin = `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`;
      await page.goto(`${origin}/me${new URL(url).hash}`);
      await page.locator("main").getByRole("button").first().click();
      const button = page.getByRole("button", { name: revoke });
      await button.waitFor();
      assertEquals(await findPageProblems(page), []);
      await button.focus();
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog");
      await dialog.waitFor();
      assertEquals(await findPageProblems(page), []);
      await dialog.getByRole("button", { name: revoke }).focus();
      await page.keyboard.press("Enter");
      await button.waitFor({ state: "detached" });
      assertEquals(site.radius.bypassCodes.status("ada"), null);
      const records = await site.audited("bypass.revoke");
      assertEquals(records.map(({ actor }) => actor), ["user:ada"]);
    },
    { look },
  );
}
