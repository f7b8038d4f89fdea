// How an operator's command gets its operation done: by the running server where there is one, else on the store itself.

import type { Config } from "../config.ts";
import { loadConfig } from "../config/load.ts";
import { controlSocketPath } from "../config/fault_checks.ts";
import { callControlSocket } from "../host/control_call.ts";
import { DataDirFault } from "../host/data_dir.ts";
import type { DeskAnswer, DeskRequest } from "../host/desk_answer.ts";
import { printFaults } from "./check_config.ts";
import { answerText, printable } from "./desk_text.ts";
import { foreignOwner } from "./own_data_dir.ts";
import { callStoreDesk } from "./store_desk.ts";

/** What a command prints where, and its exit code: 0 done, 1 refused, 2 wrong use. */
export interface CommandOutcome {
  readonly out: string;
  readonly err: string;
  readonly exitCode: 0 | 1 | 2;
}

/** How long a server that holds the directory may take until it answers at its socket: it is starting, or stopping. */
const PATIENCE_MS = 5000;
const RETRY_MS = 200;

const FORBIDDEN =
  "Cannot reach the server: its control socket belongs to another user. Run the command as that user.";
const SILENT =
  "Cannot say whether it was done: the server took the request and gave no answer. Look before trying again.";
const ENVIRONMENT =
  "A command reads the settings as the server does: run it with the same files and environment.\n";

/** Does the operation, and says in a terminal's words how it went. Shows no secret. */
export async function runRequest(request: DeskRequest): Promise<CommandOutcome> {
  const loaded = loadConfig({ env: Deno.env.get, readTextFile: Deno.readTextFileSync, cwd: Deno.cwd() });
  if (!loaded.ok) return refusal(`${printFaults(loaded.faults)}${ENVIRONMENT}`);
  try {
    const answer = await callDesk(request, loaded.config);
    if (typeof answer === "string") return refusal(`${answer}\n`);
    return answer.ok
      ? { out: answerText(answer), err: "", exitCode: 0 }
      : refusal(`${printable(answer.message)}\n`);
  } catch (fault) {
    if (fault instanceof DataDirFault) return refusal(`${printable(fault.message)}\n`);
    // What failed is named, and no more: its text may quote what was typed.
    const name = fault instanceof Error ? fault.name : "fault";
    return refusal(`Cannot do that: the command failed (${name}).\n`);
  }
}

function refusal(err: string): CommandOutcome {
  return { out: "", err, exitCode: 1 };
}

/** The answer, or a sentence that says why nobody gave one. */
async function callDesk(request: DeskRequest, config: Config): Promise<DeskAnswer | string> {
  const { dataDir } = config.server;
  const foreign = await foreignOwner(dataDir);
  if (foreign !== null) return foreign;
  const masterKeyHex = Deno.env.get("COUNTERSIGN_MASTER_KEY") ?? "";
  for (const endMs = performance.now() + PATIENCE_MS;;) {
    const called = await callControlSocket(controlSocketPath(config), request);
    if (called.reached) return called.answer;
    if (called.reason === "forbidden") return FORBIDDEN;
    if (called.reason === "silent") return SILENT;
    try {
      return await callStoreDesk(request, { config, masterKeyHex });
    } catch (fault) {
      if (!(fault instanceof DataDirFault) || !await isHeld(dataDir)) throw fault;
    }
    if (performance.now() > endMs) return heldText(dataDir);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

function heldText(dataDir: string): string {
  return `Cannot use the data directory "${
    printable(dataDir)
  }": a process holds it, and no server answers at its ` +
    "control.sock. If the server is starting or stopping, try again; else end that process.";
}

/** Whether another process has the lock of the data directory. */
async function isHeld(dataDir: string): Promise<boolean> {
  try {
    using file = await Deno.open(`${dataDir}/lock`, { read: true });
    return !await file.tryLock(false);
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound || fault instanceof Deno.errors.PermissionDenied) return false;
    throw fault;
  }
}

/** Prints an outcome and sets the exit code of the process. */
export function finish({ out, err, exitCode }: CommandOutcome): void {
  const encoder = new TextEncoder();
  writeWhole(Deno.stdout, encoder.encode(out));
  writeWhole(Deno.stderr, encoder.encode(err));
  Deno.exitCode = exitCode;
}

function writeWhole(stream: { writeSync(octets: Uint8Array): number }, octets: Uint8Array): void {
  for (let at = 0; at < octets.length;) at += stream.writeSync(octets.subarray(at));
}
