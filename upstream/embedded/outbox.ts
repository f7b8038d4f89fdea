// The embedded telephony outbox: stores texts and calls instead of sending them, for evaluation. They contain passcodes:
// the store holds them sealed, and the console shows one on request until the passcode expires.

import { createKeyedMutex } from "../../platform/keyed_mutex.ts";
import type { Outcome, TelephonyService } from "../../radius/doing/ports.ts";
import type { Clock, Random } from "../../runtime.ts";
import type { Store } from "../../store.ts";
import type { Vault } from "../../vault.ts";
import { failed } from "../faults.ts";
import { timeOrderedUuid } from "./identifiers.ts";
import type { OutboxDesk } from "./interfaces.ts";
import { createListeners } from "./listeners.ts";
import { type Change, commitChanges, createTable, type Table } from "./table.ts";

export interface Outbox {
  /** The port of the gateway. */
  readonly service: TelephonyService;
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

/** A text or call to store. `text` is what the recipient reads, or the digits that they hear. */
interface Message {
  readonly kind: "text" | "call";
  readonly to: string;
  readonly text: string;
  readonly validityMs: number;
}

/** What the outbox refuses, with the code and text of the real service. */
const REFUSALS = {
  call_to_invalid: { code: 13223, detail: "Invalid phone number format" },
  text_to_invalid: { code: 21211, detail: "Invalid 'To' phone number" },
  text_without_body: { code: 21602, detail: "A message body is required" },
  text_too_long: { code: 21617, detail: "The message body exceeds 1600 characters" },
} as const;

const NUMBER = /^\+[1-9]\d{7,14}$/;
const MAX_TEXT_CHARACTERS = 1600;
const MAX_VALIDITY_SECONDS = 36_000;
const MAX_ITEMS = 200;
/** The store takes 100 checks in one commit. */
const MAX_REMOVED_AT_ONCE = 50;
const DEFAULT_LIFETIME_MS = 300_000;
const ALL = "all";
const ATTEMPTS = 3;
const SID_LETTERS = { text: "SM", call: "CA" } as const;

/**
 * @param deps.lifetimeMs how long the passcode of a call is valid; default 300,000. A text comes with its validity.
 * @param deps.onBug receives the error of an operation that failed; the caller of the operation receives a fault.
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

  const add = async (message: Message): Promise<string> => {
    const createdMs = nowMs();
    table.sweep(createdMs);
    const id = timeOrderedUuid(createdMs, random).replaceAll("-", "");
    const row: OutboxRow = {
      id,
      kind: message.kind,
      to: message.to,
      sealedText: vault.seal(recordKey(id), new TextEncoder().encode(message.text)),
      createdMs,
      deadlineMs: createdMs + message.validityMs,
    };
    await mutex.run(ALL, () => keep(row));
    listeners.notify(ALL);
    return sidOf(row);
  };

  const take = async (
    message: Message,
    refusal: keyof typeof REFUSALS | null,
  ): Promise<Outcome<{ id: string }>> => {
    if (refusal !== null) return failed({ kind: "refused", status: 400, ...REFUSALS[refusal] });
    try {
      return { ok: true, value: { id: await add(message) } };
    } catch (fault) {
      onBug(fault);
      return failed({ kind: "failed", status: 500, detail: "Internal server error" });
    }
  };

  return {
    service: {
      embedded: true,
      text({ to, body, validitySeconds }) {
        const validityMs = clampSeconds(validitySeconds) * 1000;
        return take({ kind: "text", to, text: body, validityMs }, refusalOfText(to, body));
      },
      call: ({ to, digits }) =>
        take(
          { kind: "call", to, text: digits, validityMs: lifetimeMs },
          NUMBER.test(to) ? null : "call_to_invalid",
        ),
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

function refusalOfText(to: string, body: string): keyof typeof REFUSALS | null {
  if (!NUMBER.test(to)) return "text_to_invalid";
  if (body === "") return "text_without_body";
  return body.length > MAX_TEXT_CHARACTERS ? "text_too_long" : null;
}

function clampSeconds(seconds: number): number {
  return Math.min(MAX_VALIDITY_SECONDS, Math.max(1, Math.ceil(seconds)));
}

function sidOf({ kind, id }: OutboxRow): string {
  return SID_LETTERS[kind] + id;
}
