// Identity providers in a browser, and attributes that are read-only at a backend.

import { assert, assertEquals } from "@std/assert";
import type { RequestLogEntry } from "../../scim/v2/connections/request_log.ts";
import { type ConnectConsole, startConnectConsole } from "../fakes/console_connect.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import type { Page } from "../packages/playwright.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { consoleTests } from "./console_tests.ts";
import { assertHoldsInBothLooks, findAccessibilityProblems } from "./page_checks.ts";
import { answerQuestion } from "./page_actions.ts";
import { browserTest, currentDist, enterAs, holds } from "./browser.ts";

// Identity providers in a browser: the guided setup with its test, the live request log, settings, secrets, and existing users.

const test = consoleTests(startConnectConsole, { role: "owner" });

const SOURCE = "192.0.2.30";

/** Creates a connection without the page. Returns its token. */
async function connect(site: ConnectConsole, name = "okta"): Promise<string> {
  const ask = apiCaller(site, await site.signIn("owner"));
  const json = { name, kind: "okta", target: "default" };
  const { secret } = await ask<{ secret: { text: string } }>("/console/api/connections", {
    method: "POST",
    json,
  });
  return secret.text;
}

const isAccepted = async ({ connections }: ConnectConsole, token: string): Promise<boolean> =>
  await connections.authenticate(`Bearer ${token}`, SOURCE) !== null;

/** Records a request as the interface does. */
function record({ connections }: ConnectConsole, change: Partial<RequestLogEntry> = {}): void {
  connections.record({
    ...{ connection: "okta", atMs: Date.now(), source: SOURCE, userAgent: "Okta SCIM Client 1.0.0" },
    ...{ method: "POST", operation: "users.create", status: 201, scimType: null, detail: null },
    ...{ resource: { kind: "user", id: "u1", name: "ada" }, attributes: ["userName", "emails"] },
    ...{ durationMs: 12, dryRun: false },
    ...change,
  });
}

const REFUSED = {
  status: 409,
  scimType: "uniqueness",
  detail: "A user with this userName exists.",
  resource: { kind: "user", id: "u2", name: "bob" },
} as const;

async function propose({ connections, people }: ConnectConsole, token: string, names: readonly string[]) {
  const connection = await connections.authenticate(`Bearer ${token}`, SOURCE);
  if (connection === null) throw new Error("The token is not accepted");
  for (const name of names) {
    await people.put(name);
    const id = (await people.target.directory.read("user", name))?.id ?? "";
    await connections.proposeAdoption(connection, { kind: "user", id, name, externalId: `00u-${name}` });
  }
}

const tab = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Parts of okta" }).getByRole("link", { name }).click();

