// The first run: from the printed link to an accepted login, the remaining steps, and a set-up that takes long.

import { assertEquals } from "@std/assert";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";
import { decodeBase32, totpAt } from "../../radius/factors/totp.ts";
import { type Slapd, startSlapd } from "../support/slapd.ts";
import { encodeLoginRecord, historyKey } from "../../radius/conversation/login_record.ts";
import { createManualClock, PASSWORD, startConsole } from "../fakes/console_app.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";
import { setUpRadclient } from "../interop/peers/radclient.ts";
import type { Page } from "../packages/playwright.ts";
import { browserTest, currentDist, enterAs, holds } from "./browser.ts";
import { becomeOwner, type ConsoleProgram, pairPhone, startFirstProgram } from "./console_program.ts";
import { consoleTests } from "./console_tests.ts";

const test = consoleTests(startConnectConsole, { role: "owner" });

const SECRET = "a-secret-of-the-first-run";
const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1 });
const goOn = (page: Page) => page.getByRole("button", { name: "Next", exact: true });

async function addClient(page: Page, gateway: ConsoleProgram): Promise<void> {
  await heading(page, "Step 2 of 5: Add a RADIUS client").waitFor();
  await holds(() => goOn(page).getAttribute("title"), "Not done yet: complete this step or skip it");
  await page.getByText(`(UDP port ${gateway.radiusPort})`).waitFor();
  await page.getByRole("button", { name: "Add client" }).click();
  const dialog = page.getByRole("dialog", { name: "Add client" });
  await dialog.getByLabel("Shared secret").fill(SECRET);
  await dialog.getByText("Start a sign-in on the client now.").waitFor();
  await using stranger = setUpRadclient({ port: gateway.radiusPort, secret: SECRET }, {
    nasPort: true,
    signed: true,
    nasIdentifier: "vpn-hq",
  });
  // There is no answer yet. Only the arrival counts.
  const knock = stranger.login({ name: "zoe", password: "pw" }).catch(() => undefined);
  await dialog.getByRole("button", { name: "Use this address 127.0.0.1" }).click();
  // Otherwise every packet without it, such as that of "deno task try", would be dropped.
  await holds(() => dialog.getByLabel("NAS-Identifier").inputValue(), "");
  await dialog.getByLabel("Name", { exact: true }).fill("vpn-1");
  await dialog.getByRole("button", { name: "Add client" }).click();
  await page.getByRole("link", { name: "vpn-1" }).waitFor();
  await knock;
}

const PEOPLE = `dn: uid=zoe,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: zoe
cn: Zoe
sn: Zoe
userPassword: pw-of-zoe
`;

