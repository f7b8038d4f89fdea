// A store with logins, for the tests of the history and the audit log.

import { auditEntry } from "../../platform/audit.ts";
import { newestAuditId } from "../../platform/audit_names.ts";
import { createStore, type Mutation, type Store } from "../../platform/store.ts";

export const START_MS = Date.UTC(2026, 5, 1);
export const HOUR_MS = 3600_000;
export const LAST = "\u{10ffff}";
export const NAMES = ["user:ada", "user:bob", "user:eve", "client:vpn"];

export interface World extends AsyncDisposable {
  readonly kv: Deno.Kv;
  store: Store;
  nowMs: number;
  /** Opens the store again, as another process after this one. */
  restart(): Promise<void>;
}

export async function open(): Promise<World> {
  const kv = await Deno.openKv(":memory:");
  const clock = { nowMs: START_MS };
  const openStore = async () =>
    createStore(kv, {
      nowMs: () => clock.nowMs,
      node: "0000000a",
      audit: { newest: await newestAuditId(kv) },
    });
  const world: World = Object.assign(clock, {
    kv,
    store: await openStore(),
    async restart() {
      world.store = await openStore();
    },
    [Symbol.asyncDispose]: () => world.store.close(),
  });
  return world;
}

export const historyMutation = (id: string, value: Uint8Array): Mutation => ({
  type: "set",
  key: ["history", id],
  value,
  expireInMs: HOUR_MS,
});

export async function idsOf(
  store: Store,
  prefix: Deno.KvKey,
  more: { start?: string; end?: string; reverse?: boolean; limit?: number } = {},
): Promise<string[]> {
  const { start = "", end = LAST, ...options } = more;
  const range = { start: [...prefix, start], end: [...prefix, end] };
  return (await Array.fromAsync(store.range(range, options))).map(({ key }) => String(key.at(-1)));
}

export const login = (name: string, client = "vpn"): Mutation =>
  auditEntry({ action: "login.accepted", actor: "radius", object: `user:${name}`, client });
