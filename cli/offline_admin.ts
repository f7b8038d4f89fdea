// The administration API without a running server: opens the data directory and builds the same application on it.

import { compose } from "../compose.ts";
import type { Config } from "../platform/config/config.ts";
import { LiveSettings } from "../platform/config/live_settings.ts";
import type { SettingsFile } from "../platform/config/load.ts";
import { NO_DIST } from "../console/assets.ts";
import { openDataDir } from "../platform/data_dir.ts";
import { createLog, wholeWrites } from "../platform/log.ts";
import { createSystemRandom, systemClock } from "../platform/runtime.ts";

export interface OfflineAdmin {
  answer(request: Request): Promise<Response>;
  /** Stops the application and releases the data directory. */
  close(): Promise<void>;
}

export interface OfflineAdminOptions {
  readonly config: Config;
  readonly settingsFile: SettingsFile;
  readonly masterKeyHex: string;
}

/**
 * Locks the data directory and builds the application on it.
 *
 * @param options.masterKeyHex see {@link openDataDir}.
 * @throws DataDirInUse if another process has the lock, DataDirFault if a file in the directory cannot be used.
 */
export async function openOfflineAdmin(
  { config, settingsFile, masterKeyHex }: OfflineAdminOptions,
): Promise<OfflineAdmin> {
  const clock = systemClock;
  const random = createSystemRandom();
  // The console can change the retention. Its value is in the store.
  let current: Pick<Config, "console"> = config;
  const dataDir = await openDataDir(config.server.dataDir, {
    random,
    masterKeyHex,
    auditRetentionMs: () => current.console.auditRetentionMs,
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
    const settings = new LiveSettings({ file: settingsFile, ...dataDir, clock, log });
    await settings.load();
    current = settings.config;
    const composition = await compose({
      settings,
      dataDir,
      dist: NO_DIST,
      clock,
      random,
      log,
      startedMs: clock.nowMs(),
      generatedSecret: "unused",
      radiusListeners: [],
      isHttpServing: () => false,
    });
    return {
      answer: (await composition.openApp()).answerControlSocket,
      close: () => composition.close().finally(release),
    };
  } catch (fault) {
    await release();
    throw fault;
  }
}
