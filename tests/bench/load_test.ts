// Tests of the load generator, compiled and with a minimal server: correct counts, and detection of wrong answers.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { startChallengeServer } from "../support/challenge_server.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { compileLoad, runLoad, VoidMeasurement } from "./load.ts";

const SECRET = "shared with the generator";
/** The server shares its processor with other tests, so an answer may be late; late is not lost. */
const PATIENCE = { "give-up": 20 };
const NEEDS = { peers: ["gcc", "libc", "openssl"] } as const;

/** Compiles the generator into a temporary directory for one test. */
async function withGenerator(body: (generator: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "countersign-load-" });
  try {
    await body(await compileLoad(directory));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

testNeeding(
  NEEDS,
  "radius_load sends a given number of new requests, and receives as many challenges",
  () =>
    withGenerator(async (generator) => {
      using server = startChallengeServer({ secret: SECRET, code: "1" });
      const target = { port: server.port, secret: SECRET, name: "the server" };
      const result = await runLoad(generator, target, {
        count: 500,
        seconds: 20,
        "in-flight": 16,
        ...PATIENCE,
      });
      assertEquals([result.sent, result.answered, result.challenges, result.lost], [500, 500, 500, 0]);
      const authenticators = new Set(server.received.map((packet) => packet.slice(4, 20).toHex()));
      assertEquals(authenticators.size, 500, "no authenticator occurs twice");
    }),
);

testNeeding(
  NEEDS,
  "radius_load keeps its rate, and times from when a request was due",
  () =>
    withGenerator(async (generator) => {
      using server = startChallengeServer({ secret: SECRET, code: "1" });
      const target = { port: server.port, secret: SECRET, name: "the server" };
      const result = await runLoad(generator, target, { rate: 200, seconds: 1, ...PATIENCE });
      assert(result.sent > 100 && result.sent <= 201, String(result.sent));
      assertEquals(result.answered, result.sent);
      assert(result.p50Us > 0 && result.p50Us <= result.p99Us && result.p99Us <= result.maxUs);
    }),
);

testNeeding(
  NEEDS,
  "a measurement is void when answers do not verify",
  () =>
    withGenerator(async (generator) => {
      using server = startChallengeServer({ secret: "another", code: "1" });
      const target = { port: server.port, secret: SECRET, name: "the server" };
      await assertRejects(
        () => runLoad(generator, target, { count: 8, seconds: 3 }),
        VoidMeasurement,
        "void",
      );
    }),
);

testNeeding(
  NEEDS,
  "a measurement is void when garbage is answered",
  () =>
    withGenerator(async (generator) => {
      // This server verifies nothing, so it answers requests with a wrong signature.
      using server = startChallengeServer({ secret: SECRET, code: "1" });
      const target = { port: server.port, secret: SECRET, name: "the server" };
      const options = { mode: "garbage", garbage: "signature", burst: 8, seconds: 0.3 };
      await assertRejects(() => runLoad(generator, target, options), VoidMeasurement, "void");
    }),
);
