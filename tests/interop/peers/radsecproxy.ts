// radsecproxy between radclient and the gateway, with Status-Server: about every 25 s it checks the gateway with a
// packet that is always signed, while the logins that it forwards are not.

import { endChild } from "../../support/child.ts";
import { freeUdpPort } from "../../support/free_port.ts";
import type { Door, PeerRow, PeerSetUp } from "./login.ts";
import { answersStatusServer } from "./proxies.ts";
import { setUpRadclient } from "./radclient.ts";

export const RADSECPROXY: PeerRow = {
  title: "radclient through radsecproxy",
  needs: { peers: ["radclient", "radsecproxy"] },
  setUp: setUpRadsecproxy,
};

const FRONT_SECRET = "the-front-door-of-radsecproxy";

/** Starts radsecproxy in front of a gateway. */
export async function setUpRadsecproxy(gateway: Door): Promise<PeerSetUp> {
  const run = await Deno.makeTempDir({ prefix: "countersign-radsecproxy-" });
  const front: Door = { port: freeUdpPort(), secret: FRONT_SECRET };
  await Deno.writeTextFile(
    `${run}/radsecproxy.conf`,
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
`,
    { mode: 0o600 },
  );
  const child = new Deno.Command("/usr/sbin/radsecproxy", {
    args: ["-f", "-c", `${run}/radsecproxy.conf`],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const dispose = async () => {
    await endChild(child, 3000);
    await Deno.remove(run, { recursive: true });
  };
  try {
    await answersStatusServer(front, child);
  } catch (fault) {
    await dispose();
    throw new Error("radsecproxy does not come up", { cause: fault });
  }
  const radclient = setUpRadclient(front, { nasPort: true, signed: false });
  return { login: radclient.login, [Symbol.asyncDispose]: dispose };
}
