// The live feed of the gateway's events: coalesced per conversation, sent in batches, and buffered for pages that reconnect.

import type { ConversationView, GatewayEvent, GatewayMonitor } from "../../../radius/ports.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { OutboxMessages } from "../../../upstream/embedded/telephony/outbox.ts";
import type { LiveMessage, LiveSnapshot } from "../api_types.ts";
import { approvalList } from "../approvals/approval_routes.ts";
import { nodeNames, type NodeRouteDeps } from "../nodes/node_routes.ts";
import { outboxList } from "../outbox/outbox_routes.ts";
import { eventChunk } from "./event_stream.ts";

interface LiveFeedDeps {
  readonly watch: GatewayMonitor;
  readonly secondFactorAdmin: () => SecondFactorAdmin | null;
  readonly outbox: () => OutboxMessages | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly cluster?: NodeRouteDeps["cluster"];
}

type SendChunk = (chunk: Uint8Array<ArrayBuffer>) => void;

export const HISTORY_LIMIT = 5000;
const SNAPSHOT_LIMIT = 2000;
const COUNTED_LIMIT = 20_000;
const BATCH_MS = 80;
const RESUME_CHUNK = 500;
const MOMENTS_SHOWN = 32;
/** Lists and counters change with nearly every packet, so they are sent less often. */
const SLOW_INTERVAL_MS = 400;
/** After this time without a reader, the feed no longer observes the gateway. */
const LINGER_MS = 60_000;
const RESET = eventChunk("reset", "{}");

export class LiveFeed {
  readonly #deps: LiveFeedDeps;
  readonly #followers = new Set<SendChunk>();
  readonly #history = new ReplayBuffer<ConversationView>(HISTORY_LIMIT);
  /** The step of each open conversation. */
  readonly #steps = new Map<string, string>();
  #changed = new Map<string, ConversationView>();
  #drops: Record<string, number> = {};
  #lost = 0;
  #slowSentMs = 0;
  #hasNewApprovals = false;
  #hasNewOutbox = false;
  #hasNewCounters = false;
  #isTimerRunning = false;
  #detach: (() => void) | null = null;
  #stopLinger = () => {};
  #stopServices = () => {};

  constructor(deps: LiveFeedDeps) {
    this.#deps = deps;
  }

  snapshot(): LiveSnapshot {
    this.#attach();
    const { watch, secondFactorAdmin, outbox, cluster } = this.#deps;
    return {
      at: this.#history.head(),
      ...this.#state(),
      conversations: watch.conversations(SNAPSHOT_LIMIT).map(shortened),
      approvals: approvalList(secondFactorAdmin()),
      outbox: outboxList(outbox()),
      nodes: nodeNames(cluster),
    };
  }

  /**
   * Sends everything after the id `after`, then new events; `reset` if the buffer no longer has that id.
   *
   * @returns what stops it.
   */
  follow(after: string | null, send: SendChunk): () => void {
    this.#attach();
    const missed = this.#history.after(after);
    if (missed === null) send(RESET);
    else this.#sendMissed(missed, send);
    this.#stopLinger();
    this.#followers.add(send);
    return () => {
      this.#followers.delete(send);
      this.#lingerIfUnused();
    };
  }

  /** Follows the services that are used now. Call it after the settings changed the services. */
  followServices(): void {
    this.#stopServices();
    if (this.#detach === null) return;
    const stops = [
      this.#deps.secondFactorAdmin()?.onChange(() => this.#startTimer(this.#hasNewApprovals = true)),
      this.#deps.outbox()?.onChange(() => this.#startTimer(this.#hasNewOutbox = true)),
    ];
    this.#stopServices = () => stops.forEach((stop) => stop?.());
  }

  #attach(): void {
    this.#stopLinger();
    if (this.#detach === null) {
      const { watch, clock, random } = this.#deps;
      this.#history.restart(`${clock.nowMs().toString(36)}${random.bytes(4).toHex()}`);
      this.#steps.clear();
      const stop = watch.observe((event) => this.#note(event));
      for (const { id, step } of watch.liveSteps(COUNTED_LIMIT)) this.#steps.set(id, step);
      this.#detach = () => [stop, this.#stopServices].forEach((end) => end());
      this.followServices();
    }
    this.#lingerIfUnused();
  }

  #lingerIfUnused(): void {
    if (this.#followers.size > 0) return;
    this.#stopLinger = this.#deps.clock.after(LINGER_MS, () => {
      if (this.#followers.size > 0) return;
      this.#detach?.();
      this.#detach = null;
      this.#changed = new Map();
    });
  }

