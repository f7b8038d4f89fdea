// A conversation's record as a list: by place, not by name. Names would be half of what every login writes.

import type { ConversationRecord } from "./conversation.ts";
import type { ConversationMoment } from "../ports.ts";

/**
 * The fields by place. New ones go to the end, and only with a value for records that lack them. `null`: version 0.1 wrote a digest of the
 * password there, which is no longer written and not read.
 */
export const RECORD_FIELDS = [
  "orderedId",
  "secretId",
  "client",
  "user",
  "shownUser",
  "source",
  "place",
  "tuple",
  "hasToken",
  "startedMs",
  "deadlineMs",
  null,
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
  "signed",
] as const satisfies readonly (keyof ConversationRecord | null)[];

/** How many fields a record had before phones had names. */
const FIELDS_AT_FIRST = RECORD_FIELDS.indexOf("phone");

/** Stands for a text that is the same as one before it. */
const SAME = 0;

/** The record's fields in their places. The record says that there is a token, never the token itself. */
export function packRecord(record: ConversationRecord): unknown[] {
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

/** Names the places of a list again; what the fields hold is for the caller to check. `null` when it is no such list. */
export function unpackRecord(list: unknown): Record<string, unknown> | null {
  if (!Array.isArray(list) || list.length < FIELDS_AT_FIRST) return null;
  const fields: Record<string, unknown> = {};
  for (const [place, name] of RECORD_FIELDS.entries()) if (name !== null) fields[name] = list[place];
  if (fields.shownUser === SAME) fields.shownUser = fields.user;
  fields.hasToken = fields.hasToken !== null;
  fields.lastAnswer = unpackAnswer(fields.lastAnswer);
  fields.moments = unpackMoments(fields.moments);
  fields.phone ??= null;
  fields.signed ??= false;
  return fields;
}

/** The second place is empty: version 0.1 wrote a digest of the password there. */
function unpackAnswer(packed: unknown): unknown {
  if (!Array.isArray(packed)) return null;
  const [state, , authenticator, atMs, identifier = null] = packed;
  return { state, identifier, authenticator, atMs };
}

function unpackMoments(packed: unknown): unknown {
  if (!Array.isArray(packed) || packed.length % 3 !== 0) return null;
  const moments: unknown[] = [];
  for (let i = 0; i < packed.length; i += 3) {
    moments.push({ atMs: packed[i], step: packed[i + 1], row: packed[i + 2] });
  }
  return moments;
}
