// Identity providers of the large organization: Okta with a day of requests, Entra ID in a dry run, and a paused one.

import type { ConsoleProgram } from "../e2e/console_program.ts";
import { createOktaClient, type OktaClient } from "../fakes/okta_client.ts";
import { type ProviderUser, ProvisioningFault } from "../fakes/scim_caller.ts";

/** The connection whose page is shown. */
export const TOWN_CONNECTION = "okta-workforce";

const CONNECTIONS = [
  { name: TOWN_CONNECTION, kind: "okta" },
  { name: "entra-contractors", kind: "entra", dryRun: true },
  { name: "payroll", kind: "other", paused: true },
] as const;

const NEW_USERS: readonly (readonly [given: string, family: string])[] = [
  ["Ingrid", "Thorvaldsen"],
  ["Chukwuemeka", "Okonkwo-Adeyemi"],
  ["Maria", "dos Santos"],
  ["Łukasz", "Wiśniewski"],
  ["Siobhán", "Ní Dhomhnaill"],
];

function providerUser([givenName, familyName]: readonly [string, string], at: number): ProviderUser {
  const userName = `new.user.${at}@corp.example.org`;
  return { key: `00u${at}`, userName, givenName, familyName, email: userName };
}

/** @param call calls the console as an owner. @param existing users that an administrator created. */
export async function connectProviders(
  program: ConsoleProgram,
  call: (method: string, path: string, json: unknown) => Promise<string>,
  existing: readonly string[],
): Promise<void> {
  for (const { name, kind, ...change } of CONNECTIONS) {
    const secret = { kind: "token", days: name === "payroll" ? 9 : 365 };
    const answer = await call("POST", "/connections", { name, kind, target: "default", secret, ...change });
    if (name !== "payroll") await provision(program, JSON.parse(answer).secret.text, existing);
  }
}

async function provision(program: ConsoleProgram, token: string, existing: readonly string[]): Promise<void> {
  const okta = createOktaClient({
    baseUrl: `${program.origin}/scim/v2/default`,
    authorization: () => `Bearer ${token}`,
  });
  await okta.testCredentials();
  for (const [at, person] of NEW_USERS.entries()) {
    await whileRefused(okta.assignUser(providerUser(person, at)));
  }
  for (const [at, userName] of existing.entries()) {
    await whileRefused(takeOver(okta, { ...providerUser(["Existing", "User"], 100 + at), userName }));
  }
}

async function takeOver(okta: OktaClient, user: ProviderUser): Promise<void> {
  await okta.updateUser(await okta.assignUser(user), user);
}

/** A refusal is what these screenshots show: 409 until an administrator accepts the match. */
async function whileRefused(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (fault) {
    if (!(fault instanceof ProvisioningFault)) throw fault;
  }
}
