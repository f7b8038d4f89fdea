// The administration API without a server: a command opens the data directory itself and builds the same application on it.

import { compose } from "../compose.ts";
import type { Config } from "../platform/config/config.ts";
import { NO_DIST } from "../console/assets.ts";
import { openDataDir } from "../platform/data_dir.ts";
import { createLog, wholeWrites } from "../platform/log.ts";
import { createSystemRandom, systemClock } from "../platform/runtime.ts";

export interface OfflineAdmin {
  answer(request: Request): Promise<Response>;
  /** Ends what is in progress and releases the data directory. */
  close(): Promise<void>;
}

/**
 * Takes the data directory for this process and builds the application on it.
 *
 * @param options.masterKeyHex see {@link openDataDir}.
 * @throws DataDirFault when another process holds the directory, or something in it cannot be used.
 */
export async function openOfflineAdmin(
  { config, masterKeyHex }: { config: Config; masterKeyHex: string },
): Promise<OfflineAdmin> {
  const clock = systemClock;
  const random = createSystemRandom();
  const dataDir = await openDataDir(config.server.dataDir, {
    random,
    masterKeyHex,
    auditKeptMs: config.console.auditKeptMs,
  });
  const log = createLog({
    format: config.server.logFormat,
    level: "warn",
    clock,
    write: wholeWrites(Deno.stderr),
  });
  const release = async (): Promise<void> => {
    await log.flush();
    await dataDir.close();
  };
  try {
    const composition = await compose({
      config,
      settings: [],
      dataDir,
      dist: NO_DIST,
      clock,
      random,
      log,
      startedMs: clock.nowMs(),
      anySecret: "unused",
      radiusListeners: [],
      isHttpServing: () => false,
    });
    return {
      answer: composition.app.answerOperator,
      close: () => composition.close().finally(release),
    };
  } catch (fault) {
    await release();
    throw fault;
  }
}
