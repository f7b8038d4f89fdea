// Every form when the server fails or the session ends, unsaved input, and questions before actions that cannot be undone.

import { assertEquals } from "@std/assert";
import type { ElementHandle, Locator, Page } from "../packages/playwright.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { type FullConsole, startFullConsole } from "../fakes/console_full.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { findAccessibilityProblems, laidOut } from "./page_checks.ts";
import type { Step } from "./pages/page_row.ts";
import { rowOf } from "./pages/page_rows.ts";
import { failApi, mendApi, openPage, seen, take } from "./pages/page_walk.ts";
import { endSession } from "./page_actions.ts";
import { consoleTests } from "./console_tests.ts";
import { holds } from "./browser.ts";

// Every form with text input, when the server fails or the session ends: the message is shown, no input is lost, and a
// second click works.

const test = consoleTests(startFullConsole, { role: "owner" });

interface FormRow {
  /** One of {@link PAGE_ROWS}. */
  readonly page: string;
  /** Steps to the dialog; none for a form of the page itself. */
  readonly open: readonly Step[];
  /** By label. */
  readonly typed: Readonly<Record<string, string>>;
  /** Steps to the button that sends it. */
  readonly before?: readonly Step[];
  /** The button that sends it. */
  readonly press: string;
  /** The text that shows success. */
  readonly done: string | RegExp;
}

const CSV = "userName,displayName\neve,Eve\n,Unnamed\n";

const FORMS: Readonly<Record<string, FormRow>> = {
  "a user is changed": {
    page: "user, profile",
    open: [],
    typed: { "Job title": "Analyst", "Department": "Engines" },
    before: [["button", "Review changes"]],
    press: "Save",
    done: "ada was changed.",
  },
  "a user is created": {
    page: "users",
    open: [["button", "Create user"]],
    typed: { "User name": "eve", "First name": "Eve", "Password": "a long password of eve" },
    press: "Create user",
    done: /^eve$/,
  },
  "a password is set": {
    page: "user",
    open: [["button", /^More .+/], ["menuitem", "Set password"]],
    typed: { "New password": "another long password" },
    press: "Set password",
    done: "The password of ada was changed.",
  },
  "a number is added": {
    page: "user, factors",
    open: [["button", "Add number"]],
    typed: { "Phone number": "+4915199999999" },
    press: "Add number",
    done: "Number added for ada.",
  },
  "a group is created": {
    page: "groups",
    open: [["button", "Create group"]],
    typed: { "Group name": "guests" },
    press: "Create group",
    done: /^guests$/,
  },
  "a client is added": {
    page: "clients",
    open: [["button", "Add client"]],
    typed: { "Shared secret": "a-secret-of-16-octets", "Name": "vpn-9", "Addresses": "203.0.113.9" },
    press: "Add client",
    done: "The client vpn-9 was added.",
  },
  "a client is changed": {
    page: "client",
    open: [],
    typed: { "NAS-Identifier": "vpn-of-2" },
    before: [["button", "Review changes"]],
    press: "Save",
    done: "The client vpn-1 was changed.",
  },
  "a secret is rotated": {
    page: "client",
    open: [["button", "Rotate secret"]],
    typed: { "New shared secret": "another-secret-of-octets" },
    press: "Rotate secret",
    done: "vpn-1 has a new secret.",
  },
  "a credential is added": {
    page: "credentials",
    open: [["button", "Add token"]],
    typed: { "Name": "payroll" },
    press: "Add token",
    done: "Password of payroll",
  },
  "an identity provider is connected": {
    page: "connections",
    open: [["button", "Connect another"]],
    typed: { "Name": "hr-system" },
    press: "Connect",
    done: "Set up hr-system",
  },
  "the settings of an identity provider are changed": {
    page: "connection, settings",
    open: [],
    typed: { "Requests per minute": "600", "User of /Me": "ada" },
    before: [["button", "Review changes"]],
    press: "Save",
    done: "okta was changed.",
  },
  "an administrator is invited": {
    page: "access",
    open: [["button", "Invite administrator"]],
    typed: { "Name": "Dot" },
    press: "Create link",
    done: "Link for Dot",
  },
  "a token is made": {
    page: "access, tokens",
    open: [["button", "Create token"]],
    typed: { "Token name": "script", "Expires after (days)": "7" },
    press: "Create token",
    done: "Token script",
  },
  "a row of an import is put right": {
    page: "import",
    open: [["file", "File", CSV], ["button", "Fix Line 3"]],
    typed: { "userName": "grace" },
    press: "Check row",
    done: "grace",
  },
};

type Typed = readonly { readonly element: ElementHandle; readonly value: string; readonly label: string }[];

