// The account page with nothing faked: logins by radclient, a phone page in Chromium, the real gateway between them.

import { assert, assertEquals } from "@std/assert";
import { type Browser, chromium, type Page } from "../packages/playwright.ts";
import { type RunningGateway, startGateway } from "../support/gateway.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { type RadclientSetUp, setUpRadclient } from "../interop/peers/radclient.ts";
import { ACTION_TIMEOUT_MS, CHROMIUM_FLAGS, CHROMIUM_PATH } from "./browser.ts";

const PEERS = ["chromium", "radclient"] as const;
const CLIENT = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a secret of the account page's test"
`;

/** A gateway, a browser, and radclient at the gateway's port. */
async function withGateway(
  test: (world: { gateway: RunningGateway; browser: Browser; peer: RadclientSetUp }) => Promise<void>,
): Promise<void> {
  await using gateway = await startGateway({ toml: CLIENT });
  await using peer = setUpRadclient({ port: gateway.radiusPort, secret: gateway.secret }, {
    nasPort: true,
    signed: true,
  });
  const browser = await chromium.launch({ executablePath: CHROMIUM_PATH, args: [...CHROMIUM_FLAGS] });
  try {
    await test({ gateway, browser, peer });
  } finally {
    await browser.close();
  }
}

async function newPage(browser: Browser, { width = 390, height = 780 } = {}): Promise<Page> {
  const options = { viewport: { width, height }, reducedMotion: "reduce", locale: "en-GB" } as const;
  const page = await (await browser.newContext(options)).newPage();
  page.setDefaultTimeout(ACTION_TIMEOUT_MS);
  return page;
}

/** Opens the set-up link of the first start and becomes the owner. */
async function becomeOwner(page: Page, gateway: RunningGateway): Promise<void> {
  const told = await Deno.readTextFile(`${gateway.dataDir}/first-start.txt`);
  const path = /\/setup#\S+/.exec(told)?.[0];
  assert(path !== undefined, "first-start.txt holds the set-up link");
  await page.goto(gateway.httpUrl + path);
  await page.getByLabel("Name").fill("owner");
  await page.getByLabel("Password", { exact: true }).fill("a long password for the owner");
  await page.getByRole("button").first().click();
  await page.getByRole("button", { name: "Later" }).click();
  await page.getByRole("heading", { name: /^Step \d of 4: / }).waitFor();
  await page.goto(`${gateway.httpUrl}/live`);
  await page.getByRole("heading", { name: "Live" }).waitFor();
}

async function pairPhone(page: Page, gateway: RunningGateway): Promise<void> {
  const { stdout } = await gateway.pair("ada", "--invite");
  const path = /\/device#invite=\S+/.exec(stdout)?.[0];
  assert(path !== undefined, "the command prints the link");
  await page.goto(gateway.httpUrl + path);
  await page.getByRole("button", { name: "Pair this phone" }).click();
  await page.getByText("This phone is paired.").waitFor();
}

testNeeding(
  { peers: PEERS },
  "me: “this was not me” rejects a login by radclient that waits, locks the user, and tells the administrators",
  () =>
    withGateway(async ({ gateway, browser, peer }) => {
      const phone = await newPage(browser);
      await pairPhone(phone, gateway);
      await phone.getByRole("link", { name: /^My account/ }).click();
      await phone.getByRole("button", { name: "Continue as ada" }).click();
      await phone.getByText("No logins yet.").waitFor();
      const login = await peer.login({ name: "ada", password: "pw" });
      await login.shows("Authorize this login on your device");
      await phone.reload();
      const waiting = phone.getByRole("region", { name: "A login is waiting" });
      await waiting.getByText("vpn-1", { exact: true }).waitFor();
      await waiting.getByRole("link", { name: "Answer" }).waitFor();
      await waiting.getByRole("button", { name: /^This was not me/ }).click();
      await phone.getByRole("dialog").getByRole("button", { name: "It was not me" }).click();
      await phone.getByText("Stopped, and your administrators know").waitFor();
      await phone.getByText("1 login that waited was denied.").waitFor();
      await waiting.waitFor({ state: "detached" });
      await login.answer("");
      assertEquals((await login.end()).verdict, "reject");
      const next = await peer.login({ name: "ada", password: "pw" });
      assertEquals((await next.end()).verdict, "reject", "the user is locked");
      await phone.getByRole("region", { name: "Recent logins" }).getByText("You said that it was not you.")
        .waitFor();
      const live = await newPage(browser, { width: 1360, height: 820 });
      await becomeOwner(live, gateway);
      await live.getByText(/ada.*was not/).first().waitFor();
    }),
);

testNeeding(
  { peers: PEERS },
  "me: by a link from the user's page an app is set up and recovery codes are made; each gets in once",
  () =>
    withGateway(async ({ gateway, browser, peer }) => {
      const owner = await newPage(browser, { width: 1360, height: 820 });
      await becomeOwner(owner, gateway);
      await owner.goto(`${gateway.httpUrl}/users/grace`);
      await owner.getByRole("button", { name: "Self-service link" }).click();
      await owner.getByRole("dialog").getByRole("button", { name: "Make the link" }).click();
      const told = await owner.getByRole("dialog").locator("pre").innerText();
      const link = gateway.httpUrl + told.slice(told.indexOf("/me#"));
      const page = await newPage(browser);
      await page.goto(link);
      await page.getByRole("button", { name: "Open my account" }).click();
      const seed = await setUpApp(page);
      const codes = await makeCodes(page);
      const byApp = await peer.login({ name: "grace", password: "pw" });
      // The code that proved the app counts once: a login takes the next one, which a clock may be ahead by.
      await byApp.answer(totpCode(seed, Date.now() + 30_000));
      assertEquals((await byApp.end()).verdict, "accept");
      const byCode = await peer.login({ name: "grace", password: "pw" });
      await byCode.answer(codes[0] ?? "");
      assertEquals((await byCode.end()).verdict, "accept");
      const again = await peer.login({ name: "grace", password: "pw" });
      await again.answer(codes[0] ?? "");
      assertEquals((await again.end()).verdict, "reject", "a recovery code works once");
      await page.reload();
      await page.getByText("9 codes of 10 left").waitFor();
      const recent = page.getByRole("region", { name: "Recent logins" });
      await recent.getByText("The passcode was wrong, used before or late.").waitFor();
      assertEquals(await recent.getByText("Accepted", { exact: true }).count(), 2);
      await page.goto("about:blank");
      await page.context().clearCookies();
      await page.goto(link);
      await page.getByRole("alert").getByText("This link was used").waitFor();
    }),
);

async function setUpApp(page: Page): Promise<Uint8Array> {
  await page.getByRole("button", { name: "Set up an app" }).click();
  const dialog = page.getByRole("dialog");
  const seed = fromBase32((await dialog.locator("code").innerText()).replaceAll(" ", ""));
  await dialog.getByLabel("Code from the app").fill(totpCode(seed, Date.now()));
  await dialog.getByRole("button", { name: "Check the code" }).click();
  await page.getByText("The authenticator app is set up.").waitFor();
  return seed;
}

async function makeCodes(page: Page): Promise<string[]> {
  await page.getByRole("button", { name: "Make recovery codes" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("listitem").first().waitFor();
  const codes = await dialog.getByRole("listitem").allInnerTexts();
  await dialog.getByLabel("I have kept them").check();
  await dialog.getByRole("button", { name: "Done" }).click();
  return codes;
}
