// The servers of the identity benchmark, and the ids that each of them gave to its users.

import { endChild } from "../../support/child.ts";
import { startProgram } from "../../support/program.ts";
import { TextLineStream } from "../../support/lines.ts";
import { cpuSeconds, residentMb } from "../process_figures.ts";
import type { Dialect, KnownIds, KnownPerson } from "./operations.ts";
import { createDraw } from "./generator.ts";
import { firstOutsider, GROUP, personAt } from "./people.ts";
import type { BenchConnection } from "./connect.ts";

// Asks a server for the ids of people and of the group, because /scim/v2 addresses resources by id.

/** People whose ids are known: enough that a cache of the server does not have all of them. */
const MAX_PEOPLE = 5000;
const MAX_OUTSIDERS = 100;
const AT_ONCE = 16;
const SEED = 11;
const PATCH_MESSAGE = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

interface Place {
  readonly port: number;
  readonly users: number;
  readonly dialect: Dialect;
}

/** Reads the ids, and checks that a PATCH adds and removes a member. @throws Error if the server has not what was seeded */
export async function readKnownIds(place: Place): Promise<KnownIds> {
  const { users } = place;
  const draw = createDraw(SEED);
  const wanted = Array.from(
    { length: Math.min(MAX_PEOPLE, users) },
    (_, at) => users <= MAX_PEOPLE ? at : draw(users),
  );
  const people = await inParallel(wanted, async (index): Promise<KnownPerson> => ({
    index,
    id: await idOf(place, "/Users", `userName eq ${JSON.stringify(personAt(index).userName)}`),
  }));
  const from = firstOutsider(users);
  const outside = Array.from({ length: Math.min(MAX_OUTSIDERS, users - from) }, (_, at) => from + at);
  const outsiders = await inParallel(
    outside,
    (index) => idOf(place, "/Users", `userName eq ${JSON.stringify(personAt(index).userName)}`),
  );
  const group = await idOf(place, "/Groups", `displayName eq ${JSON.stringify(GROUP)}`);
  await checkMemberPatch(place, { group, member: outsiders[0] ?? "" });
  return { people, outsiders, group };
}

async function inParallel<T>(indexes: readonly number[], read: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let at = 0; at < indexes.length; at += AT_ONCE) {
    results.push(...await Promise.all(indexes.slice(at, at + AT_ONCE).map(read)));
  }
  return results;
}

async function idOf(place: Place, collection: string, filter: string): Promise<string> {
  const found = await call(place, "GET", `${collection}?filter=${encodeURIComponent(filter)}&attributes=id`);
  const { Resources: [one] = [] }: { Resources?: readonly { id?: string }[] } = JSON.parse(found);
  if (one?.id === undefined) throw new Error(`Cannot measure: ${collection} has nothing for ${filter}`);
  return one.id;
}

/** The load sees only 204, which a PATCH without an effect has, too. */
async function checkMemberPatch(
  place: Place,
  { group, member }: { group: string; member: string },
): Promise<void> {
  const path = `/Groups/${group}`;
  const change = (operation: unknown) =>
    call(place, "PATCH", path, JSON.stringify({ schemas: [PATCH_MESSAGE], Operations: [operation] }));
  const has = async () => (await call(place, "GET", path)).includes(`"value":"${member}"`);
  await change({ op: "add", path: "members", value: [{ value: member }] });
  const isAdded = await has();
  await change({ op: "remove", path: `members[value eq ${JSON.stringify(member)}]` });
  if (!isAdded || await has()) {
    throw new Error("Cannot measure: a PATCH of the group does not change the member");
  }
}

async function call({ port, dialect }: Place, method: string, path: string, body?: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${dialect.base}${path}`, {
    method,
    headers: { authorization: dialect.authorization, "content-type": "application/scim+json" },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`Cannot measure: ${method} ${path} is ${response.status}: ${text}`);
  return text;
}

// The measured servers, each in its own process on a free port of the loopback interface.

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
