// What happens in the gateway, gathered for live pages: coalesced per conversation, sent in batches, and kept in a
// bounded history so that a page that comes back resumes where it was.

import { maskedItems } from "../outbox/outbox_routes.ts";
import type { ConversationView, GatewayEvent, GatewayWatch } from "../../../radius/ports.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { OutboxMessages } from "../../../upstream/embedded/telephony/outbox.ts";
import { eventChunk } from "./event_stream.ts";
import { createHistory } from "./replay_buffer.ts";
import type { ApprovalList, LiveMessage, LiveSnapshot } from "../api_types.ts";

export interface LiveFeed {
  snapshot(): LiveSnapshot;
  /**
   * Sends everything after the id `after`, then what comes; `reset` when that history is gone.
   *
   * @returns what stops it.
   */
  follow(after: string | null, send: (chunk: Uint8Array<ArrayBuffer>) => void): () => void;
}

export interface LiveFeedDeps {
  readonly watch: GatewayWatch;
  readonly desk: SecondFactorAdmin | null;
  readonly outbox: OutboxMessages | null;
  readonly clock: Clock;
  readonly random: Random;
}

export const HISTORY_LIMIT = 5000;
export const SNAPSHOT_LIMIT = 2000;
const COUNTED_LIMIT = 20_000;
const BATCH_MS = 80;
const RESUME_CHUNK = 500;
const APPROVALS_SHOWN = 200;
const MOMENTS_SHOWN = 32;
const SLOW_EVERY_MS = 400;
/** After this time without a reader, the gateway is no longer observed, at no cost. */
const LINGER_MS = 60_000;
const RESET = eventChunk("reset", "{}");

