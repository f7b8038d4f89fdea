// Follows the settings of targets: opens and closes targets, changes the target whose users log in, and deletes the data of removed targets
// when its time is over.

import type { Config } from "../platform/config/config.ts";
import type { LiveSettings } from "../platform/config/live_settings.ts";
import type { Log } from "../platform/log.ts";
import type { Clock } from "../platform/runtime.ts";
import { createSingleFlight } from "../platform/semaphore.ts";
import type { Store } from "../platform/store.ts";
import { auditEntry } from "../platform/audit.ts";
import type { LiveTargets } from "./provisioning/target_set.ts";
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

/** The tables of the store whose keys have the target as their second part. */
export const TARGET_TABLES = [
  "user",
  "group",
  "part",
  "resource_id",
  "value",
  "renamed",
  "gone",
  "departure",
  "password",
  "trash",
  "trash_part",
  "trash_joins",
  "console_refresh",
  "member",
  "memberof",
  "word",
  "index_log",
  "fence",
  "chore",
  "intent",
  "outbox",
  "dead_letter",
  "owed",
  "awaited",
  "copy",
  "pairing",
  "preference",
  "had_factor",
  "bypass_code",
  "bypass_use",
  "recovery_code",
  "recovery_set",
  "token",
  "token_use",
  "user_departure",
  "enrolment",
  "last_sign_in",
  "remembered_device",
  "remembered_epoch",
] as const;

interface RemovedTargetsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly targets: Pick<LiveTargets, "get" | "runAlone">;
  /** The removed targets. */
  readonly removed: () => readonly { readonly name: string; readonly dataUntilMs: number }[];
  /** Records that the data is deleted, in one commit with the audit record. */
  readonly deleted: (name: string, audit: ReturnType<typeof auditEntry>) => Promise<void>;
}

const INTERVAL_MS = 60_000;
const MAX_DELETES_PER_COMMIT = 200;

class RemovedTargets {
  readonly #deps: RemovedTargetsDeps;
  readonly #singleFlight = createSingleFlight<void>();
  #cancel = (): void => {};
  #isClosed = false;

  constructor(deps: RemovedTargetsDeps) {
    this.#deps = deps;
  }

  start(): void {
    if (this.#isClosed) return;
    this.#cancel = this.#deps.clock.after(INTERVAL_MS, () => void this.run().finally(() => this.start()));
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  /** Deletes what is due. A failure is logged, and the next run tries again. */
  run(): Promise<void> {
    return this.#singleFlight(async () => {
      const { clock, removed, log } = this.#deps;
      for (const { name, dataUntilMs } of removed()) {
        if (dataUntilMs > clock.nowMs() || this.#isClosed) continue;
        try {
          await this.#delete(name);
        } catch (fault) {
          log.warn("the data of a removed directory could not be deleted; it is tried again", {
            target: name,
            fault: String(fault),
          });
        }
      }
    });
  }

  async #delete(name: string): Promise<void> {
    const { store, targets, deleted } = this.#deps;
    // Another node may have created it again.
    await store.catchUp();
    const isRemoved = () => this.#deps.removed().some((one) => one.name === name);
    await targets.runAlone(name, async () => {
      if (!isRemoved() || targets.get(name) !== null) return;
      let count = 0;
      for (const table of TARGET_TABLES) count += await deleteTable(store, [table, name]);
      const audit = auditEntry({
        action: "target.delete_data",
        actor: "radius",
        object: `target:${name}`,
        count,
      });
      await deleted(name, audit);
    });
  }
}

/** Deletes all entries below a prefix. Returns their number. */
async function deleteTable(store: Store, prefix: Deno.KvKey): Promise<number> {
  let count = 0;
  for (;;) {
    const keys: Deno.KvKey[] = [];
    for await (const { key } of store.list(prefix, { limit: MAX_DELETES_PER_COMMIT })) keys.push(key);
    if (keys.length === 0) return count;
    await store.commit({ mutations: keys.map((key) => ({ type: "delete", key })) });
    count += keys.length;
  }
}
