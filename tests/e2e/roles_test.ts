// Every role on every page: a button that the role may not use is disabled and names the required role.

import { assert, assertEquals } from "@std/assert";
import { isAllowed, type Role, ROLES } from "../../console/api/auth/admin_records.ts";
import { isPermitted } from "../../console/api/auth/permissions.ts";
import { FULL_RECEIVER } from "../fakes/console_alerts.ts";
import { FULL_ASSIGNED_TOKEN, FULL_FREE_TOKEN } from "../fakes/full_tokens.ts";
import type { Page } from "../packages/playwright.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";
import { PAGE_ROWS, rowOf } from "./pages/page_rows.ts";
import { arrived, failureOf, goWithin, openPage, pageOpener, seen } from "./pages/page_walk.ts";
import { consoleTests } from "./console_tests.ts";
import { holds } from "./browser.ts";

// Where the pages offer each action of the console API: the page and the name of the button. The route table has the
// required role of each action.

/** An action that a button of a page starts. */
export interface ButtonAction {
  /** A row of PAGE_ROWS. */
  readonly page: string;
  readonly button: string;
  /** The button of the menu that contains it. */
  readonly menu?: string | RegExp;
}

/** An action whose whole page is closed to a role that may not use it. */
export interface ClosedPageAction {
  readonly closes: string;
}

/** An action in the dialog or form that another action opens. */
export interface FollowingAction {
  readonly follows: string;
}

/** An action without a button on the pages of this console, and the reason. */
export interface ActionWithoutButton {
  readonly because: string;
}

export type RoleAction = ButtonAction | ClosedPageAction | FollowingAction | ActionWithoutButton;

const OWN: ActionWithoutButton = { because: "is about one's own session or factors, whatever the role" };
const button = (page: string, name: string): ButtonAction => ({ page, button: name });
const menuItem = (page: string, menu: string | RegExp, name: string): ButtonAction => ({
  page,
  menu,
  button: name,
});
const USER_MENU = /^More .+/;
const LOG_MENU = /^Actions for .+/;
const tokenItem = (serial: string, name: string): ButtonAction =>
  menuItem("tokens", `Actions for ${serial}`, name);
const follows = (route: string): FollowingAction => ({ follows: route });
const closes = (page: string): ClosedPageAction => ({ closes: page });

