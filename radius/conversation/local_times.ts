// The times of a conversation that another node wrote, by the clock of this node.

import type { ConversationRecord } from "./conversation.ts";

/**
 * The same record with its times by the clock of this node.
 *
 * @param offsetMs the clock that wrote the times minus the clock of this node
 */
export function toLocalTimes<T extends ConversationRecord>(record: T, offsetMs: number): T {
  if (offsetMs === 0) return record;
  const { startedMs, deadlineMs, updatedMs, passcode, lastAnswer } = record;
  return {
    ...record,
    startedMs: startedMs - offsetMs,
    deadlineMs: deadlineMs - offsetMs,
    updatedMs: updatedMs - offsetMs,
    passcode: passcode && { ...passcode, expiresMs: passcode.expiresMs - offsetMs },
    lastAnswer: lastAnswer && { ...lastAnswer, atMs: lastAnswer.atMs - offsetMs },
  };
}
