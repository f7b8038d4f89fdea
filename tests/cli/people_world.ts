// A running gateway and a file, and the commands on users with its settings, for tests.

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

/** One resource as SCIM returns it; `null` when there is none. */
export async function getResource(
  { httpUrl }: RunningProgram,
  path: string,
): Promise<Record<string, unknown> | null> {
  const answer = await fetch(`${httpUrl}/idm/scim/default/${path}`, {
    headers: { authorization: `Basic ${btoa(`${CREDENTIAL.name}:${CREDENTIAL.password}`)}` },
  });
  const body = await answer.json();
  return answer.status === 404 ? null : body;
}

/** The names of the groups of an exported user. */
export const groupsOf = (user: Record<string, unknown> | undefined) =>
  (user?.groups as { display: string }[] | undefined)?.map(({ display }) => display) ?? [];
