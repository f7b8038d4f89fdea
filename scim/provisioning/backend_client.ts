// A backend as the rest of this folder uses it, with the locks of its deliveries.

import type { Clock } from "../../platform/runtime.ts";
import type { Backend } from "../backend_port.ts";
import { createKeyedLocks, type KeyedLocks } from "./keyed_locks.ts";

export interface Link {
  readonly name: string;
  readonly backend: Backend;
  /** One delivery at a time for one resource at this backend. */
  readonly locks: KeyedLocks;
}

const LOCK_WAIT_MS = 120_000;

export function createLink(backend: Backend, clock: Clock): Link {
  return { name: backend.name, backend, locks: createKeyedLocks(clock, { waitMs: LOCK_WAIT_MS }) };
}
