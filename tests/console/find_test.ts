// Find: objects of the gateway by name and address, within the permissions of the caller.

import { assertEquals } from "@std/assert";
import type { FoundList } from "../../console/api/find/find_routes.ts";
import { DENIED_LOGIN, startWorkingDay } from "../screenshots/working_day.ts";
import { apiCaller } from "../fakes/console_caller.ts";

const ROWS: readonly (readonly [q: string, role: string, expected: readonly string[]])[] = [
  ["vpn-2", "viewer", ["client vpn-2 203.0.113.0/24"]],
  ["203.0.113.27", "viewer", ["client vpn-2 203.0.113.0/24", "caller 203.0.113.27 "]],
  ["203.0.113", "viewer", ["client vpn-2 203.0.113.0/24"]],
  ["::ffff:203.0.113.27", "viewer", ["client vpn-2 203.0.113.0/24", "caller 203.0.113.27 "]],
  ["remot", "viewer", ["group remote default"]],
  ["default", "viewer", ["directory default "]],
  ["LDAP", "viewer", ["connector ldap default"]],
  ["deny", "user_manager", ["policy block-contractors deny"]],
  ["block", "user_manager", ["policy block-contractors deny"]],
  // Policies need a role.
  ["deny", "viewer", []],
  ["no-such-name", "owner", []],
];

Deno.test("GET /find finds clients, addresses, groups, directories, connectors, policies and sign-ins", async () => {
  await using site = await startWorkingDay();
  const owner = apiCaller(site, await site.signIn("owner"));
  const { version } = await owner<{ version: number }>("/console/api/policies");
  const policy = {
    ...{ name: "block-contractors", enabled: true, conditions: { groups: ["remote"] } },
    outcome: { kind: "deny" },
  };
  await owner("/console/api/policies", { method: "POST", json: { policy, position: 0, version } });
  for (const [q, role, expected] of ROWS) {
    const caller = apiCaller(site, await site.signIn(role));
    const { items } = await caller<FoundList>(`/console/api/find?q=${encodeURIComponent(q)}`);
    assertEquals(
      items.map(({ kind, name, detail }) => `${kind} ${name} ${detail}`),
      expected,
      `${q} as ${role}`,
    );
  }
  const { items } = await owner<FoundList>(`/console/api/find?q=${DENIED_LOGIN}`);
  assertEquals(items.map(({ kind, name }) => [kind, name]), [["sign_in", DENIED_LOGIN]]);
  const refused = await site.call("/console/api/find?q=vpn");
  await refused.body?.cancel();
  assertEquals(refused.status, 401);
});
