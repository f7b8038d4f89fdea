// Follows the settings of targets: opens and closes targets, changes the target whose users log in, and deletes the data of removed targets
// when its time is over.

import type { Config } from "../platform/config/config.ts";
import type { LiveSettings } from "../platform/config/live_settings.ts";
import type { Log } from "../platform/log.ts";
import type { Clock } from "../platform/runtime.ts";
import { createSingleFlight } from "../platform/semaphore.ts";
import type { Store } from "../platform/store.ts";
import { RemovedTargets } from "./provisioning/target_set.ts";
import type { Scim } from "./scim.ts";

interface DirectoryFollowerDeps {
  readonly settings: LiveSettings;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly identity: Pick<Scim, "targets" | "logins" | "applySettings" | "changeLogins">;
  /** Loads what the gateway stores for the users of a target. The returned function lets them log in. */
  prepareDirectory(target: string): Promise<() => void>;
}

export interface DirectoryFollower {
  /** Resolves when targets, and the target whose users log in, are those of the settings. */
  apply(): Promise<void>;
  close(): void;
}

/** Follows the settings from now on. */
export function followDirectories(deps: DirectoryFollowerDeps): DirectoryFollower {
  const { settings, store, clock, log, identity: { targets } } = deps;
  const singleFlight = createSingleFlight<void>();
  const removed = new RemovedTargets({
    ...{ store, clock, log, targets },
    removed: () => settings.targets.removed(),
    deleted: (name, audit) => settings.targetDataDeleted(name, audit),
  });
  const update = () => singleFlight(() => updateTargets(deps, settings.config));
  settings.onChange(() => void update());
  removed.start();
  return {
    async apply() {
      await update();
      void removed.run();
    },
    close: () => removed.close(),
  };
}

async function updateTargets(
  { identity, prepareDirectory, log }: DirectoryFollowerDeps,
  { radius: { directory } }: Config,
): Promise<void> {
  await identity.applySettings();
  if (directory === identity.logins.name || identity.targets.get(directory) === null) return;
  try {
    const change = await prepareDirectory(directory);
    change();
    identity.changeLogins(directory);
  } catch (fault) {
    log.error("users still sign in from the former directory: the new one could not be loaded", {
      target: directory,
      fault: String(fault),
    });
  }
  await identity.applySettings();
}
