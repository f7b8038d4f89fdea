// The methods of `deno task try` against FreeRADIUS: it accepts their proofs, and they accept its proofs and its MPPE keys.

import { assertEquals, assertMatch } from "@std/assert";
import { parseRadtestArgs, runLogin } from "../../cli/radtest.ts";
import type { LoginMethodName } from "../../cli/radtest_methods.ts";
import { openRadiusSocket } from "../../cli/radtest_packets.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { FIRST_PASSWORD, type FreeRadius, FREERADIUS_NEEDS, startFreeRadius } from "../support/freeradius.ts";
import { testNeeding } from "../support/skip_unless.ts";

async function tryLogin({ port, secret }: FreeRadius, method: LoginMethodName, password: string) {
  const read = parseRadtestArgs(
    [`127.0.0.1:${port}`, "--secret", secret, "--user", "alice", "--password", password, "--method", method],
    { get: () => undefined },
  );
  if (read.kind !== "run") throw new Error(JSON.stringify(read));
  const shown: string[] = [];
  const socket = openRadiusSocket(read.options);
  try {
    const code = await runLogin(read.options, {
      terminal: { show: (line) => void shown.push(line), ask: () => Promise.resolve(null) },
      socket,
      random: createSystemRandom(),
      nowMs: () => performance.now(),
    });
    return { code, text: shown.join("\n") };
  } finally {
    socket.close();
  }
}

testNeeding(
  FREERADIUS_NEEDS,
  "deno task try: each method signs in at FreeRADIUS, and a wrong password is rejected",
  async () => {
    await using server = await startFreeRadius();
    for (
      const [method, right, wrong] of [
        ["pap", /^Access-Accept /, /^Access-Reject /],
        ["chap", /^Access-Accept /, /^Access-Reject /],
        [
          "mschapv2",
          /MS-CHAP2-Success is right\n {2}The MPPE keys are right/,
          /MS-CHAP-Error: E=691 .*\(authentication failure\)/,
        ],
        ["eap-gtc", /EAP-Request\/EAP-GTC[^]*EAP-Success/, /EAP-Request\/EAP-GTC[^]*EAP-Failure/],
      ] as const
    ) {
      const accepted = await tryLogin(server, method, FIRST_PASSWORD);
      assertMatch(accepted.text, right);
      assertEquals(accepted.code, 0, `${method}: ${accepted.text}`);
      const rejected = await tryLogin(server, method, "wrong");
      assertMatch(rejected.text, wrong);
      assertEquals(rejected.code, 1, `${method}: ${rejected.text}`);
    }
  },
);
