// startProgramWithServices(): the real program with fakes of the second-factor and telephony services. Users can have
// factors from the start: their pairings are written to the data directory before the program opens it.

import { openDataDir } from "../../platform/data_dir.ts";
import { Pairings } from "../../radius/factors/pairings.ts";
import type { NewPairing } from "../../radius/factors/pairing.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { type FakeSecondFactor, startFakeSecondFactor } from "./second_factor_server.ts";
import { type FakeTelephony, startFakeTelephony } from "./telephony_server.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";

/** The program and its services. Declare it with `await using`. */
export interface ProgramWithServices extends AsyncDisposable {
  readonly gateway: RunningProgram;
  readonly secondFactor: FakeSecondFactor;
  readonly telephony: FakeTelephony;
  /** Gives `user` a factor. Throws if the gateway refuses. */
  readonly pair: RunningProgram["pair"];
  dispose(): Promise<void>;
}

export interface ProgramServicesOptions {
  /** Tables other than those of the two services. */
  readonly toml?: string;
  /** The deadline of a call to either service; the default is 10 s, because a busy machine exceeds a short one. */
  readonly timeoutMs?: number;
  readonly pairings?: readonly (readonly [user: string, pairing: NewPairing])[];
  readonly consumerSecret?: string;
  readonly authToken?: string;
}

/** Deno KV limits the size of a commit. */
const MAX_TOGETHER = 500;

/** Writes pairings into the data directory at `path`, which no process may hold. */
export async function writePairings(
  path: string,
  pairings: NonNullable<ProgramServicesOptions["pairings"]>,
): Promise<void> {
  const random = createSystemRandom();
  const { store, vault, close } = await openDataDir(path, { random, masterKeyHex: "" });
  try {
    const house = new Pairings({ store, vault, clock: systemClock, random, target: "default" });
    const mutations = pairings.map(([user, wanted]) => {
      const { mutation, pairing } = house.prepare({ canonical: user, shown: user }, wanted);
      house.adopt(pairing);
      return mutation;
    });
    for (let at = 0; at < mutations.length; at += MAX_TOGETHER) {
      await store.commit({ mutations: mutations.slice(at, at + MAX_TOGETHER) });
    }
  } finally {
    await close();
  }
}

/** Starts both services and the program. */
export async function startProgramWithServices(
  options: ProgramServicesOptions = {},
): Promise<ProgramWithServices> {
  const { consumerSecret, authToken, timeoutMs = 10_000 } = options;
  const secondFactor = await startFakeSecondFactor({ consumerSecret });
  const telephony = await startFakeTelephony({ authToken });
  const dataDir = await Deno.makeTempDir({ prefix: "countersign-services-" });
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
    const gateway = await startProgram({ toml, dataDir });
    const dispose = async () => {
      await gateway.dispose();
      await clear();
    };
    return { gateway, secondFactor, telephony, pair: gateway.pair, dispose, [Symbol.asyncDispose]: dispose };
  } catch (fault) {
    await clear();
    throw fault;
  }
}