export function createLiveFeed(deps: LiveFeedDeps): LiveFeed {
  const { watch, desk, outbox, clock } = deps;
  const followers = new Set<(chunk: Uint8Array<ArrayBuffer>) => void>();
  const history = createHistory<ConversationView>(HISTORY_LIMIT);
  const standing = new Map<string, string>();
  let changed = new Map<string, ConversationView>();
  let drops: Record<string, number> = {};
  let lost = 0;
  let slowSentMs = 0;
  let approvalsChanged = false;
  let outboxChanged = false;
  let countersOwed = false;
  let timerRuns = false;
  let detach: (() => void) | null = null;
  let stopLinger = () => {};

  const arm = (): void => {
    if (timerRuns) return;
    timerRuns = true;
    clock.after(BATCH_MS, flush);
  };
  const note = (event: GatewayEvent): void => {
    if (event.kind === "drop") drops[event.reason] = (drops[event.reason] ?? 0) + 1;
    else if (changed.size < HISTORY_LIMIT || changed.has(event.conversation.id)) {
      changed.set(event.conversation.id, event.conversation);
    } else lost += 1;
    countersOwed = true;
    arm();
  };
  const count = (view: ConversationView): void => {
    if (view.outcome !== null) standing.delete(view.id);
    else if (standing.size < COUNTED_LIMIT || standing.has(view.id)) standing.set(view.id, view.step);
  };

  const flush = (): void => {
    timerRuns = false;
    if (detach === null) return;
    const batch = [...changed.values()].map(trimmed);
    changed = new Map();
    for (const view of batch) {
      history.add(view);
      count(view);
    }
    if (lost > 0) history.forget();
    const slow = slowParts();
    const message: LiveMessage = {
      upTo: history.head(),
      nowMs: clock.nowMs(),
      conversations: batch,
      steps: countSteps(standing),
      drops,
      ...(lost > 0 ? { lost } : {}),
      ...slow,
    };
    const isNews = batch.length > 0 || lost > 0 || slow !== null || Object.keys(drops).length > 0;
    drops = {};
    lost = 0;
    if (isNews && followers.size > 0) sendAll(liveChunk(message));
    if (approvalsChanged || outboxChanged || countersOwed) arm();
  };
  /** Lists and counters change with nearly every packet; they are sent a few times a second. */
  const slowParts = (): Partial<LiveMessage> | null => {
    const nowMs = clock.nowMs();
    if (nowMs - slowSentMs < SLOW_EVERY_MS && nowMs >= slowSentMs) return null;
    slowSentMs = nowMs;
    const approvals = approvalsChanged ? approvalList(desk) : null;
    const messages = outboxChanged && outbox !== null ? maskedItems(outbox) : null;
    approvalsChanged = false;
    outboxChanged = false;
    countersOwed = false;
    return {
      counters: watch.counters(),
      newestStray: newestStray(watch),
      ...(approvals === null ? {} : { approvals }),
      ...(messages === null ? {} : { outbox: messages }),
    };
  };
  const sendAll = (chunk: Uint8Array<ArrayBuffer>): void => {
    for (const send of [...followers]) send(chunk);
  };

  const attach = (): void => {
    stopLinger();
    if (detach === null) {
      history.restart(`${clock.nowMs().toString(36)}${deps.random.bytes(4).toHex()}`);
      standing.clear();
      const stops = [
        watch.observe(note),
        desk?.onChange(() => {
          approvalsChanged = true;
          arm();
        }),
        outbox?.onChange(() => {
          outboxChanged = true;
          arm();
        }),
      ];
      for (const { id, step } of watch.standing(COUNTED_LIMIT)) standing.set(id, step);
      detach = () => stops.forEach((stop) => stop?.());
    }
    if (followers.size === 0) stopLinger = clock.after(LINGER_MS, leave);
  };
  const leave = (): void => {
    if (followers.size > 0) return;
    detach?.();
    detach = null;
    changed = new Map();
  };

  const sendMissed = (
    missed: readonly ConversationView[],
    send: (chunk: Uint8Array<ArrayBuffer>) => void,
  ) => {
    const state = {
      nowMs: clock.nowMs(),
      steps: countSteps(standing),
      drops: {},
      counters: watch.counters(),
      newestStray: newestStray(watch),
    };
    for (let at = 0; at < missed.length; at += RESUME_CHUNK) {
      const conversations = missed.slice(at, at + RESUME_CHUNK);
      const upTo = history.idBefore(missed.length - at - conversations.length);
      send(liveChunk({ ...state, upTo, conversations }));
    }
    // Lists are not in the history: a reader that resumes gets their current state.
    const approvals = approvalList(desk);
    send(liveChunk({
      ...state,
      upTo: history.head(),
      conversations: [],
      ...(approvals === null ? {} : { approvals }),
      ...(outbox === null ? {} : { outbox: maskedItems(outbox) }),
    }));
  };

  return {
    snapshot() {
      attach();
      return {
        at: history.head(),
        nowMs: clock.nowMs(),
        conversations: watch.conversations(SNAPSHOT_LIMIT).map(trimmed),
        steps: countSteps(standing),
        counters: watch.counters(),
        newestStray: newestStray(watch),
        approvals: approvalList(desk),
        outbox: outbox === null ? null : maskedItems(outbox),
      };
    },
    follow(after, send) {
      attach();
      const missed = history.after(after);
      if (missed === null) send(RESET);
      else sendMissed(missed, send);
      stopLinger();
      followers.add(send);
      return () => {
        followers.delete(send);
        if (followers.size === 0) stopLinger = clock.after(LINGER_MS, leave);
      };
    },
  };
}

function liveChunk(message: LiveMessage): Uint8Array<ArrayBuffer> {
  return eventChunk("live", JSON.stringify(message), message.upTo);
}

function trimmed(view: ConversationView): ConversationView {
  return view.moments.length <= MOMENTS_SHOWN
    ? view
    : { ...view, moments: view.moments.slice(-MOMENTS_SHOWN) };
}

function countSteps(standing: ReadonlyMap<string, string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const step of standing.values()) counts[step] = (counts[step] ?? 0) + 1;
  return counts;
}

function newestStray(watch: GatewayWatch): number {
  return watch.strays(1)[0]?.id ?? 0;
}

/** The newest that wait, and how many; `null` with an external service. */
export function approvalList(desk: SecondFactorAdmin | null): ApprovalList | null {
  if (desk === null) return null;
  // All of them could be a hundred thousand, and the gateway's packets wait meanwhile.
  const newest = desk.pendingApprovals(APPROVALS_SHOWN);
  const items = newest.toSorted((a, b) => b.createdMs - a.createdMs).slice(0, APPROVALS_SHOWN);
  return { total: desk.pendingCount(), items };
}