/** By method and path, as in the table of permissions. */
export const ROLE_ACTIONS: Readonly<Record<string, RoleAction>> = {
  "POST /session/stay": OWN,
  "POST /session/step-up": OWN,
  "POST /factors/totp": OWN,
  "POST /factors/totp/confirm": OWN,
  "DELETE /factors/totp": OWN,
  "POST /factors/recovery-codes": OWN,
  "POST /factors/passkeys/options": OWN,
  "POST /factors/passkeys": OWN,
  "DELETE /factors/passkeys/:id": OWN,
  "DELETE /sessions/:id": OWN,
  "POST /administrators": button("access", "Invite administrator"),
  "PATCH /administrators/:id": button("access", "Change Grace"),
  "DELETE /administrators/:id": follows("PATCH /administrators/:id"),
  "POST /administrators/:id/link": follows("PATCH /administrators/:id"),
  "POST /administrators/:id/unlock": { because: "the action is shown only while the codes are locked" },
  "DELETE /administrators/:id/sessions": follows("PATCH /administrators/:id"),
  "DELETE /invitations/:id": button("access", "Change Invited"),
  "POST /tokens": closes("access, tokens"),
  "DELETE /tokens/:id": closes("access, tokens"),
  "PUT /first-steps/:name": {
    because: "this console has no first step left; first_run_test.ts covers the first steps as a viewer",
  },
  "POST /approvals/:id/deny": button("live, approvals", "Deny the sign-in of ada at vpn-1"),
  "POST /approvals/:id/cancel": button("live, approvals", "Cancel the sign-in of ada at vpn-1"),
  "PUT /saved-filters/:list/:name": { because: "every role saves its own filters" },
  "DELETE /saved-filters/:list/:name": { because: "every role removes its own filters" },
  "DELETE /notices/:id": { because: "no user reported a login here" },
  "POST /outbox/:id/reveal": button("test inbox", "Reveal the message to +1****100"),
  "POST /users": button("users", "Create user"),
  "GET /export/users": button("users", "Export"),
  "POST /bulk": { because: "its bar comes with a selection, which only a user manager can make" },
  "POST /bulk/preview": follows("POST /bulk"),
  "POST /jobs/:id/stop": follows("POST /bulk"),
  "POST /jobs/:id/undo": follows("POST /bulk"),
  "PUT /users/:id": button("user, profile", "Review changes"),
  "DELETE /users/:id": menuItem("user", USER_MENU, "Delete"),
  "POST /trash/restore": button("deleted users", "Restore adaz"),
  "POST /trash/purge": {
    because: "its bar comes with a selection; trash_test.ts looks at it as a user manager",
  },
  "PUT /users/:id/active": menuItem("user", USER_MENU, "Deactivate"),
  "PUT /users/:id/password": menuItem("user", USER_MENU, "Set password"),
  "POST /users/:id/me-link": menuItem("user", USER_MENU, "Self-service link"),
  "PUT /users/:id/groups": button("user, groups", "Remove staff"),
  "PUT /users/:id/replies": button("user, profile", "Edit reply attributes"),
  "POST /users/:id/refresh": button("user, backends", "Refresh from connectors"),
  "POST /users/:id/retry": { because: "this user has no pending write" },
  "POST /users/:id/trial": button("user", "Test sign-in"),
  "POST /users/:id/invitation": button("user, factors", "Pair a phone"),
  "POST /users/:id/pairings": button("user, factors", "Add number"),
  "DELETE /users/:id/pairings/:pairing": button("user, factors", "Revoke Text message +4*********678"),
  "PUT /users/:id/pairings/:pairing": { because: "only phones have names, and no user has a phone here" },
  "POST /users/:id/unconfirmed/:factor/keep": { because: "no phone was revoked here" },
  "DELETE /users/:id/unconfirmed/:factor": { because: "no phone was revoked here" },
  "POST /users/:id/totp": button("user, factors", "Add authenticator app"),
  "POST /users/:id/totp/confirm": follows("POST /users/:id/totp"),
  "PUT /users/:id/preference": { because: "one factor leaves nothing to prefer" },
  "POST /users/:id/unlock": { because: "no user is locked here" },
  "POST /users/:id/reset-limits": { because: "no limit is reached here" },
  "POST /users/:id/bypass": button("user", "Issue bypass code"),
  "DELETE /users/:id/bypass": { because: "no user has a bypass code here; help_desk_test.ts revokes one" },
  "POST /users/:id/lost-phone": button("user", "Lost phone"),
  "POST /users/:id/verification": button("user", "Verify caller"),
  "DELETE /users/:id/verification/:verification": follows("POST /users/:id/verification"),
  "DELETE /users/:id/remembered-devices": { because: "no device is remembered here" },
  "POST /policies": closes("policies"),
  "PUT /policies/order": closes("policies"),
  "PUT /policies/:id": closes("policies"),
  "DELETE /policies/:id": closes("policies"),
  "POST /policies/evaluate": closes("policies"),
  "POST /policies/replay": closes("policies"),
  "POST /groups": button("groups", "Create group"),
  "GET /export/groups": button("groups", "Export"),
  "DELETE /groups/:id": button("group", "Delete group"),
  "PUT /groups/:id/members": button("group", "Remove bob"),
  "PUT /groups/:id/replies": button("group", "Edit reply attributes"),
  "DELETE /devices/:id": menuItem("devices", "Actions for Text message bob", "Revoke"),
  "POST /devices/:id/test-push": { because: "no phone is paired here; push tests look at its button" },
  "POST /devices/revoke": { because: "rows are selected first; `devices: several` is its test" },
  "POST /hardware-tokens/imports": button("tokens", "Import tokens"),
  "POST /hardware-tokens/imports/:id/text": follows("POST /hardware-tokens/imports"),
  "POST /hardware-tokens/imports/:id/check": follows("POST /hardware-tokens/imports"),
  "POST /hardware-tokens/imports/:id/apply": follows("POST /hardware-tokens/imports"),
  "DELETE /hardware-tokens/imports/:id": follows("POST /hardware-tokens/imports"),
  "POST /hardware-tokens/bulk": { because: "rows are selected first; the dialogs of `tokens` are its test" },
  "POST /hardware-tokens/:id/assign": tokenItem(FULL_FREE_TOKEN, "Assign"),
  "POST /hardware-tokens/:id/unassign": tokenItem(FULL_ASSIGNED_TOKEN, "Unassign"),
  "PUT /hardware-tokens/:id/enabled": tokenItem(FULL_FREE_TOKEN, "Disable"),
  "POST /hardware-tokens/:id/resynchronize": tokenItem(FULL_FREE_TOKEN, "Resynchronize"),
  "POST /hardware-tokens/:id/test": tokenItem(FULL_FREE_TOKEN, "Test a code"),
  "DELETE /hardware-tokens/:id": tokenItem(FULL_FREE_TOKEN, "Remove"),
  "POST /enrolment/campaigns": button("campaigns", "Invite…"),
  "POST /enrolment/campaigns/preview": follows("POST /enrolment/campaigns"),
  "POST /enrolment/campaigns/:id/cancel": { because: "the button has the name of the state of the campaign" },
  "POST /enrolment/deadline": menuItem("enrolment", "Actions for iris", "Change deadline"),
  "POST /connected/:id/disconnect": { because: "no client here supports Disconnect-Request" },
  "POST /users/:id/sessions/disconnect": { because: "no client here supports Disconnect-Request" },
  "POST /mail/test": button("mail", "Test message"),
  "POST /mail/send-again": { because: "rows are selected first; `mail, failed` is its test" },
  "POST /mail/remove": { because: "rows are selected first; `mail` is its test" },
  "PUT /mail/templates/:name/:language": { because: "its dialog shows the text to every role" },
  "DELETE /mail/templates/:name/:language": follows("PUT /mail/templates/:name/:language"),
  "POST /mail/templates/preview": follows("PUT /mail/templates/:name/:language"),
  "POST /alerts/:id/acknowledge": { because: "its name contains the alert; alerts_test checks the roles" },
  "POST /alerts/receivers": button("alerts", "Add receiver"),
  "PATCH /alerts/receivers/:name": menuItem("alerts", `Actions for ${FULL_RECEIVER}`, "Edit"),
  "DELETE /alerts/receivers/:name": menuItem("alerts", `Actions for ${FULL_RECEIVER}`, "Remove"),
  "POST /alerts/receivers/:name/pause": menuItem("alerts", `Actions for ${FULL_RECEIVER}`, "Pause"),
  "POST /alerts/receivers/:name/secret": menuItem("alerts", "Actions for chat", "New signature secret"),
  "POST /alerts/receivers/:name/test": menuItem(
    "alerts",
    `Actions for ${FULL_RECEIVER}`,
    "Send a test message",
  ),
  "POST /log-export": button("log export", "Add destination"),
  "PATCH /log-export/:name": menuItem("log export", LOG_MENU, "Edit"),
  "DELETE /log-export/:name": menuItem("log export", LOG_MENU, "Remove"),
  "POST /log-export/:name/pause": menuItem("log export", LOG_MENU, "Pause"),
  "POST /log-export/:name/secret": menuItem("log export", "Actions for hook", "New signature secret"),
  "POST /log-export/:name/test": menuItem("log export", LOG_MENU, "Send a test record"),
  "POST /imports": closes("import"),
  "POST /imports/rows": { because: "only `deno task import` uses it" },
  "POST /imports/:id/text": closes("import"),
  "POST /imports/:id/check": closes("import"),
  "PUT /imports/:id/rows/:line": closes("import"),
  "POST /imports/:id/apply": closes("import"),
  "DELETE /imports/:id": closes("import"),
  "POST /clients": button("clients", "Add client"),
  "POST /clients/heard": follows("POST /clients"),
  "POST /clients/first-factor": follows("POST /clients"),
  "PUT /clients/:id": { because: "its form is text for those who may not change it" },
  "DELETE /clients/:id/signing": { because: "only `deno task client forget` uses it" },
  "DELETE /clients/:id": button("client", "Remove client"),
  "POST /clients/:id/secret": button("client", "Rotate secret"),
  "DELETE /clients/:id/overlap": { because: "no old secret overlaps here" },
  "POST /targets/:id/test": button("target", "Test ldap"),
  "POST /targets/:id/retry": { because: "there are no dead letters here" },
  "POST /targets/:id/refresh": button("target", "Refresh now"),
  "POST /targets/:id/preview": {
    because: "it is a field that every role may fill in, and it changes nothing",
  },
  "POST /credentials": closes("credentials"),
  "DELETE /credentials/:id": closes("credentials"),
  "POST /connections": button("connections", "Connect Okta"),
  "PATCH /connections/:name": button("connection", "Pause"),
  "DELETE /connections/:name": button("connection, settings", "Remove connection"),
  "POST /connections/:name/secrets": button("connection, secrets", "Add secret"),
  "DELETE /connections/:name/secrets/:id": menuItem(
    "connection, secrets",
    /^Actions for Bearer token/,
    "Revoke",
  ),
  "POST /connections/:name/matches": button("connection, existing users", "Accept bob"),
  "POST /connections/:name/test": { because: "every role may test, and it changes nothing" },
  "PUT /target-settings/:name": button("target", "Add connector"),
  "POST /target-settings/:name/test": follows("PUT /target-settings/:name"),
  "POST /target-settings/:name/preview": { because: "the mapping editor uses the preview of the target" },
  "DELETE /target-settings/:name": button("target", "Remove directory"),
  "PUT /settings": { because: "its fields are text for those who may not change them" },
  "POST /settings/check": follows("PUT /settings"),
  "POST /settings/undo": { because: "no setting was changed here" },
  "POST /settings/test/oidc": button("settings, console access", "Run test"),
  "POST /settings/test/mail": button("settings, mail", "Run test"),
  "POST /settings/test/second_factor": button("settings, push service", "Run test"),
  "POST /settings/test/telephony": button("settings, telephony", "Run test"),
  "POST /health/test": button("health", "Test default / ldap"),
  "POST /support": { because: "only a command on the host of the gateway calls it" },
};

