// Attack: logins with invented names at a client whose first factor is the directory's password, so that the passwords of users wait too long.

import { assertEquals } from "@std/assert";
import { startGateway } from "../ground/gateway.ts";
import { CODES } from "../ground/radius_packets.ts";
import { addUser, floodLogins, metric, SCIM_TOML } from "./attack_world.ts";

const USERS = ["ada", "bob", "cyd"];
const PASSWORD = "a right password";

Deno.test("a flood of invented names keeps no user with the right password out", async () => {
  await using gateway = await startGateway({
    toml: `[radius]\nfirst_factor = "directory"\nunknown_users = "allow"\n${SCIM_TOML}`,
  });
  for (const userName of USERS) await addUser(gateway, { userName, active: true, password: PASSWORD });
  using attacker = gateway.client();
  using vpn = gateway.client();
  const names = Array.from({ length: 400 }, (_, at) => `ghost${at}`);
  await floodLogins(attacker, { names, password: "guess" });
  const logins = USERS.map((userName, at) =>
    vpn.ask({ userName, password: PASSWORD, nasPort: at + 1 }, { timeoutMs: 8000, tries: 1 })
  );
  const codes = (await Promise.all(logins)).map(({ code }) => code);
  assertEquals(codes, USERS.map(() => CODES.accessChallenge));
  assertEquals(await metric(gateway, "countersign_dropped_first_factor_busy_total"), 0);
  assertEquals(await metric(gateway, "countersign_failures_total"), 0);
});
