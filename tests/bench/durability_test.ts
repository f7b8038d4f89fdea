// Tests of the proof that a measured server stores logins before it answers.

import { assert, assertRejects } from "@std/assert";
import { startChallengeServer } from "../support/challenge_server.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { DURABILITY_USERS, proveDurable } from "./durability.ts";
import { startFreeradiusSqlite } from "./freeradius.ts";
import { BENCH_SECRET, presentCode, TOTP_SEED_HEX } from "./gateway.ts";
import { treeCpuSeconds, treeMb } from "./process_figures.ts";

testNeeding(
  { peers: ["freeradius"] },
  "FreeRADIUS with SQLite refuses a used code after it was killed, and completes the login that was open",
  async () => {
    const server = await startFreeradiusSqlite({ users: DURABILITY_USERS });
    try {
      await proveDurable(server);
      assert(await treeCpuSeconds(server.pids) >= 0);
      assert(await treeMb(server.pids) > 1);
    } finally {
      await server.stop();
    }
  },
);

Deno.test("proveDurable() refuses a server that accepts a code again", async () => {
  using server = startChallengeServer({ secret: BENCH_SECRET, code: presentCode() });
  const forgetful = {
    name: "a forgetful server",
    port: server.port,
    secret: BENCH_SECRET,
    pids: [],
    totpSeedHex: TOTP_SEED_HEX,
    firstAnswerMs: 0,
    restartKilled: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
  await assertRejects(() => proveDurable(forgetful), Error, "accepts a used code");
});
