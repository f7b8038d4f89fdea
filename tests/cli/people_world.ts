// A running gateway, commands with its settings, and SCIM requests to it, for tests.

import { assert } from "@std/assert";
import type { Composition } from "../../compose.ts";
import { PROGRAM_FLAGS, type RunningProgram } from "../support/program.ts";
import { type Ended, runProgram } from "../support/child.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** Runs `cli/<name>.ts` with the settings of a gateway, running or not. */
export function runBeside(gateway: RunningProgram, command: string, ...args: string[]): Promise<Ended> {
  return runProgram(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", ...PROGRAM_FLAGS, `${ROOT}cli/${command}.ts`, ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", COUNTERSIGN_CONFIG: gateway.configPath },
    timeoutMs: 60_000,
  });
}

export const CREDENTIAL = { name: "tests", password: "a password of the tests" };
export const CREDENTIAL_TOML = `
[[scim.credential]]
name = "${CREDENTIAL.name}"
password = "${CREDENTIAL.password}"
targets = ["default"]
access = "write"
`;

const AUTHORIZATION = `Basic ${btoa(`${CREDENTIAL.name}:${CREDENTIAL.password}`)}`;

/** Writes a resource by SCIM to a server in this process that has {@link CREDENTIAL_TOML}. */
export async function writeResource(
  { openApp }: Pick<Composition, "openApp">,
  method: string,
  { path, body }: { readonly path: string; readonly body: unknown },
): Promise<void> {
  const request = new Request(`http://localhost/idm/scim/default/${path}`, {
    method,
    headers: { host: "localhost", authorization: AUTHORIZATION, "content-type": "application/scim+json" },
    body: JSON.stringify(body),
  });
  const app = await openApp();
  const answer = await app(request, { remoteAddress: "127.0.0.1" });
  assert(answer.ok, `${method} ${path}: ${answer.status} ${await answer.text()}`);
}

/** One resource as SCIM returns it; `null` when there is none. */
export async function getResource(
  { httpUrl }: RunningProgram,
  path: string,
): Promise<Record<string, unknown> | null> {
  const answer = await fetch(`${httpUrl}/idm/scim/default/${path}`, {
    headers: { authorization: AUTHORIZATION },
  });
  const body = await answer.json();
  return answer.status === 404 ? null : body;
}

/** The names of the groups of an exported user. */
export const groupsOf = (user: Record<string, unknown> | undefined) =>
  (user?.groups as { display: string }[] | undefined)?.map(({ display }) => display) ?? [];
