// The lifetimes that a backup assigns, compared with those that the product writes: an entry is never restored for a shorter time, and an
// entry without an end gets none.

import { assert, assertEquals } from "@std/assert";
import { expiryOf, lifetimesOf } from "../../platform/backup/expiry.ts";
import { auditIndexKey, auditKey } from "../../platform/audit.ts";
import { auditIdAt } from "../../platform/log_blocks.ts";
import { configOf } from "../platform/config/samples.ts";
import { openScenario } from "./scenario.ts";
import { SCENARIO } from "./store_scenario.ts";

const settings = lifetimesOf(configOf(""));
const DAY_MS = 24 * 3_600_000;
/** That of the last sign-ins. */
const MAX_LIFETIME_MS = 401 * DAY_MS;
/** Fields of a record and the commit are of slightly different moments. */
const TOLERANCE_MS = 60_000;

Deno.test("expiryOf() knows every key that expires, and no other", async (context) => {
  const problems = new Set<string>();
  const tables = new Set<string>();
  let nowMs = () => 0;
  await using scenario = await openScenario(({ mutations, journal }) => {
    const sets = mutations.flatMap((one) => one.type === "set" ? [one] : []);
    const lines = (journal ?? []).map(({ octets, expireInMs }) => (
      { key: ["journal", 1, "node"], value: octets, expireInMs }
    ));
    for (const { key, value, expireInMs } of [...sets, ...lines]) {
      const now = nowMs();
      const found = expiryOf({ key, value }, { nowMs: now, settings });
      if (expireInMs !== undefined) tables.add(String(key[0]));
      const isRight = expireInMs === undefined
        ? found === null
        : found !== null && found >= now + expireInMs - TOLERANCE_MS && found <= now + MAX_LIFETIME_MS;
      if (!isRight) {
        problems.add(
          `${key.slice(0, 2).join(" / ")}: ${expireInMs} is ${found === null ? null : found - now}`,
        );
      }
    }
  });
  nowMs = () => scenario.gateway.clock.nowMs();
  for (const [name, step] of Object.entries(SCENARIO)) await context.step(name, () => step(scenario));
  assertEquals([...problems], []);
  assert(tables.size >= 15, `only ${[...tables].join()}`);
});

Deno.test("expiryOf() takes the time of audit records and their index from their ids", () => {
  const atMs = Date.UTC(2026, 0, 1);
  const id = `${auditIdAt(atMs)}ffffffff`;
  const now = { nowMs: atMs + 5 * DAY_MS, settings: { ...settings, auditRetentionMs: 90 * DAY_MS } };
  for (const key of [auditKey(id), [...auditIndexKey("object", "user:ada"), id]]) {
    assertEquals(expiryOf({ key, value: true }, now), atMs + 90 * DAY_MS);
  }
});

/** Proposals of a connection, and when they expire. */
const PROPOSALS = [
  [{ state: "waiting", lastMs: DAY_MS, decidedMs: null }, 91 * DAY_MS],
  [{ state: "refused", lastMs: DAY_MS, decidedMs: 5 * DAY_MS }, 95 * DAY_MS],
  [{ state: "refused", lastMs: 9 * DAY_MS, decidedMs: 5 * DAY_MS }, 99 * DAY_MS],
  [{ state: "accepted", lastMs: DAY_MS, decidedMs: 5 * DAY_MS }, null],
] as const;

for (const [value, expiresMs] of PROPOSALS) {
  Deno.test(`expiryOf() of a ${value.state} match of day ${value.lastMs / DAY_MS} is ${expiresMs}`, () => {
    const key = ["scim_adoption", "okta", "user", "1"];
    assertEquals(expiryOf({ key, value }, { nowMs: 0, settings }), expiresMs);
  });
}
