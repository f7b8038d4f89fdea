// Live with the real program and FreeRADIUS' radclient: the funnel counts the sign-in, the inspector decodes its packets, and the
// copied request works in radclient as it is.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { runProgram } from "../support/child.ts";
import { type ConsoleProgram, startConsoleProgram } from "./console_program.ts";
import { consoleTests } from "./console_tests.ts";

const test = consoleTests(startConsoleProgram, { role: "operator" });

const SECRET = "planted-secret-of-the-client";
const CLIENT = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "${SECRET}"
`;

/** What a VPN gateway sends, in the words of FreeRADIUS' dictionary. */
const REQUEST = [
  'User-Name = "carol"',
  'User-Password = "pw"',
  "NAS-IP-Address = 192.0.2.1",
  "NAS-Port = 7",
  "NAS-Port-Type = Virtual",
  "Service-Type = Framed-User",
  'Calling-Station-Id = "198.51.100.9"',
  'Fortinet-Vdom-Name = "root"',
  "Message-Authenticator = 0x00",
];

async function send(gateway: ConsoleProgram, input: string): Promise<string> {
  const { stdout } = await runProgram("radclient", {
    args: ["-x", "-t", "5", "-r", "1", `127.0.0.1:${gateway.radiusPort}`, "auth", SECRET],
    stdin: `${input}\n`,
    timeoutMs: 20_000,
  });
  return stdout;
}

test(
  "a real request is counted, its packets are decoded by name, and its copy works in radclient",
  { toml: CLIENT, peers: ["radclient"] },
  async ({ page, context, site, open }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await open("/live", "Sign-in log");
    await send(site, REQUEST.join("\n"));
    await page.getByRole("button", { name: "Factor 1" }).waitFor();
    await page.getByRole("link", { name: "carol" }).click();
    const inspector = page.getByRole("complementary", { name: "Selected sign-in" });
    await inspector.getByRole("link", { name: "vpn-1" }).waitFor();
    await inspector.getByRole("link", { name: "198.51.100.9" }).waitFor();
    await inspector.getByRole("tab", { name: "Packets" }).click();
    await inspector.getByText("Access-Request").click();
    for (
      const row of [
        /^NAS-IP-Address 4 192\.0\.2\.1$/,
        /^NAS-Port-Type 61 5 \(Virtual\)$/,
        /^Service-Type 6 2 \(Framed\)$/,
        /^Fortinet-Vdom-Name 26 root$/,
        /^User-Password 2 redacted$/,
      ]
    ) await inspector.getByRole("row", { name: row }).waitFor();
    await inspector.getByRole("button", { name: "Copy as radclient" }).click();
    await inspector.getByText("Copied").waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert(copied.startsWith(`# radclient -x <address>:${site.radiusPort} auth `), copied);
    const answer = await send(site, copied.replace("<password>", "pw").replace("carol", "copied"));
    assertMatch(answer, /Received Access-Challenge/);
    await page.getByRole("link", { name: "copied" }).waitFor();
    assertEquals(await page.getByRole("button", { name: "Factor 2" }).count(), 1);
  },
);
