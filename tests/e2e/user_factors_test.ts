// Factors, locks and lost servers on the pages of users, with elements found by role and label.

import { assertEquals, assertNotMatch } from "@std/assert";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { startConsoleProgram } from "./console_program.ts";
import { consoleTests } from "./console_tests.ts";
import { findAccessibilityProblems } from "./page_checks.ts";
import { answerQuestion } from "./question.ts";

const test = consoleTests(startPeopleConsole, { role: "user_manager" });
const programTest = consoleTests(startConsoleProgram, { role: "owner" });

const OTHER_APP = "otpauth://totp/Old:ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&algorithm=SHA256&digits=8";

test("users: numbers are added, shown masked, preferred and revoked", async ({ page, site, open }) => {
  await site.put("ada");
  await open("/users/ada#devices", "ada");
  await page.getByText("No second factors yet.").waitFor();
  const add = async (number: string, kind: string) => {
    await page.getByRole("button", { name: "Add number" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Phone number").fill(number);
    await dialog.getByLabel("Use for").selectOption({ label: kind });
    await dialog.getByRole("button", { name: "Add number" }).click();
    return dialog;
  };
  const refused = await add("12", "Text message");
  await refused.getByText(/Enter the number with \+ and country code/).waitFor();
  assertEquals(await refused.getByLabel("Phone number").inputValue(), "12", "what was typed stays");
  await refused.getByRole("button", { name: "Cancel" }).click();
  const question = page.getByRole("dialog", { name: "Discard your changes?" });
  await question.getByRole("button", { name: "Discard", exact: true }).click();
  await add("+49 151 1234 5678", "Text message");
  await page.getByText("Number added for ada.").waitFor();
  await add("+49 151 8765 4321", "Call");
  await page.getByLabel("Default factor").selectOption({ label: "Call" });
  await page.getByText("The default factor of ada is now: Call.").waitFor();
  assertEquals(site.pairings.preferred("ada"), "voice");
  assertNotMatch(await page.locator("body").innerText(), /1511234|1518765/);
  await page.getByRole("button", { name: "Add authenticator app" }).click();
  const app = page.getByRole("dialog", { name: "Add an authenticator app for ada" });
  await app.getByLabel("Or the secret of an existing app").fill("not a secret 1");
  await app.getByLabel("Code from the app").waitFor({ state: "detached" });
  await app.getByRole("button", { name: "Confirm" }).click();
  await app.getByRole("alert").waitFor();
  await app.getByLabel("Or the secret of an existing app").fill(OTHER_APP);
  await app.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("Authenticator app added for ada.").waitFor();
  assertEquals(site.pairings.of("ada").filter(({ kind }) => kind === "totp").length, 1);
  await page.getByRole("button", { name: /^Revoke Authenticator app/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Authenticator app removed from ada.").waitFor();
  await page.getByRole("button", { name: /^Revoke Text message/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Text message removed from ada.").waitFor();
  assertEquals(site.pairings.of("ada").map(({ kind }) => kind), ["voice"]);
});

programTest(
  "users: the invitation, the tab and the list show that the phone was paired, without a reload",
  async ({ page, site, open }) => {
    // The user is not in the directory, as after `deno task pair`.
    await open("/users/zoe#devices", "zoe");
    await page.getByText("No second factors yet.").waitFor();
    // The header offers it, too, because the user has no factor.
    await page.getByRole("region", { name: "Authenticators" }).getByRole("button", { name: "Pair a phone" })
      .click();
    const dialog = page.getByRole("dialog");
    const link = await dialog.getByText("/device#invite=").innerText();
    const phone = await page.context().newPage();
    await phone.goto(link);
    await phone.getByRole("button", { name: "Pair this phone" }).click();
    await phone.getByText("This phone is paired.").waitFor();
    await dialog.getByText(/is now paired with zoe/).waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: /^Revoke Phone/ }).waitFor();
    assertEquals(await page.getByText("No second factors yet.").count(), 0);
    await page.goto(`${site.origin}/users?q=zoe`);
    await page.getByRole("link", { name: "zoe", exact: true }).click();
    await page.getByRole("button", { name: "Create this user" }).click();
    const form = page.getByRole("dialog", { name: "Create user" });
    assertEquals(await form.getByLabel("User name").inputValue(), "zoe");
    await form.getByRole("button", { name: "Create user" }).click();
    await page.getByText("The directory has no user with this name.").waitFor({ state: "detached" });
  },
);

test("users: two phones are distinguished by their names; one is renamed and revoked", async ({ page, site, open }) => {
  await site.put("ada");
  const phone = { userName: "ada", totpLength: 6 };
  await site.pairings.addDevice({ ...phone, id: "p1", name: "Pixel of Ada" });
  await site.pairings.addDevice({ ...phone, id: "p2" });
  await open("/devices", "Authenticators");
  await page.getByRole("row", { name: /Phone, paired \d/ }).waitFor();
  assertEquals(await page.getByText("p2", { exact: true }).count(), 0, "an id is no name");
  await open("/users/ada#devices", "ada");
  await page.getByText("Pixel of Ada").first().waitFor();
  await page.getByRole("button", { name: /^Rename Phone, paired \d/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("\u202eevil");
  await dialog.getByRole("button", { name: "Rename" }).click();
  await dialog.getByText(/A phone name has 1 to 60 characters/).waitFor();
  await dialog.getByLabel("Name").fill(`"><img src=x onerror=alert(1)>`);
  await dialog.getByRole("button", { name: "Rename" }).click();
  await page.getByText("The phone of ada was renamed.").waitFor();
  await page.getByText(`"><img src=x onerror=alert(1)>`).first().waitFor();
  await page.getByRole("button", { name: "Revoke Phone Pixel of Ada" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Phone removed from ada.").waitFor();
  assertEquals(site.pairings.of("ada").map(({ id }) => id), ["p2"]);
  await page.getByRole("link", { name: /Timeline/ }).click();
  await page.getByText("Phone renamed").waitFor();
  await page.getByText("Pairing: p1, Factor: Phone, Phone: Pixel of Ada").waitFor();
  await page.goto(`${site.origin}/devices?q=onerror`);
  await page.getByRole("row", { name: /onerror=alert/ }).waitFor();
});

test("users: a lock is shown and removed; logins in progress are listed", async ({ page, site, open }) => {
  await site.put("ada");
  site.watch.put(conversation(1, { user: "Ada", client: "vpn-7", startedMs: Date.now() }));
  site.watch.put(conversation(2, { user: "grace", client: "vpn-8", startedMs: Date.now() }));
  while (!site.limits.isLocked("ada")) site.limits.countFailure("ada");
  await open("/users?status=locked", "Users");
  await page.getByRole("link", { name: "ada" }).click();
  await page.getByText("Locked until").waitFor();
  await page.getByRole("link", { name: "vpn-7" }).waitFor();
  assertEquals(await page.getByText("vpn-8").count(), 0);
  await page.getByRole("button", { name: "Unlock" }).click();
  await page.getByText("ada was unlocked.").waitFor();
  assertEquals(site.limits.isLocked("ada"), false);
  assertEquals(await page.getByText("Locked", { exact: true }).count(), 0);
});

test("users: remembered devices are counted and forgotten", async ({ page, site, open }) => {
  await site.put("ada");
  const { remembered } = site.policies;
  for (const place of ["192.0.2.1", "192.0.2.2"]) {
    const change = remembered.prepareRemember({ user: "ada", client: "vpn-7", place }, {
      hours: 8,
      used: "totp",
    });
    if (change === null) throw new Error("The device is not remembered");
    await site.store.commit({ mutations: [...change.mutations] });
    change.done();
  }
  await open("/users/ada#devices", "ada");
  await page.getByText("2 remembered devices sign in without a second factor.").waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
  await page.getByRole("button", { name: "Forget remembered devices" }).click();
  await answerQuestion(page, "Forget the remembered devices of ada?", "Forget remembered devices");
  await page.getByText("The next sign-in of ada needs a second factor on every device.").waitFor();
  await page.getByRole("button", { name: "Forget remembered devices" }).waitFor({ state: "detached" });
  assertEquals(remembered.count("ada"), 0);
});

test("users: while the server is unreachable the old rows stay, and a retry loads new ones", async ({ page, site, open }) => {
  await site.put("ada");
  await site.put("grace");
  await open("/users", "Users", { role: "viewer" });
  await page.getByRole("link", { name: "grace" }).waitFor();
  await page.route("**/console/api/users?*", (route) => route.abort());
  await page.getByRole("searchbox", { name: "Search users" }).fill("ada");
  await page.getByRole("alert").getByText("The users could not be loaded.").waitFor();
  await page.getByRole("link", { name: "grace" }).waitFor();
  await page.unroute("**/console/api/users?*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: "grace" }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "ada" }).waitFor();
  assertEquals(await page.getByRole("alert").count(), 0);
});

test("users: every part is translated to German", async ({ page, site, open }) => {
  await site.put("ada");
  await page.addInitScript(() => localStorage.setItem("countersign-language", "de"));
  await open("/users/ada#profile", "ada");
  await page.getByRole("button", { name: "Änderungen prüfen" }).waitFor();
  for (
    const part of ["Gruppen", "Authentifikatoren", "Attribute je Konnektor", "VPN-Sitzungen", "Zeitachse"]
  ) {
    await page.locator("main").getByRole("link", { name: part }).click();
    await page.getByRole("region", { name: part }).first().waitFor();
  }
  assertNotMatch(
    await page.locator("main").innerText(),
    /(?:users|common|shell|login)\.\w/,
    "no word is missing",
  );
});
