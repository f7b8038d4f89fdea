// `deno task try`: plays a RADIUS login in the terminal, against any server. Exit code 0 accepted, 1 rejected, 2 neither.

import { createSystemRandom } from "../platform/runtime.ts";
import { HELP, readOptions } from "./radtest/options.ts";
import { type ExitCode, play } from "./radtest/run_login.ts";
import { createTerminal, hostStreams } from "./radtest/terminal.ts";
import { openWire } from "./radtest/udp_exchange.ts";

async function main(args: readonly string[]): Promise<ExitCode> {
  const read = readOptions(args, Deno.env);
  if (read.kind === "help") {
    console.log(HELP);
    return 0;
  }
  if (read.kind === "usage") {
    console.error(read.problem);
    return 2;
  }
  const wire = openWire(read.options);
  try {
    return await play(read.options, {
      terminal: createTerminal(hostStreams()),
      wire,
      random: createSystemRandom(),
      nowMs: () => performance.now(),
    });
  } catch (fault) {
    console.error(
      `Cannot try ${read.options.hostname}: ${fault instanceof Error ? fault.message : String(fault)}`,
    );
    return 2;
  } finally {
    wire.close();
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
