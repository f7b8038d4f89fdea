// The settings file that is read again: what changes at once, what needs a restart, and what is refused.

import { assertEquals, assertMatch } from "@std/assert";
import { LiveSettings } from "../../../platform/config/live_settings.ts";
import { loadConfig, planReload, reload } from "../../../platform/config/load.ts";
import { createLog } from "../../../platform/log.ts";
import { createSystemRandom } from "../../../platform/runtime.ts";
import { createStore } from "../../../platform/store.ts";
import { createVault } from "../../../platform/vault.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { settingsFileOf } from "./samples.ts";

const CLIENT =
  '[[radius.client]]\nname = "vpn"\naddress = ["192.0.2.1"]\nsecret = "a-long-enough-secret-1"\n';
const ADMIN = '[[console.admin]]\nname = "ann"\npassword = "correct horse battery"\n';

/** What needs a restart when the first file becomes the second one. */
const PLANS: readonly (readonly [before: string, after: string, needsRestart: readonly string[]])[] = [
  ["", '[server]\nlog_level = "warn"\n', []],
  ["", "[factors.pushes]\nper_user = 3\n", []],
  ["", CLIENT, []],
  [CLIENT, CLIENT.replace("secret-1", "secret-2"), []],
  // Every address would be accepted.
  [CLIENT, "", ["radius.client"]],
  ["", '[http]\nlisten = "127.0.0.1:9000"\n', ["http.listen"]],
  ['[radius]\nlisten = "127.0.0.1:1812"\n', "", ["radius.listen"]],
  ["", '[store]\nkv = "https://kv.example.org"\n', ["store.kv"]],
  ["", ADMIN, ["console.admin"]],
  ["", '[radius.reply.group.staff]\nClass = "a"\n', ["radius.reply.group"]],
  ["", '[radius.reply.default]\nClass = "a"\n', []],
];

Deno.test("planReload() keeps what needs a restart as it is, and takes over the rest", () => {
  const world = { env: { DENO_KV_ACCESS_TOKEN: "x" } };
  for (const [before, after, expected] of PLANS) {
    const [current, next] = [settingsFileOf(before, world), settingsFileOf(after, world)];
    const { file, needsRestart } = planReload(current, next);
    assertEquals(needsRestart, expected, after);
    assertEquals(file.found, expected.length === 0 ? next.found : current.found, after);
  }
});

async function openReload(toml: string, stored: Readonly<Record<string, unknown>> = {}) {
  const kv = await Deno.openKv(":memory:");
  for (const [key, value] of Object.entries(stored)) {
    await kv.set(["setting", key], { revision: 1, atMs: 1, by: "ada", value });
  }
  const clock = createManualClock();
  const store = createStore(kv, { nowMs: clock.nowMs });
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const vault = createVault(new Uint8Array(32).fill(9), createSystemRandom());
  const settings = new LiveSettings({ file: settingsFileOf(toml), store, clock, vault, log });
  await settings.load();
  const reports: string[] = [];
  const manager = {
    reloading: () => Promise.resolve(void reports.push("reloading")),
    ready: (text: string) => Promise.resolve(void reports.push(text)),
  };
  return {
    settings,
    /** Reads another text of the file; returns what the service manager shows. */
    async read(text: string, certificates: { http?: string; tls?: string } = {}) {
      await reload({
        ...{ settings, log, manager, status: "Serving" },
        load: () =>
          loadConfig({
            env: () => undefined,
            readTextFile: () => text,
            cwd: "/srv",
          }),
        http: { useCertificate: () => certificates.http ?? null },
        tls: { reload: () => Promise.resolve(certificates.tls ?? null) },
      });
      assertEquals(reports.splice(0, 1), ["reloading"]);
      return reports.splice(0).join("");
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

Deno.test("reload() applies a file in place, and names what needs a restart", async () => {
  await using opened = await openReload("");
  const { settings: { config }, read } = opened;
  const { radius, factors } = config;
  const told: string[] = [];
  opened.settings.onChange((keys) => told.push(...keys));
  assertEquals(await read(`${CLIENT}[factors]\nterminal_name = "Office"\n`), "Serving");
  assertEquals([factors.terminalName, radius.clients.map(({ name }) => name)], ["Office", ["vpn"]]);
  assertEquals(told.toSorted(), ["factors.terminal_name", "radius.client"]);
  assertEquals(
    await read(`[http]\nlisten = "127.0.0.1:1"\n${ADMIN}`),
    "Changes that need a restart: http.listen, console.admin, radius.client",
  );
  assertEquals([factors.terminalName, radius.clients.length, config.http.listen.port], [
    "VPN Access",
    1,
    8080,
  ]);
  assertEquals(config.console.admins, []);
});

Deno.test("reload() leaves the settings as they are if the file has a fault, and says which", async () => {
  await using opened = await openReload('[factors]\nterminal_name = "Office"\n');
  const { config } = opened.settings;
  const rows: readonly (readonly [file: string, shown: RegExp])[] = [
    [
      "[factors]\nterminal_name = 3\n[factors.pushes]\nper_user = -1\n",
      /: factors\.terminal_name: .* \(and 1 more\)$/,
    ],
    ["[factors\n", /: \S*countersign\.toml: /],
    ["[nothing]\nx = 1\n", /: nothing/],
    ["[radius]\ndirectory = 'none'\n", /: radius\.directory: /],
  ];
  for (const [file, shown] of rows) {
    const text = await opened.read(file);
    assertMatch(text, /^The previous settings are in effect, because the file cannot be used/);
    assertMatch(text, shown);
    assertEquals(config.factors.terminalName, "Office");
  }
  assertEquals(await opened.read(""), "Serving");
  assertEquals(config.factors.terminalName, "VPN Access");
});

Deno.test("reload() refuses a file that makes a saved setting of the sign-in unusable, as a start does", async () => {
  await using opened = await openReload("", {
    "radius.directory": "other",
    "factors.terminal_name": "Saved",
  });
  assertEquals(opened.settings.startProblem === null, false);
  const target =
    '[targets.default.backends.local]\nkind = "store"\n[targets.other.backends.local]\nkind = "store"\n';
  await using good = await openReload(target, { "radius.directory": "other" });
  assertEquals(good.settings.config.radius.directory, "other");
  assertMatch(await good.read(""), /because the file cannot be used: radius\.directory: /);
  assertEquals(good.settings.config.radius.directory, "other");
});

Deno.test("reload() shows what is wrong with certificates", async () => {
  await using opened = await openReload("");
  assertEquals(await opened.read("", { http: "wrong key", tls: "no file" }), "wrong key; no file");
});
