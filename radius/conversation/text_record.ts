// Reads the records of versions before 0.2: a JSON list of fields by position. conversation_codec.ts has the present form.

import { sixteenOctetText } from "../protocol/packet.ts";
import type { ConversationRecord } from "./conversation.ts";
import { NO_DIGESTS } from "./peers.ts";

/** The fields by position. `null`: version 0.1 stored a digest of the password there. It is not read. */
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

/** The number of fields in the oldest records. */
const FIELDS_AT_FIRST = RECORD_FIELDS.indexOf("phone");

/** Stored instead of a `shownUser` that equals `user`. */
const SAME = 0;

/** `null` if `list` is not a record. The caller checks the fields. */
function unpackRecord(list: unknown): Record<string, unknown> | null {
  if (!Array.isArray(list) || list.length < FIELDS_AT_FIRST) return null;
  const fields: Record<string, unknown> = {};
  for (const [at, name] of RECORD_FIELDS.entries()) if (name !== null) fields[name] = list[at];
  if (fields.shownUser === SAME) fields.shownUser = fields.user;
  fields.hasToken = fields.hasToken !== null;
  fields.lastAnswer = unpackAnswer(fields.lastAnswer);
  fields.moments = unpackMoments(fields.moments);
  fields.phone ??= null;
  fields.token = null;
  fields.signed ??= false;
  fields.node = "";
  fields.policy = "";
  fields.peerDigests = NO_DIGESTS;
  return fields;
}

/** The second position is empty: version 0.1 stored a digest of the password there. */
function unpackAnswer(packed: unknown): unknown {
  if (!Array.isArray(packed)) return null;
  const [state, , authenticator, atMs, identifier = null] = packed;
  return { state, identifier, authenticator: readAuthenticator(authenticator), atMs };
}

/** Sixteen octets in base64url. */
const AUTHENTICATOR = /^[\w-]{22}$/;

function readAuthenticator(text: unknown): unknown {
  if (typeof text !== "string" || !AUTHENTICATOR.test(text)) return text;
  return sixteenOctetText(Uint8Array.fromBase64(text, { alphabet: "base64url" }), 0);
}

function unpackMoments(packed: unknown): unknown {
  if (!Array.isArray(packed) || packed.length % 3 !== 0) return null;
  const moments: unknown[] = [];
  for (let i = 0; i < packed.length; i += 3) {
    moments.push({ atMs: packed[i], step: packed[i + 1], row: packed[i + 2] });
  }
  return moments;
}

/** Fields of every record, by type. */
const TEXTS = [
  "orderedId",
  "secretId",
  "client",
  "user",
  "shownUser",
  "source",
  "place",
  "tuple",
  "at",
] as const satisfies readonly (keyof ConversationRecord)[];
const NUMBERS = [
  "startedMs",
  "deadlineMs",
  "round",
  "updatedMs",
] as const satisfies readonly (keyof ConversationRecord)[];

function isRecord(parsed: Record<string, unknown> | null): boolean {
  return parsed !== null && Array.isArray(parsed.moments) && Array.isArray(parsed.numbers) &&
    typeof parsed.firstFactorRight === "boolean" && typeof parsed.hasToken === "boolean" &&
    typeof parsed.signed === "boolean" &&
    TEXTS.every((name) => typeof parsed[name] === "string") &&
    NUMBERS.every((name) => typeof parsed[name] === "number");
}

/** The fields of a record of an earlier version; `null` if `text` is not a record. The caller checks the place of the conversation. */
export function decodeTextRecord(text: string): ConversationRecord | null {
  let parsed: Record<string, unknown> | null;
  try {
    parsed = unpackRecord(JSON.parse(text));
  } catch (_notJson) {
    return null;
  }
  return isRecord(parsed) ? parsed as unknown as ConversationRecord : null;
}
