// The layouts of the store and the metrics, after a scenario in which every factor, interface and kind of record is
// used. The snapshots are updated as snapshot.ts describes.

import { assertEquals } from "@std/assert";
import { loadSharedSecret, openDataDir } from "../../platform/data_dir.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import type { Mutation, Transaction } from "../../platform/store.ts";
import { LayoutCollector } from "./key_layout.ts";
import { openScenario, SCENARIO_NAMES } from "./scenario.ts";
import { assertSnapshot } from "./snapshot.ts";
import { SCENARIO } from "./store_scenario.ts";

/** Metadata of the Prometheus text format. */
const TYPE_LINE = /^# (HELP|TYPE) .*$/gm;

Deno.test("the store and /metrics keep their layouts through every kind of change", async (context) => {
  const layouts = new LayoutCollector(SCENARIO_NAMES);
  await using scenario = await openScenario(({ mutations }: Transaction) => {
    for (const mutation of mutations as readonly Mutation[]) {
      if (mutation.type === "set") layouts.add(mutation);
    }
  });
  for (const [name, step] of Object.entries(SCENARIO)) {
    await context.step(name, () => step(scenario));
    for await (const entry of scenario.gateway.store.list([])) layouts.add(entry);
  }
  await context.step("the keys of the store, with the fields of their values", async () => {
    await assertSnapshot("store_keys.txt", layouts.render());
  });
  await context.step("the names and types of /metrics", async () => {
    const lines = (await scenario.gateway.read("/metrics")).match(TYPE_LINE) ?? [];
    await assertSnapshot("metrics.txt", `${lines.sort().join("\n")}\n`);
  });
});

Deno.test("docs/architecture.md names each key of the store", async () => {
  const text = (path: string) => Deno.readTextFile(new URL(path, import.meta.url));
  const page = await text("../../docs/architecture.md");
  const tables = new Set(
    (await text("snapshots/store_keys.txt")).split("\n").map((line) => line.split(" ")[0]),
  );
  assertEquals([...tables].filter((table) => !page.includes(`"${table}"`) && table !== ""), []);
});

Deno.test("the data directory keeps the layouts of a first start", async () => {
  const layouts = new LayoutCollector();
  const path = await Deno.makeTempDir({ prefix: "countersign-contract-" });
  try {
    const random = createSystemRandom();
    const dataDir = await openDataDir(path, { random, masterKeyHex: "" });
    await loadSharedSecret(dataDir, random);
    for await (const entry of dataDir.store.list([])) layouts.add(entry);
    await dataDir.close();
    const files = (await Array.fromAsync(Deno.readDir(path), ({ name }) => `file ${name}`)).sort();
    await assertSnapshot("data_dir.txt", `${layouts.render()}${files.join("\n")}\n`);
  } finally {
    await Deno.remove(path, { recursive: true });
  }
});
