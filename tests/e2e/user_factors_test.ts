// Factors, locks and lost servers on the pages of users, found by role and label.

import { assertEquals, assertNotMatch } from "@std/assert";
import { PASSWORD } from "../fakes/console_app.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { startGateway } from "../support/gateway.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs } from "./browser.ts";

closeBrowserAtEnd();

browserTest("users: numbers are added, shown masked, put first and revoked", async ({ page }) => {
  await using site = await startPeopleConsole({ dist: await currentDist() });
  await site.put("ada");
  await enterAs(page, { site, role: "user_manager", path: "/users/ada#devices", heading: "ada" });
  await page.getByText("No second factor yet.").waitFor();
  const add = async (number: string, kind: string) => {
    await page.getByRole("button", { name: "Add a number" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Phone number").fill(number);
    await dialog.getByLabel("It gets").selectOption({ label: kind });
    await dialog.getByRole("button", { name: "Add a number" }).click();
    return dialog;
  };
  const refused = await add("12", "Text message");
  await refused.getByText(/A phone number is \+, country code and digits/).waitFor();
  assertEquals(await refused.getByLabel("Phone number").inputValue(), "12", "what was typed stays");
  await refused.getByRole("button", { name: "Cancel" }).click();
  const question = page.getByRole("dialog", { name: "Discard your changes?" });
  await question.getByRole("button", { name: "Discard", exact: true }).click();
  await add("+49 151 1234 5678", "Text message");
  await page.getByText("ada has another number.").waitFor();
  await add("+49 151 8765 4321", "Call");
  await page.getByLabel("Comes first at a login").selectOption({ label: "Call" });
  await page.getByText("A login of ada begins with: Call.").waitFor();
  assertEquals(site.pairings.preferred("ada"), "voice");
  assertNotMatch(await page.locator("body").innerText(), /1511234|1518765/);
  await page.getByRole("button", { name: /^Revoke Text message/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("ada no longer has that factor: Text message.").waitFor();
  assertEquals(site.pairings.of("ada").map(({ kind }) => kind), ["voice"]);
});

browserTest(
  "users: the invitation, the tab and the list say that the phone was paired, without a reload",
  async ({ page }) => {
    await using gateway = await startGateway({
      toml: `[[console.admin]]\nname = "owner"\npassword = "${PASSWORD}"\nrole = "owner"\n`,
    });
    const signedIn = await fetch(`${gateway.httpUrl}/console/api/session`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: gateway.httpUrl },
      body: JSON.stringify({ name: "owner", password: PASSWORD }),
    });
    await signedIn.body?.cancel();
    const [name = "", value = ""] = (signedIn.headers.get("set-cookie") ?? "").split(";")[0]?.split("=") ??
      [];
    await page.context().addCookies([{ name, value, url: gateway.httpUrl }]);
    // The user is not in the directory, as after `deno task pair`.
    await page.goto(`${gateway.httpUrl}/users/zoe#devices`);
    await page.getByText("No second factor yet.").waitFor();
    await page.getByRole("button", { name: "Invite a phone" }).click();
    const dialog = page.getByRole("dialog");
    const link = await dialog.getByText("/device#invite=").innerText();
    const phone = await page.context().newPage();
    await phone.goto(link);
    await phone.getByRole("button", { name: "Pair this phone" }).click();
    await phone.getByText("This phone is paired.").waitFor();
    await dialog.getByText(/is now paired with zoe/).waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: /^Revoke Phone/ }).waitFor();
    assertEquals(await page.getByText("No second factor yet.").count(), 0);
    await page.goto(`${gateway.httpUrl}/users?q=zoe`);
    await page.getByRole("link", { name: "zoe", exact: true }).click();
    await page.getByRole("button", { name: "Create this user" }).click();
    const form = page.getByRole("dialog", { name: "Create user" });
    assertEquals(await form.getByLabel("User name").inputValue(), "zoe");
    await form.getByRole("button", { name: "Create user" }).click();
    await page.getByText("The directory has no user with this name.").waitFor({ state: "detached" });
  },
);

