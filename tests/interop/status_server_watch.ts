// radsecproxy with Status-Server in front of a gateway for two minutes. It starts with the first test of a file and is checked in the last, so
// that the other tests of the file run meanwhile.

import { assert, assertEquals } from "@std/assert";
import { lacking, type Needs } from "../ground/needing.ts";
import { type RunningGateway, startGateway } from "../ground/gateway.ts";
import type { PeerSetUp } from "./peers/login.ts";
import { setUpRadsecproxy } from "./peers/radsecproxy.ts";

export const STATUS_SERVER_NEEDS: Needs = { peers: ["radclient", "radsecproxy"] };
/** When logins are made. radsecproxy sends Status-Server after some 25 s without traffic, so there is one between any two of the first four. */
const LOGINS_AT_MS = [0, 35_000, 70_000, 105_000, 120_000];

const SECRET = "shared-with-radsecproxy";
/** One address, and message_authenticator = "auto": the entry that a signed Access-Request teaches to require signatures. */
const SETTINGS = `
[[radius.client]]
name = "proxy"
address = ["127.0.0.1"]
secret = "${SECRET}"`;

export interface StatusServerWatch extends AsyncDisposable {
  /** Waits until the two minutes are over, and checks that every login was answered and that Status-Server packets arrived. */
  check(): Promise<void>;
}

/** `null` where the programs are missing. */
export async function watchStatusServer(): Promise<StatusServerWatch | null> {
  if (lacking(STATUS_SERVER_NEEDS) !== null) return null;
  const gateway = await startGateway({ toml: SETTINGS });
  const proxy = await setUpRadsecproxy({ port: gateway.radiusPort, secret: SECRET });
  const stop = Promise.withResolvers<void>();
  // A failure before `check` must not end the test run: it is a value until then.
  const logins = login(proxy, stop.promise).then(
    (made) => ({ made, fault: null }),
    (fault: unknown) => ({ made: 0, fault }),
  );
  return {
    async check() {
      assertEquals(await logins, { made: LOGINS_AT_MS.length, fault: null });
      assert(await statusAnswers(gateway) >= 3, "radsecproxy sent too few Status-Server packets");
      assertEquals(gateway.logLines().filter((line) => line.includes("dropped:")), []);
    },
    async [Symbol.asyncDispose]() {
      stop.resolve();
      await logins;
      await proxy[Symbol.asyncDispose]();
      await gateway.dispose();
    },
  };
}

/** Begins a login at each of the times; each gets the menu, or this rejects. */
async function login(proxy: PeerSetUp, stopped: Promise<void>): Promise<number> {
  let isStopped = false;
  void stopped.then(() => isStopped = true);
  const startedAt = performance.now();
  let made = 0;
  for (const atMs of LOGINS_AT_MS) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const waitMs = Math.max(0, startedAt + atMs - performance.now());
    await Promise.race([stopped, new Promise((resolve) => timer = setTimeout(resolve, waitMs))]);
    clearTimeout(timer);
    if (isStopped) break;
    const begun = await proxy.login({ name: `proxied${made}`, password: "first" });
    await begun.shows("Choose a second factor");
    made++;
  }
  return made;
}

async function statusAnswers({ httpUrl }: RunningGateway): Promise<number> {
  const text = await (await fetch(`${httpUrl}/metrics`)).text();
  const [, count = "0"] = /^countersign_status_answers_total (\d+)$/m.exec(text) ?? [];
  return Number(count);
}
