// How an operator's command gets its operation done, and how it says so.

import type { Config } from "../config.ts";
import { loadConfig } from "../config/load.ts";
import { DataDirFault } from "../host/data_dir.ts";
import type { DeskRequest } from "../host/desk_answer.ts";
import { printFaults } from "./check_config.ts";
import { type DeskLine, DeskUnreachable, openDeskLine } from "./desk_line.ts";
import { answerText, printable } from "./desk_text.ts";

/** What a command prints where, and its exit code: 0 done, 1 refused, 2 wrong use. */
export interface CommandOutcome {
  readonly out: string;
  readonly err: string;
  readonly exitCode: 0 | 1 | 2;
}

const ENVIRONMENT =
  "A command reads the settings as the server does: run it with the same files and environment.\n";

/** Does one operation, and says in a terminal's words how it went. Shows no secret. */
export function runRequest(request: DeskRequest): Promise<CommandOutcome> {
  return withDesk(async ({ ask }) => {
    const answer = await ask(request);
    return answer.ok
      ? { out: answerText(answer), err: "", exitCode: 0 }
      : refusal(`${printable(answer.message)}\n`);
  });
}

/** Reads the settings and gives them with a desk to `work`; what fails becomes a sentence. */
export async function withDesk(
  work: (desk: DeskLine, config: Config) => Promise<CommandOutcome>,
): Promise<CommandOutcome> {
  const loaded = loadConfig({ env: Deno.env.get, readTextFile: Deno.readTextFileSync, cwd: Deno.cwd() });
  if (!loaded.ok) return refusal(`${printFaults(loaded.faults)}${ENVIRONMENT}`);
  const desk = openDeskLine(loaded.config, { masterKeyHex: Deno.env.get("COUNTERSIGN_MASTER_KEY") ?? "" });
  try {
    return await work(desk, loaded.config);
  } catch (fault) {
    if (fault instanceof DataDirFault || fault instanceof DeskUnreachable) {
      return refusal(`${printable(fault.message)}\n`);
    }
    // What failed is named, and no more: its text may quote what was typed.
    const name = fault instanceof Error ? fault.name : "fault";
    return refusal(`Cannot do that: the command failed (${name}).\n`);
  } finally {
    await desk.close();
  }
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