/** Types into fields and keeps a reference to each: a field that is rendered again loses its input. */
async function type(within: Locator, fields: FormRow["typed"]): Promise<Typed> {
  const typed: { element: ElementHandle; value: string; label: string }[] = [];
  for (const [label, value] of Object.entries(fields)) {
    const field = within.getByLabel(label, { exact: true }).first();
    await field.fill(value);
    const element = await field.elementHandle();
    if (element === null) throw new Error(`${label} is gone`);
    typed.push({ element, value, label });
  }
  return typed;
}

/** Labels of fields that are missing or have other content. */
async function lost(typed: Typed): Promise<string[]> {
  const found: string[] = [];
  for (const { element, value, label } of typed) {
    const isThere = await element.evaluate((field) => field.isConnected);
    if (!isThere || await element.inputValue() !== value) found.push(label);
  }
  return found;
}

/** Ends on the server the session whose cookie the browser still sends. */
async function endOnServer(page: Page, site: FullConsole): Promise<void> {
  const cookies = await page.context().cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
  const ended = await site.call("/console/api/session", { method: "DELETE", cookie });
  await ended.body?.cancel();
  assertEquals(ended.status, 200);
}

const problemSaid = (page: Page) =>
  page.getByRole("alert").filter({ hasText: "The server is not responding." }).first();

/** Waits until the request of the button is over: other parts of the page may show the same problem earlier. */
const isOver = (dialog: Locator, press: string) =>
  dialog.getByRole("button", { name: press, exact: true, disabled: false }).waitFor();

test("forms: each one keeps its input although the server fails and the session ends", async ({ page, site, step }) => {
  const [first] = Object.values(FORMS);
  for (const [name, form] of Object.entries(FORMS)) {
    // The dialog to sign in again is the same over each form.
    const whenAsked = async () => form === first && assertEquals(await findAccessibilityProblems(page), []);
    await step(name, () => sendDespiteFailures(page, { site, form, whenAsked }));
    await page.unrouteAll({ behavior: "ignoreErrors" });
  }
});

async function sendDespiteFailures(
  page: Page,
  { site, form, whenAsked }: { site: FullConsole; form: FormRow; whenAsked: () => Promise<unknown> },
): Promise<void> {
  // Without the address, because a new fragment of the same address does not load the page.
  await page.goto("about:blank");
  await openPage(page, { site, row: rowOf(form.page) });
  await take(page, form.open);
  // Dialogs load late, in their own files.
  const dialog = page.getByRole("dialog").last();
  const typed = await type(form.open.length === 0 ? page.locator("main") : dialog, form.typed);
  await take(page, form.before ?? []);
  await dialog.waitFor();

  await failApi(page, () => "is gone");
  const press: Step = ["button", form.press];
  await take(page, [press]);
  await problemSaid(page).waitFor();
  await isOver(dialog, form.press);
  assertEquals(await lost(typed), [], "lost when the server was gone");
  await mendApi(page);

  await endSession(page, () => endOnServer(page, site));
  const signIn = page.getByRole("dialog", { name: "Sign in again" });
  await take(page, [press]);
  await signIn.waitFor();
  assertEquals(await lost(typed), [], "lost when the session had ended");
  await whenAsked();
  await signIn.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await signIn.getByRole("button", { name: "Sign in", exact: true }).click();
  await signIn.waitFor({ state: "detached" });
  await seen(page.locator("body"), form.done);
}

test("forms: a sign-in without an answer of the server keeps its input", async ({ page, site }) => {
  await openPage(page, { site, row: rowOf("sign-in") });
  const typed = await type(page.locator("main"), { "Name": "owner", "Password": PASSWORD });
  await failApi(page, () => "is gone");
  await take(page, [["button", "Sign in"]]);
  await problemSaid(page).waitFor();
  assertEquals(await lost(typed), []);
  await mendApi(page);
  await take(page, [["button", "Sign in"]]);
  await page.getByRole("heading", { name: "Sign-in log", level: 1 }).waitFor();
});

test("forms: a server that fails from the start is reported, with a button to retry", async ({ page, site }) => {
  await page.route("**/console/api/**", (route) => route.abort("connectionrefused"));
  await page.goto(`${site.origin}/users`);
  await problemSaid(page).waitFor();
  await mendApi(page);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
});

// Unsaved input: leaving a page or closing a dialog asks first, and early input is not reset.

const question = (page: Page) => page.getByRole("dialog", { name: "Discard your changes?" });
const answer = (page: Page, name: "Keep editing" | "Discard") =>
  question(page).getByRole("button", { name, exact: true }).click();

