// Finding 8: a copy of the data directory let anyone guess passwords at the speed of MD5.

import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { openDataDir } from "../../platform/data_dir.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { startProgramWithServices } from "../fakes/program_services.ts";
import { openSession } from "./gateway_sessions.ts";

const PASSWORD = "Winter2026!";

/** All octets below a directory. */
async function readAll(path: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const { name, isFile } of Deno.readDir(path)) {
    if (isFile) parts.push(await Deno.readFile(`${path}/${name}`));
  }
  return Buffer.concat(parts);
}

Deno.test("08: the data directory has no digest of a login's password, with any key that is in it", async () => {
  const pairings = [["alice", { kind: "device", id: "pairing-of-alice", totpLength: 6 }]] as const;
  await using world = await startProgramWithServices({ pairings });
  using alice = openSession(world.gateway, { userName: "alice", nasPort: 7 });
  assertEquals((await alice.login(PASSWORD)).step, "SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
  // The answer is typed into the same field.
  assertEquals((await alice.answer(PASSWORD)).kind, "challenge");
  await world.gateway.kill9();
  const { dataDir } = world.gateway;
  const stored = await readAll(dataDir);
  const { vault, close } = await openDataDir(dataDir, { random: createSystemRandom(), masterKeyHex: "" });
  const purposes = ["join", "digest", "state token", "passcode", "vault"];
  const keys = purposes.map((purpose) => vault.deriveKey(purpose, 32));
  await close();
  const found: string[] = [];
  for (const [at, key] of keys.entries()) {
    for (const algorithm of ["md5", "sha1", "sha256"]) {
      const digest = createHmac(algorithm, key).update(PASSWORD).digest();
      const forms = [digest.toString("base64url"), digest.toString("hex"), digest.toString("base64")];
      if (forms.some((form) => stored.includes(form)) || stored.includes(digest)) {
        found.push(`HMAC-${algorithm} under "${purposes[at]}"`);
      }
    }
  }
  assertEquals([stored.includes("alice"), found], [true, []]);
});
