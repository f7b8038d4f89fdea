// A login under a name that differs from a user's only by its realm, over the real gateway: the inspector names the user and the setting.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { CODES } from "../support/radius_packets.ts";
import { createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { enter, start } from "./connect_pages.ts";

closeBrowserAtEnd();
await currentDist();

const CLIENT = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a-secret-of-the-test"
unknown_users = "reject"
`;

/** Opens the rejected login of the name on the Live page. */
async function inspect(page: Page, { name, label }: { name: string; label: string }) {
  await page.getByRole("link", { name }).click();
  return page.getByRole("complementary", { name: label });
}

browserTest(
  "the inspector and the dropped packets say whose name an unknown one resembles, in English and in German",
  async ({ page, context }) => {
    await using gateway = await start(CLIENT + credentialsToml(["default"]));
    const scim = createCaller(gateway, { account: WRITER, target: "default" });
    assertEquals((await scim.post("/Users", { userName: "alice", active: true })).status, 201);
    using client = gateway.client();
    for (const userName of ["alice@corp.example", "alice "]) {
      assertEquals((await client.ask({ userName, password: "pw" })).code, CODES.accessReject);
    }
    await enter(page, { gateway, path: "/live", heading: "Live" });
    const inspector = await inspect(page, { name: "alice@corp.example", label: "Chosen login" });
    await inspector.getByText("Same as alice but for the realm.", { exact: true }).waitFor();
    await inspector.getByText("add corp.example to strip_realms of vpn-1").waitFor();
    assertEquals(await inspector.getByText("Create the user, or check").count(), 0);
    assertEquals(await findAccessibilityProblems(page), []);

    await page.goto(`${gateway.httpUrl}/live/dropped`);
    await page.getByText("Same as alice but for blanks at the beginning or the end.").waitFor();
    await page.getByText("Sign in as alice.").waitFor();

    // The tabs share their settings, so the German tab is the last one.
    const german = await context.newPage();
    await german.addInitScript(() => localStorage.setItem("countersign-language", "de"));
    await german.goto(`${gateway.httpUrl}/live`);
    const details = await inspect(german, { name: "alice@corp.example", label: "Gewählte Anmeldung" });
    await details.getByText("Gleicht alice bis auf den Realm.", { exact: true }).waitFor();
    await details.getByText("corp.example in strip_realms von vpn-1 eintragen").waitFor();
  },
);
