// Tests of the load generator, compiled and with a minimal server: correct counts, and detection of wrong answers.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { startChallengeServer } from "../support/challenge_server.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { totpAt } from "../../radius/factors/totp.ts";
import { runProgram } from "../support/child.ts";
import { BENCH_PASSWORD } from "./gateway.ts";
import { compileLoad, countLoad, type LoadTarget, LOGINS, runLoad, VoidMeasurement } from "./load.ts";

const SECRET = "shared with the generator";
/** The server shares its processor with other tests, so an answer may be late; late is not lost. */
const LATE_REPLIES = { "give-up": 20 };
const TEST_LOGINS = { ...LOGINS, seconds: 20, ...LATE_REPLIES };
/** RFC 6238, appendix B. */
const TOTP = "3132333435363738393031323334353637383930";
const NEEDS = { peers: ["gcc", "libc", "openssl"] } as const;

/** RFC 2865 §5.1. The generator puts it after the Message-Authenticator. */
function userName(packet: Uint8Array): string {
  const at = 20 + 18;
  assertEquals(packet[at], 1);
  return new TextDecoder().decode(packet.slice(at + 2, at + (packet[at + 1] ?? 0)));
}

const targetOf = ({ port }: { port: number }): LoadTarget => ({ port, secret: SECRET, name: "the server" });

let directory: string;
let compiled: Promise<string> | undefined;
Deno.test.beforeAll(async () => void (directory = await Deno.makeTempDir({ prefix: "countersign-load-" })));
Deno.test.afterAll(() => Deno.remove(directory, { recursive: true }));

/** The generator, which the first test compiles. */
async function withGenerator(body: (generator: string) => Promise<void>): Promise<void> {
  compiled ??= compileLoad(directory);
  await body(await compiled);
}

testNeeding(
  NEEDS,
  "radius_load sends a given number of new requests, and receives as many challenges",
  () =>
    withGenerator(async (generator) => {
      using server = startChallengeServer({ secret: SECRET, code: "1" });
      const target = targetOf(server);
      const result = await runLoad(generator, target, {
        count: 500,
        seconds: 20,
        "in-flight": 16,
        ...LATE_REPLIES,
      });
      assertEquals([result.sent, result.answered, result.challenges, result.lost], [500, 500, 500, 0]);
      const authenticators = new Set(server.received.map((packet) => packet.slice(4, 20).toHex()));
      assertEquals(authenticators.size, 500, "no authenticator occurs twice");
    }),
);

testNeeding(
  NEEDS,
  "radius_load completes logins with the TOTP code and the State of the challenge, and times each as a whole",
  () =>
    withGenerator(async (generator) => {
      const codeNow = () => totpAt(Uint8Array.fromHex(TOTP), Math.floor(Date.now() / 30_000), 6);
      // The code may change during the test.
      for (let tries = 3; tries > 0; tries--) {
        const code = codeNow();
        using server = startChallengeServer({ secret: SECRET, code });
        const target = targetOf(server);
        const options = { ...TEST_LOGINS, totp: TOTP, users: 100, "in-flight": 8 };
        const result = await runLoad(generator, target, options);
        if (codeNow() !== code) continue;
        assertEquals([result.sent, result.answered, result.rejects], [200, 200, 0]);
        assertEquals([result.logins, result.accepts, result.challenges], [100, 100, 100]);
        assert(result.p50Us > 0, JSON.stringify(result));
        return;
      }
      throw new Error("The code changed in each try");
    }),
);

testNeeding(
  NEEDS,
  "radius_load without a seed sends the password twice, and a challenge refuses the login",
  () =>
    withGenerator(async (generator) => {
      using pap = startChallengeServer({ secret: SECRET, code: BENCH_PASSWORD, challenges: false });
      const target = targetOf(pap);
      const result = await runLoad(generator, target, { ...TEST_LOGINS, users: 50 });
      assertEquals([result.logins, result.accepts, result.refused], [50, 100, 0]);
      using server = startChallengeServer({ secret: SECRET, code: "1" });
      const other = targetOf(server);
      await assertRejects(
        () => runLoad(generator, other, { ...TEST_LOGINS, users: 50 }),
        VoidMeasurement,
        "50 logins were refused",
      );
    }),
);

testNeeding(
  NEEDS,
  "radius_load counts a login whose code is wrong, and one that is accepted without a code, as refused",
  () =>
    withGenerator(async (generator) => {
      using server = startChallengeServer({ secret: SECRET, code: "no code" });
      using pap = startChallengeServer({ secret: SECRET, code: BENCH_PASSWORD, challenges: false });
      for (const [refusing, sent] of [[server, 40], [pap, 20]] as const) {
        const result = await countLoad(generator, targetOf(refusing), {
          ...TEST_LOGINS,
          totp: TOTP,
          users: 20,
        });
        assertEquals([result.logins, result.refused, result.lost, result.sent], [0, 20, 0, sent]);
      }
    }),
);

testNeeding(
  NEEDS,
  "radius_load sends each second request to the port of the other server, once for each user",
  () =>
    withGenerator(async (generator) => {
      using first = startChallengeServer({ secret: SECRET, code: "1" });
      using second = startChallengeServer({ secret: SECRET, code: "1" });
      const target = targetOf(first);
      const options = { ...TEST_LOGINS, totp: TOTP, users: 60, "first-user": 7, "answer-port": second.port };
      const result = await countLoad(generator, target, options);
      assertEquals([result.sent, result.answered, result.challenges], [120, 120, 60]);
      const expected = Array.from({ length: 60 }, (_, at) => `user${String(7 + at).padStart(5, "0")}`);
      for (const { received } of [first, second]) assertEquals(received.map(userName).sort(), expected);
    }),
);

testNeeding(
  NEEDS,
  "radius_load explains its options, and refuses what it would ignore",
  () =>
    withGenerator(async (generator) => {
      const help = await runProgram(generator, { args: ["--help"] });
      assertEquals(help.code, 0);
      for (const name of ["mode", "users", "totp", "answer-port", "garbage"]) {
        assertStringIncludes(help.stdout, `--${name} `);
      }
      for (const args of [["--mode", "x"], ["--totp", "31"], ["--rate", "1", "--mode", "logins"]]) {
        assertEquals((await runProgram(generator, { args })).code, 2, args.join(" "));
      }
    }),
);

testNeeding(
  NEEDS,
  "radius_load keeps its rate, and times from when a request was due",
  () =>
    withGenerator(async (generator) => {
      using server = startChallengeServer({ secret: SECRET, code: "1" });
      const target = targetOf(server);
      const result = await runLoad(generator, target, { rate: 200, seconds: 1, ...LATE_REPLIES });
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
      const target = targetOf(server);
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
      const target = targetOf(server);
      const options = { mode: "garbage", garbage: "signature", burst: 8, seconds: 0.3 } as const;
      await assertRejects(() => runLoad(generator, target, options), VoidMeasurement, "void");
    }),
);