// Every role on every page: the pages hide nothing, and a button that the role may not use is disabled and names the
// required role. The route table has the role of each action.

const test = consoleTests(startFullConsole, { role: "owner", isShared: true });

const NEEDS: Readonly<Record<Role, string>> = {
  viewer: "",
  help_desk: "Requires the help desk role",
  operator: "Requires the operator role",
  user_manager: "Requires the user manager role",
  owner: "Requires the owner role",
};
/** The routes that write or export. Every role may read. */
const WRITING_ROUTES = CONSOLE_ROUTES.filter(({ method, path, needs }) =>
  needs !== "anyone" && (method !== "GET" || path.startsWith("/export/"))
);

/** Pages and parts that a viewer may not see, and the text that they show instead. */
const CLOSED: Readonly<Record<string, string>> = {
  "import": NEEDS.user_manager,
  "credentials": NEEDS.owner,
  "policies": NEEDS.user_manager,
  "access, tokens": NEEDS.owner,
};

/** The pages that every role may see. */
const OPEN_PAGES = Object.entries(PAGE_ROWS)
  .filter(([name, row]) => row.outside !== true && !(name in CLOSED)).map(([name]) => name);

/** Disabled controls that give no reason. */
function unexplained(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const said = (element: Element) => {
      const ids = (element.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id !== "");
      const texts = ids.map((id) => document.getElementById(id)?.textContent ?? "");
      return [
        element.getAttribute("title") ?? "",
        element.closest("[title]")?.getAttribute("title") ?? "",
        ...texts,
      ]
        .some((text) => text.trim() !== "");
    };
    return [...document.querySelectorAll<HTMLElement>("main :disabled, main [aria-disabled=true]")]
      // At the end of a list the pager is disabled, and its count is the reason.
      .filter((element) => element.checkVisibility() && element.closest(".pager") === null && !said(element))
      .map((element) => element.outerHTML.slice(0, 160));
  });
}