async function connectLdap(page: Page, slapd: Slapd): Promise<void> {
  await heading(page, "Step 3 of 5: Connect a directory or add users").waitFor();
  await page.getByText("No users yet").waitFor();
  await page.getByRole("button", { name: "Connect an LDAP directory" }).click();
  const dialog = page.getByRole("dialog", { name: "Add connector" });
  await dialog.getByLabel("Address", { exact: true }).fill(slapd.url);
  await dialog.getByLabel("Bind DN").fill(slapd.bindDn);
  await dialog.getByLabel("Bind password").fill(slapd.bindPassword);
  await dialog.getByLabel("Base DN of users").fill(slapd.usersDn);
  await holds(() => dialog.getByLabel("Countersign may change this directory").isChecked(), false);
  await dialog.getByRole("button", { name: "Add connector" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.getByRole("region", { name: "zoe" }).waitFor();
}

async function chooseCheck(page: Page): Promise<void> {
  await heading(page, "Step 4 of 5: Choose how passwords are checked").waitFor();
  await page.getByLabel("Not checked here").click();
  await page.getByText("Passwords: not checked.").waitFor();
  await page.getByLabel("At the LDAP directory ldap").click();
  await page.getByRole("button", { name: "Save these choices" }).click();
  await page.getByText("Your choices were saved.").waitFor();
}

browserTest(
  "from the printed link to an accepted login, step by step, on an empty installation",
  async ({ page, context }) => {
    await using gateway = await startFirstProgram();
    await using disposal = new AsyncDisposableStack();
    const slapd = await startSlapd({ entries: PEOPLE });
    disposal.defer(() => slapd.dispose());
    await becomeOwner(page, gateway);
    await addClient(page, gateway);
    await page.reload();
    await heading(page, "Step 2 of 5: Add a RADIUS client").waitFor();
    await page.getByRole("listitem").filter({ hasText: /Done:\s*Add a RADIUS client/ }).waitFor();
    await goOn(page).click();
    await connectLdap(page, slapd);
    await goOn(page).click();
    await chooseCheck(page);
    await goOn(page).click();
    await heading(page, "Sign-in log").waitFor();
    const step = page.getByRole("region", { name: "Step 5 of 5: Test a sign-in" });
    await step.getByText("Waiting for a sign-in").waitFor();
    await step.getByText(`deno task try 127.0.0.1:${gateway.radiusPort} --user zoe`, { exact: true })
      .waitFor();

    const phone = await pairPhone(context, { program: gateway, user: "zoe" });
    await using peer = setUpRadclient({ port: gateway.radiusPort, secret: SECRET }, {
      nasPort: true,
      signed: true,
    });
    assertEquals((await (await peer.login({ name: "zoe", password: "wrong" })).end()).verdict, "reject");
    const login = await peer.login({ name: "zoe", password: "pw-of-zoe" });
    const number = /with the number (\d\d)/.exec(login.message())?.[1] ?? "";
    await step.getByText("Waiting for the phone").waitFor();
    await page.locator(".ways path.taken").first().waitFor({ state: "attached" });
    const card = phone.getByRole("form", { name: "Is this you signing in?" });
    await card.getByLabel("Number shown at your sign-in").fill(number);
    await card.getByRole("button", { name: "Approve" }).click();
    await phone.getByText("Approved. Return to your sign-in.").waitFor();
    await login.answer("");
    assertEquals((await login.end()).verdict, "accept");
    await step.getByText("The sign-in was accepted.").waitFor();
    await step.getByRole("button", { name: "Done" }).click();
    await step.waitFor({ state: "detached" });
    await page.goto(`${gateway.origin}/first-run`);
    await page.getByText("All steps are done").waitFor();
    await page.getByRole("link", { name: "Run the sign-in test" }).click();
    await step.getByText("Waiting for a sign-in").waitFor();
    await step.getByText(`127.0.0.1:${gateway.radiusPort} --user zoe`).waitFor();
  },
  { peers: ["radclient", "slapd"] },
);

test("each step can be skipped, and a remaining step continues where it was", {
  shape: { local: "store", ldap: "sync" },
}, async ({ page, site, open }) => {
  await site.people.put("ada");
  const first = "Step 2 of 5: Add a RADIUS client";
  await open("/first-run", first);
  await page.getByRole("button", { name: "Skip this step" }).click();
  await heading(page, "Step 3 of 5: Connect a directory or add users").waitFor();
  await page.getByRole("button", { name: "Test ldap" }).click();
  await page.getByRole("region", { name: "ada" }).waitFor();
  await page.reload();
  await heading(page, "Step 3 of 5: Connect a directory or add users").waitFor();
  await goOn(page).click();
  await heading(page, "Step 4 of 5: Choose how passwords are checked").waitFor();
  await page.getByRole("button", { name: "Skip this step" }).click();
  const step = page.getByRole("region", { name: "Step 5 of 5: Test a sign-in" });
  await step.getByRole("button", { name: "Skip this step" }).click();
  await step.waitFor({ state: "detached" });
});

test("the login test ignores a login that started earlier, even if the stream delivers it later", {
  shape: { local: "store" },
}, async ({ page, site, open }) => {
  site.watch.put(conversation(1, { startedMs: Date.now() - 60_000 }));
  const step = page.getByRole("region", { name: "Step 5 of 5: Test a sign-in" });
  // Earlier logins arrive when the step is shown.
  await page.route("**/console/api/live", async (route) => {
    await step.waitFor();
    await route.fallback();
  });
  await open("/live?step=login", "Sign-in log");
  await page.getByRole("row").nth(1).waitFor();
  await step.getByText("Waiting for a sign-in").waitFor();
  site.watch.put(conversation(2, { startedMs: Date.now() + 60_000 }));
  await page.waitForURL(/[?&]c=/);
  await step.getByText("Waiting for a sign-in").waitFor({ state: "detached" });
});

const dist = await currentDist();
const start = () => startConnectConsole({ dist, shape: { local: "store" } });
const checklist = (page: Page) => page.getByRole("region", { name: "Setup checklist" });

browserTest("Live lists the remaining steps, and shows a first login on the diagram", async ({ page }) => {
  await using site = await start();
  await enterAs(page, { site, role: "owner" });
  const list = checklist(page);
  await list.getByRole("link", { name: "Add a RADIUS client" }).waitFor();
  await holds(() => list.getByRole("listitem").count(), 4);
  await list.getByRole("button", { name: "Skip Add a RADIUS client" }).click();
  await list.getByRole("button", { name: "Resume Add a RADIUS client" }).waitFor();
  await page.reload();
  await list.getByRole("button", { name: "Resume Add a RADIUS client" }).waitFor();
  await list.getByRole("link", { name: "Test a sign-in" }).click();
  const step = page.getByRole("region", { name: "Step 5 of 5: Test a sign-in" });
  await step.getByText("Waiting for a sign-in").waitFor();
  const startedMs = Date.now();
  // The history keeps a login under its id.
  const id = `${(startedMs * 1024).toString(36).padStart(11, "0")}abcdef`;
  const view = conversation(1, { id, startedMs });
  site.watch.put(view);
  await page.locator(".ways path.taken").first().waitFor({ state: "attached" });
  const login = {
    ...{ user: "ada", client: "vpn-1", source: "10.1.0.7", place: "", factor: "device", startedMs },
    ...{ endedMs: startedMs + 4000, outcome: "accepted", refusedFor: null, passwordRight: true, moments: [] },
  };
  await site.store.commit({
    mutations: [{ type: "set", key: historyKey(id), value: encodeLoginRecord(login) }],
  });
  site.watch.put(ended(view, { outcome: "accepted", row: "approved", atMs: startedMs + 4000 }));
  await step.getByText("The sign-in was accepted.").waitFor();
  await step.getByRole("button", { name: "Done" }).click();
  await list.getByRole("listitem").filter({ hasText: /Done:\s*Test a sign-in/ }).waitFor();
  await list.getByRole("button", { name: "Skip Connect a directory or add users" }).click();
  await list.getByRole("button", { name: "Skip Choose how passwords are checked" }).click();
  await list.waitFor({ state: "detached" });
  await page.reload();
  await page.getByRole("row").getByRole("link", { name: "ada" }).waitFor();
  assertEquals(await list.count(), 0);
});

browserTest(
  "setting up the app may take longer than a factor stays fresh: the page then asks for a factor",
  async ({ page }) => {
    const clock = createManualClock(Date.now());
    await using site = await startConsole({ dist, clock, admins: [] });
    await page.goto(await site.admins.setupLink() ?? "");
    await page.getByLabel("Name").fill("Ada");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Create owner" }).click();
    await page.getByRole("button", { name: "Set up an authenticator app" }).click();
    await page.getByRole("img", { name: "QR code for the authenticator app" }).waitFor();
    const seed = decodeBase32(await page.locator("code").first().innerText());
    if (seed === null) throw new Error("The page shows no base32 seed");
    clock.advance(RECENT_FACTOR_MS + 1);
    await page.getByLabel("Code", { exact: true }).fill(totpAt(seed, Math.floor(clock.nowMs() / 30_000), 6));
    await page.getByRole("button", { name: "Verify code" }).click();
    const asked = page.getByRole("dialog", { name: "Confirm it's you" });
    await asked.getByLabel("Password").fill(PASSWORD);
    await asked.getByRole("button", { name: "Confirm" }).click();
    await holds(async () => (await page.locator(".secret pre").innerText()).split("\n").length, 10);
  },
);
