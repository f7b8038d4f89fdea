// radsecproxy with Status-Server in front of a gateway for two minutes. It starts with the first test of a file and is
// checked in the last one, so that the other tests run meanwhile.

import { assert, assertEquals } from "@std/assert";
import { lacking, type Needs } from "../support/skip_unless.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import type { PeerSetUp } from "./peers/login.ts";
import { setUpRadsecproxy } from "./peers/radsecproxy.ts";

export const STATUS_SERVER_NEEDS: Needs = { peers: ["radclient", "radsecproxy"] };
/**
 * The logins, each except the last after another Status-Server: radsecproxy sends one after about 25 s without traffic.
 */
const LOGINS = 5;
const STATUS_WITHIN_MS = 90_000;
/** The earliest time of the last login. */
const LAST_AT_MS = 120_000;

const SECRET = "shared-with-radsecproxy";
/**
 * One address, and message_authenticator = "auto": a signed Access-Request would make this entry require signatures.
 */
const SETTINGS = `
[[radius.client]]
name = "proxy"
address = ["127.0.0.1"]
secret = "${SECRET}"`;

export interface StatusServerWatch extends AsyncDisposable {
  /**
   * Waits until the two minutes are over, and checks that every login was answered and that Status-Server packets
   * arrived.
   */
  check(): Promise<void>;
}

/** `null` if the programs are missing. */
export async function watchStatusServer(): Promise<StatusServerWatch | null> {
  if (lacking(STATUS_SERVER_NEEDS) !== null) return null;
  const gateway = await startProgram({ toml: SETTINGS });
  const proxy = await setUpRadsecproxy({ port: gateway.radiusPort, secret: SECRET });
  const stop = Promise.withResolvers<void>();
  // A failure before `check` must not end the test run, so it is a value until then.
  const logins = login(proxy, { gateway, stopped: stop.promise }).then(
    (made) => ({ made, fault: null }),
    (fault: unknown) => ({ made: 0, fault }),
  );
  return {
    async check() {
      assertEquals(await logins, { made: LOGINS, fault: null });
      assert(
        await gateway.metric("status_answers_total") >= LOGINS - 2,
        "radsecproxy sent too few Status-Server packets",
      );
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

/** Begins the logins; each reaches the menu, or this function rejects. */
async function login(
  proxy: PeerSetUp,
  { gateway, stopped }: { gateway: RunningProgram; stopped: Promise<void> },
): Promise<number> {
  let isStopped = false;
  void stopped.then(() => isStopped = true);
  const lastAtMs = performance.now() + LAST_AT_MS;
  let made = 0;
  let seen = 0;
  const isDue = async (): Promise<boolean> => {
    if (made === 0) return true;
    if (made === LOGINS - 1) return performance.now() >= lastAtMs;
    return await gateway.metric("status_answers_total") > seen;
  };
  while (made < LOGINS) {
    for (const end = performance.now() + STATUS_WITHIN_MS; !isStopped && !await isDue();) {
      if (performance.now() > end) throw new Error("radsecproxy sends no Status-Server");
      await pause(1000, stopped);
    }
    if (isStopped) break;
    const begun = await proxy.login({ name: `proxied${made}`, password: "first" });
    await begun.shows("Choose a second factor");
    made++;
    seen = await gateway.metric("status_answers_total");
  }
  return made;
}

async function pause(forMs: number, stopped: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([stopped, new Promise((resolve) => timer = setTimeout(resolve, forMs))]);
  clearTimeout(timer);
}
