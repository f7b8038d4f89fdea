// Deletes the data of targets that were removed in the console, when its time is over. A crash in between is repaired by the next run.

import { auditEntry } from "../../platform/audit.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import { createSingleFlight } from "../../platform/semaphore.ts";
import type { Store } from "../../platform/store.ts";
import type { LiveTargets } from "./target_set.ts";

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

export class RemovedTargets {
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