  #note(event: GatewayEvent): void {
    if (event.kind === "drop") this.#drops[event.reason] = (this.#drops[event.reason] ?? 0) + 1;
    else if (this.#changed.size < HISTORY_LIMIT || this.#changed.has(event.conversation.id)) {
      this.#changed.set(event.conversation.id, event.conversation);
    } else this.#lost += 1;
    this.#hasNewCounters = true;
    this.#startTimer();
  }

  #startTimer(_hasNews = true): void {
    if (this.#isTimerRunning) return;
    this.#isTimerRunning = true;
    this.#deps.clock.after(BATCH_MS, () => this.#flush());
  }

  #flush(): void {
    this.#isTimerRunning = false;
    if (this.#detach === null) return;
    const batch = [...this.#changed.values()].map(shortened);
    this.#changed = new Map();
    for (const view of batch) {
      this.#history.add(view);
      this.#countStep(view);
    }
    if (this.#lost > 0) this.#history.forget();
    const slow = this.#slowParts();
    const message: LiveMessage = {
      upTo: this.#history.head(),
      nowMs: this.#deps.clock.nowMs(),
      conversations: batch,
      steps: this.#countSteps(),
      drops: this.#drops,
      ...(this.#lost > 0 ? { lost: this.#lost } : {}),
      ...slow,
    };
    const hasNews = batch.length > 0 || this.#lost > 0 || slow !== null ||
      Object.keys(this.#drops).length > 0;
    this.#drops = {};
    this.#lost = 0;
    if (hasNews && this.#followers.size > 0) {
      const chunk = liveChunk(message);
      for (const send of [...this.#followers]) send(chunk);
    }
    if (this.#hasNewApprovals || this.#hasNewOutbox || this.#hasNewCounters) this.#startTimer();
  }

  #countStep(view: ConversationView): void {
    if (view.outcome !== null) this.#steps.delete(view.id);
    else if (this.#steps.size < COUNTED_LIMIT || this.#steps.has(view.id)) {
      this.#steps.set(view.id, view.step);
    }
  }

  #countSteps(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const step of this.#steps.values()) counts[step] = (counts[step] ?? 0) + 1;
    return counts;
  }

  #slowParts(): Partial<LiveMessage> | null {
    const { watch, secondFactorAdmin, outbox, clock, cluster } = this.#deps;
    const nowMs = clock.nowMs();
    if (nowMs - this.#slowSentMs < SLOW_INTERVAL_MS && nowMs >= this.#slowSentMs) return null;
    this.#slowSentMs = nowMs;
    const approvals = this.#hasNewApprovals ? approvalList(secondFactorAdmin()) : null;
    const messages = this.#hasNewOutbox ? outboxList(outbox()) : null;
    this.#hasNewApprovals = this.#hasNewOutbox = this.#hasNewCounters = false;
    return {
      counters: watch.counters(),
      newestStray: newestStray(watch),
      nodes: nodeNames(cluster),
      ...(approvals === null ? {} : { approvals }),
      ...(messages === null ? {} : { outbox: messages }),
    };
  }

  #state() {
    const { watch, clock } = this.#deps;
    return {
      nowMs: clock.nowMs(),
      steps: this.#countSteps(),
      counters: watch.counters(),
      newestStray: newestStray(watch),
    };
  }

  #sendMissed(missed: readonly ConversationView[], send: SendChunk): void {
    const { secondFactorAdmin, outbox } = this.#deps;
    const state = { ...this.#state(), drops: {} };
    for (let at = 0; at < missed.length; at += RESUME_CHUNK) {
      const conversations = missed.slice(at, at + RESUME_CHUNK);
      const upTo = this.#history.idBefore(missed.length - at - conversations.length);
      send(liveChunk({ ...state, upTo, conversations }));
    }
    // The buffer does not have lists: a reader that resumes gets their current state.
    const approvals = approvalList(secondFactorAdmin());
    const messages = outboxList(outbox());
    send(liveChunk({
      ...state,
      upTo: this.#history.head(),
      conversations: [],
      ...(approvals === null ? {} : { approvals }),
      ...(messages === null ? {} : { outbox: messages }),
    }));
  }
}

function liveChunk(message: LiveMessage): Uint8Array<ArrayBuffer> {
  return eventChunk("live", JSON.stringify(message), message.upTo);
}

/** The view with the moments that a list needs. */
export function shortened(view: ConversationView): ConversationView {
  return view.moments.length <= MOMENTS_SHOWN
    ? view
    : { ...view, moments: view.moments.slice(-MOMENTS_SHOWN) };
}

function newestStray(watch: GatewayMonitor): number {
  return watch.strays(1)[0]?.id ?? 0;
}

/**
 * A bounded list of items with ids, for streams that resume. An id is `<epoch>.<number>`. The epoch changes when numbering
 * restarts, so that an id of an earlier run is never valid in this run.
 */
export class ReplayBuffer<T> {
  readonly #limit: number;
  #epoch = "0";
  #head = 0;
  #floor = 0;
  #ring: T[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(item: T): void {
    this.#ring[this.#head % this.#limit] = item;
    this.#head += 1;
  }

  head(): string {
    return this.idBefore(0);
  }

  /** The id that has `back` items after it. */
  idBefore(back: number): string {
    return `${this.#epoch}.${this.#head - back}`;
  }

  /** The items after `id`, oldest first; `null` if the buffer no longer has them. */
  after(id: string | null): T[] | null {
    const parsed = /^([0-9a-z]{1,40})\.(\d{1,15})$/.exec(id ?? "");
    const from = Number(parsed?.[2] ?? NaN);
    const oldest = Math.max(this.#floor, this.#head - this.#limit);
    if (parsed?.[1] !== this.#epoch || !(from >= oldest && from <= this.#head)) return null;
    const items: T[] = [];
    for (let at = from; at < this.#head; at += 1) {
      const item = this.#ring[at % this.#limit];
      if (item !== undefined) items.push(item);
    }
    return items;
  }

  /** Items were lost: no reader can resume across this point. */
  forget(): void {
    this.#floor = this.#head;
  }

  /** Empties the buffer, and numbers from 0 in a new epoch. */
  restart(epoch: string): void {
    this.#epoch = epoch;
    this.#head = this.#floor = 0;
    this.#ring = [];
  }
}
