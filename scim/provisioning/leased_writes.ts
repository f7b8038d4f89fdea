// Operations of a target that write: each runs while this node holds the lease of the target.

import { LeaseUnavailable } from "../../platform/cluster/lease.ts";
import type { Log } from "../../platform/log.ts";
import type { Store } from "../../platform/store.ts";
import { hasRecoveryTasks } from "../directory/directory.ts";
import type { TargetLease } from "../directory/target_lease.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { TargetDirectory } from "../ports.ts";
import type { IntentLog } from "./intent_log.ts";

/** Runs `task` under the lease. @throws ScimRefusal `busy` if another node keeps the lease, or took it meanwhile: nothing was changed. */
export async function underLease<T>(lease: Pick<TargetLease, "run">, task: () => Promise<T>): Promise<T> {
  try {
    return await lease.run(task);
  } catch (fault) {
    if (!(fault instanceof LeaseUnavailable)) throw fault;
    throw new ScimRefusal("busy", {
      detail: "Another node writes this directory. Try again in a moment.",
      headers: { "Retry-After": "1" },
      cause: fault,
    });
  }
}

/** The directory for callers that do not hold the lease. Reads do not need it. */
export function leasedDirectory(directory: TargetDirectory, lease: TargetLease): TargetDirectory {
  if (!lease.isShared) return directory;
  return {
    ...directory,
    write: (write) => underLease(lease, () => directory.write(write)),
    rename: (rename) => underLease(lease, () => directory.rename(rename)),
    writeMany: (writes) => underLease(lease, () => directory.writeMany(writes)),
    changeMembers: (change) => underLease(lease, () => directory.changeMembers(change)),
  };
}

interface InterruptedWorkDeps {
  readonly lease: TargetLease;
  readonly intents: IntentLog;
  readonly store: Store;
  readonly target: string;
  readonly log: Log;
}

/**
 * Finishes what a crash interrupted, before anybody logs in. With several nodes, the one that gets the lease does this, and the work may be in
 * progress on another node.
 */
export async function finishInterrupted(deps: InterruptedWorkDeps): Promise<void> {
  const { lease, intents, store, target, log } = deps;
  if (!lease.isShared) return void await intents.recover();
  if (!await intents.hasAny() && !await hasRecoveryTasks(store, target)) return;
  try {
    await lease.run(() => Promise.resolve());
  } catch (fault) {
    if (!(fault instanceof LeaseUnavailable)) throw fault;
    log.warn("interrupted writes are not finished yet: another node keeps writing the target", { target });
  }
}
