// The measured gateway: its settings, its place on the disk, and its first answer.

import { type RunningProgram, startProgram } from "../support/program.ts";
import { openRadiusClient } from "../support/radius_client.ts";
import { addTotpUsers } from "./totp_users.ts";

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

/** A gateway with its store in a file. */
export interface FileGateway {
  readonly gateway: RunningProgram;
  /** From the start of its process to its first answer. */
  readonly firstAnswerMs: number;
  /** Stops it and removes its files. */
  stop(): Promise<void>;
}

/** Starts the gateway in a new directory on the disk. With `users`, so many users have TOTP. */
export async function startFileGateway({ users }: { users: number }): Promise<FileGateway> {
  const dataDir = await Deno.makeTempDir({ dir: BENCH_DISK, prefix: "countersign-bench-" });
  if (users > 0) await addTotpUsers(dataDir, { users });
  const startedMs = performance.now();
  const gateway = await startProgram({ toml: BENCH_SETTINGS, dataDir });
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

/** Sends a request every 5 ms until a valid answer arrives. Throws without one in 20 s. */
export async function awaitFirstAnswer(port: number): Promise<void> {
  using client = openRadiusClient({ port, secret: BENCH_SECRET });
  const reply = await client.ask(
    { userName: "first", password: BENCH_PASSWORD, nasPort: 1, callingStationId: "198.51.100.1" },
    { timeoutMs: 5, tries: FIRST_ANSWER_TIMEOUT_MS / 5 },
  );
  if (reply.problems.length > 0) throw new Error(`The first answer is wrong: ${reply.problems.join("; ")}`);
}
