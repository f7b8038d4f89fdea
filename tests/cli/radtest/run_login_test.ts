// `deno task try` against a test server: a whole login, silence, a wrong secret, a forged reply, end of input.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parseRadtestArgs } from "../../../cli/radtest.ts";
import { type RadtestOptions, runLogin } from "../../../cli/radtest.ts";
import { openRadiusSocket, type RadiusSocket } from "../../../cli/radtest_packets.ts";
import { createSystemRandom } from "../../../platform/runtime.ts";
import { type ChallengeServerOptions, startChallengeServer } from "../../support/challenge_server.ts";
import { eventually } from "../../upstream/manual_clock.ts";

const SECRET = "shared";

interface Played {
  readonly args?: readonly string[];
  readonly typed?: readonly string[];
  /** The number of packets that the server receives before it closes. */
  readonly packets?: number;
  /** The number of answers: the test waits for each of them, and after them there is silence. */
  readonly answers?: number;
}

/** Runs a login with a server and returns the exit code, the output and the prompts. */
async function run(
  server: Partial<ChallengeServerOptions>,
  { args = [], typed = [], packets = 0, answers }: Played,
) {
  using running = startChallengeServer({ secret: SECRET, code: "012345", ...server });
  const words = ["--secret", SECRET, "--user", "alice", "--password", "first", ...args];
  const read = parseRadtestArgs([`127.0.0.1:${running.port}`, ...words], { get: () => undefined });
  if (read.kind !== "run") throw new Error(JSON.stringify(read));
  const shown: string[] = [];
  const open = openRadiusSocket(read.options);
  const socket = answers === undefined ? open : withoutTime(open, answers);
  const lines = [...typed];
  const terminal = {
    show: (line: string) => void shown.push(line),
    ask(question: string) {
      shown.push(question);
      return Promise.resolve(lines.shift() ?? null);
    },
  };
  try {
    const nowMs = () => performance.now();
    const code = await runLogin(read.options, { terminal, socket, random: createSystemRandom(), nowMs });
    await eventually(`${packets} packets arrive`, () => running.received.length >= packets);
    return { code, shown, received: running.received };
  } finally {
    socket.close();
  }
}

/** The same socket, which receives only this many replies. */
function withoutTime(socket: RadiusSocket, answers: number): RadiusSocket {
  let left = answers;
  return { ...socket, receive: () => left-- > 0 ? socket.receive(60_000) : Promise.resolve(null) };
}

Deno.test("runLogin() shows the challenge, returns State with the answer, and ends with 0 after an Accept", async () => {
  const { code, shown } = await run({ prompt: "First line\nsecond line" }, { typed: ["012345"] });
  assertEquals(code, 0);
  assertMatch(shown[0] ?? "", /^Access-Challenge \([\d.]+ ms\) at AWAIT_CODE$/);
  assertEquals(shown.slice(1, 4), ["  First line", "  second line", "> "]);
  assertMatch(shown[4] ?? "", /^Access-Accept \([\d.]+ ms\)$/);
  assertEquals(shown[5], "  Welcome.");
});

Deno.test("runLogin() ends with 1 after a Reject", async () => {
  const { code, shown } = await run({}, { typed: ["999999"] });
  assertEquals(code, 1);
  assertEquals(shown.at(-1), "  That code does not match.");
});

Deno.test("runLogin() repeats the same packet without an answer, and reports when it was answered", async () => {
  const { code, shown, received } = await run({ deafFor: 1 }, {
    args: ["--timeout-ms", "40", "--retries", "50"],
    typed: ["012345"],
  });
  assertEquals(code, 0);
  assertEquals(received[0], received[1]);
  assertMatch(shown[0] ?? "", /sent \d+ times\)/);
});

Deno.test("runLogin() ends with 2 and possible causes without an answer", async () => {
  const { code, shown, received } = await run({ deafFor: 1000 }, {
    args: ["--timeout-ms", "20", "--retries", "1"],
    packets: 2,
  });
  assertEquals([code, received.length], [2, 2]);
  assertStringIncludes(shown[0] ?? "", "No reply after 2 attempts of 0.02 s");
  assertStringIncludes(shown.join("\n"), "secret");
});

Deno.test("runLogin() reports a wrong secret when an answer does not verify", async () => {
  const { code, shown } = await run({ secret: "another" }, {
    args: ["--timeout-ms", "40", "--retries", "0"],
    answers: 1,
  });
  assertEquals(code, 2);
  assertStringIncludes(shown[0] ?? "", "Response Authenticator is wrong");
});

Deno.test("runLogin() sends Status-Server if there is no login", async () => {
  const { code, shown, received } = await run({}, { args: ["--status"] });
  assertEquals(code, 0);
  assertMatch(shown[0] ?? "", /^Access-Accept /);
  assertEquals(received.map((packet) => packet[0]), [12]);
});

Deno.test("runLogin() ends with 2 when the input ends at a challenge", async () => {
  const { code, shown } = await run({}, {});
  assertEquals(code, 2);
  assertEquals(shown.at(-1), "The input ended before the login.");
});

Deno.test("runLogin() escapes control characters of a terminal", async () => {
  const { shown } = await run({ prompt: "a\u001b[2Jb\u202ec" }, {});
  assert(shown.includes("  a\\u001b[2Jb\\u202ec"));
});

const NOTHING = { get: () => undefined };

Deno.test("parseRadtestArgs() reads every option, and the secret from the environment", () => {
  const read = parseRadtestArgs(
    [
      "[::1]:2000",
      "--nas-port",
      "none",
      "--calling-station-id",
      "198.51.100.7",
      "--retries",
      "0",
      "--method",
      "mschapv2",
    ],
    { get: (name) => name === "COUNTERSIGN_TRY_SECRET" ? "from there" : undefined },
  );
  const expected: RadtestOptions = {
    hostname: "::1",
    port: 2000,
    secret: "from there",
    user: null,
    password: null,
    method: "mschapv2",
    nasIdentifier: "countersign-try",
    nasPort: null,
    callingStationId: "198.51.100.7",
    timeoutMs: 3000,
    tries: 1,
    status: false,
    tls: null,
  };
  assertEquals(read, { kind: "run", options: expected });
});

Deno.test("parseRadtestArgs() accepts names, IPv4 and IPv6 addresses, with the default port 1812", () => {
  const cases: [string, string, number][] = [
    ["vpn.example.com", "vpn.example.com", 1812],
    ["192.0.2.1:1645", "192.0.2.1", 1645],
    ["2001:db8::1", "2001:db8::1", 1812],
    ["[2001:db8::1]", "2001:db8::1", 1812],
  ];
  for (const [address, hostname, port] of cases) {
    const read = parseRadtestArgs([address], NOTHING);
    assert(read.kind === "run");
    if (read.kind === "run") assertEquals([read.options.hostname, read.options.port], [hostname, port]);
  }
});

Deno.test("parseRadtestArgs() refuses wrong arguments with a message", () => {
  const wrong = [[], ["a", "b"], ["a:b"], ["a:70000"], ["a", "--nas-port", "-1"], ["a", "--unknown"], [
    "a",
    "--timeout-ms",
    "0",
  ], ["a", "--method", "ntlm"]];
  for (const args of wrong) assertEquals(parseRadtestArgs(args, NOTHING).kind, "usage", args.join(" "));
  assertEquals(parseRadtestArgs(["--help"], NOTHING).kind, "help");
});
