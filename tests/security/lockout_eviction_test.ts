// Attack: nine wrong codes, then so many invented names that the count of the nine is evicted, then nine more.

import { assert, assertEquals } from "@std/assert";
import { openDataDir } from "../../platform/data_dir.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { startProgramWithServices } from "../fakes/program_services.ts";
import { CODES } from "../support/radius_packets.ts";
import { floodLogins, rightCode, SEED, wrongCode } from "./attack_world.ts";

const PATIENCE = { timeoutMs: 10_000, tries: 1 };

Deno.test("invented names evict no failure of a user, and nothing is stored for them", async () => {
  await using world = await startProgramWithServices({
    toml: "[radius]\nappend_mode = true",
    pairings: [["alice", { kind: "totp", seed: SEED }]],
  });
  const { gateway } = world;
  let nasPort = 0;
  const append = async (code: string) => {
    using client = gateway.client();
    const parts = { userName: "alice", password: `x,${code}`, nasPort: ++nasPort };
    return (await client.ask(parts, PATIENCE)).code;
  };
  const nine = await Promise.all(Array.from({ length: 9 }, () => append(wrongCode())));
  assertEquals(nine, Array.from({ length: 9 }, () => CODES.accessReject));
  {
    using client = gateway.client();
    const names = Array.from({ length: 1500 }, (_, at) => `ghost${at}`);
    await floodLogins(client, { names, password: "x,123456" });
  }
  assert(await gateway.metric("requests_total") >= 1509);
  assertEquals(await gateway.metric("failures_total"), 9);
  await gateway.restart();
  assertEquals(await append(wrongCode()), CODES.accessReject);
  await gateway.logged("user locked after too many failures");
  assertEquals(await append(rightCode()), CODES.accessReject);
  await gateway.stop();
  assertEquals(await storedLimits(gateway.dataDir), ["failures alice"]);
});

/** The stored records of limits. */
async function storedLimits(path: string): Promise<string[]> {
  const { store, close } = await openDataDir(path, { random: createSystemRandom(), masterKeyHex: "" });
  const found: string[] = [];
  for await (const { key } of store.list(["limit"])) found.push(key.slice(1).join(" "));
  await close();
  return found;
}
