// The page of policies in a browser: the editor, the order, what would happen, the replay, and the protection from lockouts.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { encodeLoginRecord, historyKey, historyKeyAt } from "../../radius/conversation/login_record.ts";
import type { Policy } from "../../radius/policy/policy.ts";
import { type ConnectConsole, startConnectConsole } from "../fakes/console_connect.ts";
import { consoleTests } from "./console_tests.ts";
import { assertHolds } from "./page_checks.ts";
import { runUserAction } from "./page_actions.ts";
import { holds } from "./browser.ts";

const TOML = `[[radius.client]]
name = "vpn"
address = ["192.0.2.1"]
secret = "a secret of a test"
first_factor = "directory"
[[radius.client]]
name = "wifi"
address = ["192.0.2.2"]
secret = "a secret of a test"
`;

const test = consoleTests(startConnectConsole, { role: "owner", toml: TOML });

const policy = (id: string, more: Partial<Policy> = {}): Policy => ({
  ...{ id, name: id.toUpperCase(), enabled: true, conditions: {}, outcome: { kind: "challenge" } },
  ...more,
});

async function store({ people }: ConnectConsole, policies: readonly Policy[], by = "grace"): Promise<void> {
  const { registry } = people.policies;
  const changed = { by, atMs: Date.now() };
  const done = await registry.replace(policies, { version: registry.list.version, audit: [], changed });
  if (!done.ok) throw new Error(JSON.stringify(done));
}

const stored = ({ people }: ConnectConsole) => people.policies.registry.list.policies;

async function putLogin(
  { store }: ConnectConsole,
  login: { user: string; place: string; policy?: string },
): Promise<void> {
  const startedMs = Date.now() - 3_600_000;
  const record = {
    ...{ client: "vpn", source: "192.0.2.1", factor: null, startedMs, endedMs: startedMs },
    ...{ outcome: "accepted", refusedFor: null, passwordRight: true, moments: [] },
    ...login,
  };
  const key = historyKey(`${historyKeyAt(startedMs)}abcdef`);
  await store.commit({ mutations: [{ type: "set", key, value: encodeLoginRecord(record) }] });
}

/** The names of the list, in order. */
const shownNames = (page: Page) => page.locator(".policy-name > bdi").allTextContents();

