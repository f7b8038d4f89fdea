// The measured servers, each in its own process on a free port of the loopback interface.

import { endChild } from "../../support/child.ts";
import { startProgram } from "../../support/program.ts";
import { TextLineStream } from "../../support/lines.ts";
import { cpuSeconds, residentMb } from "../process_figures.ts";
import type { BenchConnection } from "./connect.ts";
import { readKnownIds } from "./known_ids.ts";
import type { Dialect } from "./operations.ts";

/** `countersign` and `v2` are two interfaces of one process. */
export type ServerName = "countersign" | "v2" | "floor" | "scimmy";

/** A server that answers, with its number of people. */
export interface MeasuredServer {
  readonly name: ServerName;
  readonly users: number;
  readonly port: number;
  readonly dialect: Dialect;
  residentMb(): Promise<{ now: number; peak: number }>;
  /** CPU time until now. */
  cpuSeconds(): Promise<number>;
  stop(): Promise<void>;
}

const HERE = new URL("./", import.meta.url).pathname;
const TEST_LOCK = new URL("../../deno.lock", import.meta.url).pathname;
const PASSWORD = "the password of a measurement";
const TOKEN = "the-token-of-a-measurement";
const NAME = "bench";
const BASIC = `Basic ${btoa(`${NAME}:${PASSWORD}`)}`;
const SETTINGS = `
[server]
log_level = "warn"
[[scim.credential]]
name = "${NAME}"
password = "${PASSWORD}"
targets = ["default"]
access = "write"
`;
/** The seeding of a million people takes minutes; a host that needs longer than this is too slow for measurements. */
const RUN_TIMEOUT_MS = 3600_000;
const START_TIMEOUT_MS = 600_000;
const STORE_FILES = ["countersign.kv", "countersign.kv-wal"] as const;

/** The size of a data directory's store on the disk. */
export async function storeMb(dataDir: string): Promise<number> {
  let octets = 0;
  for (const file of STORE_FILES) {
    try {
      octets += (await Deno.stat(`${dataDir}/${file}`)).size;
    } catch (fault) {
      if (!(fault instanceof Deno.errors.NotFound)) throw fault;
    }
  }
  return octets / 1e6;
}

/** The released gateway, on a seeded data directory. */
export async function startCountersign(dataDir: string, users: number): Promise<MeasuredServer> {
  const gateway = await startProgram({ toml: SETTINGS, dataDir, readyTimeoutMs: START_TIMEOUT_MS });
  return {
    name: "countersign",
    users,
    port: Number(new URL(gateway.httpUrl).port),
    dialect: { base: "/idm/scim/default", authorization: BASIC, paging: "page", filter: "q" },
    residentMb: () => residentMb(gateway.pid),
    cpuSeconds: () => cpuSeconds(gateway.pid),
    stop: () => gateway.dispose(),
  };
}

/** The full SCIM 2.0 interface of a running gateway. The other one stops the process. */
export async function openV2(
  gateway: MeasuredServer,
  { token }: BenchConnection,
): Promise<MeasuredServer> {
  const dialect: Dialect = {
    base: "/scim/v2/default",
    authorization: `Bearer ${token}`,
    paging: "startIndex",
    filter: "filter",
  };
  const ids = await readKnownIds({ port: gateway.port, users: gateway.users, dialect });
  return { ...gateway, name: "v2", dialect: { ...dialect, ids }, stop: () => Promise.resolve() };
}

/** From the start of the process to its first answer, which is a page of users for a caller with a password. */
export async function timeFirstAnswer(dataDir: string, users: number): Promise<number> {
  const startedMs = performance.now();
  const server = await startCountersign(dataDir, users);
  try {
    const answered = await fetch(`http://127.0.0.1:${server.port}${server.dialect.base}/Users`, {
      headers: { authorization: BASIC },
      signal: AbortSignal.timeout(60_000),
    });
    await answered.arrayBuffer();
    if (answered.status !== 200) throw new Error(`The first answer is ${answered.status}`);
    return performance.now() - startedMs;
  } finally {
    await server.stop();
  }
}

export function startFloor(file: string, users: number): Promise<MeasuredServer> {
  return startServer({ name: "floor", users, args: [`${HERE}floor.ts`, file, String(users)] }, {
    base: "",
    authorization: "",
    paging: "page",
    filter: "q",
  });
}

export function startScimmy(users: number): Promise<MeasuredServer> {
  return startServer({ name: "scimmy", users, args: [`${HERE}scimmy.ts`, TOKEN, String(users)] }, {
    base: "/scim",
    authorization: `Bearer ${TOKEN}`,
    paging: "startIndex",
    filter: "filter",
  });
}

/** Starts a program that prints its port as JSON in its first line. */
async function startServer(
  { name, users, args }: { name: ServerName; users: number; args: readonly string[] },
  dialect: Dialect,
): Promise<MeasuredServer> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-A", `--lock=${TEST_LOCK}`, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextLineStream()).getReader();
  const timer = setTimeout(() => void endChild(child, 1000), START_TIMEOUT_MS);
  const stop = async () => {
    await lines.cancel();
    await endChild(child, 5000);
  };
  try {
    const { value } = await lines.read();
    if (value === undefined) throw new Error(`Cannot measure ${name}: it ended before it listened`);
    const { port }: { port: number } = JSON.parse(value);
    return {
      ...{ name, users, port, dialect, stop },
      residentMb: () => residentMb(child.pid),
      cpuSeconds: () => cpuSeconds(child.pid),
    };
  } catch (fault) {
    await stop();
    throw fault;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Runs one of the programs in this folder to its end: its progress is shown in the terminal, and its output is JSON.
 */
export async function runBeside<T>(file: string, args: readonly string[]): Promise<T> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-A", `--lock=${TEST_LOCK}`, `${HERE}${file}`, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const timer = setTimeout(() => void endChild(child, 1000), RUN_TIMEOUT_MS);
  try {
    const { code, stdout } = await child.output();
    if (code !== 0) throw new Error(`Cannot measure: ${file} ended with code ${code}`);
    return JSON.parse(new TextDecoder().decode(stdout));
  } finally {
    clearTimeout(timer);
  }
}
