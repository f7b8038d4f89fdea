// The audit record of a changed RADIUS client: the values before and after, and of a secret only that it changed.

import { assertEquals } from "@std/assert";
import { CLIENT_RULES } from "../fakes/client_rules.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";

const SERVER = { address: "192.0.2.9:1812", timeoutMs: 2000, secret: "a-first-factor-secret" };

Deno.test("PUT /clients/:id records the values before and after, and of a secret only that it changed", async () => {
  await using site = await startConnectConsole({});
  const ask = apiCaller(site, await site.signIn("owner"));
  await ask("/console/api/clients", { method: "POST", json: { ...CLIENT_RULES, name: "vpn-1" } });
  const change = { firstFactor: "radius", firstFactorServer: SERVER, disabled: true, version: 1 };
  await ask("/console/api/clients/vpn-1", { method: "PUT", json: { ...CLIENT_RULES, ...change } });
  const record = (await site.audits()).find(({ action }) => action === "client.change");
  const before = { ...record?.before as Record<string, unknown> };
  const after = { ...record?.after as Record<string, unknown> };
  assertEquals([before.disabled, after.disabled], [false, true]);
  assertEquals([before.firstFactorServerSecret, after.firstFactorServerSecret], [undefined, "changed"]);
  assertEquals([after.firstFactorServer, after.firstFactorServerTimeout], ["192.0.2.9:1812", "2 s"]);
  assertEquals(JSON.stringify(record).includes(SERVER.secret), false);
});
