// Attack: logins with invented names at a client whose first factor is the directory's password, so that real users
// wait too long.

import { assertEquals } from "@std/assert";
import { startProgram } from "../support/program.ts";
import { CODES } from "../support/radius_packets.ts";
import { addUser, floodLogins, SCIM_TOML } from "./attack_world.ts";

const USERS = ["ada", "bob", "cyd"];
const PASSWORD = "a right password";
/** Long, for a slow machine. The gateway drops and counts packets that wait too long: no drop is allowed here. */
const PATIENCE = { timeoutMs: 60_000, tries: 1 };

Deno.test("a flood of invented names blocks no user with the right password", async () => {
  await using gateway = await startProgram({
    toml: `[radius]\nfirst_factor = "directory"\nunknown_users = "allow"\n${SCIM_TOML}`,
  });
  for (const userName of USERS) await addUser(gateway, { userName, active: true, password: PASSWORD });
  using attacker = gateway.client();
  using vpn = gateway.client();
  const names = Array.from({ length: 400 }, (_, at) => `ghost${at}`);
  await floodLogins(attacker, { names, password: "guess" });
  const logins = USERS.map((userName, at) =>
    vpn.ask({ userName, password: PASSWORD, nasPort: at + 1 }, PATIENCE)
  );
  const codes = (await Promise.all(logins)).map(({ code }) => code);
  assertEquals(codes, USERS.map(() => CODES.accessChallenge));
  assertEquals(await gateway.metric("dropped_first_factor_busy_total"), 0);
  assertEquals(await gateway.metric("failures_total"), 0);
});

Deno.test("a flood of wrong SCIM credentials from many addresses blocks no user with the right password", async () => {
  await using gateway = await startProgram({
    toml: `[http]\ntrusted_proxies = ["127.0.0.1"]\n[radius]\nfirst_factor = "directory"\n${SCIM_TOML}`,
  });
  const users = Array.from({ length: 6 }, (_, at) => `user${at}`);
  for (const userName of users) await addUser(gateway, { userName, active: true, password: PASSWORD });
  let isOver = false;
  let guesses = 0;
  // More checks than a hasher runs and queues. Each guess has another name and another address.
  const guessing = Array.from({ length: 40 }, async (_, at) => {
    for (let count = 0; !isOver; count++) {
      const response = await fetch(`${gateway.httpUrl}/idm/scim/default/Users`, {
        headers: {
          authorization: `Basic ${btoa(`guess-${at}-${count}:wrong`)}`,
          "x-forwarded-for": `198.51.${at}.${count % 256}`,
        },
      });
      await response.body?.cancel();
      guesses += 1;
    }
  });
  while (guesses < 60) await new Promise((resolve) => setTimeout(resolve, 50));
  using vpn = gateway.client();
  const codes: number[] = [];
  try {
    for (const [at, userName] of users.entries()) {
      const request = { userName, password: PASSWORD, nasPort: at + 1 };
      codes.push((await vpn.ask(request, PATIENCE)).code);
    }
  } finally {
    isOver = true;
    await Promise.all(guessing);
  }
  assertEquals(codes, users.map(() => CODES.accessChallenge));
  assertEquals(await gateway.metric("dropped_first_factor_busy_total"), 0);
});
