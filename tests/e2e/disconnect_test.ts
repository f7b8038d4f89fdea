// VPN sessions that an operator ends, and those of a user who says "This was not me", in the console of the real program.

import { assertEquals, assertMatch } from "@std/assert";
import { openRadiusClient } from "../support/radius_client.ts";
import { buildAccountingRequest } from "../support/radius_packets.ts";
import { startDisconnectNas } from "../radius/rows/disconnect_nas.ts";
import { type ConsoleProgram, startConsoleProgram } from "./console_program.ts";
import { consoleTests } from "./console_tests.ts";
import { assertHoldsInBothLooks, findAccessibilityProblems } from "./page_checks.ts";

const SECRET = "a secret of the disconnect test";
const OWN_SECRET = "a secret of Disconnect-Requests";
const utf8 = new TextEncoder();

/** The program cannot know the port before the NAS listens. */
const nas = startDisconnectNas(OWN_SECRET);
const SETTINGS = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "${SECRET}"
disconnect_port = ${nas.port}
disconnect_secret = "${OWN_SECRET}"
`;
const test = consoleTests(startConsoleProgram, { role: "owner", toml: SETTINGS });

async function account(gateway: ConsoleProgram, user: string, session: string): Promise<void> {
  using client = openRadiusClient({ port: gateway.radiusPort, secret: SECRET });
  await client.exchange(buildAccountingRequest(SECRET, {
    userName: user,
    more: [
      { type: 40, value: Uint8Array.of(0, 0, 0, 1) },
      { type: 44, value: utf8.encode(session) },
      { type: 32, value: utf8.encode("edge-1") },
      { type: 8, value: Uint8Array.of(10, 8, 0, 2) },
    ],
  }));
}

/** Calls the server like a page of its own. */
async function call<T>(
  { origin }: ConsoleProgram,
  path: string,
  { json, cookie = "" }: { json: unknown; cookie?: string },
): Promise<{ body: T; cookie: string }> {
  const response = await fetch(origin + path, {
    method: "POST",
    headers: { "content-type": "application/json", origin, cookie },
    body: JSON.stringify(json),
  });
  const text = await response.text();
  assertEquals(response.status, 200, `${path}: ${text}`);
  return { body: JSON.parse(text), cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "" };
}

/** The user reports a login on the account page. */
async function reportNotMe(site: ConsoleProgram, user: string): Promise<void> {
  const owner = await site.signIn("owner");
  const { body: { url } } = await call<{ url: string }>(site, `/console/api/users/${user}/me-link`, {
    json: {},
    cookie: owner,
  });
  const link = new URL(url).hash.slice(1);
  const { cookie } = await call(site, "/me/api/session", { json: { link } });
  await call(site, "/me/api/not-me", { json: { conversationId: null }, cookie });
}

test("disconnect: an operator ends one session of a user, and then all, and sees each result", async ({ page, site, open }) => {
  nas.conduct.clear();
  nas.conduct.set("ada", "ack");
  for (const session of ["s-1", "s-2"]) await account(site, "ada", session);
  await open("/users/ada#sessions", "ada");
  const panel = page.getByRole("region", { name: "VPN sessions" });
  await panel.getByRole("button", { name: "Disconnect ada s-2" }).click();
  const dialog = page.getByRole("dialog", { name: "Disconnect the VPN session of ada?" });
  await dialog.getByText("Client vpn-1, NAS edge-1, session s-2, address 10.8.0.2.").waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
  await dialog.getByRole("button", { name: "Disconnect", exact: true }).click();
  await panel.getByText("The client confirmed the disconnect.").waitFor();
  nas.conduct.set("ada", 504);
  await panel.getByRole("button", { name: "Disconnect all" }).click();
  await page.getByRole("dialog", { name: "Disconnect 2 VPN sessions of ada?" })
    .getByRole("button", { name: "Disconnect all" }).click();
  const refused = panel.getByText("The client refused the disconnect: 504 Session Context Not Removable.");
  await refused.first().waitFor();
  await page.waitForFunction(() =>
    document.body.innerText.split("The client refused the disconnect").length === 3
  );
  await assertHoldsInBothLooks(page);
  assertEquals(nas.asked.every(({ isSigned }) => isSigned), true);
});

test("disconnect: the Overview asks an administrator to end a reported session that the gateway could not end", async ({ page, site, open }) => {
  nas.conduct.set("bea", 503);
  await account(site, "bea", "s-3");
  await reportNotMe(site, "bea");
  await open("/overview", "Overview");
  const item = page.getByRole("listitem").filter({ hasText: "Disconnect bea at vpn-1 by hand" });
  assertMatch(await item.innerText(), /NAS edge-1, session s-3, address 10\.8\.0\.2\./);
  await item.getByRole("link").click();
  await page.getByRole("heading", { name: "bea", level: 1 }).waitFor();
  await page.getByRole("region", { name: "VPN sessions" })
    .getByText(
      "The client refused the disconnect: 503 Session Context Not Found. Disconnect it at the client by hand: " +
        "NAS edge-1, session s-3.",
    )
    .waitFor();
});

test("disconnect: without a known session, the notice of the report says that an administrator must end it", async ({ page, site, open }) => {
  await reportNotMe(site, "ada");
  await open("/users/ada", "ada");
  const notice = page.getByRole("alert").filter({ hasText: "ada reported: this was not me." });
  assertMatch(
    await notice.innerText(),
    /No VPN session of this user is known\. If the sign-in was accepted, end/,
  );
});
