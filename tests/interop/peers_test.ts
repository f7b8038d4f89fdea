// The peers themselves, with a minimal server that challenges once: a failure here is not a fault of the gateway.

import { assertEquals } from "@std/assert";
import { startChallengeServer } from "../support/challenge_server.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { PEER_ROWS } from "./peers/rows.ts";

const SECRET = "shared-with-the-peers";

for (const peer of PEER_ROWS) {
  testNeeding(peer.needs, `${peer.title} answers a challenge, right and wrong`, async () => {
    using server = startChallengeServer({ secret: SECRET, code: "012345", prompt: "Enter the code: " });
    await using setUp = await peer.setUp({ port: server.port, secret: SECRET });
    for (const [code, verdict] of [["012345", "accept"], ["999999", "reject"]] as const) {
      const login = await setUp.login({ name: "alice", password: "first" });
      await login.shows("Enter the code");
      await login.answer(code);
      assertEquals((await login.end()).verdict, verdict);
    }
  });
}
