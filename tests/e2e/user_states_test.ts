// States of the pages of users outside the page matrix: they have no problem in either look.

import { assert } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import { findAccessibilityProblems } from "./page_checks.ts";
import { type ReachState, stateTests } from "./state_tests.ts";
import { browserTest, currentDist, enterAs } from "./browser.ts";

const open = (name: string) => async (page: Page) => {
  await page.getByRole("button", { name, exact: true }).first().click();
  await page.getByRole("dialog").waitFor();
};

/** Opens a page about users, waits for its content, and performs the steps. */
function at(
  path: string,
  { heading = "ada", role = "user_manager" }: { heading?: string; role?: string } = {},
  act?: (page: Page, site: PeopleConsole) => Promise<unknown>,
): ReachState<PeopleConsole> {
  return async (page, site) => {
    await enterAs(page, { site, role, path, heading });
    await page.locator("main .skeleton").waitFor({ state: "detached" });
    await page.locator("main :is(.panel, .empty, .note):visible").first().waitFor();
    await act?.(page, site);
  };
}

const STATES: Readonly<Record<string, ReachState<PeopleConsole>>> = {
  "users with long names": at("/users", { heading: "Users" }),
  "users as a viewer": at("/users", { heading: "Users", role: "viewer" }),
  "users that could not be fetched": at(
    "/users?status=odd",
    { heading: "Users" },
    (page) => page.getByRole("alert").waitFor(),
  ),
  "overview of a locked user": at("/users/ada"),
  "profile with further attributes": at("/users/ada#profile"),
  "profile as a viewer": at("/users/ada#profile", { role: "viewer" }),
  "profile refused by a backend": at("/users/ada#profile", {}, async (page, site) => {
    const fault = { kind: "refused", detail: "the attribute is not allowed", retry: false } as const;
    site.backend("ldap").trouble({ operation: "put", how: "before", fault, times: 1 });
    await page.getByLabel("Title").fill("Analyst");
    await open("Review changes")(page);
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog").getByRole("alert").waitFor();
  }),
  "groups, none found": at("/users/ada#groups", {}, async (page) => {
    await page.getByRole("combobox", { name: "Add to group" }).fill("nowhere");
    await page.getByText("No groups match.").waitFor();
  }),
  "factors of a locked user": at("/users/ada#devices"),
  "backends that differ": at("/users/ada#backends"),
  "timeline of a locked user": at("/users/ada#timeline"),
  "the result of a trial": at("/users/ada", {}, async (page) => {
    await open("Test sign-in")(page);
    await page.getByRole("dialog").getByRole("button", { name: "Test sign-in" }).click();
    await page.getByText("Result: the sign-in is rejected.").waitFor();
  }),
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
  while (!site.limits.isLocked("ada")) site.limits.countFailure("ada");
  const attributes = { name: { familyName: "", givenName: "Ada" }, displayName: "Ada L." };
  await site.target.replace({ kind: "user", name: "ada", active: true, attributes }, {
    actor: { name: "scim:hr", source: "" },
    backends: ["local"],
  });
}

async function start(): Promise<PeopleConsole> {
  const shape = { local: "store", ldap: "sync", crm: "async" } as const;
  const site = await startPeopleConsole({ shape, dist: await currentDist() });
  await fill(site);
  return site;
}

stateTests({ subject: "users", start, states: STATES });

browserTest(
  "axe finds the faults on the page of a user: the control of the test above",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist: await currentDist() });
    await site.put("ada");
    await enterAs(page, { site, role: "user_manager", path: "/users/ada#profile", heading: "ada" });
    await page.getByLabel("Title").evaluate((input) => {
      input.id = "elsewhere";
    });
    const problems = await findAccessibilityProblems(page);
    assert(problems.some((problem) => problem.includes("label")), problems.join());
  },
);