test("Okta is connected: the values to copy are at their steps, and the test waits for the first request", async ({ page, site, open, step }) => {
  await open("/connections", "Identity providers");
  await page.getByText("No identity providers yet.").waitFor();
  await step("a bad name is explained beside its field", async () => {
    await page.getByRole("button", { name: "Connect Okta" }).click();
    const name = page.getByRole("dialog", { name: "Connect Okta" }).getByLabel("Name");
    await holds(() => name.inputValue(), "okta");
    assertEquals(await page.getByRole("dialog").getByLabel("Kind").count(), 0, "Okta takes a token only");
    await name.fill("Okta Prod");
    await page.getByText("Begin with a letter. Use only lower-case letters").waitFor();
    await holds(() => name.getAttribute("aria-invalid"), "true");
    await name.fill("okta");
  });
  await step("the steps", async () => {
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Set up okta" });
    await holds(
      () => dialog.getByRole("group", { name: "Base address" }).innerText(),
      /\/scim\/v2\/default$/,
    );
    const token = await dialog.getByRole("group", { name: "Bearer token" }).innerText();
    assert(await isAccepted(site, token));
    await page.keyboard.press("Escape");
    assertEquals(await dialog.isVisible(), true, "only Done closes it");
    await holds(() => dialog.getByRole("button", { name: "Done" }).getAttribute("aria-disabled"), "true");
  });
  await step("the test", async () => {
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.getByText("Waiting for the first request.").waitFor();
    record(site);
    await page.getByText("The connection works.").waitFor();
    await page.getByText("Okta SCIM Client 1.0.0").waitFor();
  });
  await page.getByLabel("I have saved it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("heading", { name: "okta", level: 1 }).waitFor();
  assertEquals(await page.getByText("cst_").count(), 0);
  await page.goto(`${site.origin}/connections`);
  await page.getByRole("row", { name: /okta Okta default Active/ }).waitFor();
});

test("the request log follows new requests, filters them, and shows the details of one", async ({ page, site, open, step }) => {
  await connect(site);
  await open("/connections/okta", "okta");
  await page.getByText("No requests in the last 30 days.").waitFor();
  record(site);
  await page.getByRole("cell", { name: "ada" }).waitFor();
  await page.locator("h1").hover();
  record(site, { ...REFUSED, atMs: Date.now() + 1 });
  const refused = page.getByRole("row", { name: /bob/ });
  await refused.getByText("Refused").waitFor();
  await step("details, by keyboard", async () => {
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Create user" });
    for (const text of ["409 uniqueness", REFUSED.detail, "userName, emails", "12 ms", SOURCE]) {
      await dialog.getByText(text, { exact: true }).waitFor();
    }
    await page.reload();
    await dialog.getByText("409 uniqueness").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });
  await step("filters", async () => {
    await page.getByLabel("Outcome").selectOption("done");
    await refused.waitFor({ state: "detached" });
    await page.getByRole("cell", { name: "ada" }).waitFor();
    await page.getByRole("button", { name: "Clear filter Outcome: Done" }).click();
    await page.getByLabel("Time", { exact: true }).selectOption({ label: "Yesterday" });
    await page.getByText("No requests match.").waitFor();
    await page.getByLabel("Time", { exact: true }).selectOption({ label: "Last hour" });
    await refused.waitFor();
    await page.getByRole("button", { name: "Clear filter Time: Last hour" }).click();
    await page.getByRole("searchbox").fill("bob");
    await page.getByRole("cell", { name: "ada" }).waitFor({ state: "detached" });
    await page.getByRole("searchbox").fill("no such user");
    await page.getByText("No requests match.").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByRole("cell", { name: "ada" }).waitFor();
  });
});

test("a connection is paused and resumed, its settings are reviewed, and it is removed while its users stay", async ({ page, site, open, step }) => {
  await connect(site);
  await site.people.put("ada");
  await open("/connections/okta#settings", "okta");
  await step("pause", async () => {
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByText("Paused: requests are refused until you resume.").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("okta is active again.").waitFor();
    await page.getByText("Paused: requests are refused").waitFor({ state: "detached" });
  });
  await step("settings", async () => {
    await page.getByLabel("Dry run").check();
    await page.getByLabel("Deletion limit (%)").fill("25");
    await page.getByRole("button", { name: "Review changes" }).click();
    const review = page.getByRole("dialog", { name: "Save these changes to okta?" });
    await review.getByRole("row", { name: "Dry run no yes" }).waitFor();
    await review.getByRole("row", { name: "Deletion limit (%) 10 25" }).waitFor();
    await review.getByRole("button", { name: "Save" }).click();
    await page.getByText("Dry run: requests are answered and logged, but nothing is stored.").waitFor();
    const settings = site.connections.administration.find("okta")?.settings;
    assertEquals([settings?.dryRun, settings?.deletionPercent], [true, 25]);
  });
  await page.getByRole("button", { name: "Remove connection" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove the connection okta?" });
  await dialog.getByText("Its users and groups stay as they are.").waitFor();
  await dialog.getByRole("button", { name: "Remove connection" }).click();
  await page.getByText("The connection okta was removed. Its users stay.").waitFor();
  await page.getByText("No identity providers yet.").waitFor();
  assert(await site.people.target.directory.read("user", "ada") !== null);
});

test("a secret is rotated with an overlap, and the old one is revoked", async ({ page, site, open }) => {
  const old = await connect(site);
  await open("/connections/okta#secrets", "okta");
  await page.getByRole("button", { name: /^Actions for Bearer token/ }).click();
  await page.getByRole("menuitem", { name: "Rotate" }).click();
  const dialog = page.getByRole("dialog", { name: "Rotate" });
  await dialog.getByLabel("Accept the old one for").selectOption({ label: "1 hour" });
  await dialog.getByRole("button", { name: "Rotate" }).click();
  const fresh = await page.getByRole("group", { name: "Secret of okta" }).innerText();
  assertEquals([await isAccepted(site, old), await isAccepted(site, fresh)], [true, true]);
  await page.getByLabel("I have saved it").check();
  await page.getByRole("button", { name: "Done" }).click();
  const expiring = page.getByRole("row", { name: /Expires in/ });
  await expiring.waitFor();
  await assertHoldsInBothLooks(page);
  await expiring.getByRole("button").click();
  await page.getByRole("menuitem", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("The secret was revoked.").waitFor();
  assertEquals([await isAccepted(site, old), await isAccepted(site, fresh)], [false, true]);
});

test("existing users are accepted one by one, or refused together", async ({ page, site, open, step }) => {
  const token = await connect(site);
  await propose(site, token, ["ada", "bob", "eve"]);
  await open("/connections/okta", "okta");
  await page.getByText("3 existing users and groups wait for your decision:").waitFor();
  await tab(page, "Existing users");
  await page.getByRole("row", { name: /ada 00u-ada Waiting/ }).waitFor();
  const stateOf = async (name: string) => {
    const options = { state: null, cursor: null, size: 10 };
    const { proposals } = await site.connections.administration.proposals("okta", options);
    return proposals.find((one) => one.name === name)?.state;
  };
  await step("one", async () => {
    await page.getByRole("button", { name: "Accept ada" }).click();
    await answerQuestion(page, "Let okta manage 1 user or group?", "Accept");
    await page.getByText("1 accepted.").waitFor();
    await page.getByRole("row", { name: /ada/ }).waitFor({ state: "detached" });
    assertEquals(await stateOf("ada"), "accepted");
  });
  await step("several, by keyboard", async () => {
    await page.locator("h1").focus();
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByRole("region", { name: "2 selected" }).getByRole("button", { name: "Refuse" }).click();
    const dialog = page.getByRole("dialog", { name: "Refuse 2 users and groups?" });
    await dialog.getByRole("button", { name: "Refuse" }).click();
    await page.getByText("No existing users here.").waitFor();
    await eventually("both are refused", async () => await stateOf("bob") === "refused");
    assertEquals(await stateOf("eve"), "refused");
  });
  await page.getByLabel("Status", { exact: true }).selectOption("refused");
  await page.getByRole("row", { name: /eve 00u-eve Refused/ }).waitFor();
});

test("Entra ID and other products have their own steps, and a client secret has its token address", async ({ page, site, open }) => {
  await open("/connections", "Identity providers");
  await page.getByRole("button", { name: "Connect Entra ID" }).click();
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByText("Paste the base address into Tenant URL").waitFor();
  await page.getByLabel("I have saved it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("heading", { name: "entra", level: 1 }).waitFor();
  await page.goto(`${site.origin}/connections`);
  await page.getByRole("button", { name: "Connect another" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("hr");
  await dialog.getByLabel("Kind").selectOption("client_secret");
  await dialog.getByRole("button", { name: "Connect", exact: true }).click();
  await holds(() => page.getByRole("group", { name: "Token address" }).innerText(), /\/scim\/oauth\/token$/);
  await holds(() => page.getByRole("group", { name: "Client ID" }).innerText(), "hr");
});

test("German, a viewer, and the note on Provisioning tokens", async ({ page, site, open, step }) => {
  await connect(site);
  await open("/connections/okta#settings", "okta", { role: "viewer" });
  await page.getByText("6000").waitFor();
  await holds(() => page.getByRole("button", { name: "Pause", exact: true }).isDisabled(), true);
  await page.evaluate(() => localStorage.setItem("countersign-language", "de"));
  await page.goto(`${site.origin}/connections/okta#setup`);
  await page.reload();
  await page.getByText("Öffnen Sie in der Okta Admin Console").waitFor();
  await step("holds", () => assertHoldsInBothLooks(page));
  await page.evaluate(() => localStorage.setItem("countersign-language", "en"));
  await open("/credentials", "Provisioning tokens");
  await page.getByRole("main").getByRole("link", { name: "Identity providers" }).click();
  await page.getByRole("heading", { name: "Identity providers", level: 1 }).waitFor();
});

test("the page of a user links to the identity provider that manages the user", async ({ page, site, open }) => {
  await connect(site);
  await site.people.put("bob");
  const { people: { target } } = site;
  const content = { kind: "user", name: "ada", active: true, attributes: {} } as const;
  await target.create(content, { actor: { name: "scim:okta", source: SOURCE }, managedBy: "okta" });
  await open("/users/bob", "bob");
  assertEquals(await page.getByText("Managed by").count(), 0);
  await open("/users/ada", "ada");
  await page.getByText("Managed by").waitFor();
  await page.getByRole("link", { name: "okta", exact: true }).click();
  await page.getByRole("heading", { name: "okta", level: 1 }).waitFor();
});

// Read-only attributes of a backend on the pages: shown as marked text, and selected in the mapping.

browserTest(
  "users: an attribute that is read-only in every backend is marked text, and others are fields",
  async ({ page }) => {
    const shape = { local: "store", "ldap-a": "sync" } as const;
    const readOnly = { "ldap-a": ["title", "emails[].value"] };
    await using site = await startPeopleConsole({ shape, readOnly, dist: await currentDist() });
    await site.put("ada", { displayName: "Ada Lovelace" });
    const held = site.backend("ldap-a").users.get("ada");
    const hostile = '"><img src=x onerror=alert(1)>';
    if (held === undefined) throw new Error("The backend does not have the user");
    const content = { ...held.content, attributes: { ...held.content.attributes, title: hostile } };
    site.backend("ldap-a").users.set("ada", { ...held, content });
    await enterAs(page, { site, role: "user_manager", path: "/users/ada#backends", heading: "ada" });
    await page.getByRole("button", { name: "Refresh from connectors" }).click();
    const truth = page.getByRole("region", { name: "Attributes by connector, for ada" });
    const row = truth.getByRole("row", { name: /^title/ });
    await row.getByText("read-only at ldap-a").waitFor();
    await holds(() => row.getByText(hostile).count(), 2);
    assertEquals(await truth.getByText("Differs").count(), 0);
    assertEquals(await findAccessibilityProblems(page), []);
    await page.getByRole("link", { name: "Profile", exact: true }).click();
    await page.getByText("Read-only: the connectors manage this value.").first().waitFor();
    assertEquals(await page.getByRole("textbox", { name: "Title" }).count(), 0);
    assertEquals(await page.getByRole("button", { name: "Add email address" }).count(), 0);
    await page.getByRole("textbox", { name: "Department" }).fill("Engines");
    assertEquals(await findAccessibilityProblems(page), []);
  },
);

browserTest(
  "users: an attribute that is read-only in one of two backends is announced before saving, and written to the other",
  async ({ page }) => {
    const shape = { "ldap-a": "sync", "ldap-b": "sync" } as const;
    const readOnly = { "ldap-a": ["title"] };
    await using site = await startPeopleConsole({ shape, readOnly, dist: await currentDist() });
    await site.put("ada");
    await enterAs(page, { site, role: "user_manager", path: "/users/ada#profile", heading: "ada" });
    await page.getByLabel("Title").fill("Countess");
    await page.getByRole("button", { name: "Review changes" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("row", { name: /^Job title/ }).getByText("read-only at ldap-a").waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("ada was changed.").waitFor();
    const titles = ["ldap-a", "ldap-b"].map((name) =>
      site.backend(name).users.get("ada")?.content.attributes.title
    );
    assertEquals(titles, [undefined, "Countess"]);
  },
);

browserTest(
  "targets: a row is marked as read only by keyboard, shown beside the user's value, and counted",
  async ({ page }) => {
    const toml = `[targets.default.backends.ldap]\nkind = "ldap"\nurl = "ldap://127.0.0.1:1"\n` +
      `users_dn = "ou=people"\nread_only = ["title"]\n`;
    await using site = await startConnectConsole({ toml, dist: await currentDist() });
    await site.people.put("ada", { emails: [{ value: "ada@example.org" }] });
    await enterAs(page, { site, role: "owner", path: "/targets", heading: "Directories" });
    await page.getByRole("row", { name: /default/ }).getByText("1", { exact: true }).first().waitFor();
    await page.getByRole("columnheader", { name: "Read-only" }).waitFor();
    await page.getByRole("link", { name: "default" }).click();
    await page.getByLabel("Preview for user").fill("ada");
    // The row of an attribute has the user's value beside its checkbox.
    const emails = page.locator(".mapping-row").filter({ has: page.getByText("ada@example.org") });
    await emails.waitFor();
    await holds(() => page.getByRole("checkbox", { name: "Read-only at ldap Job title" }).isChecked(), true);
    const always = /^Read-only at ldap (User name|ID|External ID|Active)$/;
    assertEquals(await page.getByRole("checkbox", { name: always }).count(), 0);
    const box = emails.getByRole("checkbox", { name: /^Read-only at ldap / });
    await holds(() => box.isChecked(), false);
    await box.focus();
    await page.keyboard.press("Space");
    await holds(() => box.isChecked(), true);
    await page.getByText("No changes for ada.").waitFor();
    await page.getByText(/\[targets\.default\.backends\.ldap\]/).waitFor();
    await page.getByText('read_only = ["title","emails[].value"]').waitFor();
    assertEquals(await findAccessibilityProblems(page), []);
  },
);
