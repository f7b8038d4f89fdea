// For tests: an operator at a terminal, with a scratch data directory, and a server that may hold it.

import { serveControlSocket } from "../../host/control_socket.ts";
import { openDataDir } from "../../host/data_dir.ts";
import { createDesk } from "../../host/desk.ts";
import { createLog } from "../../log.ts";
import { createLearnt } from "../../radius/doing/learnt.ts";
import { createLimits } from "../../radius/doing/limits.ts";
import { createOrderedIds } from "../../radius/doing/ordered_ids.ts";
import { createPairings, type Pairings } from "../../radius/doing/pairings.ts";
import { createPasswordHasher } from "../../password_hasher.ts";
import { createSystemRandom, systemClock } from "../../runtime.ts";
import { createBulk } from "../../scim/bulk/bulk.ts";
import { createCredentials, type Credentials } from "../../scim/http/credentials.ts";
import { configOf } from "../config/samples.ts";
import { type Ended, runProgram } from "../ground/child.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** What the tasks give their commands, and no more. */
const PERMISSIONS = ["--allow-net", "--allow-read", "--allow-write", "--allow-env"];

export interface Operator extends AsyncDisposable {
  readonly home: string;
  readonly dataDir: string;
  /** Runs `commands/<name>.ts` as its task does. */
  run(command: string, ...args: string[]): Promise<Ended>;
  /** The same with something on standard input. */
  type(stdin: string, command: string, ...args: string[]): Promise<Ended>;
}

interface Options {
  /** Settings besides the data directory. */
  readonly toml?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export async function openOperator({ toml = "", env = {} }: Options = {}): Promise<Operator> {
  const home = await Deno.makeTempDir({ prefix: "countersign-operator-" });
  const dataDir = `${home}/data`;
  const file = `${home}/countersign.toml`;
  await Deno.writeTextFile(file, `${toml}\n[server]\ndata_dir = ${JSON.stringify(dataDir)}\n`);
  const start = (stdin: string | undefined, command: string, args: readonly string[]) =>
    runProgram(Deno.execPath(), {
      args: ["run", "--quiet", "--no-prompt", ...PERMISSIONS, `${ROOT}commands/${command}.ts`, ...args],
      cwd: home,
      env: { NO_COLOR: "1", COUNTERSIGN_CONFIG: file, COUNTERSIGN_MASTER_KEY: "", ...env },
      ...stdin === undefined ? {} : { stdin },
    });
  return {
    home,
    dataDir,
    run: (command, ...args) => start(undefined, command, args),
    type: (stdin, command, ...args) => start(stdin, command, args),
    [Symbol.asyncDispose]: () => Deno.remove(home, { recursive: true }),
  };
}

/** A server that holds the data directory and answers at its socket. */
export interface StandIn extends AsyncDisposable {
  readonly pairings: Pairings;
  readonly credentials: Credentials;
}

/** Starts a stand-in in this process: a file lock counts between two openings, also of one process. */
export async function openStandIn({ dataDir }: Operator): Promise<StandIn> {
  const random = createSystemRandom();
  const clock = systemClock;
  const opened = await openDataDir(dataDir, { random, masterKeyHex: "" });
  const { store, vault } = opened;
  const config = configOf("");
  const log = createLog({ format: "text", level: "error", clock, write: () => {} });
  const pairings = createPairings({ store, vault, clock, random, target: "default" });
  await pairings.load();
  const orderedId = createOrderedIds(clock, random);
  const credentials = createCredentials({
    store,
    vault,
    clock,
    random,
    log,
    hasher: createPasswordHasher({ random, cost: { costLog2: 4 } }),
    settings: [],
  });
  const desk = createDesk({
    config,
    credentials,
    targets: { names: ["default"], get: () => null },
    bulk: createBulk({ clock, publicUrl: "http://127.0.0.1:8080" }),
    pairings,
    limits: createLimits({ store, clock, settings: config.factors }),
    learnt: createLearnt({ store, log, clock }),
    clients: () => ["vpn"],
    secondFactorDesk: null,
    store,
    clock,
    orderedId,
  });
  const socket = await serveControlSocket({
    path: `${dataDir}/control.sock`,
    handle: desk.handle,
    log,
    clock,
  });
  return {
    pairings,
    credentials,
    async [Symbol.asyncDispose]() {
      await socket.close();
      await opened.close();
    },
  };
}
