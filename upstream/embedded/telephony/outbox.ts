// The embedded telephony outbox: stores texts and calls instead of sending them, for evaluation. They contain passcodes:
// the store holds them sealed, and the console shows one on request until the passcode expires.

import { KeyedMutex, RunningTasks } from "../../../platform/semaphore.ts";
import { type Clock, type Random, timeOrderedUuid } from "../../../platform/runtime.ts";
import type { Outcome, TelephonyService } from "../../../radius/ports.ts";
import type { Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import { failed } from "../../http/service_caller.ts";
import { commitChanges, Table, type TableChange, type TableKind } from "../../../platform/table.ts";
import { EventEmitter } from "../second_factor/context.ts";

/** A message in the outbox, without its text. */
export interface OutboxItem {
  readonly id: string;
  readonly kind: "text" | "call";
  readonly to: string;
  readonly createdMs: number;
  readonly deadlineMs: number;
}

/** The messages of the outbox, for the console. */
export interface OutboxMessages {
  /** Newest first, at most 200, without texts. */
  items(): OutboxItem[];
  /** The text of a message. It contains a passcode, so only an owner may see it. `null` after its deadline. */
  reveal(id: string): Promise<string | null>;
  onChange(notify: () => void): () => void;
}

/** `id` is the sid without its two letters, so that keys sort by time. */
interface OutboxRecord extends OutboxItem {
  readonly sealedText: Uint8Array;
}

/** `text`: the text message, or the digits of a call. */
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

type MessageRefusal = keyof typeof REFUSALS;

const NUMBER = /^\+[1-9]\d{7,14}$/;
const MAX_TEXT_CHARACTERS = 1600;
const MAX_VALIDITY_SECONDS = 36_000;
const MAX_ITEMS = 200;
/** Each one is a check. A KV Connect server accepts nine in one commit. */
const MAX_REMOVED_AT_ONCE = 9;
const DEFAULT_LIFETIME_MS = 300_000;
const ALL = "all";
const ATTEMPTS = 3;
const OUTBOX: TableKind<OutboxRecord> = {
  prefix: ["embedded", "outbox"],
  expiresMs: ({ deadlineMs }) => deadlineMs,
  index: () => [ALL],
};
const SID_LETTERS = { text: "SM", call: "CA" } as const;

interface TelephonyOutboxDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  /** How long the passcode of a call is valid; default 300,000. A text comes with its validity. */
  readonly lifetimeMs?: () => number;
  /** Receives the error of an operation that failed; the caller of the operation receives a fault. */
  readonly onBug?: (fault: unknown) => void;
}

export class TelephonyOutbox {
  /** The port of the gateway. */
  readonly service: TelephonyService;
  readonly messages: OutboxMessages;
  readonly #deps: TelephonyOutboxDeps;
  readonly #table: Table<OutboxRecord>;
  readonly #mutex = new KeyedMutex();
  readonly #running = new RunningTasks();
  readonly #events = new EventEmitter({ maxPerTopic: 1000 });

  constructor(deps: TelephonyOutboxDeps) {
    this.#deps = deps;
    const onForeignChange = (): void => this.#events.emit(ALL);
    this.#table = new Table({ store: deps.store, nowMs: () => deps.clock.nowMs(), onForeignChange }, OUTBOX);
    const { lifetimeMs = () => DEFAULT_LIFETIME_MS } = deps;
    this.service = {
      embedded: true,
      text: ({ to, body, validitySeconds }) => {
        const validityMs = clampSeconds(validitySeconds) * 1000;
        return this.#take({ kind: "text", to, text: body, validityMs }, refusalOfText(to, body));
      },
      call: ({ to, digits }) =>
        this.#take(
          { kind: "call", to, text: digits, validityMs: lifetimeMs() },
          NUMBER.test(to) ? null : "call_to_invalid",
        ),
    };
    this.messages = {
      items: () => this.#items(),
      reveal: (sid) => Promise.resolve(this.#reveal(sid)),
      onChange: (notify) => this.#events.on(ALL, notify),
    };
  }

  /** Reads the store. Call it once, before anything else. */
  load(): Promise<void> {
    return this.#table.load();
  }

  /** Resolves when the messages that are being stored are stored. */
  close(): Promise<void> {
    return this.#running.settled();
  }

  #take(message: Message, refusal: MessageRefusal | null): Promise<Outcome<{ id: string }>> {
    return this.#running.run(() => this.#accept(message, refusal));
  }

  async #accept(message: Message, refusal: MessageRefusal | null): Promise<Outcome<{ id: string }>> {
    if (refusal !== null) return failed({ kind: "refused", status: 400, ...REFUSALS[refusal] });
    try {
      return { ok: true, value: { id: await this.#add(message) } };
    } catch (fault) {
      this.#deps.onBug?.(fault);
      return failed({ kind: "failed", status: 500, detail: "Internal server error" });
    }
  }

  async #add({ kind, to, text, validityMs }: Message): Promise<string> {
    const { clock, random, vault } = this.#deps;
    const createdMs = clock.nowMs();
    const id = timeOrderedUuid(createdMs, random).replaceAll("-", "");
    const sealedText = vault.seal(keyOf(id), new TextEncoder().encode(text));
    const record = { id, kind, to, sealedText, createdMs, deadlineMs: createdMs + validityMs };
    await this.#mutex.run(ALL, () => this.#store(record));
    this.#events.emit(ALL);
    return sidOf(record);
  }

  async #store(record: OutboxRecord): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const changes = [this.#table.put(record.id, record), ...this.#makeRoom()];
      if (await commitChanges(this.#deps.store, changes)) return;
    }
    throw new Error("Cannot store a message: the outbox changed repeatedly");
  }

  /** Removes the oldest messages if the outbox is full. */
  #makeRoom(): TableChange[] {
    const excess = Math.min(Math.max(0, this.#table.size - MAX_ITEMS + 1), MAX_REMOVED_AT_ONCE);
    return this.#table.list(ALL, excess).map((row) => this.#table.remove(row));
  }

  #items(): OutboxItem[] {
    const live = this.#table.list(ALL).map(({ value }) => value).filter((record) => this.#isLive(record));
    return live.reverse().map((record) => {
      const { kind, to, createdMs, deadlineMs } = record;
      return { id: sidOf(record), kind, to, createdMs, deadlineMs };
    });
  }

  #reveal(sid: string): string | null {
    const record = this.#table.get(sid.slice(2))?.value;
    if (record === undefined || sidOf(record) !== sid || !this.#isLive(record)) return null;
    const text = this.#deps.vault.open(keyOf(record.id), record.sealedText);
    return text && new TextDecoder().decode(text);
  }

  #isLive({ deadlineMs }: OutboxRecord): boolean {
    return deadlineMs > this.#deps.clock.nowMs();
  }
}

function keyOf(id: string): Deno.KvKey {
  return ["embedded", "outbox", id];
}

function refusalOfText(to: string, body: string): MessageRefusal | null {
  if (!NUMBER.test(to)) return "text_to_invalid";
  if (body === "") return "text_without_body";
  return body.length > MAX_TEXT_CHARACTERS ? "text_too_long" : null;
}

function clampSeconds(seconds: number): number {
  return Math.min(MAX_VALIDITY_SECONDS, Math.max(1, Math.ceil(seconds)));
}

function sidOf({ kind, id }: OutboxRecord): string {
  return SID_LETTERS[kind] + id;
}
