// The reference in Go: built with the packages and the build cache of the user, and started as a measured server.

import { freeUdpPort } from "../support/free_port.ts";
import { runProgram } from "../support/child.ts";
import { BENCH_DISK, BENCH_PASSWORD, BENCH_SECRET, TOTP_SEED_HEX } from "./gateway.ts";
import { type MeasuredServer, startPeer } from "./peer.ts";

const SOURCE = new URL("./go_reference/", import.meta.url).pathname;
const BUILD_WITHIN_MS = 300_000;

/** Why it cannot be built here, or `null`. */
export function lackingGo(): string | null {
  try {
    new Deno.Command("go", { args: ["version"], stdout: "null", stderr: "null" }).outputSync();
    return null;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return "Go is not installed";
    throw fault;
  }
}

/** Builds it and starts it with an empty store. It accepts any number of users. */
export async function startGoReference(): Promise<MeasuredServer> {
  const directory = await Deno.makeTempDir({ dir: BENCH_DISK, prefix: "countersign-bench-go-" });
  const program = `${directory}/go_reference`;
  const built = await runProgram("go", {
    args: ["build", "-o", program, "."],
    cwd: SOURCE,
    timeoutMs: BUILD_WITHIN_MS,
  });
  if (built.code !== 0) throw new Error(`Cannot build the reference in Go: ${built.stderr}`);
  const port = freeUdpPort();
  return await startPeer({
    name: "the reference in Go",
    port,
    directory,
    command: [program, String(port), `${directory}/store`, BENCH_SECRET, BENCH_PASSWORD, TOTP_SEED_HEX],
    totpSeedHex: TOTP_SEED_HEX,
  });
}
