// Proves that a server stores logins before it answers: it is killed, and continues with what it stored.

import { openRadiusClient, type RadiusClient } from "../support/radius_client.ts";
import { CODES } from "../support/radius_numbers.ts";
import { BENCH_PASSWORD, presentCode } from "./gateway.ts";
import type { MeasuredServer } from "./peer.ts";

/** The users of {@link proveDurable}: two for each attempt. */
export const DURABILITY_USERS = 6;

/**
 * Completes a login, kills the server, and sends the used code with a new login. Throws if it is accepted, or if a
 * challenge from before the kill cannot be answered. The server has {@link DURABILITY_USERS} users.
 */
export async function proveDurable(server: MeasuredServer): Promise<void> {
  using client = openRadiusClient({ port: server.port, secret: server.secret });
  for (let first = 0; first < DURABILITY_USERS; first += 2) {
    const code = presentCode();
    const [used, open] = [`user0000${first}`, `user0000${first + 1}`];
    const before = await login(client, { user: used, code });
    const state = await challenge(client, open);
    await server.restartKilled();
    const after = (await client.ask({ userName: open, password: code, state })).code;
    const again = await login(client, { user: used, code });
    // At the end of a time step, a code may be refused because it is old.
    if (presentCode() !== code) continue;
    if (before !== CODES.accessAccept) throw new Error(`${server.name} refuses a right code`);
    if (after !== CODES.accessAccept) throw new Error(`${server.name} lost a challenge when it was killed`);
    if (again === CODES.accessAccept) {
      throw new Error(`${server.name} accepts a used code after it was killed`);
    }
    return;
  }
  throw new Error(`${server.name} was too slow: the code changed in each attempt`);
}

async function challenge(client: RadiusClient, user: string): Promise<Uint8Array> {
  const { code, state } = await client.ask({ userName: user, password: BENCH_PASSWORD });
  if (code !== CODES.accessChallenge || state === null) throw new Error(`No challenge, but the code ${code}`);
  return state;
}

async function login(client: RadiusClient, { user, code }: { user: string; code: string }): Promise<number> {
  const state = await challenge(client, user);
  return (await client.ask({ userName: user, password: code, state })).code;
}
