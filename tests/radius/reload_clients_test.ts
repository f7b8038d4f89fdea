// Clients of the settings file that is read again, together with those of the console.

import { assertEquals } from "@std/assert";
import { CLIENT_RULES } from "../fakes/client_rules.ts";
import { openComposition } from "../fakes/composition.ts";
import { settingsFileOf } from "../platform/config/samples.ts";

const clientOf = (name: string, address: string) =>
  `[[radius.client]]\nname = "${name}"\naddress = ["${address}"]\nsecret = "a-long-enough-secret-1"\n`;
const ADDED = { ...CLIENT_RULES, name: "console", address: ["192.0.2.9"], secret: "a-long-enough-secret-9" };

Deno.test("clients that the settings file adds, changes and removes are served at once", async () => {
  await using gateway = await openComposition(clientOf("a", "192.0.2.1"));
  const { settings, radius: { register } } = gateway;
  const served = () =>
    ["192.0.2.1", "192.0.2.2", "192.0.2.9"].map((address) => register.namesAt(address)?.join() ?? "");
  assertEquals(served(), ["a", "", ""]);
  assertEquals((await gateway.ask("POST", "/clients", ADDED)).status, 200);
  assertEquals(served(), ["a", "", "console"]);
  const read = (toml: string) => settings.replaceFile(settingsFileOf(toml));
  assertEquals(read(clientOf("a", "192.0.2.2") + clientOf("b", "192.0.2.1")), {
    faults: [],
    needsRestart: [],
  });
  assertEquals(served(), ["b", "a", "console"]);
  // The file defines the client of the console: it hides it, and a later file shows it again.
  read(clientOf("console", "192.0.2.1"));
  assertEquals([served(), register.list().map(({ from }) => from)], [["console", "", ""], ["settings"]]);
  read(clientOf("b", "192.0.2.2"));
  assertEquals([served(), register.list().map(({ from }) => from)], [["", "b", "console"], [
    "settings",
    "console",
  ]]);
  // Without a client in the file, every address could be accepted, so that needs a restart.
  assertEquals(read("").needsRestart, ["radius.client"]);
  assertEquals(served(), ["", "b", "console"]);
});
