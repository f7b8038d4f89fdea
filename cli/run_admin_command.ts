// Runs a command of the operator: settings, connection, outcome, exit code.

import type { Config } from "../platform/config/config.ts";
import { loadConfig } from "../platform/config/load.ts";
import { DataDirFault } from "../platform/data_dir.ts";
import { type AdminApi, AdminRefusal, AdminUnreachable, openAdminConnection } from "./admin_connection.ts";
import { printFaults } from "./check_config.ts";
import { printable } from "./format_result.ts";

/** What a command prints where, and its exit code: 0 done, 1 refused, 2 wrong use. */
export interface CommandOutcome {
  readonly out: string;
  readonly err: string;
  readonly exitCode: 0 | 1 | 2;
}

const ENVIRONMENT =
  "A command reads the settings as the server does: run it with the same files and environment.\n";

/** Reads the settings, and gives them to `work` with the administration API. A failure becomes a sentence that holds no secret. */
export async function runCommand(
  work: (api: AdminApi, config: Config) => Promise<CommandOutcome>,
): Promise<CommandOutcome> {
  const loaded = loadConfig({ env: Deno.env.get, readTextFile: Deno.readTextFileSync, cwd: Deno.cwd() });
  if (!loaded.ok) return refusal(`${printFaults(loaded.faults)}${ENVIRONMENT}`);
  const connection = openAdminConnection(loaded.config, {
    masterKeyHex: Deno.env.get("COUNTERSIGN_MASTER_KEY") ?? "",
  });
  try {
    return await work(connection.api, loaded.config);
  } catch (fault) {
    const isSentence = fault instanceof DataDirFault || fault instanceof AdminUnreachable ||
      fault instanceof AdminRefusal;
    if (isSentence) return refusal(`${printable(fault.message)}\n`);
    // Only the name of the fault: its text may quote what was typed.
    const name = fault instanceof Error ? fault.name : "fault";
    return refusal(`Cannot do that: the command failed (${name}).\n`);
  } finally {
    await connection.close();
  }
}

/** The outcome of a command that did what was asked. */
export function success(out: string): CommandOutcome {
  return { out, err: "", exitCode: 0 };
}

/** The outcome of a command that was refused. */
export function refusal(err: string): CommandOutcome {
  return { out: "", err, exitCode: 1 };
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
