// Accounting by radclient through the real gateway: Live shows who is connected, and the page of the user shows the sessions of that user.

import { assertEquals, assertMatch } from "@std/assert";
import { runProgram } from "../support/child.ts";
import { type RunningGateway, startGateway } from "../support/gateway.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { chromium, type Page } from "../packages/playwright.ts";
import { ACTION_TIMEOUT_MS, CHROMIUM_FLAGS, CHROMIUM_PATH, currentDist } from "./browser.ts";

const PASSWORD = "a-password-of-the-viewer";
const SETTINGS = `[[console.admin]]
name = "viewer"
password = "${PASSWORD}"
role = "viewer"`;

async function account(gateway: RunningGateway, attributes: string): Promise<void> {
  const { stdout, stderr } = await runProgram("radclient", {
    args: ["-x", "-t", "3", "-r", "3", `127.0.0.1:${gateway.accountingPort}`, "acct", gateway.secret],
    stdin: `${attributes}\n`,
    timeoutMs: 20_000,
  });
  assertMatch(`${stdout}${stderr}`, /Received Accounting-Response/);
}

async function signIn(page: Page, { httpUrl }: RunningGateway): Promise<void> {
  const response = await fetch(`${httpUrl}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: httpUrl },
    body: JSON.stringify({ name: "viewer", password: PASSWORD }),
  });
  await response.body?.cancel();
  assertEquals(response.status, 200);
  const [name = "", value = ""] = (response.headers.get("set-cookie") ?? "").split(";")[0]?.split("=") ?? [];
  await page.context().addCookies([{ name, value, url: httpUrl }]);
}

testNeeding(
  { peers: ["chromium", "radclient"] },
  "a viewer sees who is connected on Live, and a user's sessions on the user's page, in both languages",
  async () => {
    await currentDist();
    await using gateway = await startGateway({ toml: SETTINGS });
    const ada = "User-Name=ada,Acct-Session-Id=1,Framed-IP-Address=10.8.0.6,Calling-Station-Id=198.51.100.7";
    await account(gateway, "User-Name=bob,Acct-Session-Id=2,Acct-Status-Type=Start");
    await account(gateway, `${ada},Acct-Status-Type=Start`);
    await account(gateway, `${ada},Acct-Status-Type=Interim-Update,Acct-Output-Octets=1500000`);
    const browser = await chromium.launch({ executablePath: CHROMIUM_PATH, args: [...CHROMIUM_FLAGS] });
    try {
      const page = await browser.newPage({ locale: "en-GB" });
      page.setDefaultTimeout(ACTION_TIMEOUT_MS);
      await signIn(page, gateway);
      await page.goto(`${gateway.httpUrl}/live`);
      const panel = page.getByRole("region", { name: "Connected now 2" });
      const rows = panel.getByRole("listitem");
      assertMatch(
        await rows.first().innerText(),
        /^Connected\s+ada\s+10\.8\.0\.6 ← 198\.51\.100\.7\s+any\s+.*\s+1\.5 MB down, 0 B up$/s,
      );
      assertEquals(await rows.count(), 2);
      // Before the session ends: Live fetches who is connected every few seconds, and then the link is gone.
      await panel.getByRole("link", { name: "ada" }).click();
      await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
      await account(gateway, `${ada},Acct-Status-Type=Stop,Acct-Terminate-Cause=Idle-Timeout`);
      await page.getByRole("link", { name: "VPN sessions" }).click();
      await page.getByRole("region", { name: "VPN sessions" })
        .getByText("The session was stopped: Idle-Timeout").waitFor();
      const german = await browser.newPage({ locale: "de-DE" });
      german.setDefaultTimeout(ACTION_TIMEOUT_MS);
      await signIn(german, gateway);
      await german.goto(`${gateway.httpUrl}/users/ada#sessions`);
      await german.getByRole("region", { name: "VPN-Sitzungen" })
        .getByText("Die Sitzung wurde beendet: Idle-Timeout").waitFor();
    } finally {
      await browser.close();
    }
  },
);