test("policies: one is written with pickers, replayed, saved, and reads as a sentence", async ({ page, site, open }) => {
  await site.people.put("ada");
  await site.people.put("owner");
  await site.people.putGroup("Contractors", ["ada"]);
  await putLogin(site, { user: "ada", place: "203.0.113.9" });
  await open("/policies", "Policies");
  await page.getByText("No policies yet.").waitFor();
  await page.getByRole("button", { name: "Add policy" }).click();
  const dialog = page.getByRole("dialog", { name: "Add policy" });
  await dialog.getByLabel("Name").fill("Contractors from outside");
  await dialog.getByLabel("Add a condition").selectOption("groups");
  await dialog.getByRole("combobox", { name: "Groups" }).fill("contr");
  await dialog.getByRole("option", { name: "Contractors" }).click();
  await dialog.getByLabel("Add a condition").selectOption("exceptNetworks");
  await dialog.getByLabel("Networks, excluded").fill("10.0.0.0/8");
  await dialog.getByLabel("Sign-in methods").selectOption("one");
  await dialog.getByText("If group is Contractors and network is not 10.0.0.0/8").waitFor();
  await dialog.getByRole("button", { name: "Replay last 24 hours" }).click();
  await dialog.getByText("1 of 1 sign-ins would change.").waitFor();
  await dialog.getByRole("row", { name: /ada.*Second factor: Approval on the phone/ }).waitFor();
  await page.setViewportSize({ width: 1280, height: 2000 }); // Axe measures nothing that the buttons half cover.
  await assertHolds(page);
  await dialog.getByRole("button", { name: "Save policy" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByText("require an approval on the phone").waitFor();
  assertEquals(stored(site)[0]?.conditions, { groups: ["Contractors"], exceptNetworks: ["10.0.0.0/8"] });
  assertEquals(stored(site)[0]?.outcome, { kind: "challenge", requiredFactor: "device" });
});

test("policies: a server's refusal stays in the editor with its reason", async ({ page, open }) => {
  await open("/policies", "Policies");
  await page.getByRole("button", { name: "Add policy" }).click();
  const dialog = page.getByRole("dialog", { name: "Add policy" });
  await dialog.getByLabel("Name").fill("Office");
  await dialog.getByLabel("Add a condition").selectOption("networks");
  await dialog.getByLabel("Networks", { exact: true }).fill("the office");
  await dialog.getByRole("button", { name: "Save policy" }).click();
  await dialog.getByRole("alert").getByText('"the" is not an IP address or a CIDR range').waitFor();
});

test("policies: a condition without an entry is not taken for every sign-in", async ({ page, site, open }) => {
  await open("/policies", "Policies");
  await page.getByRole("button", { name: "Add policy" }).click();
  const dialog = page.getByRole("dialog", { name: "Add policy" });
  await dialog.getByLabel("Name").fill("Office");
  await dialog.getByLabel("Add a condition").selectOption("groups");
  await dialog.getByRole("combobox", { name: "Groups" }).fill("Contractors");
  await dialog.getByLabel("Then", { exact: true }).selectOption("bypass");
  await dialog.getByText("If Groups: nothing chosen").waitFor();
  await dialog.getByRole("button", { name: "Save policy" }).click();
  const alert = dialog.getByRole("alert").getByText("groups has no entry.");
  await alert.waitFor();
  // The dialog was scrolled to its end.
  const box = await alert.boundingBox();
  assert(box !== null && box.y >= 0 && box.y < (page.viewportSize()?.height ?? 0));
  assertEquals(stored(site), []);
});

test("policies: one that names a removed group says so", async ({ page, site, open }) => {
  await site.people.putGroup("Contractors", []);
  await store(site, [
    policy("aaaa", { conditions: { groups: ["contractors"] } }),
    policy("bbbb", { conditions: { exceptGroups: ["Guests"] }, outcome: { kind: "bypass" } }),
  ]);
  await open("/policies", "Policies");
  await page.getByText("it has no effect in the condition: Guests").waitFor();
  await holds(() => page.getByText("it has no effect in the condition").count(), 1);
  await assertHolds(page);
});

test("policies: the keyboard moves them, and the focus stays at the moved one", async ({ page, site, open }) => {
  await store(site, [policy("aaaa"), policy("bbbb"), policy("cccc")]);
  await open("/policies", "Policies");
  const up = page.getByRole("button", { name: "Move CCCC up" });
  await up.focus();
  for (const expected of [["AAAA", "CCCC", "BBBB"], ["CCCC", "AAAA", "BBBB"]]) {
    await page.keyboard.press("Enter");
    await page.getByText(`“CCCC” is now number ${expected.indexOf("CCCC") + 1}.`).waitFor();
    assertEquals(await shownNames(page), expected);
  }
  assertEquals(stored(site).map(({ name }) => name), ["CCCC", "AAAA", "BBBB"]);
  // At the top, the other button has the focus.
  assertEquals(
    await page.evaluate(() => document.activeElement?.getAttribute("aria-label")),
    "Move CCCC down",
  );
  // Each step has an undo.
  await page.keyboard.press("z");
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".policy-name > bdi")].map((one) => one.textContent).join() ===
      "AAAA,CCCC,BBBB"
  );
});

