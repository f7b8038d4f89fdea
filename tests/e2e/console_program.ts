// The real program as a console: one administrator for each role, their sessions, and the pages of a first start.

import { assert } from "@std/assert";
import { stringify } from "smol-toml";
import type { BrowserContext, Page } from "../packages/playwright.ts";
import { ADMINS, PASSWORD } from "../fakes/console_app.ts";
import { type ProgramOptions, type RunningProgram, startProgram } from "../support/program.ts";
import { type RadclientSetUp, setUpRadclient } from "../interop/peers/radclient.ts";

export interface ConsoleProgram extends RunningProgram {
  readonly origin: string;
  /** Signs in through the API; returns the cookie. */
  signIn(role: string): Promise<string>;
  /** FreeRADIUS' radclient, with the port of the program. */
  radclient(): RadclientSetUp;
}

/** Starts the program with the settings and administrators of the in-process consoles. */
export async function startConsoleProgram(
  { toml = "", ...options }: ProgramOptions,
): Promise<ConsoleProgram> {
  const admins = stringify({ console: { admin: [...ADMINS] } });
  return withSessions(await startProgram({ ...options, toml: `${toml}\n${admins}` }));
}

/** Starts the program without an administrator, as at a first start. */
export async function startFirstProgram(options: ProgramOptions = {}): Promise<ConsoleProgram> {
  return withSessions(await startProgram(options));
}

function withSessions(gateway: RunningProgram): ConsoleProgram {
  // A restart keeps the ports.
  const origin = gateway.httpUrl;
  return Object.assign(gateway, {
    origin,
    async signIn(role: string): Promise<string> {
      const response = await fetch(`${origin}/console/api/session`, {
        method: "POST",
        headers: { "content-type": "application/json", origin },
        body: JSON.stringify({ name: role, password: PASSWORD }),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`Cannot sign in as ${role}: ${response.status}`);
      return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    },
    radclient: () =>
      setUpRadclient({ port: gateway.radiusPort, secret: gateway.secret }, { nasPort: true, signed: true }),
  });
}

/** Opens the set-up link of a first start and becomes the owner, without a second factor. */
export async function becomeOwner(page: Page, program: ConsoleProgram): Promise<void> {
  const told = await Deno.readTextFile(`${program.dataDir}/first-start.txt`);
  // The program listens on one loopback address, which the name in the link may not reach.
  const link = (/http\S+\/setup#\S+/.exec(told)?.[0] ?? "").replace("//localhost:", "//127.0.0.1:");
  assert(link.startsWith(`${program.origin}/setup#`), `the link has the port of the program: ${link}`);
  await page.goto(link);
  await page.getByLabel("Name").fill("owner");
  await page.getByLabel("Password", { exact: true }).fill("a long password for the owner");
  await page.getByRole("button", { name: "Create owner" }).click();
  await page.getByRole("button", { name: "Later" }).click();
  await page.getByRole("heading", { name: /^Step \d of 5: / }).waitFor();
}

/** Opens the invitation that `deno task pair` makes for the user in another tab, and pairs that phone. */
export async function pairPhone(
  context: BrowserContext,
  { program, user }: { program: ConsoleProgram; user: string },
): Promise<Page> {
  const { stdout } = await program.pair(user, "--invite");
  const path = /\/device#invite=\S+/.exec(stdout)?.[0];
  assert(path !== undefined, "the command prints the link");
  const phone = await context.newPage();
  await phone.goto(program.origin + path);
  await phone.getByText(user).first().waitFor();
  await phone.getByRole("button", { name: "Pair this phone" }).click();
  await phone.getByText("This phone is paired.").waitFor();
  return phone;
}
