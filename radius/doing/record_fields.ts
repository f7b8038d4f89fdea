// A conversation's record as a list: by place, not by name. Names would be half of what every login writes.

import type { ConversationRecord } from "./conversation.ts";
import type { ConversationMoment } from "./ports.ts";

/** The fields by place. New ones go to the end, and only with a value for records that lack them. */
export const RECORD_FIELDS = [
  "orderedId",
  "secretId",
  "client",
  "user",
  "shownUser",
  "source",
  "place",
  "tuple",
  "token",
  "startedMs",
  "deadlineMs",
  "passwordDigest",
  "at",
  "round",
  "updatedMs",
  "firstFactorRight",
  "factor",
  "requestId",
  "pairingId",
  "newPairingId",
  "numberToMatch",
  "passcode",
  "numbers",
  "prompt",
  "lastAnswer",
  "outcome",
  "moments",
  "phone",
] as const satisfies readonly (keyof ConversationRecord)[];

/** How many fields a record had before phones had names. */
const FIELDS_AT_FIRST = RECORD_FIELDS.indexOf("phone");

/** Stands for a text that is the same as one before it. */
const SAME = 0;

/** The record's fields in their places. That there is a token is kept, never the token itself. */
export function packRecord(record: ConversationRecord): unknown[] {
  const { lastAnswer, moments, passwordDigest } = record;
  return [
    record.orderedId,
    record.secretId,
    record.client,
    record.user,
    record.shownUser === record.user ? SAME : record.shownUser,
    record.source,
    record.place,
    record.tuple,
    record.token === null ? null : "",
    record.startedMs,
    record.deadlineMs,
    passwordDigest,
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
      lastAnswer.digest === passwordDigest ? SAME : lastAnswer.digest,
      lastAnswer.authenticator,
      lastAnswer.atMs,
    ],
    record.outcome,
    packMoments(moments),
    record.phone,
  ];
}

function packMoments(moments: readonly ConversationMoment[]): unknown[] {
  const packed: unknown[] = [];
  for (const { atMs, step, row } of moments) packed.push(atMs, step, row);
  return packed;
}

/** Names the places of a list again; what the fields hold is for the caller to check. `null` when it is no such list. */
export function unpackRecord(list: unknown): Record<string, unknown> | null {
  if (!Array.isArray(list) || list.length < FIELDS_AT_FIRST) return null;
  const fields: Record<string, unknown> = {};
  for (const [place, name] of RECORD_FIELDS.entries()) fields[name] = list[place];
  if (fields.shownUser === SAME) fields.shownUser = fields.user;
  fields.lastAnswer = unpackAnswer(fields.lastAnswer, fields.passwordDigest);
  fields.moments = unpackMoments(fields.moments);
  fields.phone ??= null;
  return fields;
}

function unpackAnswer(packed: unknown, passwordDigest: unknown): unknown {
  if (!Array.isArray(packed)) return null;
  const [state, digest, authenticator, atMs] = packed;
  return { state, digest: digest === SAME ? passwordDigest : digest, authenticator, atMs };
}

function unpackMoments(packed: unknown): unknown {
  if (!Array.isArray(packed) || packed.length % 3 !== 0) return null;
  const moments: unknown[] = [];
  for (let i = 0; i < packed.length; i += 3) {
    moments.push({ atMs: packed[i], step: packed[i + 1], row: packed[i + 2] });
  }
  return moments;
}