test("an edited profile: a tab, a link and Back ask first, and Discard continues", async ({ page, open }) => {
  await open("/users", "Users");
  await page.getByRole("link", { name: "ada", exact: true }).click();
  await page.getByRole("link", { name: "Profile", exact: true }).click();
  const title = page.getByLabel("Job title", { exact: true });
  await title.fill("Countess");
  for (
    const leave of [
      () => page.getByRole("navigation", { name: "ada" }).getByRole("link", { name: /^Groups/ }).click(),
      () => page.getByRole("link", { name: "Sign-in log", exact: true }).click(),
      () => page.evaluate(() => history.back()),
    ]
  ) {
    await leave();
    await question(page).waitFor();
    await answer(page, "Keep editing");
    await question(page).waitFor({ state: "detached" });
    await holds(async () => [await title.inputValue(), new URL(page.url()).pathname], [
      "Countess",
      "/users/ada",
    ]);
  }
  await page.getByRole("link", { name: "Sign-in log", exact: true }).click();
  await question(page).waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
  await answer(page, "Discard");
  await page.getByRole("heading", { name: "Sign-in log", level: 1 }).waitFor();
});

test("the dialog for a new user: Escape and Cancel ask first, and without input they close it", async ({ page, open }) => {
  await open("/users", "Users");
  const dialog = page.getByRole("dialog", { name: "Create user" });
  const openDialog = () => page.getByRole("button", { name: "Create user" }).click();
  await openDialog();
  await dialog.getByLabel("User name").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await openDialog();
  await dialog.getByLabel("User name").fill("grace");
  await page.keyboard.press("Escape");
  await answer(page, "Keep editing");
  await holds(() => dialog.getByLabel("User name").inputValue(), "grace");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await answer(page, "Discard");
  await dialog.waitFor({ state: "detached" });
});

const peopleTest = consoleTests(startPeopleConsole, { role: "user_manager" });

peopleTest(
  "early typing: the profile of a user keeps its input when its fields appear",
  async ({ page, site, open }) => {
    await site.put("ada", { title: "old" });
    await page.addInitScript(() => {
      const observer = new MutationObserver(() => {
        const field = document.querySelector("#profile-department");
        if (!(field instanceof HTMLInputElement)) return;
        observer.disconnect();
        field.value = "analysis";
        field.dispatchEvent(new Event("input", { bubbles: true }));
      });
      observer.observe(document, { childList: true, subtree: true });
    });
    await open("/users/ada#profile", "ada");
    const field = page.getByLabel("Department");
    await field.waitFor();
    // Preact runs effects at most 100 ms after the frame; a later drawing runs them as well.
    await page.getByLabel("Title").fill("Countess");
    await laidOut(page);
    await holds(async () => [await field.inputValue(), await page.getByLabel("Title").inputValue()], [
      "analysis",
      "Countess",
    ]);
  },
);

// Actions on access that cannot be undone ask first: the focus is on the button that does nothing, and no call is made.

/** The page, what the user does there, and the question. */
const ROWS: readonly (readonly [page: string, steps: readonly Step[], question: string | RegExp])[] = [
  ["deleted users", [["checkbox", "Select adaz"], ["button", "Restore"]], "Restore 1 user?"],
  ["connection, existing users", [["button", "Accept bob"]], /^Let .+ manage 1 user or group\?$/],
  ["connection, existing users", [["button", "Refuse bob"]], "Refuse 1 user or group?"],
  ["access", [["button", "Change Grace"], ["button", "End sessions"]], "End sessions: Grace?"],
  ["access", [["button", "Change Grace"], ["button", "Reset sign-in"]], "Reset sign-in: Grace?"],
  [
    "access",
    [["button", "Change Invited"], ["button", "Withdraw invitation"]],
    "Withdraw invitation: Invited?",
  ],
  ["user, factors", [["button", /^Revoke Text message/]], /^Revoke /],
];

test("questions: the focus is on the button that does nothing, and no call is made", async ({ page, site, step }) => {
  const calls: string[] = [];
  page.on("request", (request) => {
    if (request.method() !== "GET") calls.push(`${request.method()} ${new URL(request.url()).pathname}`);
  });
  for (const [name, steps, question] of ROWS) {
    await step(`${name}, ${String(steps.at(-1)?.[1])}`, async () => {
      await page.goto("about:blank");
      await openPage(page, { site, row: rowOf(name) });
      await take(page, steps);
      const dialog = page.getByRole("dialog", { name: question });
      await dialog.waitFor();
      const focused = await page.evaluate(() => document.activeElement?.textContent ?? "");
      assertEquals(["Cancel", "Keep"].includes(focused), true, focused);
      await page.keyboard.press("Enter");
      await dialog.waitFor({ state: "detached" });
    });
  }
  assertEquals(calls.filter((call) => !call.endsWith("/session/stay")), []);
});
