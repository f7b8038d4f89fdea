// States of pages outside the page matrix: no problem in either look.

import { assert, assertEquals } from "@std/assert";
import { PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";
import { type ConnectConsole, startConnectConsole } from "../fakes/console_connect.ts";
import { FULL_LOGIN, HOSTILE_NAMES, startFullConsole } from "../fakes/console_full.ts";
import { approval, conversation, ended } from "../fakes/console_gateway.ts";
import { FAKE_INVITATION, FAKE_TOKEN, phoneRequest } from "../fakes/console_phone.ts";
import type { Page } from "../packages/playwright.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import { browserTest, currentDist, enterAs, holds } from "./browser.ts";
import { findAccessibilityProblems, type ReachState, stateTests, WHOLE_PAGE } from "./page_checks.ts";
import { endSession } from "./page_actions.ts";

// States of sign-in, Live, access, first steps and the phone page outside the page matrix: no problem in either look.

type State = ReachState<TestConsole>;

const toLive: State = async (page, site) => {
  await enterAs(page, { site, role: "owner" });
};
const toBusyLive: State = async (page, site) => {
  fill(site);
  await toLive(page, site);
  await page.getByRole("row").nth(3).waitFor();
};
const pairByCookie: State = async (page, site) => {
  await site.phone.startWithPhrase("");
  await page.context().addCookies([{ name: "countersign-phone", value: FAKE_TOKEN, url: site.origin }]);
};

function fill(site: TestConsole): void {
  const nowMs = Date.now();
  const steps = [
    "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
    "CHOOSE_WHICH_MULTIFACTOR",
    "AWAIT_SMS_DELIVERED_PASSCODE",
  ];
  for (let number = 1; number <= 40; number += 1) {
    const view = conversation(number, {
      user: `user.with.a.rather.long.name.${number}@example.org`,
      startedMs: nowMs - number * 5000,
      step: steps[number % 3],
    });
    site.watch.put(view);
    const atMs = view.startedMs + 4000;
    if (number > 12) {
      site.watch.put(ended(view, { outcome: number % 2 ? "accepted" : "rejected", row: "approved", atMs }));
    }
  }
  // None of them ends during the check; the second one has less than half of its time left.
  const deadlineMs = nowMs + 300_000;
  site.secondFactorAdmin.wait({ ...approval("r1", { createdMs: nowMs }), deadlineMs });
  site.secondFactorAdmin.wait({
    ...approval("r2", { userName: "grace", createdMs: nowMs - 600_000 }),
    deadlineMs,
  });
  site.outbox.put(
    { id: "m1", kind: "text", to: "+15550100", createdMs: nowMs, deadlineMs: nowMs + 300_000 },
    "Code 1234",
  );
}

const STATES: Readonly<Record<string, State>> = {
  "sign-in, refused": async (page, site) => {
    await page.goto(site.origin);
    await page.getByLabel("Name").fill("owner");
    await page.getByLabel("Password").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
  },
  "Live, nothing matches": async (page, site) => {
    await toBusyLive(page, site);
    await page.getByRole("searchbox").fill("no-such-name");
    await page.getByText("No sign-ins match").waitFor();
  },
  "Test inbox, a message revealed": async (page, site) => {
    await toBusyLive(page, site);
    await page.getByRole("link", { name: "Test inbox" }).click();
    await page.getByRole("button", { name: "Reveal the message" }).click();
    await page.getByText("Code 1234").waitFor();
  },
  "Live, signed out meanwhile": async (page, site) => {
    await toBusyLive(page, site);
    await page.getByRole("button", { name: "Pending approvals" }).click();
    await endSession(page);
    await page.getByRole("button", { name: "Deny the sign-in of ada" }).click();
    await page.getByRole("dialog").waitFor();
  },
  "Live, with packets dropped": async (page, site) => {
    site.watch.drop("wrong_message_authenticator");
    await toBusyLive(page, site);
    await page.getByText("1 packet dropped").waitFor();
  },
  "phone, not paired": async (page, site) => {
    await page.goto(`${site.origin}/device`);
    await page.getByRole("button", { name: "Show pairing phrase" }).waitFor();
  },
  "phone, with an invitation": async (page, site) => {
    await page.goto(`${site.origin}/device#invite=${FAKE_INVITATION}`);
    await page.getByRole("button", { name: "Pair this phone" }).waitFor();
  },
  "phone, with a phrase": async (page, site) => {
    await page.goto(`${site.origin}/device`);
    await page.getByRole("button", { name: "Show pairing phrase" }).click();
    await page.getByText("amber fox river stone").waitFor();
  },
  "phone, asked to confirm a pairing": async (page, site) => {
    await pairByCookie(page, site);
    site.phone.typePhrase();
    await page.goto(`${site.origin}/device`);
    await page.getByRole("button", { name: "Confirm" }).waitFor();
  },
  "phone, asked to approve": async (page, site) => {
    await site.phone.acceptInvitation(FAKE_INVITATION, { token: null, source: "" });
    await pairByCookie(page, site);
    site.phone.ask(phoneRequest("r1"));
    await page.goto(`${site.origin}/device`);
    await page.getByRole("button", { name: "Show passcode" }).click();
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await page.getByRole("button", { name: "Hide passcode" }).waitFor();
  },
  "phone, asked whether to unpair": async (page, site) => {
    await site.phone.acceptInvitation(FAKE_INVITATION, { token: null, source: "" });
    await pairByCookie(page, site);
    await page.goto(`${site.origin}/device`);
    await page.getByRole("button", { name: "Unpair from ada" }).click();
    await page.getByRole("dialog").waitFor();
  },
};

/**
 * The open list covers the login list, and axe cannot compute the contrast beneath it. Other states check the login
 * list.
 */
const WITHIN: Readonly<Record<string, string>> = { "Live, with packets dropped": ".drops" };

const start = async () => startConsole({ dist: await currentDist() });
stateTests({ subject: "console", start, states: STATES, within: WITHIN });

browserTest(
  "findAccessibilityProblems() finds a missing label, contrast and name",
  async ({ page }) => {
    await using site = await startConsole({ dist: await currentDist() });
    await toBusyLive(page, site);
    await page.evaluate(() => {
      document.querySelector("input[type=search]")?.removeAttribute("aria-label");
      document.querySelector("input[type=search]")?.removeAttribute("placeholder");
      document.querySelector<HTMLElement>("h1")?.style.setProperty("color", "#ccc");
      document.querySelector(".button")?.replaceChildren();
      const status = document.createElement("span");
      status.role = "status";
      status.textContent = "Copy";
      const button = document.createElement("button");
      button.append(status);
      document.querySelector("main")?.append(button);
      document.documentElement.lang = "";
    });
    const problems = (await findAccessibilityProblems(page, WHOLE_PAGE)).join("\n");
    for (const rule of ["label", "color-contrast", "button-name", "html-has-lang"]) {
      assertEquals(problems.includes(`violation ${rule}`), true, `${rule} in:\n${problems}`);
    }
    assertEquals(/no name: button \((\d+)\)/.exec(problems)?.[1], "2", problems);
  },
);

const dist = await currentDist();

const openAccess = (page: Page, { site, hash = "" }: { site: TestConsole; hash?: string }) =>
  enterAs(page, { site, role: "owner", path: `/access${hash}`, heading: "Administrators" });

const ACCESS_STATES: Readonly<Record<string, ReachState<TestConsole>>> = {
  "an invitation with a problem": async (page, site) => {
    await openAccess(page, { site });
    await page.getByRole("button", { name: "Invite administrator" }).click();
    await page.getByLabel("Name").fill("owner");
    await page.getByRole("button", { name: "Create link" }).click();
    await page.getByRole("alert").waitFor();
  },
  "one's own factors at a number address": async (page, site) => {
    await openAccess(page, { site, hash: "#sign-in" });
    await page.getByText("No passkeys yet.").waitFor();
  },
  "sign-in by a name, with passkeys": async (page, site) => {
    await page.goto(site.origin.replace("127.0.0.1", "localhost"));
    await page.getByText("Use a password and code").click();
    await page.getByLabel("Name").waitFor();
  },
  "set-up, the second factor": async (page, site) => {
    const cookie = await site.signIn("owner");
    const json = { name: "Grace", role: "viewer" };
    const made = await site.call("/console/api/administrators", { method: "POST", json, cookie });
    await page.goto((await made.json()).url);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("heading", { name: "Add a second factor" }).waitFor();
  },
};

stateTests({ subject: "access", start: () => startConsole({ dist }), states: ACCESS_STATES });

stateTests({
  subject: "access",
  start: () => startConsole({ dist, admins: [] }),
  states: {
    "set-up, the first steps, none of them left": async (page, site) => {
      await page.goto(await site.admins.setupLink() ?? "");
      await page.getByLabel("Name").fill("Ada");
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Create owner" }).click();
      await page.getByRole("button", { name: "Later" }).click();
      await page.getByRole("heading", { name: "First steps" }).waitFor();
    },
  },
});

/** A step of the first run. The open steps depend on the data of the console. */
function step(path: string, heading: string, role = "owner"): ReachState<ConnectConsole> {
  return async (page, site) => {
    await enterAs(page, { site, role, path, heading });
    await page.getByRole("region", path.startsWith("/live") ? { name: /^Step 5/ } : {}).first().waitFor();
    if (role === "viewer") await cannotSkip(page, "Skip this step");
  };
}

async function cannotSkip(page: Page, name: string): Promise<void> {
  const skip = page.getByRole("button", { name });
  await skip.waitFor();
  await holds(async () => [await skip.isDisabled(), await skip.getAttribute("title")], [
    true,
    "Requires the owner role",
  ]);
}

const CLIENT_STEP = ["/first-run?step=client", "Step 2 of 5: Add a RADIUS client"] as const;

stateTests({
  subject: "first steps",
  start: () => startConnectConsole({ dist, shape: { local: "store", ldap: "sync" } }),
  states: {
    "the client": step(...CLIENT_STEP),
    "the client, as a viewer": step(...CLIENT_STEP, "viewer"),
    "the check of passwords": step(
      "/first-run?step=password",
      "Step 4 of 5: Choose how passwords are checked",
    ),
    "the login": step("/live?step=login", "Sign-in log"),
  },
});

stateTests({
  subject: "first steps",
  start: () => startConnectConsole({ dist, shape: { local: "store" } }),
  states: {
    "what is left, as a viewer": async (page, site) => {
      await enterAs(page, { site, role: "viewer" });
      await page.getByRole("region", { name: "Setup checklist" }).waitFor();
      await cannotSkip(page, "Skip Test a sign-in");
    },
  },
});

stateTests({
  subject: "logins",
  start: () => startFullConsole({ dist, names: HOSTILE_NAMES }),
  states: {
    "a login with an open packet": async (page, site) => {
      await enterAs(page, { site, role: "viewer", path: `/live/c/${FULL_LOGIN}?t=3`, heading: "Sign-in" });
      await page.getByText("Access-Request").first().click();
      await page.getByText("redacted").first().waitFor();
    },
  },
});

// States of the pages of users outside the page matrix: they have no problem in either look.

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

const USER_STATES: Readonly<Record<string, ReachState<PeopleConsole>>> = {
  "users as a viewer": at("/users", { heading: "Users", role: "viewer" }),
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

async function fillUsers(site: PeopleConsole): Promise<void> {
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

async function startUsers(): Promise<PeopleConsole> {
  const shape = { local: "store", ldap: "sync", crm: "async" } as const;
  const site = await startPeopleConsole({ shape, dist: await currentDist() });
  await fillUsers(site);
  return site;
}

stateTests({ subject: "users", start: startUsers, states: USER_STATES });

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
