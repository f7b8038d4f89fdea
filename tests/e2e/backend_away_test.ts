// A directory server that is away while an administrator saves: what did not arrive is said, tried again, and then true
// everywhere. With the real program and a real slapd, in a real browser.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { runProgram } from "../support/child.ts";
import { type Slapd, startSlapd } from "../support/slapd.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { enter, start, targetWith } from "./connect_pages.ts";
import { holds } from "./people_pages.ts";

await currentDist();
closeBrowserAtEnd();

const PEERS = { peers: ["slapd", "ldapUtils"] } as const;

/** The titles that the directory itself has, asked with its own program. */
async function titlesIn(slapd: Slapd): Promise<readonly string[]> {
  const { code, stdout, stderr } = await runProgram("ldapsearch", {
    args: [
      ...["-x", "-LLL", "-H", slapd.url, "-D", slapd.bindDn, "-w", slapd.bindPassword],
      ...["-b", slapd.usersDn, "(title=*)", "title"],
    ],
  });
  if (code !== 0) throw new Error(`Cannot search slapd: ${stderr}`);
  return stdout.split("\n").flatMap((line) => line.startsWith("title: ") ? [line.slice(7)] : []);
}

/** Waits, in real time, until it was delivered; fails after 20 s. */
async function untilTitled(slapd: Slapd, title: string): Promise<void> {
  for (const endMs = performance.now() + 20_000; !(await titlesIn(slapd)).includes(title);) {
    if (performance.now() > endMs) throw new Error(`slapd has no title "${title}"`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function createUser(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "Create user" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Create user" });
  await dialog.getByLabel("User name").fill(name);
  await dialog.getByLabel("Family name").fill("Lovelace");
  await dialog.getByRole("button", { name: "Create user" }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
}

async function review(page: Page, title: string) {
  await page.getByLabel("Title").fill(title);
  await page.getByRole("button", { name: "Review changes" }).click();
  return page.getByRole("dialog");
}

browserTest(
  "users: slapd stopped during a save undoes the whole write; left out it is said to differ, and asked again it agrees",
  async ({ page }) => {
    const slapd = await startSlapd();
    try {
      await using gateway = await start(targetWith(slapd, "sync"));
      await enter(page, { gateway, path: "/users", heading: "Users" });
      await createUser(page, "ada");
      const dialog = await review(page, "Countess");
      await slapd.stop();
      await dialog.getByRole("button", { name: "Save" }).click();
      const alert = dialog.getByRole("alert");
      await alert.getByText(/Not saved\. The backend "ldap" cannot be reached/).waitFor();
      for (const backend of ["local", "ldap"]) await alert.getByText(`${backend}: not tried`).waitFor();
      await holds(page);
      await dialog.getByRole("checkbox", { name: /^ldap/ }).uncheck();
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
      await slapd.start();
      assertEquals(await titlesIn(slapd), [], "the excluded backend is not written later");
      await page.getByRole("link", { name: /Backends/ }).click();
      const truth = page.getByRole("region", { name: "What is true where, for ada" });
      await truth.getByText("Differs").first().waitFor();
      await page.getByRole("button", { name: "Make it agree ldap" }).click();
      await page.getByText("ldap was asked again.").waitFor();
      await truth.getByText("Differs").first().waitFor({ state: "detached" });
      assertEquals(await titlesIn(slapd), ["Countess"]);
    } finally {
      await slapd.dispose();
    }
  },
  PEERS,
);

browserTest(
  "users: slapd stopped behind the outbox is owed what was saved, never a green tick, and gets it when it is back",
  async ({ page }) => {
    const slapd = await startSlapd();
    try {
      await using gateway = await start(targetWith(slapd, "async"));
      await enter(page, { gateway, path: "/users", heading: "Users" });
      await createUser(page, "ada");
      await slapd.stop();
      const dialog = await review(page, "Countess");
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByText("ldap: queued").waitFor();
      const said = page.getByRole("status").filter({ hasText: "ada was changed." });
      await said.getByText("Saved to 1 of 2 backends").waitFor();
      assertEquals(await said.evaluate((node) => node.className.includes("tone-ok")), false);
      await holds(page);
      await page.getByRole("link", { name: /Backends/ }).click();
      const truth = page.getByRole("region", { name: "What is true where, for ada" });
      await truth.getByText("Owed").first().waitFor();
      const asked = Promise.withResolvers<void>();
      // The outbox tries again by itself, too: should the page see that it did, the button would go before it is pressed.
      await page.route("**/users/ada/backends", async (route) => {
        await asked.promise;
        await route.fallback();
      });
      await slapd.start();
      await page.getByRole("button", { name: "Try again ldap" }).click();
      await page.getByText("ldap was asked again.").waitFor();
      asked.resolve();
      await untilTitled(slapd, "Countess");
      // The page sees it by itself.
      await page.getByText("In step").nth(1).waitFor();
      assertEquals(await truth.getByText("Owed").count(), 0);
    } finally {
      await slapd.dispose();
    }
  },
  PEERS,
);
