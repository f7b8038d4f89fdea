// Shared by the attack tests: metrics of the running program, wrong TOTP codes, users of the directory, and datagram
// floods.

import type { RunningProgram } from "../support/program.ts";
import type { RadiusClient } from "../support/radius_client.ts";
import { CODES } from "../support/radius_packets.ts";
import { totpCode } from "../support/totp.ts";

/** The seed of every TOTP pairing of the attack tests. */
export const SEED = new TextEncoder().encode("12345678901234567890");

const SCIM_NAME = "attack-test";
const SCIM_PASSWORD = "password-of-the-attack-tests";
/** Settings that {@link addUser} needs. */
export const SCIM_TOML = `
[[scim.credential]]
name = "${SCIM_NAME}"
password = "${SCIM_PASSWORD}"
targets = ["default"]
access = "write"
`;

/** The code that is valid now. */
export function rightCode(): string {
  return totpCode(SEED, Date.now());
}

/** Six digits that are not valid in any present time step. */
export function wrongCode(): string {
  const near = [-60_000, -30_000, 0, 30_000, 60_000].map((offMs) => totpCode(SEED, Date.now() + offMs));
  for (let digit = 0; digit < 10; digit++) {
    const code = String(digit).repeat(6);
    if (!near.includes(code)) return code;
  }
  throw new Error("Cannot find a wrong code");
}

/** Creates a user over SCIM. */
export async function addUser(gateway: RunningProgram, user: Record<string, unknown>): Promise<void> {
  const response = await fetch(`${gateway.httpUrl}/idm/scim/default/Users`, {
    method: "POST",
    headers: {
      "content-type": "application/scim+json",
      authorization: `Basic ${btoa(`${SCIM_NAME}:${SCIM_PASSWORD}`)}`,
    },
    body: JSON.stringify(user),
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`Cannot create a user: ${response.status} ${text}`);
}

/** Datagrams between two barriers: fewer than a socket buffers. */
const WAVE = 50;

/** Sends one login for each name without waiting for its reply; returns when the program has received all of them. */
export async function floodLogins(
  client: RadiusClient,
  { names, password }: { names: readonly string[]; password: string },
): Promise<void> {
  for (const [at, userName] of names.entries()) {
    await client.sendRaw(client.build({ userName, password, nasPort: 10_000 + at }).bytes);
    // The program reads datagrams in order, so the answer to a Status-Server follows the datagrams before it.
    if (at % WAVE === WAVE - 1) await client.ask({ code: CODES.statusServer });
  }
  await client.ask({ code: CODES.statusServer });
}
