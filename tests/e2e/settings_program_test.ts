// Settings in the console of the real program: a change takes effect on the next packet, and survives a restart.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { browserTest, currentDist, enterAs } from "./browser.ts";
import { type ConsoleProgram, startConsoleProgram } from "./console_program.ts";

await currentDist();

/** The code of the reply to a first request of a user who is not in the directory. */
async function replyTo(program: ConsoleProgram, user: string): Promise<number> {
  using client = program.client();
  const { code } = await client.ask({ userName: user, password: "pw", nasPort: 1 });
  return code;
}

const CHALLENGE = 11;
const REJECT = 3;

async function saveOne(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save 1 change" }).click();
  await page.getByText("1 setting saved. It is in effect now.").last().waitFor();
}

browserTest(
  "settings: a change takes effect on the next packet, is undone on the next one, and survives a restart",
  async ({ page }) => {
    await using program = await startConsoleProgram({});
    assertEquals(await replyTo(program, "stranger"), CHALLENGE);
    await enterAs(page, { site: program, role: "owner", path: "/settings/radius", heading: "Settings" });
    await page.getByLabel("Unknown users").selectOption("reject");
    await saveOne(page);
    assertEquals(await replyTo(program, "stranger"), REJECT);
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByText("The change was undone.").waitFor();
    assertEquals(await replyTo(program, "stranger"), CHALLENGE);
    await page.getByLabel("Unknown users").selectOption("reject");
    await saveOne(page);
    await program.restart();
    assertEquals(await replyTo(program, "stranger"), REJECT);
    await enterAs(page, { site: program, role: "owner", path: "/settings/radius", heading: "Settings" });
    assertEquals(await page.getByLabel("Unknown users").inputValue(), "reject");
  },
);
