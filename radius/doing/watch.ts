// Tells whoever watches what happens: one list of observers, called as things happen, each guarded from the others.

import type { Log } from "../../log.ts";
import type { Clock } from "../../runtime.ts";
import { type Conversation, viewOf } from "./conversation.ts";
import type { Conversations } from "./conversations.ts";
import type { Counters } from "./counters.ts";
import type { GatewayEvent, GatewayWatch, Observer } from "./ports.ts";

export interface Board extends GatewayWatch {
  emit(event: GatewayEvent): void;
  /** Tells of a conversation's new state; its view is only built when somebody watches. */
  changed(conversation: Conversation): void;
}

export function createBoard(
  { conversations, counters, clock, log }: {
    conversations: Conversations;
    counters: Counters;
    clock: Clock;
    log: Log;
  },
): Board {
  const observers = new Set<Observer>();
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
    conversations: (limit) => conversations.newestFirst(limit).map(viewOf),
    standing: (limit) => conversations.standing(limit),
    alive: () => conversations.alive,
    counters: () => counters.all(),
    observe(observer) {
      observers.add(observer);
      return () => void observers.delete(observer);
    },
    emit,
    changed(conversation) {
      if (observers.size > 0) {
        emit({ kind: "conversation", atMs: clock.nowMs(), conversation: viewOf(conversation) });
      }
    },
  };
}