test("policies: one is turned off, changed and removed", async ({ page, site, open }) => {
  await store(site, [policy("aaaa"), policy("bbbb")]);
  await open("/policies", "Policies");
  await page.getByRole("button", { name: "Turn off AAAA" }).click();
  await page.getByRole("button", { name: "Turn on AAAA" }).waitFor();
  assertEquals(stored(site).map(({ enabled }) => enabled), [false, true]);
  await page.getByRole("button", { name: "Edit BBBB" }).click();
  const editor = page.getByRole("dialog", { name: "Edit BBBB" });
  await editor.getByLabel("Then", { exact: true }).selectOption("bypass");
  await editor.getByText("At wifi, the gateway does not check the password").waitFor();
  await editor.getByLabel("The client checks the password").check();
  await editor.getByText("At wifi, only the client checks the password.").waitFor();
  await editor.getByLabel("Session attributes").fill("Filter-Id = office\nClass = staff");
  await editor.getByRole("button", { name: "Save policy" }).click();
  await editor.waitFor({ state: "detached" });
  await page.getByText("accept without a second factor, 2 session attributes").waitFor();
  assertEquals(stored(site)[1]?.outcome, {
    ...{ kind: "bypass", clientChecksPassword: true },
    attributes: { "Filter-Id": "office", "Class": "staff" },
  });
  await page.getByRole("button", { name: "Remove AAAA" }).click();
  const removal = page.getByRole("dialog", { name: "Remove AAAA?" });
  await removal.getByRole("button", { name: "Remove policy" }).click();
  await removal.waitFor({ state: "detached" });
  assertEquals(await shownNames(page), ["BBBB"]);
});

test("policies: another administrator's change is a conflict; saving again adds to the new list", async ({ page, site, open }) => {
  await store(site, [policy("aaaa")]);
  await open("/policies", "Policies");
  await page.getByRole("button", { name: "Edit AAAA" }).click();
  const editor = page.getByRole("dialog", { name: "Edit AAAA" });
  await editor.getByLabel("Name").fill("Mine");
  await store(site, [policy("aaaa"), policy("bbbb")]);
  await editor.getByRole("button", { name: "Save policy" }).click();
  await editor.getByText(/^grace changed this on \d+ \w+ 20\d\d, [\d:]{8}\.$/).waitFor();
  await editor.getByRole("button", { name: "Save policy" }).click();
  await editor.waitFor({ state: "detached" });
  assertEquals(await shownNames(page), ["Mine", "BBBB"]);
});

test("policies: a sign-in and a test sign-in name their policy and link to it; a removed one keeps its name", async ({ page, site, open }) => {
  await site.people.put("ada");
  const deny = { conditions: { users: ["ada"] }, outcome: { kind: "deny" } } as const;
  await store(site, [policy("aaaa"), policy("bbbb", deny)].reverse());
  await putLogin(site, { user: "ada", place: "203.0.113.9", policy: "BBBB" });
  await open("/history", "Sign-in log");
  await page.getByRole("row", { name: /ada/ }).getByText("ada").waitFor();
  await page.goto(`${new URL(page.url()).origin}/history?policy=BBBB`);
  await page.getByRole("button", { name: "Clear filter Policy: BBBB" }).waitFor();
  await page.getByRole("row", { name: /ada/ }).getByRole("link").first().click();
  const facts = page.locator("dl.facts");
  await facts.getByRole("link", { name: "BBBB" }).click();
  await page.waitForURL(/\/policies\?name=BBBB/);
  await page.locator(".policy[aria-current=true]").getByRole("button", { name: "Edit BBBB" }).waitFor();
  await open("/users/ada", "ada");
  await runUserAction(page, "Test sign-in");
  const dialog = page.getByRole("dialog", { name: "Test sign-in of ada" });
  await dialog.getByRole("button", { name: "Test sign-in" }).click();
  await dialog.getByText("Policy: BBBB").waitFor();
  await assertHolds(page);
  await store(site, [policy("aaaa")]);
  await page.goto(`${new URL(page.url()).origin}/history?policy=BBBB`);
  await page.getByRole("row", { name: /ada/ }).getByRole("link").first().click();
  await facts.getByText("BBBB · removed or renamed since").waitFor();
});