/** The reason why the button is disabled; `null` if it is enabled. */
async function reasonOf(page: Page, { button: name, menu }: ButtonAction): Promise<string | null> {
  const main = page.locator("main");
  if (menu !== undefined) {
    await main.getByRole("button", { name: menu, exact: typeof menu === "string" }).first().click();
  }
  // The name of a disabled item ends with the reason.
  const item = {
    name: menu === undefined ? name : new RegExp(`^${RegExp.escape(name)}( [(]|$)`),
    exact: true,
  };
  const button = main.getByRole(menu === undefined ? "button" : "menuitem", item).filter({ visible: true })
    .first();
  await button.waitFor();
  const reason = await button.isDisabled() ? await button.getAttribute("title") ?? "" : null;
  if (menu !== undefined) await page.keyboard.press("Escape");
  return reason;
}

/** Asserts that the button is enabled for `role`, or that its reason is the role that it needs. */
async function judge(
  page: Page,
  action: ButtonAction,
  { role, needs, helpDesk }: { role: Role; needs: Role; helpDesk: boolean },
): Promise<void> {
  const reason = await reasonOf(page, action);
  if (!isPermitted(role, { needs, helpDesk })) assertEquals(reason, NEEDS[helpDesk ? "help_desk" : needs]);
  else assert(reason === null || (reason !== "" && !Object.values(NEEDS).includes(reason)), reason ?? "");
}

