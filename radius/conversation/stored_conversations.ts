// Reads the conversations of an earlier run: from the journal, and from the keys of conversations that took a further step.

import type { Clock } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import type { Conversation } from "./conversation.ts";
import { decodeRecord } from "./conversation_codec.ts";
import { toLocalTimes } from "./local_times.ts";

/**
 * The conversations that are alive or ended recently, oldest first, and the number of records that cannot be read.
 *
 * @param deps.maxConversations the most that are read from the journal
 */
export async function readStoredConversations(
  { store, clock, maxConversations, clockOffsetMs = () => 0 }: {
    readonly store: Pick<Store, "journal" | "list">;
    readonly clock: Pick<Clock, "nowMs">;
    readonly maxConversations: number;
    /** The clock of a node minus the clock of this node. */
    readonly clockOffsetMs?: ((node: string) => number) | undefined;
  },
  endedRetentionMs: number,
): Promise<{ conversations: Conversation[]; unreadable: number }> {
  const now = clock.nowMs();
  const found = new Map<string, Conversation>();
  let unreadable = 0;
  const add = (stored: Conversation | null): void => {
    if (stored === null) return void unreadable++;
    const conversation = toLocalTimes(stored, clockOffsetMs(stored.node));
    if (conversation.deadlineMs > now || conversation.updatedMs + endedRetentionMs > now) {
      found.set(conversation.orderedId, conversation);
    }
  };
  for await (const line of store.journal()) {
    if (found.size >= maxConversations) break;
    const conversation = decodeRecord(line, { stored: "journal" });
    // The newest line comes first.
    if (conversation === null || !found.has(conversation.orderedId)) add(conversation);
  }
  // A record under its own key is newer than the journal line that began the conversation.
  for await (const { value, versionstamp } of store.list<unknown>(["conversation"])) {
    if (versionstamp !== null) add(decodeRecord(value, { stored: { versionstamp } }));
  }
  const conversations = [...found.values()].sort((a, b) => a.orderedId < b.orderedId ? -1 : 1);
  return { conversations, unreadable };
}
