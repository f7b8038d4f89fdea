// The administration API without a running server: opens the data directory and builds the same application on it.

import { compose } from "../compose.ts";
import type { Config } from "../platform/config/config.ts";
import { NO_DIST } from "../console/assets.ts";
import { openDataDir } from "../platform/data_dir.ts";
import { createLog, wholeWrites } from "../platform/log.ts";
import { createSystemRandom, systemClock } from "../platform/runtime.ts";

export interface OfflineAdmin {
  answer(request: Request): Promise<Response>;
  /** Stops the application and releases the data directory. */
  close(): Promise<void>;
}

/**
 * Locks the data directory and builds the application on it.
 *
 * @param options.masterKeyHex see {@link openDataDir}.
 * @throws DataDirInUse if another process has the lock, DataDirFault if a file in the directory cannot be used.
 */
export async function openOfflineAdmin(
  { config, masterKeyHex }: { config: Config; masterKeyHex: string },
): Promise<OfflineAdmin> {
  const clock = systemClock;
  const random = createSystemRandom();
  const dataDir = await openDataDir(config.server.dataDir, {
    random,
    masterKeyHex,
    auditRetentionMs: config.console.auditRetentionMs,
    kvUrl: config.store.kv,
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
      answer: composition.app.answerControlSocket,
      close: () => composition.close().finally(release),
    };
  } catch (fault) {
    await release();
    throw fault;
  }
}
