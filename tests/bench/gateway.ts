// Starts gateways for benchmarks, with users who have an authenticator app.

import { openDataDir } from "../../platform/data_dir.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { Pairings } from "../../radius/factors/pairings.ts";
import { runProgram } from "../support/child.ts";
import { totpCode } from "../support/totp.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { openRadiusClient } from "../support/radius_client.ts";

// The users of complete logins: each has an authenticator app with the same seed, so that the generator needs one code.

/** The seed of every user, in hexadecimal. It is that of the test vectors of RFC 6238. */
export const TOTP_SEED_HEX = "3132333435363738393031323334353637383930";
const SEED = Uint8Array.fromHex(TOTP_SEED_HEX);
const USERS_PER_COMMIT = 500;

/** The code that all users have now. Each user can use it once. */
export function presentCode(): string {
  return totpCode(SEED, Date.now());
}

const STEP_MS = 30_000;

/** Waits until the code stays the same for so long. FreeRADIUS 3.2.1 refuses the code of the last time step. */
export async function awaitSteadyCode(seconds: number): Promise<void> {
  const leftMs = STEP_MS - Date.now() % STEP_MS;
  if (leftMs < seconds * 1000) await new Promise((resolve) => setTimeout(resolve, leftMs));
}

/**
 * Writes `users` users, `user00000` and so on, as the gateway stores them: into a new data directory, or with `kvUrl`
 * into that store. Throws if the store cannot be opened.
 */
export async function addTotpUsers(
  path: string,
  { users, masterKeyHex = "", kvUrl = "" }: { users: number; masterKeyHex?: string; kvUrl?: string },
): Promise<void> {
  const random = createSystemRandom();
  const { store, vault, close } = await openDataDir(path, { random, masterKeyHex, kvUrl });
  const pairings = new Pairings({ store, vault, clock: systemClock, random, target: "default" });
  for (let first = 0; first < users; first += USERS_PER_COMMIT) {
    const mutations = Array.from({ length: Math.min(USERS_PER_COMMIT, users - first) }, (_, at) => {
      const name = `user${String(first + at).padStart(5, "0")}`;
      return pairings.prepare({ canonical: name, shown: name }, { kind: "totp", seed: SEED }).mutation;
    });
    await store.commit({ mutations });
  }
  await close();
}

// The measured gateway: its settings, its place on the disk, and its first answer.

/** The RADIUS secret of all measured servers. */
export const BENCH_SECRET = "a secret for the measurement";
/** On the disk, because /tmp may be memory, where no login is durable. */
export const BENCH_DISK = "/var/tmp";
/** The password of all users that the load generator sends. */
export const BENCH_PASSWORD = "correct horse";
export const BENCH_SETTINGS = `
[server]
log_level = "warn"
[[radius.client]]
name = "bench"
address = ["127.0.0.1"]
secret = "${BENCH_SECRET}"
`;
const FIRST_ANSWER_TIMEOUT_MS = 20_000;
const SEED_TIMEOUT_MS = 300_000;

/** A gateway with its store in a file. */
export interface FileGateway {
  readonly gateway: RunningProgram;
  /** From the start of its process to its first answer. */
  readonly firstAnswerMs: number;
  /** Stops it and removes its files. */
  stop(): Promise<void>;
}

/**
 * Starts the gateway in a new directory on the disk. With `users`, so many users have TOTP. With `root`, the tree of
 * another version (it ends with a slash), that version is started, and writes its users as it stores them.
 */
export async function startFileGateway(
  { users, root }: { users: number; root?: string },
): Promise<FileGateway> {
  const dataDir = await Deno.makeTempDir({ dir: BENCH_DISK, prefix: "countersign-bench-" });
  if (users > 0 && root === undefined) await addTotpUsers(dataDir, { users });
  if (users > 0 && root !== undefined) await addUsersOf(root, { dataDir, users });
  const startedMs = performance.now();
  const gateway = await startProgram({ toml: BENCH_SETTINGS, dataDir, root });
  await awaitFirstAnswer(gateway.radiusPort);
  return {
    gateway,
    firstAnswerMs: performance.now() - startedMs,
    async stop() {
      await gateway.dispose();
      await Deno.remove(dataDir, { recursive: true });
    },
  };
}

/** {@link addTotpUsers} of another version. */
async function addUsersOf(
  root: string,
  { dataDir, users }: { dataDir: string; users: number },
): Promise<void> {
  const words = [JSON.stringify(dataDir), JSON.stringify({ users })].join(", ");
  const { code, stderr } = await runProgram(Deno.execPath(), {
    args: ["run", "--quiet", "-A", "--lock=tests/deno.lock", "-"],
    cwd: root,
    stdin:
      `import { addTotpUsers } from "file://${root}tests/bench/gateway.ts";\nawait addTotpUsers(${words});\n`,
    timeoutMs: SEED_TIMEOUT_MS,
  });
  if (code !== 0) throw new Error(`Cannot write the users of another version: ${stderr}`);
}

/** Sends a request every 5 ms until a valid answer arrives. Throws without one in 20 s. */
export async function awaitFirstAnswer(port: number): Promise<void> {
  using client = openRadiusClient({ port, secret: BENCH_SECRET });
  const reply = await client.ask(
    { userName: "first", password: BENCH_PASSWORD, nasPort: 1, callingStationId: "198.51.100.1" },
    { timeoutMs: 5, tries: FIRST_ANSWER_TIMEOUT_MS / 5 },
  );
  if (reply.problems.length > 0) throw new Error(`The first answer is wrong: ${reply.problems.join("; ")}`);
}
