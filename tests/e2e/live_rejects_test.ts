// Real packets by radclient through the real gateway: each refusal and each dropped packet is explained in the console, finished logins are in
// the history and the charts, and the page comes back by itself when the server was killed.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { chromium, type Page } from "../packages/playwright.ts";
import { runProgram } from "../support/child.ts";
import { type RunningGateway, startGateway } from "../support/gateway.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { totpCode } from "../support/totp.ts";
import { type RadclientSetUp, setUpRadclient } from "../interop/peers/radclient.ts";
import { ACTION_TIMEOUT_MS, CHROMIUM_FLAGS, CHROMIUM_PATH } from "./browser.ts";

const CONSOLE_PASSWORD = "planted-console-password";
const SECRET = "planted-secret-of-the-client";
const CLIENT = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "${SECRET}"

[[console.admin]]
name = "viewer"
password = "${CONSOLE_PASSWORD}"
role = "viewer"
`;
const PASSWORD = "planted-password";
const SEED = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

testNeeding(
  { peers: ["chromium", "radclient"] },
  "refused and dropped packets of radclient are explained, kept without a secret, and the page outlives the server",
  async () => {
    await using gateway = await startGateway({ toml: CLIENT });
    await gateway.pair("edsger", "--totp", SEED);
    const browser = await chromium.launch({ executablePath: CHROMIUM_PATH, args: [...CHROMIUM_FLAGS] });
    try {
      const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, locale: "en-GB" });
      const page = await context.newPage();
      page.setDefaultTimeout(ACTION_TIMEOUT_MS);
      const seen: string[] = [];
      page.on("response", (response) => {
        if (!response.url().includes("/console/api/") || response.url().includes("/stream")) return;
        void response.text().then((text) => seen.push(text), () => undefined);
      });
      await enter(page, gateway);
      await using peer = await setUpRadclient({ port: gateway.radiusPort, secret: SECRET }, {
        nasPort: true,
        signed: true,
      });
      await wrongPasscodeIsExplained(page, peer);
      await droppedPacketsAreExplained(page, gateway);
      await historyAndChartsHaveIt(page, gateway, peer);
      await pageComesBack(page, gateway, peer);
      const text = seen.join("\n");
      for (const secret of [PASSWORD, SECRET, SEED]) assert(!text.includes(secret), secret);
    } finally {
      await browser.close();
    }
  },
);

async function enter(page: Page, { httpUrl }: RunningGateway): Promise<void> {
  const response = await fetch(`${httpUrl}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: httpUrl },
    body: JSON.stringify({ name: "viewer", password: CONSOLE_PASSWORD }),
  });
  await response.body?.cancel();
  assertEquals(response.status, 200);
  const [name = "", value = ""] = (response.headers.get("set-cookie") ?? "").split(";")[0]?.split("=") ?? [];
  await page.context().addCookies([{ name, value, url: httpUrl }]);
  await page.goto(`${httpUrl}/live`);
  await page.getByRole("heading", { name: "Live" }).waitFor();
}

async function wrongPasscodeIsExplained(page: Page, peer: RadclientSetUp): Promise<void> {
  const login = await peer.login({ name: "edsger", password: PASSWORD });
  await login.answer("000000");
  assertEquals((await login.end()).verdict, "reject");
  await page.getByRole("link", { name: "edsger" }).click();
  const inspector = page.getByRole("complementary", { name: "Chosen login" });
  await inspector.getByText("The passcode was wrong, was used before, or came after its time.").waitFor();
  const packets = inspector.getByRole("region", { name: "Packets" });
  assertEquals(await packets.locator("summary strong").allInnerTexts(), [
    "Access-Request",
    "Access-Challenge",
    "Access-Request",
    "Access-Reject",
  ]);
  await packets.getByText("Access-Request").first().click();
  await packets.getByRole("row", { name: /^User-Name 1 edsger/ }).waitFor();
  await packets.getByRole("row", { name: /^User-Password 2 masked for good/ }).waitFor();
  assertEquals(await packets.getByText("Message-Authenticator verified").count(), 2);
  await inspector.getByRole("button", { name: "Close" }).click();
}

/** One packet that gets no answer, or a Reject outside any login. */
async function sendOnce(
  gateway: RunningGateway,
  { secret = SECRET, lines }: { secret?: string; lines: string[] },
) {
  await runProgram("radclient", {
    args: ["-t", "2", "-r", "1", `127.0.0.1:${gateway.radiusPort}`, "auth", secret],
    stdin: `${lines.join(",")}\n`,
    timeoutMs: 20_000,
  });
}

async function droppedPacketsAreExplained(page: Page, gateway: RunningGateway): Promise<void> {
  const signed = "Message-Authenticator = 0x00";
  await sendOnce(gateway, {
    secret: "another secret",
    lines: ['User-Name = "eve"', 'User-Password = "x"', signed],
  });
  await sendOnce(gateway, { lines: ['User-Name = "chap"', 'CHAP-Password = "x"', signed] });
  await sendOnce(gateway, {
    lines: ['User-Name = "old"', 'User-Password = "x"', "State = 0x6e6f6e65", signed],
  });
  await page.getByRole("link", { name: /packets? dropped/ }).click();
  await page.getByText("The request of vpn-1 answers a challenge that this gateway never sent.").waitFor();
  await page.getByText("vpn-1 uses CHAP or MS-CHAP, and a second factor needs PAP.").waitFor();
  const wrong = page.getByText(/^vpn-1 uses another shared secret: \d+ packets? failed since/);
  assertMatch(await wrong.first().innerText(), /since \d\d:\d\d:\d\d\.$/);
}

async function historyAndChartsHaveIt(
  page: Page,
  gateway: RunningGateway,
  peer: RadclientSetUp,
): Promise<void> {
  const right = await peer.login({ name: "edsger", password: PASSWORD });
  await right.answer(totpCode("12345678901234567890", Date.now()));
  assertEquals((await right.end()).verdict, "accept");
  await page.goto(`${gateway.httpUrl}/history`);
  await page.getByRole("table").getByText("Accepted").waitFor();
  await page.getByRole("table").getByText("The passcode was wrong").waitFor();
  await page.goto(`${gateway.httpUrl}/charts?range=1h`);
  await page.getByRole("img", { name: "1 accepted, 1 rejected, 0 otherwise" }).waitFor();
}

async function pageComesBack(page: Page, gateway: RunningGateway, peer: RadclientSetUp): Promise<void> {
  await page.goto(`${gateway.httpUrl}/live`);
  await page.getByRole("main").getByText("Live", { exact: true }).nth(1).waitFor();
  await gateway.kill9();
  await page.getByText("The server does not answer.").waitFor();
  await gateway.restart();
  await page.getByText("The server does not answer.").waitFor({ state: "detached", timeout: 30_000 });
  const login = await peer.login({ name: "barbara", password: PASSWORD });
  assertMatch(login.message(), /Choose a second factor/);
  await page.getByRole("link", { name: "barbara" }).waitFor();
}
