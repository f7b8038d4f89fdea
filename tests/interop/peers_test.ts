// Every real peer, and the guides of the products that Debian has.

import { assertEquals, assertMatch } from "@std/assert";
import { CLIENT_GUIDES, type ClientGuideId } from "../../platform/client_guides.ts";
import { startChallengeServer } from "../support/challenge_server.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { PEER_ROWS } from "./peers/rows.ts";
import { GUIDED_CLIENT } from "./peers/guided.ts";
import type { PeerRow, PeerSetUp } from "./peers/login.ts";
import { OPENVPN } from "./peers/openvpn.ts";
import { SSH_USER, SSHD } from "./peers/sshd.ts";
import { STRONGSWAN } from "./peers/strongswan.ts";
import { pairPhone } from "./phone.ts";

// The peers themselves, with a minimal server that challenges once: a failure here is not a fault of the gateway.

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

// The setup guides of VPNs that hold a sign-in, with the real programs. The guide of ocserv is in vpn_test.ts and peers_test.ts, whose
// peer uses it.

const GUIDE_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";

interface GuideRow {
  readonly id: ClientGuideId;
  readonly peer: PeerRow;
  /** It sends Accounting-Start, and needs an answer. */
  readonly hasAccounting: boolean;
}

const ROWS: readonly GuideRow[] = [
  { id: "openvpn", peer: OPENVPN, hasAccounting: true },
  { id: "strongswan", peer: STRONGSWAN, hasAccounting: false },
];

/** The plug-in of OpenVPN reads only four digits of a port. */
function freeShortPort(): number {
  for (let port = 9000; port <= 9999; port++) {
    try {
      Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port }).close();
      return port;
    } catch (fault) {
      if (!(fault instanceof Deno.errors.AddrInUse)) throw fault;
    }
  }
  throw new Error("No port from 9000 to 9999 is free");
}

async function pushLogin(
  gateway: RunningProgram,
  setUp: PeerSetUp,
  { user, isApproved }: { user: string; isApproved: boolean },
): Promise<void> {
  const phone = await pairPhone(gateway, user);
  const login = await setUp.login({ name: user, password: "first" });
  await (isApproved ? phone.approve("") : phone.deny());
  assertEquals((await login.end()).verdict, isApproved ? "accept" : "reject");
}

for (const { id, peer, hasAccounting } of ROWS) {
  const { messageAuthenticator, device } = CLIENT_GUIDES[id];
  testNeeding(
    peer.needs,
    `${peer.title}, as its setup guide says: a push that is approved, and one that is denied`,
    async (context) => {
      const toml = `[radius]
listen = ["127.0.0.1:${freeShortPort()}"]
device = "${device}"
message_authenticator = "${messageAuthenticator}"
`;
      await using gateway = await startProgram({ toml });
      await using setUp = await peer.setUp({ port: gateway.radiusPort, secret: gateway.secret });
      await context.step("approved", () => pushLogin(gateway, setUp, { user: "ada", isApproved: true }));
      assertMatch(
        await gateway.logged("Access-Request"),
        new RegExp(`NAS-Identifier="?\\\\?"?${GUIDED_CLIENT}`),
      );
      if (hasAccounting) await gateway.logged("Accounting-Request");
      const asked = () => gateway.logLines().filter((line) => line.includes("Access-Request")).length;
      const before = asked();
      // The token replaces the password when the keys are renewed.
      await setUp.serverShows?.("auth-token authentication succeeded");
      assertEquals(asked(), before);
      await context.step("denied", () => pushLogin(gateway, setUp, { user: "bea", isApproved: false }));
    },
  );
}

testNeeding(
  SSHD.needs,
  `${SSHD.title}, as its setup guide says: a code, a wrong one, and an unknown user`,
  async () => {
    await using gateway = await startProgram({});
    await gateway.pair(SSH_USER, "--totp", GUIDE_SECRET);
    await using setUp = await SSHD.setUp({ port: gateway.radiusPort, secret: gateway.secret });
    const verdictOf = async (name: string, code: string) => {
      const login = await setUp.login({ name, password: "first" });
      await login.shows("Enter the passcode that your device generates.");
      await login.answer(code);
      return (await login.end()).verdict;
    };
    assertEquals(await verdictOf(SSH_USER, totpCode(fromBase32(GUIDE_SECRET), Date.now())), "accept");
    assertEquals(await verdictOf(SSH_USER, "000000"), "reject");
    const unknown = await setUp.login({ name: "no-such-user", password: "first" });
    assertEquals((await unknown.end()).verdict, "reject");
    await gateway.logged("sshd");
  },
);
