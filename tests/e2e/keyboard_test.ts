// The most common tasks with the keyboard only, against the real program. The focus is never lost.

import { assert } from "@std/assert";
import type { BrowserContext, Page } from "../packages/playwright.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { browserTest, currentDist, enterAs, openTab } from "./browser.ts";
import { type ConsoleProgram, pairPhone, startConsoleProgram } from "./console_program.ts";
import { type KeyStep, type KeyTask, runKeySteps } from "./keyboard_run.ts";
import { watchFocus } from "./focus_checks.ts";

// The real program for tasks with the keyboard: users, groups, phones, and sign-ins by RADIUS.

export interface KeyWorld extends AsyncDisposable {
  readonly program: ConsoleProgram;
  readonly scim: Caller;
  /** A second profile, for the phones of users. */
  readonly phones: BrowserContext;
}

const CLIENT = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a-secret-of-the-test"
unknown_users = "reject"
`;
const USERS = ["alice", "bob", "dora", "erin", "frank", "grace"] as const;

export async function startKeyWorld(phones: BrowserContext): Promise<KeyWorld> {
  const program = await startConsoleProgram({ toml: CLIENT + credentialsToml(["default"]) });
  const scim = createCaller(program, { account: WRITER, target: "default" });
  for (const userName of USERS) await scim.post("/Users", { userName, active: true });
  await scim.post("/Users", { userName: "carol", active: false });
  await scim.post("/Groups", { displayName: "Staff", members: [{ value: "alice" }] });
  return { program, scim, phones, [Symbol.asyncDispose]: () => program.dispose() };
}

/** Sends a login that ends at once, or waits for the phone. */
export async function sendLogin({ program }: KeyWorld, userName: string): Promise<void> {
  using client = program.client();
  await client.ask({ userName, password: "pw" });
}

export const pairWith = async ({ program, phones }: KeyWorld, user: string) => {
  const phone = await pairPhone(phones, { program, user });
  await phone.close();
};

/** Another administrator denies the sign-in of the user. */
export async function denyElsewhere({ program, phones }: KeyWorld, user: string): Promise<void> {
  const other = await phones.newPage();
  await enterAs(other, { site: program, role: "operator", path: "/live?approvals=open" });
  await other.getByRole("button", { name: `Deny the sign-in of ${user}` }).click();
  await other.getByRole("button", { name: `Deny the sign-in of ${user}` }).waitFor({ state: "detached" });
  await other.close();
}

/** The passcode of the app that was set up with the key on the page. */
export async function totpShown(page: Page): Promise<string> {
  const key = await page.getByRole("note", { name: "Secret" }).innerText();
  return totpCode(fromBase32(key.replaceAll(" ", "")), Date.now());
}

export const LIVE_START = { path: "/live", heading: "Sign-in log" };
export const USERS_START = { path: "/users", heading: "Users" };

// The most common tasks of an administrator, as keys and what they show.

/** By task. The first one starts without a session. */
export const KEY_TASKS: Readonly<Record<string, KeyTask<KeyWorld>>> = {
  "sign in": {
    at: null,
    atMost: 6,
    steps: [
      ["tab to", "textbox", "Name"],
      ["type", "owner"],
      ["press", "Tab"],
      ["type", PASSWORD],
      ["press", "Enter"],
      ["see", "heading", "Overview"],
    ],
  },
  "find a user with the palette": {
    at: LIVE_START,
    atMost: 8,
    steps: [
      ["press", "Control+k"],
      ["type", "erin"],
      ["see", "option", "erin User"],
      ["press", "Enter"],
      ["focus on", "heading", "erin"],
    ],
  },
  "add a user": {
    at: USERS_START,
    atMost: 10,
    steps: [
      ["press", "c", "u"],
      ["focus on", "textbox", "User name"],
      ["type", "heidi"],
      ["tab to", "textbox", "First name"],
      ["type", "Heidi"],
      ["press", "Enter"],
      ["focus on", "heading", "Heidi"],
    ],
  },
  "set up an authenticator app for a user": {
    at: { path: "/users/erin", heading: "erin" },
    atMost: 21,
    steps: [
      ["tab to", "link", /^Authenticators/],
      ["press", "Enter"],
      ["tab to", "button", "Add authenticator app"],
      ["press", "Enter"],
      ["see", "dialog", /./],
      ["tab to", "textbox", /code/i],
      ["type", (_world, page) => totpShown(page)],
      ["press", "Enter"],
      ["see", "button", /^Revoke/],
    ],
  },
  "send an enrolment link": {
    at: { path: "/users/frank", heading: "frank" },
    atMost: 11,
    steps: [
      ["tab to", "button", "Pair a phone"],
      ["press", "Enter"],
      ["see", "dialog", /./],
      ["tab to", "button", /^Copy/],
      ["press", "Enter", "Escape"],
      ["focus on", "button", "Pair a phone"],
    ],
  },
  "remove a lost phone": {
    at: USERS_START,
    atMost: 27,
    steps: [
      ["after", (world) => pairWith(world, "dora")],
      ["press", "/"],
      ["type", "dora"],
      ["see text", "1–1 of 1"],
      ["press", "ArrowDown"],
      ["focus on", "link", "dora"],
      ["press", "Enter"],
      ["focus on", "heading", "dora"],
      ["tab to", "link", /^Authenticators/],
      ["press", "Enter"],
      ["tab to", "button", /^Revoke Phone/],
      ["press", "Enter"],
      ["see", "dialog", /Revoke/],
      ["tab to", "button", "Revoke"],
      ["press", "Enter"],
      ["see text", "Phone removed from dora."],
    ],
  },
  "disable a user and undo it": {
    at: { path: "/users/frank", heading: "frank" },
    atMost: 16,
    steps: [
      ["tab to", "button", /^More/],
      ["press", "Enter"],
      ["focus on", "menuitem", "Test sign-in"],
      ["press", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"],
      ["focus on", "menuitem", "Deactivate"],
      ["press", "Enter"],
      ["see text", "frank can no longer sign in."],
      ["press", "z"],
      ["see text", "frank can sign in again."],
    ],
  },
  "read why a sign-in was rejected, and go to its user": {
    at: LIVE_START,
    atMost: 11,
    steps: [
      ["after", (world) => sendLogin(world, "carol")],
      ["see", "link", "carol"],
      ["press", "j", "Enter"],
      ["see", "complementary", "Selected sign-in"],
      ["see text", /deactivated|inactive|disabled/i],
      ["press", "i"],
      ["tab to", "link", "carol"],
      ["press", "Enter"],
      ["focus on", "heading", "carol"],
    ],
  },
  "deny a pending approval": {
    at: LIVE_START,
    atMost: 10,
    steps: [
      ["after", async (world) => {
        await pairWith(world, "grace");
        await sendLogin(world, "grace");
      }],
      ["press", "a"],
      ["focus on", "button", /^Pending approvals/],
      ["tab to", "button", /^Deny the sign-in of grace/],
      ["press", "Enter"],
      ["see text", "No pending push requests"],
      ["press", "Escape"],
    ],
  },
  "add a RADIUS client and read its guide": {
    at: { path: "/clients", heading: "RADIUS clients" },
    atMost: 53,
    steps: [
      ["tab to", "button", "Add client"],
      ["press", "Enter"],
      ["tab to", "textbox", "Name"],
      ["type", "wifi"],
      ["tab to", "textbox", "Addresses"],
      ["type", "192.0.2.40"],
      ["tab to", "button", "Add client"],
      ["press", "Enter"],
      ["see", "dialog", /secret/i],
      ["tab to", "checkbox", /./],
      ["press", "Space", "Tab"],
      ["focus on", "button", "Done"],
      ["press", "Enter"],
      ["focus on", "button", "Add client"],
      ["press", "j", "j"],
      ["focus on", "link", "wifi"],
      ["press", "Enter"],
      ["focus on", "heading", "wifi"],
      ["tab to", "combobox", "Product"],
      ["press", "o", "o"],
      ["see text", "/etc/ocserv/ocserv.conf"],
      ["tab to", "button", /^Copy/],
    ],
  },
  "change a setting": {
    at: { path: "/settings/radius", heading: "Settings" },
    atMost: 39,
    steps: [
      ["tab to", "combobox", "Unknown users"],
      ["press", "ArrowDown"],
      ["tab to", "button", "Review and save"],
      ["press", "Enter"],
      ["see", "dialog", /./],
      ["tab to", "button", "Save 1 change"],
      ["press", "Enter"],
      ["see text", "1 setting saved. It is in effect now."],
    ],
  },
  "add users to a group": {
    at: USERS_START,
    atMost: 24,
    steps: [
      ["press", "j", "x", "j", "x", "j", "x"],
      ["see", "region", "3 selected"],
      ["press", "a"],
      ["tab to", "button", "Add to group"],
      ["press", "Enter"],
      ["focus on", "combobox", "Add to group"],
      ["type", "staff"],
      ["see", "option", "Staff"],
      ["press", "Enter"],
      ["see text", "1 is a member already and stays as is."],
      ["tab to", "button", "Add 3 users"],
      ["press", "Enter"],
      ["see text", "2 users were added to Staff."],
      ["press", "z"],
      ["see text", "2 users were removed from Staff."],
    ],
  },
  "add a policy and see what would happen": {
    at: { path: "/policies", heading: "Policies" },
    atMost: 25,
    steps: [
      ["tab to", "button", "Add policy"],
      ["press", "Enter"],
      ["focus on", "textbox", "Name"],
      ["type", "Staff"],
      ["tab to", "button", "Save policy"],
      ["press", "Enter"],
      ["see text", "Staff"],
      ["tab to", "textbox", "User name"],
      ["type", "alice"],
      ["press", "Enter"],
      ["see text", /Staff applies|applies/],
    ],
  },
};

// The tools of lists with the keyboard, and rows that disappear.

/** What every list has: row menus, columns, saved filters, filters with chips, orders, and the bar of a selection. */
export const KEY_LISTS: Readonly<Record<string, KeyTask<KeyWorld>>> = {
  "the menu of a row": {
    at: USERS_START,
    atMost: 17,
    steps: [
      ["press", "j"],
      ["tab to", "button", /^Actions for/],
      ["press", "Enter", "ArrowDown", "End", "Home", "Escape"],
      ["focus on", "button", /^Actions for/],
      ["press", "Space", "Tab"],
    ],
  },
  "the columns": {
    at: USERS_START,
    atMost: 23,
    steps: [
      ["tab to", "button", "Columns"],
      ["press", "Enter", "ArrowDown", "Space", "Space", "Escape"],
      ["focus on", "button", "Columns"],
    ],
  },
  "a saved filter": {
    at: { path: "/users?status=inactive", heading: "Users" },
    atMost: 23,
    steps: [
      ["tab to", "button", "Saved filters"],
      ["press", "Enter"],
      ["see", "menuitem", "Save current filters"],
      ["press", "Enter"],
      ["type", "gone"],
      ["press", "Enter"],
      ["focus on", "button", "Saved filters"],
      ["press", "Enter", "End", "Enter"],
      ["see text", "Filter gone removed."],
    ],
  },
  "a filter and its chip": {
    at: USERS_START,
    atMost: 21,
    steps: [
      ["tab to", "combobox", "Status"],
      ["press", "d"],
      ["see text", "1–1 of 1"],
      ["tab to", "button", /^Remove filter|^Clear/],
      ["press", "Enter"],
      ["see text", /of \d\d?$/],
    ],
  },
  "a cell as a filter": {
    at: USERS_START,
    atMost: 11,
    steps: [
      ["press", "j"],
      ["tab to", "button", "Active"],
      ["press", "Enter"],
      ["see", "button", /Status: Active/],
      ["tab to", "button", /^Actions for/],
    ],
  },
  "the order": {
    at: USERS_START,
    atMost: 22,
    steps: [
      ["tab to", "button", "User name"],
      ["press", "Enter", "Enter"],
      ["focus on", "button", "User name"],
    ],
  },
  "a selection that is cleared": {
    at: USERS_START,
    atMost: 11,
    steps: [
      ["press", "j", "x"],
      ["see", "region", "1 selected"],
      ["press", "a"],
      ["tab to", "button", "Clear selection"],
      ["press", "Enter"],
      ["focus on", "link", "alice"],
    ],
  },
  "a row that is removed": {
    at: { path: "/devices", heading: "Authenticators" },
    atMost: 30,
    steps: [
      ["tab to", "button", /^Actions for .*erin/],
      ["press", "Enter", "End"],
      ["focus on", "menuitem", "Revoke"],
      ["press", "Enter"],
      ["see", "dialog", /./],
      ["tab to", "button", "Revoke"],
      ["press", "Enter"],
      ["focus on", "link", "grace"],
    ],
  },
  "an approval that ends on its own": {
    at: LIVE_START,
    atMost: 10,
    steps: [
      ["after", async (world) => {
        await pairWith(world, "bob");
        await sendLogin(world, "bob");
        await sendLogin(world, "grace");
      }],
      ["press", "a"],
      ["see", "button", /^Deny the sign-in of grace/],
      ["tab to", "button", /^Deny the sign-in of bob/],
      ["after", (world) => denyElsewhere(world, "bob")],
      ["focus on", "link", "grace"],
    ],
  },
};

// The most common tasks with the keyboard only, against the real program. The focus is never lost.

await currentDist();

/** Past the side bar. */
const SKIP: readonly KeyStep<KeyWorld>[] = [["tab to", "button", "Skip to content"], ["press", "Enter"]];

browserTest(
  "keyboard: each common task works without a mouse, and the focus is never lost",
  async ({ page }, { step }) => {
    const { context: phones } = await openTab();
    await using world = await startKeyWorld(phones);
    await watchFocus(page);
    // The program takes a moment for each password.
    const cookie = await world.program.signIn("owner");
    const site = { origin: world.program.origin, signIn: () => Promise.resolve(cookie) };
    for (const [name, { at, atMost, steps }] of Object.entries({ ...KEY_TASKS, ...KEY_LISTS })) {
      await step(name, async () => {
        if (at === null) await page.goto(site.origin);
        else await enterAs(page, { site, role: "owner", ...at });
        const count = await runKeySteps(page, { world, steps: at === null ? steps : [...SKIP, ...steps] });
        assert(count <= atMost, `${count} keys`);
      });
    }
    await phones.close();
  },
);
