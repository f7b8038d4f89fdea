// The pages of users by axe: in light, in dark and at 320 px, at rest, in dialogs, with errors and empty lists.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, scrollsSideways } from "./browser.ts";

closeBrowserAtEnd();

interface State {
  readonly path: string;
  readonly heading: string;
  readonly role?: string;
  /** What is done on the page before it is looked at. */
  readonly act?: (page: Page, site: PeopleConsole) => Promise<void>;
}

const open = (name: string) => async (page: Page) => {
  const wanted = page.getByRole("button", { name, exact: true }).first();
  // Where there is little room the rarer deeds stand in a menu.
  if (!await wanted.isVisible()) await page.getByRole("button", { name: /^More .+/ }).click();
  await page.getByRole("button", { name, exact: true }).first().click();
  await page.getByRole("dialog").waitFor();
};

const STATES: Readonly<Record<string, State>> = {
  "users": { path: "/users", heading: "Users" },
  "users, narrowed to none": {
    path: "/users?q=nobody&status=locked",
    heading: "Users",
    act: (page) => page.getByText("No users match.").waitFor(),
  },
  "users, not to be had": {
    path: "/users?status=odd",
    heading: "Users",
    act: (page) => page.getByRole("alert").waitFor(),
  },
  "users, as a viewer": { path: "/users", heading: "Users", role: "viewer" },
  "users, creating": { path: "/users", heading: "Users", act: open("Create user") },
  "profile": { path: "/users/ada", heading: "ada" },
  "profile, as a viewer": { path: "/users/ada", heading: "ada", role: "viewer" },
  "profile, reviewing": {
    path: "/users/ada",
    heading: "ada",
    async act(page) {
      await page.getByLabel("Title").fill("Analyst");
      await open("Review changes")(page);
    },
  },
  "profile, refused by a backend": {
    path: "/users/ada",
    heading: "ada",
    async act(page, site) {
      const fault = { kind: "refused", detail: "the attribute is not allowed", retry: false } as const;
      site.backend("ldap").trouble({ operation: "put", how: "before", fault, times: 1 });
      await page.getByLabel("Title").fill(`Analyst ${Date.now()}`);
      await open("Review changes")(page);
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await page.getByRole("dialog").getByRole("alert").waitFor();
    },
  },
  "groups": { path: "/users/ada#groups", heading: "ada" },
  "groups, none found": {
    path: "/users/ada#groups",
    heading: "ada",
    async act(page) {
      await page.getByRole("combobox", { name: "Add to a group" }).fill("nowhere");
      await page.getByText("No group matches.").waitFor();
    },
  },
  "factors of a locked user": { path: "/users/ada#devices", heading: "ada" },
  "factors, revoking": {
    path: "/users/ada#devices",
    heading: "ada",
    act: (page) => page.getByRole("button", { name: /^Revoke/ }).first().click(),
  },
  "factors, an authenticator app": {
    path: "/users/ada#devices",
    heading: "ada",
    async act(page) {
      await open("Add an authenticator app")(page);
      await page.getByRole("img", { name: "QR code of the secret" }).waitFor();
    },
  },
  "factors, an invitation": {
    path: "/users/ada#devices",
    heading: "ada",
    async act(page) {
      await open("Invite a phone")(page);
      await page.getByRole("img", { name: "QR code of the invitation" }).waitFor();
    },
  },
  "backends": { path: "/users/ada#backends", heading: "ada" },
  "timeline": { path: "/users/ada#timeline", heading: "ada" },
  "a trial": {
    path: "/users/ada",
    heading: "ada",
    async act(page) {
      await open("Try a login")(page);
      await page.getByRole("dialog").getByRole("button", { name: "Try a login" }).click();
      await page.getByText("The login would be rejected.").waitFor();
    },
  },
  "a password": { path: "/users/ada", heading: "ada", act: open("Set password") },
  "deleting": { path: "/users/ada", heading: "ada", act: open("Delete") },
  "nobody": { path: "/users/nobody", heading: "nobody" },
};

async function fill(site: PeopleConsole): Promise<void> {
  await site.put("ada", {
    displayName: "Ada Lovelace",
    nickName: "Enchantress",
    emails: [{ value: "ada@example.org", type: "work", primary: true }],
    phoneNumbers: [{ value: "+4915112345678", type: "mobile" }],
  });
  for (let number = 0; number < 12; number += 1) {
    const name = `user.with.a.rather.long.name.${number}@example.org`;
    await site.put(name, { active: number !== 3, displayName: "A person with a rather long display name" });
  }
  await site.putGroup("staff", ["ada"]);
  for (
    const pairing of [{ kind: "sms", number: "+4915112345678" }, {
      kind: "device",
      id: "d1",
      totpLength: 6,
    }] as const
  ) {
    const prepared = site.pairings.prepare({ canonical: "ada", shown: "ada" }, pairing);
    await site.store.commit({ mutations: [prepared.mutation] });
    site.pairings.adopt(prepared.pairing);
  }
  while (!site.limits.isLocked("ada")) site.limits.fail("ada");
  const attributes = { name: { familyName: "", givenName: "Ada" }, displayName: "Ada L." };
  await site.target.replace({ kind: "user", name: "ada", active: true, attributes }, {
    actor: { name: "scim:hr", source: "" },
    backends: ["local"],
  });
}

for (const look of ["light", "small"] as const) {
  browserTest(`axe finds nothing on the pages of users (${look})`, async ({ page }) => {
    await using site = await startPeopleConsole({
      shape: { local: "store", ldap: "sync", crm: "async" },
      dist: await currentDist(),
    });
    await fill(site);
    const found: Record<string, string[]> = {};
    for (const [name, { path, heading, role = "user_manager", act }] of Object.entries(STATES)) {
      await page.goto("about:blank");
      await enterAs(page, { site, role, path, heading });
      await page.locator("main .skeleton").waitFor({ state: "detached" });
      await page.locator("main :is(.panel, .empty, .note):visible").first().waitFor();
      await act?.(page, site);
      for (const scheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        const problems = await findAccessibilityProblems(page);
        if (await scrollsSideways(page)) problems.push("scrolls sideways");
        if (problems.length > 0) found[`${name}, ${scheme}`] = problems;
      }
    }
    assertEquals(found, {});
  }, { look });
}

browserTest(
  "axe sees what is wrong on the page of a user: the control of the test above",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist: await currentDist() });
    await site.put("ada");
    await enterAs(page, { site, role: "user_manager", path: "/users/ada", heading: "ada" });
    await page.getByLabel("Title").evaluate((input) => {
      input.id = "elsewhere";
    });
    const problems = await findAccessibilityProblems(page);
    assert(problems.some((problem) => problem.includes("label")), problems.join());
  },
);
