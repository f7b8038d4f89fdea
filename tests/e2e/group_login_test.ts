// What a group is given in the console is in the answer to a login of its member: the real gateway, asked by radclient.

import { assertEquals, assertMatch } from "@std/assert";
import { decodeBase32 } from "../../platform/base32.ts";
import { TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { type RunningGateway, startGateway } from "../support/gateway.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { holds } from "./people_pages.ts";

closeBrowserAtEnd();
await currentDist();

const SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
const LOGIN = `[radius]
append_mode = true
secret = "a-secret-of-the-groups-test"

[radius.reply.default]
Session-Timeout = 600

[[console.admin]]
name = "owner"
password = "${PASSWORD}"
role = "owner"
`;

/** A session of the real gateway's console, as its cookie. */
async function signInAt(origin: string): Promise<string> {
  const response = await fetch(`${origin}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify({ name: "owner", password: PASSWORD }),
  });
  await response.body?.cancel();
  assertEquals(response.status, 200);
  return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

/** What FreeRADIUS' radclient says of one Access-Request and its answer. */
async function radclient(gateway: RunningGateway, attributes: Record<string, string>): Promise<string> {
  const child = new Deno.Command("radclient", {
    args: [
      "-x",
      "-r",
      "1",
      "-t",
      "8",
      `127.0.0.1:${gateway.radiusPort}`,
      "auth",
      "a-secret-of-the-groups-test",
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const given = Object.entries({ ...attributes, "Message-Authenticator": "0x00" })
    .map(([name, value]) => name === "Message-Authenticator" ? `${name} = ${value}` : `${name} = "${value}"`);
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(`${given.join("\n")}\n`));
  await writer.close();
  const { stdout, stderr } = await child.output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

browserTest(
  "groups: a member added with the picker, and attributes given in the editor, are in radclient's Access-Accept",
  async ({ page }) => {
    await using gateway = await startGateway({ toml: LOGIN });
    const told = await gateway.pair("ada", "--totp", SEED);
    assertEquals(told.code, 0, told.stderr);
    const [name = "", value = ""] = (await signInAt(gateway.httpUrl)).split("=");
    await page.context().addCookies([{ name, value, url: gateway.httpUrl }]);
    await page.goto(`${gateway.httpUrl}/users`);
    await page.getByRole("button", { name: "Create user" }).first().click();
    const creating = page.getByRole("dialog", { name: "Create user" });
    await creating.getByLabel("User name").fill("ada");
    await creating.getByRole("button", { name: "Create user" }).click();
    await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
    await page.goto(`${gateway.httpUrl}/groups`);
    await page.getByRole("button", { name: "Create group" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Create group" });
    await dialog.getByLabel("Group name").fill("vpn");
    await dialog.getByRole("button", { name: "Create group" }).click();
    await page.getByRole("heading", { name: "vpn", level: 1 }).waitFor();
    const answer = async () => {
      const code = totpAt(decodeBase32(SEED) ?? new Uint8Array(), Math.floor(Date.now() / TOTP_STEP_MS), 6);
      return await radclient(gateway, { "User-Name": "ada", "User-Password": `pw,${code}` });
    };

    await page.getByRole("row", { name: /Session-Timeout.*600.*every login/ }).waitFor();
    await page.getByRole("button", { name: "Edit reply attributes" }).click();
    const editor = page.getByRole("dialog", { name: "Reply attributes of vpn" });
    const first = editor.getByRole("group", { name: "Attribute 1" });
    await first.getByLabel("Attribute").fill("Session-Timeout");
    await first.getByLabel("Value").fill("soon");
    await editor.getByRole("button", { name: "Save" }).click();
    await editor.getByRole("alert").getByText(/"soon" is no whole number/).waitFor();
    await first.getByLabel("Value").fill("7200");
    await editor.getByRole("button", { name: "Add an attribute" }).click();
    const second = editor.getByRole("group", { name: "Attribute 2" });
    await second.getByLabel("Attribute").fill("Filter-Id");
    await second.getByLabel("Value").fill("vpn-users");
    await holds(page);
    await editor.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: /Filter-Id.*vpn-users.*this group/ }).waitFor();
    await page.getByRole("combobox", { name: "Add a member" }).fill("ada");
    await page.getByRole("listbox", { name: "Users found" }).getByRole("option", { name: /ada/ }).click();
    await page.getByText("ada is in vpn.").waitFor();
    await holds(page);

    const accepted = await answer();
    assertMatch(accepted, /Received Access-Accept/);
    assertMatch(accepted, /Filter-Id = "vpn-users"/);
    assertMatch(accepted, /Session-Timeout = 7200/);
    await page.getByRole("button", { name: "Delete group" }).click();
    const deleting = page.getByRole("dialog", { name: "Delete the group vpn?" });
    await deleting.getByText("1 member leaves it and stays a user.").waitFor();
    await deleting.getByText("Filter-Id = vpn-users").waitFor();
  },
  { peers: ["radclient"] },
);
