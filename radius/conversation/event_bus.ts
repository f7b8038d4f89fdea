// The observers of the gateway's events: one list, called for each event; a failing observer does not affect the others.

import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import { type Conversation, viewOf } from "./conversation.ts";
import type { Conversations } from "./conversation_store.ts";
import type { Counters } from "../server/counters.ts";
import { createFinishTallies } from "./login_stats.ts";
import type { PacketLog } from "../server/packet_capture.ts";
import type { GatewayEvent, GatewayWatch, Observer } from "../ports.ts";

export interface Board extends GatewayWatch {
  emit(event: GatewayEvent): void;
  /** Reports a conversation's new state; its view is only built when there is an observer. */
  changed(conversation: Conversation): void;
}

/** @param options.target the directory whose users log in. */
export function createBoard(
  { conversations, counters, packets, clock, log, target }: {
    conversations: Conversations;
    counters: Counters;
    packets: PacketLog;
    clock: Clock;
    log: Log;
    target: string;
  },
): Board {
  const observers = new Set<Observer>();
  const finished = createFinishTallies();
  const countsSinceMs = clock.nowMs();
  /** One that another login ended may be told of twice. */
  const replaced = new WeakSet<Conversation>();
  const tally = (conversation: Conversation): void => {
    const { client, outcome, startedMs, updatedMs } = conversation;
    if (outcome === null || replaced.has(conversation)) return;
    if (outcome === "superseded" || outcome === "cancelled") replaced.add(conversation);
    finished.note({ client, outcome, tookMs: updatedMs - startedMs, endedMs: updatedMs });
  };
  const shown = (conversation: Conversation) => viewOf(conversation, { target });
  const emit = (event: GatewayEvent): void => {
    for (const observer of observers) {
      try {
        observer(event);
      } catch (fault) {
        log.error("an observer failed", { fault: String(fault) });
      }
    }
  };
  return {
    conversations: (limit) => conversations.newestFirst(limit).map(shown),
    standing: (limit) => conversations.standing(limit),
    alive: () => conversations.alive,
    counters: () => counters.all(),
    observe(observer) {
      observers.add(observer);
      return () => void observers.delete(observer);
    },
    conversation(id) {
      const found = conversations.byId(id);
      return found === null ? null : shown(found);
    },
    packets: packets.of,
    strays: packets.strays,
    dropTallies: packets.tallies,
    takeFinished: finished.take,
    countsSinceMs,
    emit,
    changed(conversation) {
      tally(conversation);
      if (observers.size > 0) {
        emit({ kind: "conversation", atMs: clock.nowMs(), conversation: shown(conversation) });
      }
    },
  };
}
