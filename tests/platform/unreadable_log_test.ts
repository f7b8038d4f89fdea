// Stored records that this version cannot read: Store.load() reads the others, and the log does not repeat itself.

import { assertEquals } from "@std/assert";
import type { LogFields } from "../../platform/log_line.ts";
import { createStore } from "../../platform/store.ts";
import { createUnreadableLog } from "../../platform/unreadable_log.ts";
import { silentLog } from "../scim/backends/silent_log.ts";

Deno.test("Store.load() reports the entries that cannot be read, and hands over all others", async () => {
  const store = createStore(await Deno.openKv(":memory:"));
  const mutations = [1, "later", 3].map((value, at) => ({
    type: "set",
    key: ["limit", "push", `${at}`],
    value,
  } as const));
  await store.commit({ mutations });
  const read: unknown[] = [];
  const unread: string[] = [];
  store.onUnreadable((key, fault) => unread.push(`${key.join("/")}: ${fault}`));
  await store.load(["limit"], ({ value }) => {
    if (typeof value !== "number") throw new TypeError("it is no number");
    read.push(value);
  });
  assertEquals(read, [1, 3]);
  assertEquals(unread, ["limit/push/1: TypeError: it is no number"]);
  await store.close();
});

Deno.test("createUnreadableLog() logs one record of each table in a minute, and counts the others", () => {
  let nowMs = 0;
  const lines: string[] = [];
  const log = {
    ...silentLog(),
    error: (_message: string, { table, record, records }: LogFields = {}) =>
      void lines.push(`${table} ${record} ${records}`),
  };
  const report = createUnreadableLog({ log, clock: { nowMs: () => nowMs } });
  const fault = new TypeError("why");
  for (const user of ["ada", "bea", "cleo"]) report(["limit", "failures", user], fault);
  report(["client", "vpn"], fault);
  nowMs = 60_000;
  report(["limit", "push", "dora"], fault);
  assertEquals(lines, [
    "limit failures/ada 1",
    "client vpn 1",
    "limit push/dora 3",
  ]);
});
