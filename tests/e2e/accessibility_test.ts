// States of the sign-in, of Live and of the phone page to which the walk over all pages does not come: nothing that axe objects to.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { approval, conversation, ended } from "../fakes/console_gateway.ts";
import { FAKE_INVITATION, FAKE_TOKEN, phoneRequest } from "../fakes/console_phone.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, scrollsSideways } from "./browser.ts";
import { endSession } from "./session_end.ts";

type State = (page: Page, site: TestConsole) => Promise<void>;

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
  // None of them ends while the page is looked at; the second one has less than a half of its time left.
  const deadlineMs = nowMs + 300_000;
  site.desk.wait({ ...approval("r1", { createdMs: nowMs }), deadlineMs });
  site.desk.wait({ ...approval("r2", { userName: "grace", createdMs: nowMs - 600_000 }), deadlineMs });
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
    await page.getByRole("searchbox").fill("nobody-like-this");
    await page.getByText("No login matches").waitFor();
  },
  "Live, a message revealed": async (page, site) => {
    await toBusyLive(page, site);
    await page.getByRole("button", { name: "Reveal the message" }).click();
    await page.getByText("Code 1234").waitFor();
  },
  "Live, signed out meanwhile": async (page, site) => {
    await toBusyLive(page, site);
    await endSession(page);
    await page.getByRole("button", { name: "Deny the login of ada" }).click();
    await page.getByRole("dialog").waitFor();
  },
  "Live, with packets dropped": async (page, site) => {
    site.watch.drop("wrong_message_authenticator");
    await toBusyLive(page, site);
    await page.getByText("1 packet dropped").waitFor();
  },
  "phone, not paired": async (page, site) => {
    await page.goto(`${site.origin}/device`);
    await page.getByRole("button", { name: "Show a pairing phrase" }).waitFor();
  },
  "phone, with an invitation": async (page, site) => {
    await page.goto(`${site.origin}/device#invite=${FAKE_INVITATION}`);
    await page.getByRole("button", { name: "Pair this phone" }).waitFor();
  },
  "phone, with a phrase": async (page, site) => {
    await page.goto(`${site.origin}/device`);
    await page.getByRole("button", { name: "Show a pairing phrase" }).click();
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

/** The opened list lies over the board, whose contrast axe cannot work out beneath it; it is checked in its other states. */
const WITHIN: Readonly<Record<string, string>> = { "Live, with packets dropped": ".drops" };

/** One after the other on the same page: what changes between them is style alone. */
const LOOKED_AT = [
  { colorScheme: "light", width: 1360 },
  { colorScheme: "dark", width: 1360 },
  { colorScheme: "light", width: 320 },
] as const;

for (const [name, reach] of Object.entries(STATES)) {
  browserTest(
    `${name} has nothing that axe objects to, in light, in dark and at 320 px`,
    async ({ page }) => {
      await using site = await startConsole({ dist: await currentDist() });
      await reach(page, site);
      for (const { colorScheme, width } of LOOKED_AT) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 860 });
        const problems = await findAccessibilityProblems(page, { within: WITHIN[name] });
        assertEquals(problems, [], `${colorScheme}, ${width} px`);
        assertEquals(await scrollsSideways(page), false, `${width} px`);
      }
    },
  );
}

browserTest(
  "findAccessibilityProblems() sees a label, a contrast and a name that are missing",
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
    const problems = (await findAccessibilityProblems(page)).join("\n");
    for (const rule of ["label", "color-contrast", "button-name", "html-has-lang"]) {
      assertEquals(problems.includes(`violation ${rule}`), true, `${rule} in:\n${problems}`);
    }
    assertEquals(/no name: button \((\d+)\)/.exec(problems)?.[1], "2", problems);
  },
);

closeBrowserAtEnd();
