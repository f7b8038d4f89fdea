// Starts the real program with faults that must prevent the start, and keeps its output.

import { runProgram } from "../support/child.ts";
import { PROGRAM_FLAGS } from "../support/program.ts";
import { prepareSettings } from "../support/gateway_settings.ts";

/** A start that failed. */
export interface FailedStart {
  readonly code: number;
  /** Both streams. */
  readonly said: string;
  /** Whether it reported that it was ready. */
  readonly wasReady: boolean;
  readonly dataDirMade: boolean;
}

export interface StartOptions {
  /** Merged into valid settings; with `wholeFile` it is the whole settings file. */
  readonly toml?: string;
  readonly wholeFile?: boolean;
  readonly dataDir?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const ROOT = new URL("../../", import.meta.url).pathname;

/** Starts the program and waits at most a minute for its end; after that its code is -1. */
export async function startAndFail(
  { toml = "", wholeFile, dataDir, env }: StartOptions,
): Promise<FailedStart> {
  const prepared = await prepareSettings({ toml: wholeFile ? "" : toml, dataDir });
  const { paths, scratch } = prepared;
  try {
    if (wholeFile) await Deno.writeTextFile(paths.config, toml.replaceAll("DATA_DIR", paths.dataDir));
    const { code, stdout, stderr } = await runProgram(Deno.execPath(), {
      args: ["run", "--quiet", "--no-prompt", ...PROGRAM_FLAGS, `${ROOT}main.ts`],
      cwd: ROOT,
      env: {
        ...env,
        COUNTERSIGN_CONFIG: paths.config,
        COUNTERSIGN_READY_FILE: paths.ready,
        NO_COLOR: "1",
      },
    });
    return {
      code,
      said: `${stdout}${stderr}`,
      wasReady: await exists(paths.ready),
      dataDirMade: await exists(paths.dataDir),
    };
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound || fault instanceof Deno.errors.NotADirectory) return false;
    throw fault;
  }
}
