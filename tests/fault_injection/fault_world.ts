// The real program between a pretended second-factor service and a pretended telephony service, with users who have factors
// from the start: their pairings are written into the data directory before the program takes it.

import { openDataDir } from "../../platform/data_dir.ts";
import { createPairings } from "../../radius/factors/pairings.ts";
import type { NewPairing } from "../../radius/factors/pairing.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { type FakeSecondFactor, startFakeSecondFactor } from "../fakes/second_factor_server.ts";
import { type FakeTelephony, startFakeTelephony } from "../fakes/telephony_server.ts";
import { type RunningGateway, startGateway } from "../support/gateway.ts";

/** The program and its services. Declare it with `await using`. */
export interface FaultWorld extends AsyncDisposable {
  readonly gateway: RunningGateway;
  readonly secondFactor: FakeSecondFactor;
  readonly telephony: FakeTelephony;
  dispose(): Promise<void>;
}

export interface FaultWorldOptions {
  /** Tables other than those of the two services. */
  readonly toml?: string;
  /** The deadline of a call to either service; 10 s unless given, because a busy machine exceeds a short one. */
  readonly timeoutMs?: number;
  readonly pairings?: readonly (readonly [user: string, pairing: NewPairing])[];
  readonly consumerSecret?: string;
  readonly authToken?: string;
}

/** Writes pairings into the data directory at `path`, which no process may hold. */
export async function writePairings(
  path: string,
  pairings: NonNullable<FaultWorldOptions["pairings"]>,
): Promise<void> {
  const random = createSystemRandom();
  const { store, vault, close } = await openDataDir(path, { random, masterKeyHex: "" });
  try {
    const house = createPairings({ store, vault, clock: systemClock, random, target: "default" });
    const mutations = pairings.map(([user, wanted]) => {
      const { mutation, pairing } = house.prepare({ canonical: user, shown: user }, wanted);
      house.adopt(pairing);
      return mutation;
    });
    await store.commit({ mutations });
  } finally {
    await close();
  }
}

/** Starts all three. */
export async function startFaultWorld(options: FaultWorldOptions = {}): Promise<FaultWorld> {
  const { consumerSecret, authToken, timeoutMs = 10_000 } = options;
  const secondFactor = await startFakeSecondFactor({ consumerSecret });
  const telephony = await startFakeTelephony({ authToken });
  const dataDir = await Deno.makeTempDir({ prefix: "countersign-fault-" });
  const clear = async () => {
    await Promise.all([secondFactor.close(), telephony.close()]);
    await Deno.remove(dataDir, { recursive: true });
  };
  const toml = `
[second_factor]
url = "${secondFactor.url}"
consumer_key = "${secondFactor.consumerKey}"
consumer_secret = "${secondFactor.consumerSecret}"
timeout_ms = ${timeoutMs}
[telephony]
url = "${telephony.url}"
account_id = "${telephony.accountId}"
auth_token = "${telephony.authToken}"
from = "${telephony.from}"
timeout_ms = ${timeoutMs}
[factors.device]
continue_wait_ms = 100
${options.toml ?? ""}`;
  try {
    await writePairings(dataDir, options.pairings ?? []);
    const gateway = await startGateway({ toml, dataDir });
    const dispose = async () => {
      await gateway.dispose();
      await clear();
    };
    return { gateway, secondFactor, telephony, dispose, [Symbol.asyncDispose]: dispose };
  } catch (fault) {
    await clear();
    throw fault;
  }
}
