// Writes the records of versions before 0.2, so that tests can read them.

import type { ConversationMoment } from "../../radius/ports.ts";
import type { Conversation, ConversationRecord } from "../../radius/conversation/conversation.ts";

/** Stored instead of a `shownUser` that equals `user`. */
const SAME = 0;

/** A record as one line of JSON. */
export function textRecord(conversation: Conversation): string {
  return JSON.stringify(packRecord(conversation));
}

function packRecord(record: ConversationRecord): unknown[] {
  const { lastAnswer, moments } = record;
  return [
    record.orderedId,
    record.secretId,
    record.client,
    record.user,
    record.shownUser === record.user ? SAME : record.shownUser,
    record.source,
    record.place,
    record.tuple,
    record.hasToken ? "" : null,
    record.startedMs,
    record.deadlineMs,
    null,
    record.at,
    record.round,
    record.updatedMs,
    record.firstFactorRight,
    record.factor,
    record.requestId,
    record.pairingId,
    record.newPairingId,
    record.numberToMatch,
    record.passcode,
    record.numbers,
    record.prompt,
    lastAnswer === null ? null : [
      lastAnswer.state,
      null,
      lastAnswer.authenticator,
      lastAnswer.atMs,
      lastAnswer.identifier,
    ],
    record.outcome,
    packMoments(moments),
    record.phone,
    record.signed,
  ];
}

function packMoments(moments: readonly ConversationMoment[]): unknown[] {
  const packed: unknown[] = [];
  for (const { atMs, step, row } of moments) packed.push(atMs, step, row);
  return packed;
}