for (const role of ROLES) {
  test(`roles: ${role} finds every action enabled or with the required role, also on closed pages`, async ({ page, site }) => {
    const problems: string[] = [];
    const openRow = pageOpener(page, { site, role });
    const found = WRITING_ROUTES.flatMap(({ method, path, needs, helpDesk }) => {
      const action = ROLE_ACTIONS[`${method} ${path}`];
      return action !== undefined && "page" in action && needs !== "anyone"
        ? [{ ...action, needs, helpDesk }]
        : [];
    });
    const byPage = Map.groupBy(found, ({ page }) => page);
    // A viewer sees every page: the most controls are disabled there.
    const pages = role === "viewer" ? OPEN_PAGES : [...byPage.keys()];
    for (const name of pages) {
      // An IP address is used here: passkeys need a host name, and their button gives that reason.
      const { byName: _any, ...row } = rowOf(name);
      await openRow(row);
      for (const { needs, helpDesk, ...action } of byPage.get(name) ?? []) {
        const problem = await failureOf(() => judge(page, action, { role, needs, helpDesk }));
        if (problem !== null) problems.push(`${name}, ${action.button}: ${problem}`);
      }
      problems.push(...(await unexplained(page)).map((html) => `${name}: ${html}`));
    }
    assertEquals(problems, []);
    for (const [name, reason] of Object.entries(CLOSED)) {
      const isOpen = ROLES.some((needs) => NEEDS[needs] === reason && isAllowed(role, needs));
      const row = rowOf(name);
      await openRow(isOpen ? row : { ...row, shows: () => reason });
      if (!isOpen) assertEquals(await page.locator("main").getByRole("textbox").count(), 0, name);
      else assertEquals(await page.getByText(reason, { exact: true }).count(), 0, name);
    }
  });
}

test("roles: keys and the palette start no action that the role may not use", async ({ page, site }) => {
  await openPage(page, { site, row: rowOf("users"), role: "viewer" });
  await page.keyboard.press("c");
  await page.keyboard.press("u");
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await seen(help, "Create user");
  await seen(help, NEEDS.user_manager);
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  await goWithin(page, "/groups");
  await arrived(page, { site, row: rowOf("groups") });
  await page.keyboard.press("c");
  await page.keyboard.press("g");
  // The page handles keys, and this one follows those two.
  await page.keyboard.press("?");
  await seen(help, "Create group");
  await holds(() => page.getByRole("dialog").count(), 1);
});

Deno.test("ROLE_ACTIONS has exactly the actions of the route table, each on a page that exists", () => {
  const routes = WRITING_ROUTES.map(({ method, path }) => `${method} ${path}`);
  assertEquals(Object.keys(ROLE_ACTIONS).toSorted(), routes.toSorted());
  for (const [route, action] of Object.entries(ROLE_ACTIONS)) {
    if ("page" in action) assert(action.page in PAGE_ROWS, route);
    if ("closes" in action) assert(action.closes in CLOSED, route);
    if ("follows" in action) assert(action.follows in ROLE_ACTIONS, route);
    if ("because" in action) assert(action.because.length > 20, route);
  }
  for (const name of Object.keys(CLOSED)) assert(name in PAGE_ROWS, name);
});
