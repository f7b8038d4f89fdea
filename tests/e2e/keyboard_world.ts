// The real program for tasks with the keyboard: users, groups, phones, and sign-ins by RADIUS.

import type { BrowserContext, Page } from "../packages/playwright.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { enterAs } from "./browser.ts";
import { type ConsoleProgram, pairPhone, startConsoleProgram } from "./console_program.ts";

export interface KeyWorld extends AsyncDisposable {
  readonly program: ConsoleProgram;
  readonly scim: Caller;
  /** A second profile, for the phones of users. */
  readonly phones: BrowserContext;
}

const CLIENT = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a-secret-of-the-test"
unknown_users = "reject"
`;
const USERS = ["alice", "bob", "dora", "erin", "frank", "grace"] as const;

export async function startKeyWorld(phones: BrowserContext): Promise<KeyWorld> {
  const program = await startConsoleProgram({ toml: CLIENT + credentialsToml(["default"]) });
  const scim = createCaller(program, { account: WRITER, target: "default" });
  for (const userName of USERS) await scim.post("/Users", { userName, active: true });
  await scim.post("/Users", { userName: "carol", active: false });
  await scim.post("/Groups", { displayName: "Staff", members: [{ value: "alice" }] });
  return { program, scim, phones, [Symbol.asyncDispose]: () => program.dispose() };
}

/** Sends a login that ends at once, or waits for the phone. */
export async function sendLogin({ program }: KeyWorld, userName: string): Promise<void> {
  using client = program.client();
  await client.ask({ userName, password: "pw" });
}

export const pairWith = async ({ program, phones }: KeyWorld, user: string) => {
  const phone = await pairPhone(phones, { program, user });
  await phone.close();
};

/** Another administrator denies the sign-in of the user. */
export async function denyElsewhere({ program, phones }: KeyWorld, user: string): Promise<void> {
  const other = await phones.newPage();
  await enterAs(other, { site: program, role: "operator", path: "/live?approvals=open" });
  await other.getByRole("button", { name: `Deny the sign-in of ${user}` }).click();
  await other.getByRole("button", { name: `Deny the sign-in of ${user}` }).waitFor({ state: "detached" });
  await other.close();
}

/** The passcode of the app that was set up with the key on the page. */
export async function totpShown(page: Page): Promise<string> {
  const key = await page.getByRole("note", { name: "Secret" }).innerText();
  return totpCode(fromBase32(key.replaceAll(" ", "")), Date.now());
}

export const LIVE_START = { path: "/live", heading: "Sign-in log" };
export const USERS_START = { path: "/users", heading: "Users" };
