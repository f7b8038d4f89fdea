// The setup guides of VPNs that hold a sign-in, with the real programs. The guide of ocserv is in vpn_test.ts and peers_test.ts, whose
// peer uses it.

import { assertEquals, assertMatch } from "@std/assert";
import { CLIENT_GUIDES, type ClientGuideId } from "../../platform/client_guides.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { GUIDED_CLIENT } from "./peers/guided.ts";
import type { PeerRow, PeerSetUp } from "./peers/login.ts";
import { OPENVPN } from "./peers/openvpn.ts";
import { STRONGSWAN } from "./peers/strongswan.ts";
import { pairPhone } from "./phone.ts";

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
      await context.step("denied", () => pushLogin(gateway, setUp, { user: "bea", isApproved: false }));
    },
  );
}