browserTest(
  "users: two phones are told apart by their names; one is renamed and revoked",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist: await currentDist() });
    await site.put("ada");
    const phone = { userName: "ada", totpLength: 6 };
    await site.pairings.addDevice({ ...phone, id: "p1", name: "Pixel of Ada" });
    await site.pairings.addDevice({ ...phone, id: "p2" });
    await enterAs(page, { site, role: "user_manager", path: "/users/ada#devices", heading: "ada" });
    await page.getByText("Pixel of Ada").first().waitFor();
    await page.getByRole("button", { name: "Rename Phone p2" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("\u202eevil");
    await dialog.getByRole("button", { name: "Rename" }).click();
    await dialog.getByText(/A phone's name has 1 to 60 characters/).waitFor();
    await dialog.getByLabel("Name").fill(`"><img src=x onerror=alert(1)>`);
    await dialog.getByRole("button", { name: "Rename" }).click();
    await page.getByText("The phone of ada has its new name.").waitFor();
    await page.getByText(`"><img src=x onerror=alert(1)>`).first().waitFor();
    await page.getByRole("button", { name: "Revoke Phone Pixel of Ada" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("ada no longer has that factor: Phone.").waitFor();
    assertEquals(site.pairings.of("ada").map(({ id }) => id), ["p2"]);
    await page.getByRole("link", { name: /Timeline/ }).click();
    await page.getByText("Phone renamed").waitFor();
    await page.getByText("Pairing: p1, Factor: Phone, Phone: Pixel of Ada").waitFor();
    await page.goto(`${site.origin}/devices?q=onerror`);
    await page.getByRole("row", { name: /onerror=alert/ }).waitFor();
  },
);

browserTest("users: a lock is said and taken off; logins under way are listed", async ({ page }) => {
  await using site = await startPeopleConsole({ dist: await currentDist() });
  await site.put("ada");
  site.watch.put(conversation(1, { user: "Ada", client: "vpn-7", startedMs: Date.now() }));
  site.watch.put(conversation(2, { user: "grace", client: "vpn-8", startedMs: Date.now() }));
  while (!site.limits.isLocked("ada")) site.limits.fail("ada");
  await enterAs(page, { site, role: "user_manager", path: "/users?status=locked", heading: "Users" });
  await page.getByRole("link", { name: "ada" }).click();
  await page.getByRole("link", { name: /Second factors/ }).click();
  await page.getByText("Locked until").waitFor();
  await page.getByRole("link", { name: "vpn-7" }).waitFor();
  assertEquals(await page.getByText("vpn-8").count(), 0);
  await page.getByRole("button", { name: "Unlock" }).click();
  await page.getByText("ada is unlocked.").waitFor();
  assertEquals(site.limits.isLocked("ada"), false);
  assertEquals(await page.getByText("Locked", { exact: true }).count(), 0);
});

browserTest(
  "users: while the server is away the old rows stay, and a try brings new ones",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist: await currentDist() });
    await site.put("ada");
    await site.put("grace");
    await enterAs(page, { site, role: "viewer", path: "/users", heading: "Users" });
    await page.getByRole("link", { name: "grace" }).waitFor();
    await page.route("**/console/api/users?*", (route) => route.abort());
    await page.getByRole("searchbox", { name: "Search users" }).fill("ada");
    await page.getByRole("alert").getByText("The users could not be listed.").waitFor();
    await page.getByRole("link", { name: "grace" }).waitFor();
    await page.unroute("**/console/api/users?*");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("link", { name: "grace" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "ada" }).waitFor();
    assertEquals(await page.getByRole("alert").count(), 0);
  },
);

browserTest(
  "users: every part has its words in German",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist: await currentDist() });
    await site.put("ada");
    await page.addInitScript(() => localStorage.setItem("countersign-language", "de"));
    await enterAs(page, { site, role: "user_manager", path: "/users/ada", heading: "ada" });
    await page.getByRole("button", { name: "Änderungen prüfen" }).waitFor();
    for (const part of ["Gruppen", "Zweite Faktoren", "Backends", "Zeitachse"]) {
      await page.locator("main").getByRole("link", { name: part }).click();
      await page.getByRole("region", { name: part }).first().waitFor();
    }
    assertNotMatch(await page.locator("main").innerText(), /people\.|frame\./, "no word is missing");
  },
);
