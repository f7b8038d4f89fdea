// Retries dead letters, when an operator asks.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Store } from "../../platform/store.ts";
import type { Directory } from "../ports.ts";
import { lockKey } from "./delivery.ts";
import type { KeyedLocks } from "./keyed_locks.ts";
import type { Link } from "./backend_client.ts";
import type { KeptEntry, Outbox } from "./outbox.ts";

export interface RevivalDeps {
  readonly store: Store;
  readonly directory: Directory;
  readonly outbox: Outbox;
  readonly locks: KeyedLocks;
  readonly links: ReadonlyMap<string, Link>;
}

/** @param options.backend only this one's. Returns how many are tried again. */
export async function reviveDeadLetters(
  deps: RevivalDeps,
  { backend }: { backend?: string },
): Promise<number> {
  let revived = 0;
  for (const name of deps.links.keys()) {
    if (backend !== undefined && name !== backend) continue;
    for await (const { entry } of deps.outbox.dead(name)) {
      const key = lockKey(entry.kind, entry.name);
      const isRevived = await deps.locks.run(key, async () => {
        const known = await deps.outbox.find(name, entry.kind, entry.name);
        if (known === null || !known.isDead) return false;
        await revive(deps, known);
        return true;
      });
      if (isRevived) revived++;
    }
  }
  return revived;
}

async function revive({ store, directory, outbox }: RevivalDeps, known: KeptEntry): Promise<void> {
  const { backend, entry: { kind, name, operation, restores } } = known;
  const restoring = restores === undefined ? {} : { restores };
  const change = outbox.add({ backend, kind, name, operation, ...restoring }, known);
  const stored = await directory.read(kind, canonicalName(name));
  const state = stored?.backends[backend];
  if (stored === null || state?.state !== "failed") {
    await store.commit({ mutations: change.mutations });
  } else {
    const { why: _met, ...rest } = state;
    const written = await directory.write({
      kind,
      name: stored.content.name,
      expected: stored.version,
      recorded: stored.recorded ?? 0,
      statesOnly: true,
      next: {
        content: stored.content,
        backends: { ...stored.backends, [backend]: { ...rest, state: "pending" } },
      },
      also: change.mutations,
    });
    if (!written.ok) {
      throw new Error(`Cannot try a dead letter of "${backend}" again: the resource was changed`);
    }
  }
  change.committed();
}
