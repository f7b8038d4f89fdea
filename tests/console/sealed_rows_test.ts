// What administrators set up by name (log destinations, alert receivers): changes of two nodes, and damaged rows.

import { assertEquals } from "@std/assert";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { eventually } from "../upstream/manual_clock.ts";

interface Resource {
  readonly path: string;
  readonly listPath: string;
  readonly prefix: string;
  readonly create: Readonly<Record<string, unknown>>;
  /** A change by this node, and one of another field by another node. */
  readonly own: Readonly<Record<string, unknown>>;
  readonly foreign: Readonly<Record<string, unknown>>;
}

const RESOURCES: readonly Resource[] = [
  {
    path: "/log-export",
    listPath: "/log-export",
    prefix: "log_export",
    create: { name: "one", kind: "webhook", url: "https://hooks.example.com/in" },
    own: { maxRecords: 5000 },
    foreign: { maxHours: 99 },
  },
  {
    path: "/alerts/receivers",
    listPath: "/alerts/receivers",
    prefix: "alert_receiver",
    create: { name: "one", kind: "webhook", url: "https://hooks.example.com/in" },
    own: { language: "de" },
    foreign: { minSeverity: "critical" },
  },
];

interface StoredRow {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly sealed: Uint8Array<ArrayBuffer>;
  readonly createdMs: number;
  readonly version: number;
}

async function rowOf({ store }: Pick<TestComposition, "store">, prefix: string): Promise<StoredRow> {
  const { value } = await store.get<StoredRow>([prefix, "one"]);
  if (value === null) throw new Error("the row is not stored");
  return value;
}

/** Another process writes a row; the mirror of this node does not know it. */
async function write({ store }: TestComposition, prefix: string, value: unknown): Promise<void> {
  await store.commit({ mutations: [{ type: "set", key: [prefix, "one"], value }] });
}

for (const { path, listPath, prefix, create, own, foreign } of RESOURCES) {
  Deno.test(`PATCH ${path} is merged into the row that the store has, not into an older mirror`, async () => {
    await using gateway = await openComposition();
    await gateway.ask("POST", path, create);
    const before = await rowOf(gateway, prefix);
    await write(gateway, prefix, { ...before, settings: { ...before.settings, ...foreign }, version: 2 });
    const late = await gateway.ask("PATCH", `${path}/one`, { version: 1, change: own });
    assertEquals([late.status, late.code], [409, "changed_meanwhile"]);
    const changed = await gateway.ask("PATCH", `${path}/one`, { version: 2, change: own });
    assertEquals(changed.status, 200);
    const { settings, version } = await rowOf(gateway, prefix);
    assertEquals([settings, version], [{ ...before.settings, ...foreign, ...own }, 3]);
    await gateway.ask("POST", `${path}/one/pause`, { paused: true });
    assertEquals((await rowOf(gateway, prefix)).settings, { ...settings, isPaused: true });
  });

  const DAMAGES: Readonly<Record<string, (row: StoredRow) => unknown>> = {
    "an octet of the secrets": ({ sealed, ...row }) => {
      const damaged = sealed.slice();
      damaged[20] = (damaged[20] ?? 0) ^ 1;
      return { ...row, sealed: damaged };
    },
    "the settings": (row) => ({ ...row, settings: { kind: 7 } }),
    "the whole row": () => "damaged",
  };
  for (const [what, damage] of Object.entries(DAMAGES)) {
    Deno.test(`${path}: ${what} is damaged: the list shows the row, others work, and it can be removed`, async () => {
      const kv = await Deno.openKv(":memory:");
      {
        await using gateway = await openComposition("", { joins: { kv, node: "first" } });
        await gateway.ask("POST", path, create);
        await gateway.ask("POST", path, { ...create, name: "two" });
        await write(gateway, prefix, damage(await rowOf(gateway, prefix)));
      }
      // A node that starts on the damaged store.
      await using gateway = await openComposition("", { joins: { kv, node: "second" } });
      const list = async () => {
        const { status, text } = await gateway.ask("GET", listPath);
        const items: { name: string; problem: { detail: string } | null }[] = JSON.parse(text).items;
        return [
          status,
          ...items.map(({ name, problem }) => [name, problem?.detail.includes("cannot be read")]),
        ];
      };
      assertEquals(await list(), [200, ["one", true], ["two", undefined]]);
      const codeOf = async (method: string, at: string, json?: unknown) =>
        (await gateway.ask(method, `${path}/${at}`, json)).code;
      assertEquals(await codeOf("PATCH", "one", { version: 1, change: own }), "unreadable_entry");
      assertEquals(await codeOf("POST", "one/secret", { version: 1 }), "unreadable_entry");
      assertEquals(await codeOf("PATCH", "two", { version: 1, change: own }), null);
      assertEquals((await gateway.ask("POST", path, create)).status, 409);
      assertEquals(await codeOf("DELETE", "one", {}), null);
      await eventually("the row is gone", async () => (await list()).length === 2);
      assertEquals((await gateway.ask("POST", path, create)).status, 200);
    });
  }
}
