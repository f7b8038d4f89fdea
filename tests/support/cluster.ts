// Several real gateways on one real denokv, for tests and benchmarks.

import { parse, stringify } from "smol-toml";
import {
  type Denokv,
  DENOKV_TOKEN,
  DENOKV_TOKEN_VARIABLE,
  type DenokvOptions,
  startDenokv,
} from "./denokv.ts";
import { overlay } from "./gateway_settings.ts";
import { type RunningProgram, startProgram } from "./program.ts";

/** Options of {@link startCluster}; all are optional. */
export interface ClusterOptions {
  /** The number of gateways; 2 by default. More can join later. */
  readonly nodes?: number;
  /** Settings of all gateways, as in the settings file. */
  readonly toml?: string;
  /** More environment variables of all gateways. */
  readonly env?: Readonly<Record<string, string>>;
  /** By how much the clocks of the gateways are wrong, in milliseconds, in the order of the gateways. */
  readonly clockOffsetsMs?: readonly number[];
  readonly denokv?: DenokvOptions;
  /** Called before the first gateway starts, to write records. */
  readonly fill?: (location: { store: Denokv; kvUrl: string; masterKeyHex: string }) => Promise<void>;
}

/** A gateway of a cluster. Its data directory contains no store. */
export interface ClusterNode extends RunningProgram {
  /** Stops the process with SIGSTOP: its sockets stay open, and nothing answers. */
  freeze(): void;
  /** Continues it after `freeze()`. */
  thaw(): void;
}

/** Running gateways. Declare it with `await using`, or call `dispose()`. */
export interface Cluster extends AsyncDisposable {
  /** The store; stop, freeze and start it there. */
  readonly store: Denokv;
  readonly nodes: readonly ClusterNode[];
  /** The RADIUS secret of all gateways, or that of their first configured client. */
  readonly secret: string;
  /** 64 hexadecimal digits. */
  readonly masterKeyHex: string;
  /** The gateway at this place. Throws if there is none. */
  node(at: number): ClusterNode;
  /** Starts one more gateway with the same settings. */
  join(options?: { clockOffsetMs?: number }): Promise<ClusterNode>;
  /** The logs of the store and of all gateways, each line with its source. */
  logLines(): string[];
  /** Ends everything, also what is frozen, and removes all temporary files. */
  dispose(): Promise<void>;
}

const SECRET = "secret-of-the-cluster";
const MASTER_KEY_HEX = "c1".repeat(32);

/** Starts the store and the gateways, and waits until all of them are ready. Throws with the log of one that is not. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const store = await startDenokv(options.denokv);
  const nodes: ClusterNode[] = [];
  const settings = overlay(
    { store: { kv: store.url }, radius: { secret: SECRET } },
    parse(options.toml ?? ""),
  );
  const join = async ({ clockOffsetMs = 0 }: { clockOffsetMs?: number } = {}): Promise<ClusterNode> => {
    const node = addSignals(
      await startProgram({
        toml: stringify(settings),
        env: {
          ...options.env,
          [DENOKV_TOKEN_VARIABLE]: DENOKV_TOKEN,
          COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX,
          TEST_CLOCK_OFFSET_MS: String(clockOffsetMs),
        },
        ...clockOffsetMs === 0 ? {} : { program: SHIFTED_CLOCK },
      }),
    );
    nodes.push(node);
    return node;
  };
  const dispose = async (): Promise<void> => {
    // A gateway that stops still writes to the store.
    store.thaw();
    await store.start();
    for (const node of nodes) node.thaw();
    await Promise.all(nodes.map((node) => node.dispose()));
    await store.dispose();
  };
  try {
    await options.fill?.({ store, kvUrl: store.url, masterKeyHex: MASTER_KEY_HEX });
    for (let at = 0; at < (options.nodes ?? 2); at++) {
      await join({ clockOffsetMs: options.clockOffsetsMs?.[at] ?? 0 });
    }
  } catch (fault) {
    await dispose();
    throw fault;
  }
  return {
    store,
    nodes,
    secret: nodes[0]?.secret ?? SECRET,
    masterKeyHex: MASTER_KEY_HEX,
    node(at) {
      const node = nodes[at];
      if (node === undefined) throw new RangeError(`The cluster has no node ${at}`);
      return node;
    },
    join,
    logLines: () => [
      ...store.logLines().map((line) => `store: ${line}`),
      ...nodes.flatMap((node, at) => node.logLines().map((line) => `node ${at}: ${line}`)),
    ],
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}

const SHIFTED_CLOCK = new URL("./shifted_clock.ts", import.meta.url).pathname;

/** The program's own getters stay, because its process id changes with each restart. */
function addSignals(program: RunningProgram): ClusterNode {
  const send = (name: Deno.Signal): void => {
    try {
      Deno.kill(program.pid, name);
    } catch (fault) {
      if (!(fault instanceof Deno.errors.NotFound)) throw fault;
    }
  };
  return Object.assign(program, { freeze: () => send("SIGSTOP"), thaw: () => send("SIGCONT") });
}
