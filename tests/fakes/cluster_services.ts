// startClusterWithServices(): real gateways on one real denokv, with fakes of the second-factor and telephony services. Users have their factors
// from the start.

import { openDataDir } from "../../platform/data_dir.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import type { NewPairing } from "../../radius/factors/pairing.ts";
import { Pairings } from "../../radius/factors/pairings.ts";
import { RecoveryCodeStore } from "../../radius/factors/recovery_codes.ts";
import { type Account, type Caller, createCaller } from "../scim/rows/caller.ts";
import { type Cluster, type ClusterNode, startCluster } from "../support/cluster.ts";
import { DENOKV_TOKEN, DENOKV_TOKEN_VARIABLE } from "../support/denokv.ts";
import type { RadiusClient } from "../support/radius_client.ts";
import type { RequestParts } from "../support/radius_packets.ts";
import { type FakeSecondFactor, startFakeSecondFactor } from "./second_factor_server.ts";
import { type FakeTelephony, startFakeTelephony } from "./telephony_server.ts";

/** The gateways and their services. Declare it with `await using`. */
export interface ClusterWithServices extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly secondFactor: FakeSecondFactor;
  readonly telephony: FakeTelephony;
  /** The recovery codes of each user of `recoveryCodesOf`. */
  readonly recoveryCodes: ReadonlyMap<string, readonly string[]>;
  /** A client of the SCIM interface of a gateway. */
  scim(node: ClusterNode): Caller;
  dispose(): Promise<void>;
}

export interface ClusterServicesOptions {
  readonly clockOffsetsMs?: readonly number[];
  /** Tables other than those of the two services, the clients and the SCIM credential. */
  readonly toml?: string;
  readonly pairings?: readonly (readonly [user: string, pairing: NewPairing])[];
  /** Users who get ten recovery codes. */
  readonly recoveryCodesOf?: readonly string[];
}

const WRITER: Account = { name: "provisioner", password: "the-writer's password" };
const NAS_IDENTIFIER = 32;
/** The RADIUS clients of the settings: their NAS-Identifier is their name. */
const CLIENTS = {
  vpn: 'device = "challenge"',
  held: 'device = "hold"\nhold_s = 25',
} as const;

/** The attribute that selects a client of the settings. */
export function fromClient(name: keyof typeof CLIENTS): Pick<RequestParts, "more"> {
  return { more: [{ type: NAS_IDENTIFIER, value: new TextEncoder().encode(name) }] };
}

/** Starts both services, the store and two gateways. */
export async function startClusterWithServices(
  options: ClusterServicesOptions = {},
): Promise<ClusterWithServices> {
  const secondFactor = await startFakeSecondFactor();
  const telephony = await startFakeTelephony();
  const recoveryCodes = new Map<string, readonly string[]>();
  const clear = async () => void await Promise.all([secondFactor.close(), telephony.close()]);
  try {
    const cluster = await startCluster({
      ...(options.clockOffsetsMs === undefined ? {} : { clockOffsetsMs: options.clockOffsetsMs }),
      toml: settingsOf({ secondFactor, telephony }) + (options.toml ?? ""),
      fill: async (location) => {
        for (const [user, codes] of await writeFactors(location, options)) recoveryCodes.set(user, codes);
      },
    });
    const dispose = async () => {
      await cluster.dispose();
      await clear();
    };
    return {
      cluster,
      secondFactor,
      telephony,
      recoveryCodes,
      scim: (node) => createCaller(node, { account: WRITER, target: "default" }),
      dispose,
      [Symbol.asyncDispose]: dispose,
    };
  } catch (fault) {
    await clear();
    throw fault;
  }
}

/** A client of each gateway, all closed together. */
export function openClients(
  { cluster }: ClusterWithServices,
): Disposable & { at(node: number): RadiusClient } {
  const clients = cluster.nodes.map((node) => node.client());
  return {
    at(node) {
      const client = clients[node];
      if (client === undefined) throw new RangeError(`The cluster has no node ${node}`);
      return client;
    },
    [Symbol.dispose]() {
      for (const client of clients) client.close();
    },
  };
}

/** Deadlines of calls are long, because a busy machine exceeds short ones. */
function settingsOf(
  { secondFactor, telephony }: { secondFactor: FakeSecondFactor; telephony: FakeTelephony },
): string {
  const clients = Object.entries(CLIENTS).map(([name, policy]) => `
[[radius.client]]
name = "${name}"
address = ["127.0.0.1"]
nas_identifier = "${name}"
secret = "secret-of-the-client"
${policy}`);
  return `${clients.join("\n")}
[[scim.credential]]
name = "${WRITER.name}"
password = "${WRITER.password}"
targets = ["default"]
access = "write"
[second_factor]
url = "${secondFactor.url}"
consumer_key = "${secondFactor.consumerKey}"
consumer_secret = "${secondFactor.consumerSecret}"
timeout_ms = 10000
[telephony]
url = "${telephony.url}"
account_id = "${telephony.accountId}"
auth_token = "${telephony.authToken}"
from = "${telephony.from}"
timeout_ms = 10000
[factors.device]
continue_wait_ms = 1000
`;
}

/** Writes the factors to the store before the first gateway uses it. Returns the recovery codes of each user. */
async function writeFactors(
  location: { kvUrl: string; masterKeyHex: string },
  { pairings = [], recoveryCodesOf = [] }: ClusterServicesOptions,
): Promise<Map<string, readonly string[]>> {
  const path = await Deno.makeTempDir({ prefix: "countersign-fill-" });
  const random = createSystemRandom();
  Deno.env.set(DENOKV_TOKEN_VARIABLE, DENOKV_TOKEN);
  const { store, vault, close } = await openDataDir(path, { random, ...location });
  const deps = { store, vault, clock: systemClock, random, target: "default" };
  const factors = new Pairings(deps);
  const codeStore = new RecoveryCodeStore(deps);
  const codes = new Map<string, readonly string[]>();
  try {
    const mutations = pairings.map(([user, wanted]) => {
      const { mutation, pairing } = factors.prepare({ canonical: user, shown: user }, wanted);
      factors.adopt(pairing);
      return mutation;
    });
    if (mutations.length > 0) await store.commit({ mutations });
    for (const user of recoveryCodesOf) {
      const made = codeStore.create(user);
      await store.commit({ checks: [...made.checks], mutations: [...made.mutations] });
      codes.set(user, made.codes);
    }
    return codes;
  } finally {
    await close();
    await Deno.remove(path, { recursive: true });
  }
}
