// radsecproxy between radclient and the gateway, with Status-Server: about every 25 s it checks the gateway with a
// packet that is always signed, while the logins that it forwards are not.

import { freeUdpPort } from "../../support/free_port.ts";
import type { Door, PeerRow, PeerSetUp } from "./login.ts";
import { setUpPeer } from "./peer_run.ts";
import { answersStatusServer } from "./proxies.ts";
import { setUpRadclient } from "./radclient.ts";

export const RADSECPROXY: PeerRow = {
  title: "radclient through radsecproxy",
  needs: { peers: ["radclient", "radsecproxy"] },
  setUp: setUpRadsecproxy,
};

const FRONT_SECRET = "the-front-door-of-radsecproxy";

/** Starts radsecproxy in front of a gateway. */
export function setUpRadsecproxy(gateway: Door): Promise<PeerSetUp> {
  return setUpPeer("radsecproxy", async ({ directory, startServer }) => {
    const front: Door = { port: freeUdpPort(), secret: FRONT_SECRET };
    const file = `${directory}/radsecproxy.conf`;
    await Deno.writeTextFile(file, settingsOf(front, gateway), { mode: 0o600 });
    const proxy = startServer("/usr/sbin/radsecproxy", { args: ["-f", "-c", file] });
    await answersStatusServer(front, proxy).catch((cause: unknown) => {
      throw new Error("radsecproxy does not come up", { cause });
    });
    return setUpRadclient(front, { nasPort: true, signed: false }).login;
  });
}

const settingsOf = (front: Door, gateway: Door) =>
  `ListenUDP 127.0.0.1:${front.port}
client front {
  type udp
  host 127.0.0.1
  secret ${front.secret}
}
server gateway {
  type udp
  host 127.0.0.1
  port ${gateway.port}
  secret ${gateway.secret}
  StatusServer on
}
realm * {
  server gateway
  accountingServer gateway
}
`;
