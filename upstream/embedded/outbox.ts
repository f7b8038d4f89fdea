// The embedded telephony outbox: takes texts and calls instead of sending them, for evaluation. What it holds are
// passcodes: sealed in the store, shown on demand, and only as long as they are of use.

import { createKeyedMutex } from "../../platform/keyed_mutex.ts";
import { type Clock, type Random, toHex } from "../../runtime.ts";
import type { Store } from "../../store.ts";
import type { Vault } from "../../vault.ts";
import type { TelephonySettings } from "../telephony.ts";
import { timeOrderedUuid } from "./identifiers.ts";
import type { OutboxDesk } from "./interfaces.ts";
import { createListeners } from "./listeners.ts";
import { createOutboxInterface, type TakenMessage } from "./outbox_interface.ts";
import { type Change, commitChanges, createTable, type Table } from "./table.ts";

export interface Outbox {
  /** The documented HTTP interface. Never mount it on a public listener. Never rejects. */
  readonly handler: (request: Request) => Promise<Response>;
  /** `handler` as a `fetch`, for the HTTP caller of the client. */
  readonly fetch: typeof globalThis.fetch;
  /** What the client needs to speak to `fetch`. */
  readonly clientSettings: TelephonySettings;
  readonly desk: OutboxDesk;
  /** Reads what the store has; call it once, before anything else. */
  load(): Promise<void>;
}

/** `id` is the sid without its two letters, so that keys sort by time. */
interface OutboxRow {
  readonly id: string;
  readonly kind: "text" | "call";
  readonly to: string;
  readonly sealedText: Uint8Array;
  readonly createdMs: number;
  readonly deadlineMs: number;
}

const IN_PROCESS_URL = "http://telephony.embedded.invalid";
const CALL_TIMEOUT_MS = 5000;
const FROM = "+10000000000";
const MAX_ITEMS = 200;
/** The store takes 100 checks in one commit. */
const MAX_REMOVED_AT_ONCE = 50;
const DEFAULT_LIFETIME_MS = 300_000;
const ALL = "all";
const ATTEMPTS = 3;
const SID_LETTERS = { text: "SM", call: "CA" } as const;

/**
 * @param deps.lifetimeMs how long a call is of use (its digits are a passcode); default 300,000. A text says it itself.
 * @param deps.onBug told what went wrong inside an operation; the caller of the operation sees a 500.
 */
export function createOutbox(
  deps: {
    store: Store;
    vault: Vault;
    clock: Clock;
    random: Random;
    lifetimeMs?: number;
    onBug?: (fault: unknown) => void;
  },
): Outbox {
  const { store, vault, clock, random, lifetimeMs = DEFAULT_LIFETIME_MS, onBug = () => undefined } = deps;
  const credentials = {
    accountId: `AC${toHex(vault.deriveKey("embedded telephony account", 16))}`,
    authToken: toHex(vault.deriveKey("embedded telephony token", 16)),
  };
  const mutex = createKeyedMutex();
  const listeners = createListeners({ perTopic: 1000 });
  const nowMs = () => clock.nowMs();
  const table: Table<OutboxRow> = createTable({ store, nowMs }, {
    name: "outbox",
    expiresMs: (row) => row.deadlineMs,
    index: () => [ALL],
  });
  const recordKey = (id: string): Deno.KvKey => ["embedded", "outbox", id];

  /** The oldest make room for one more. */
  const makeRoom = (): Change[] =>
    table.under(ALL, Math.min(Math.max(0, table.size() - MAX_ITEMS + 1), MAX_REMOVED_AT_ONCE)).map(({ id }) =>
      table.change(id, null)
    );

  const keep = async (row: OutboxRow): Promise<void> => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (await commitChanges(store, [table.add(row.id, row), ...makeRoom()])) return;
    }
    throw new Error("Cannot keep a message: the outbox kept changing");
  };

  const take = async (message: TakenMessage): Promise<{ sid: string; createdMs: number }> => {
    const createdMs = nowMs();
    table.sweep(createdMs);
    const id = timeOrderedUuid(createdMs, random).replaceAll("-", "");
    const row: OutboxRow = {
      id,
      kind: message.kind,
      to: message.to,
      sealedText: vault.seal(recordKey(id), new TextEncoder().encode(message.text)),
      createdMs,
      deadlineMs: createdMs + (message.validityMs ?? lifetimeMs),
    };
    await mutex.run(ALL, () => keep(row));
    listeners.notify(ALL);
    return { sid: sidOf(row), createdMs };
  };

  const handler = createOutboxInterface({ take, onBug }, credentials);
  return {
    handler,
    fetch: (input, init) => handler(new Request(input, init)),
    clientSettings: {
      url: IN_PROCESS_URL,
      ...credentials,
      from: FROM,
      twimlEchoUrl: "",
      timeoutMs: CALL_TIMEOUT_MS,
    },
    desk: {
      items: () =>
        table.under(ALL).filter(({ deadlineMs }) => deadlineMs > nowMs()).reverse().map((row) => ({
          id: sidOf(row),
          kind: row.kind,
          to: row.to,
          createdMs: row.createdMs,
          deadlineMs: row.deadlineMs,
        })),
      reveal(sid) {
        const row = table.get(sid.slice(2));
        const isOwn = row !== undefined && sidOf(row) === sid && row.deadlineMs > nowMs();
        const text = isOwn ? vault.open(recordKey(row.id), row.sealedText) : null;
        return Promise.resolve(text && new TextDecoder().decode(text));
      },
      onChange: (notify) => listeners.add(ALL, notify),
    },
    load: () => table.load(nowMs()),
  };
}

function sidOf({ kind, id }: OutboxRow): string {
  return SID_LETTERS[kind] + id;
}