test("policies: a list that locks out every user asks twice", async ({ page, site, open }) => {
  await site.people.put("ada");
  await open("/policies", "Policies");
  await page.getByRole("button", { name: "Add policy" }).click();
  const editor = page.getByRole("dialog", { name: "Add policy" });
  await editor.getByLabel("Name").fill("No one");
  await editor.getByLabel("Then", { exact: true }).selectOption("deny");
  await editor.getByRole("button", { name: "Save policy" }).click();
  await editor.getByText("With these policies, no user can sign in any more.").waitFor();
  await assertHolds(page);
  // Another change is not confirmed.
  await editor.getByLabel("Name").fill("Everyone out");
  await editor.getByRole("button", { name: "Save policy" }).click();
  await editor.getByRole("button", { name: "Save anyway" }).waitFor();
  assertEquals(stored(site), []);
  await editor.getByRole("button", { name: "Save anyway" }).click();
  await editor.waitFor({ state: "detached" });
  assertEquals(await shownNames(page), ["Everyone out"]);
});

test("policies: turning one on that locks out every user asks twice, and Keep is the default", async ({ page, site, open }) => {
  await site.people.put("ada");
  await store(site, [policy("aaaa", { enabled: false, outcome: { kind: "deny" } })]);
  await open("/policies", "Policies");
  await page.getByRole("button", { name: "Turn on AAAA" }).click();
  const warning = page.getByRole("dialog", { name: "Lock everyone out?" });
  await warning.getByText("With these policies, no user can sign in any more.").waitFor();
  assertEquals(await page.evaluate(() => document.activeElement?.textContent), "Cancel");
  await page.keyboard.press("Enter");
  await warning.waitFor({ state: "detached" });
  assertEquals(stored(site)[0]?.enabled, false);
  await page.getByRole("button", { name: "Turn on AAAA" }).click();
  await warning.getByRole("button", { name: "Save anyway" }).click();
  await page.getByRole("button", { name: "Turn off AAAA" }).waitFor();
  assertEquals(stored(site)[0]?.enabled, true);
});

for (const look of ["wide", "narrow"] as const) {
  test(
    `policies: what would happen names the policy and why the others do not apply, ${look}`,
    { look },
    async ({ page, site, open }) => {
      await site.people.put("ada");
      await store(site, [
        policy("aaaa", { conditions: { networks: ["10.0.0.0/8"] }, outcome: { kind: "bypass" } }),
        policy("bbbb", { enabled: false }),
        policy("cccc", { outcome: { kind: "deny" } }),
      ]);
      await open("/policies", "Policies");
      const panel = page.getByRole("region", { name: "What would happen" });
      await panel.getByLabel("User name").fill("ada");
      await panel.getByLabel("Calling-Station-Id").fill("203.0.113.9");
      await panel.getByRole("button", { name: "Evaluate" }).click();
      await panel.getByText("Access is denied").waitFor();
      await panel.getByText("Policy “CCCC” applies.").waitFor();
      await holds(() => panel.getByRole("listitem").allTextContents(), [
        "AAAA: the address is in none of its networks",
        "BBBB: is off",
        "CCCC: applies",
      ]);
      await panel.getByLabel("Calling-Station-Id").fill("10.1.2.3");
      await panel.getByRole("button", { name: "Evaluate" }).click();
      await panel.getByText("Accepted without a second factor").waitFor();
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
      await assertHolds(page);
    },
  );
}

test(
  "policies: a user manager reads and evaluates them, and changes nothing",
  { role: "user_manager" },
  async ({ page, site, open }) => {
    await store(site, [policy("aaaa")]);
    await open("/policies", "Policies");
    for (const name of ["Add policy", "Edit AAAA", "Remove AAAA", "Turn off AAAA"]) {
      const button = page.getByRole("button", { name });
      await holds(async () => [await button.isDisabled(), await button.getAttribute("title")], [
        true,
        "Requires the owner role",
      ]);
    }
  },
);
