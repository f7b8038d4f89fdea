// FreeRADIUS between radclient and the gateway: requests arrive with Proxy-State, from the proxy's port, and signed
// again.

import { freeUdpPort } from "../../support/free_port.ts";
import type { Door, PeerRow, PeerSetUp } from "./login.ts";
import { setUpPeer } from "./peer_run.ts";
import { answersStatusServer } from "./proxies.ts";
import { setUpRadclient } from "./radclient.ts";

export const FREERADIUS_PROXY: PeerRow = {
  title: "radclient through FreeRADIUS as a proxy",
  needs: { peers: ["radclient", "freeradius"] },
  setUp: setUpProxy,
};

const FRONT_SECRET = "the front door of the proxy";

function setUpProxy(gateway: Door): Promise<PeerSetUp> {
  return setUpPeer("proxy", async ({ directory: run, startServer }) => {
    const front: Door = { port: freeUdpPort(), secret: FRONT_SECRET };
    await writeSettings(run, { front, gateway });
    const proxy = startServer("/usr/sbin/freeradius", { args: ["-f", "-n", "proxy", "-d", run] });
    await answersStatusServer(front, proxy).catch(async (cause: unknown) => {
      const log = await Deno.readTextFile(`${run}/proxy.log`).catch(() => "(it wrote no log)");
      throw new Error(`FreeRADIUS does not come up:\n${log}`, { cause });
    });
    return setUpRadclient(front, { nasPort: true, signed: false }).login;
  });
}

async function writeSettings(run: string, { front, gateway }: { front: Door; gateway: Door }): Promise<void> {
  const template = await Deno.readTextFile(new URL("./freeradius_proxy.conf", import.meta.url));
  const values: readonly [string, string | number][] = [
    ["RUN", run],
    ["PORT", front.port],
    ["SECRET", front.secret],
    ["GATEWAY_PORT", gateway.port],
    ["GATEWAY_SECRET", gateway.secret],
  ];
  const text = values.reduce((all, [name, value]) => all.replaceAll(`@${name}@`, String(value)), template);
  await Deno.writeTextFile(`${run}/proxy.conf`, text, { mode: 0o600 });
}
