// The whole way, with nothing faked: a phone page in Chromium, a login by radclient, the real gateway in between, and the console
// that watches. A picture of the phone goes into the README.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { chromium, type Page } from "../packages/playwright.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { type RunningGateway, startGateway } from "../support/gateway.ts";
import { type RadclientLogin, setUpRadclient } from "../interop/peers/radclient.ts";
import { ACTION_TIMEOUT_MS, CHROMIUM_FLAGS, CHROMIUM_PATH } from "./browser.ts";

const OWNER_PASSWORD = "a long password for the owner";
/** A client with a name, as an administrator would have one. */
const CLIENT = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a secret of the whole-login test"
`;
const PICTURE = new URL("../../docs/images/phone.png", import.meta.url).pathname;
/** It is only written on demand, so that a test run leaves the checkout as it was. */
const WRITES_PICTURES = Deno.env.get("COUNTERSIGN_PICTURES") === "1";

testNeeding(
  { peers: ["chromium", "radclient"] },
  "a login by radclient is approved on a paired phone page with its number, seen live, and accepted",
  async () => {
    await using gateway = await startGateway({ toml: CLIENT });
    const browser = await chromium.launch({ executablePath: CHROMIUM_PATH, args: [...CHROMIUM_FLAGS] });
    try {
      const live = await openConsole(await newPage(browser, { width: 1360, height: 820 }), gateway);
      const phone = await pairPhone(await newPage(browser, { width: 390, height: 780 }), gateway);
      await using peer = await setUpRadclient({ port: gateway.radiusPort, secret: gateway.secret }, {
        nasPort: true,
        signed: true,
      });

      await loginIsApproved(await peer.login({ name: "ada", password: "pw" }), { live, phone });
      await loginIsDeniedByAWrongNumber(await peer.login({ name: "ada", password: "pw" }), { live, phone });
    } finally {
      await browser.close();
    }
  },
);

async function loginIsApproved(
  login: RadclientLogin,
  { live, phone }: { live: Page; phone: Page },
): Promise<void> {
  const number = await promptedNumber(login);
  const card = phone.getByRole("form", { name: "Is this you signing in?" });
  await card.waitFor();
  await live.getByRole("row").getByText("Waiting for the phone").first().waitFor();
  await live.getByRole("button", { name: "Deny the login of ada" }).waitFor();
  if (WRITES_PICTURES) await phone.screenshot({ path: PICTURE });
  await card.getByLabel("Number shown in your login").fill(number);
  await card.getByRole("button", { name: "Approve" }).click();
  await phone.getByText("Approved. Go back to your login.").waitFor();
  // The next login asks with the same words.
  await card.waitFor({ state: "detached" });
  await login.answer("");
  assertEquals((await login.end()).verdict, "accept");
  await live.getByText("Accepted", { exact: true }).last().waitFor();
}

async function loginIsDeniedByAWrongNumber(
  login: RadclientLogin,
  { live, phone }: { live: Page; phone: Page },
): Promise<void> {
  const number = await promptedNumber(login);
  const card = phone.getByRole("form", { name: "Is this you signing in?" });
  await card.getByLabel("Number shown in your login").fill(number === "10" ? "11" : "10");
  await card.getByRole("button", { name: "Approve" }).click();
  await phone.getByText("That was not the number of the login, so the login was denied.").waitFor();
  await login.answer("");
  const { verdict, message } = await login.end();
  assertEquals(verdict, "reject");
  assertMatch(message ?? "", /approval was not given/i);
  await live.getByText("Rejected", { exact: true }).last().waitFor();
}

/** The two digits that the login prompt shows. */
async function promptedNumber(login: RadclientLogin): Promise<string> {
  await login.shows("Authorize this login on your device with the number");
  const number = /with the number (\d\d)/.exec(login.message())?.[1];
  if (number === undefined) throw new Error(`There is no number in "${login.message()}"`);
  return number;
}

async function newPage(
  browser: Awaited<ReturnType<typeof chromium.launch>>,
  viewport: { width: number; height: number },
): Promise<Page> {
  const context = await browser.newContext({ viewport, reducedMotion: "reduce", locale: "en-GB" });
  const page = await context.newPage();
  page.setDefaultTimeout(ACTION_TIMEOUT_MS);
  return page;
}

/** Opens the set-up link of the first start and becomes the owner. */
async function openConsole(page: Page, gateway: RunningGateway): Promise<Page> {
  const told = await Deno.readTextFile(`${gateway.dataDir}/first-start.txt`);
  const path = /\/setup#\S+/.exec(told)?.[0];
  assert(path !== undefined, "first-start.txt holds the set-up link");
  await page.goto(gateway.httpUrl + path);
  await page.getByLabel("Name").fill("owner");
  await page.getByLabel("Password", { exact: true }).fill(OWNER_PASSWORD);
  await page.getByRole("button").first().click();
  // A second factor is offered; this owner goes on without.
  await page.getByRole("button", { name: "Later" }).click();
  await page.getByRole("heading", { name: /^Step \d of 4: / }).waitFor();
  await page.goto(`${gateway.httpUrl}/live`);
  await page.getByRole("heading", { name: "Live" }).waitFor();
  return page;
}

/** Opens an invitation made by `deno task pair`, and pairs. */
async function pairPhone(page: Page, gateway: RunningGateway): Promise<Page> {
  const { stdout } = await gateway.pair("ada", "--invite");
  const path = /\/device#invite=\S+/.exec(stdout)?.[0];
  assert(path !== undefined, "the command prints the link");
  await page.goto(gateway.httpUrl + path);
  await page.getByText("ada").first().waitFor();
  await page.getByRole("button", { name: "Pair this phone" }).click();
  await page.getByText("This phone is paired.").waitFor();
  return page;
}
