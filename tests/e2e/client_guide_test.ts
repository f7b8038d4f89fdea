// The setup guide of a RADIUS client in a browser.

import { assert, assertEquals } from "@std/assert";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { CLIENT_RULES } from "../fakes/client_rules.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { consoleTests } from "./console_tests.ts";
import { assertHoldsInBothLooks } from "./page_checks.ts";

const test = consoleTests(startConnectConsole, { role: "owner" });

async function addClient(site: Awaited<ReturnType<typeof startConnectConsole>>): Promise<string> {
  const ask = apiCaller(site, await site.signIn("owner"));
  const json = { ...CLIENT_RULES, name: "vpn-1", address: ["192.0.2.10/32"], device: "challenge" };
  const { secret } = await ask<{ secret: string }>("/console/api/clients", { method: "POST", json });
  return secret;
}

test("client: a setup guide has the values of the client and never the secret, and says which settings differ", async ({ page, site, open, step }) => {
  const secret = await addClient(site);
  await open("/clients/vpn-1", "vpn-1");
  await page.getByLabel("Product").selectOption({ label: "OpenVPN" });
  const radius = page.getByRole("region", { name: "/etc/openvpn/radius.cnf" });
  await step("the configuration follows the typed address", async () => {
    await page.getByLabel("Address of this server").fill("radius.example.com");
    const text = await radius.textContent() ?? "";
    for (
      const value of ["name=radius.example.com", "NAS-IP-Address=192.0.2.10", "sharedsecret=SHARED_SECRET"]
    ) {
      assert(text.includes(value), value);
    }
    assert(!(await page.content()).includes(secret));
  });
  await step("another setting is recommended", async () => {
    await page.getByText("Set Push handling of this client to “Hold the request”.").waitFor();
    await page.getByLabel("Product").selectOption({ label: "ocserv" });
    await page.getByText("Tested with ocserv 1.1.6").waitFor();
    assertEquals(await page.getByText("Set Push handling of this client").count(), 0);
  });
  await step("a product without a test says so", async () => {
    await page.getByLabel("Product").selectOption({ label: "FortiGate" });
    await page.getByText("Not tested with this product.").waitFor();
    await page.getByRole("region", { name: "FortiOS CLI" }).getByText('edit "vpn-1"').waitFor();
  });
  await step("copy, by keyboard", async () => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy" }).first().focus();
    await page.keyboard.press("Enter");
    await page.getByText("Copied").first().waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert(copied.startsWith("config user radius\n"), copied);
  });
  await step("the page holds in both looks", () => assertHoldsInBothLooks(page));
});

test("client: a viewer can read the setup guide", { role: "viewer" }, async ({ page, site, open }) => {
  await addClient(site);
  await open("/clients/vpn-1", "vpn-1");
  await page.getByLabel("Product").selectOption({ label: "strongSwan" });
  await page.getByRole("region", { name: "/etc/swanctl/conf.d/vpn.conf" }).waitFor();
});
