// What the health page and the metrics show of the counts of the last hour.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { HealthReport } from "../../console/api/targets/target_types.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";

Deno.test("GET /health says how many messages, failures and locks the last hour had, and which limit is reached", async () => {
  await using site = await startConnectConsole();
  const parts = async () => {
    const response = await site.call("/console/api/health", { cookie: await site.signIn("viewer") });
    const report: HealthReport = await response.json();
    return report.parts.filter(({ limit }) => limit !== undefined)
      .map(({ id, state, figure, limit }) => [id, state, figure, limit]);
  };
  assertEquals(await parts(), [
    ["sends", "ok", 0, 500],
    ["failures", "ok", 0, 500],
    ["locks", "ok", 0, 20],
  ]);
  const { limits } = site.people;
  for (let at = 0; at < 21 * 10; at++) limits.fail(`user${at % 21}`);
  for (let at = 0; at < 200; at++) {
    limits.countSend({ user: `user${at}`, number: `+4915112${at}`, client: "vpn" });
  }
  assertEquals(await parts(), [
    ["sends", "ok", 200, 500],
    ["failures", "ok", 210, 500],
    ["locks", "warning", 21, 20],
    ["client_sends:vpn", "bad", 200, 200],
  ]);
  const metrics = await (await site.call("/metrics")).text();
  assertStringIncludes(metrics, "\ncountersign_sends_last_hour 200\n");
  assertStringIncludes(metrics, "\ncountersign_locks_last_hour 21\n");
  assertStringIncludes(metrics, "\ncountersign_failures_last_hour 210\n");
});
