// The HTTP interface of the embedded telephony outbox: Calls.json and Messages.json as the documents have them, with
// the provider's error bodies. It is called in-process and never mounted on a listener.

import { timingSafeEqual } from "node:crypto";
import { formatMailDate } from "./mail_date.ts";
import { fieldOf, jsonAnswer, readForm } from "./http_answers.ts";
import { markupOf, spokenDigits } from "./spoken_digits.ts";

type Form = readonly (readonly [string, string])[];

/** What the provider refuses: `code`, HTTP status, message. */
const ERRORS = {
  unauthorized: [20003, 401, "Authenticate"],
  not_found: [20404, 404, "The requested resource was not found"],
  bad_body: [20001, 400, "The body is not a form, or too long"],
  call_without_to: [21201, 400, "No 'To' number is specified"],
  call_without_from: [21213, 400, "No 'From' number is specified"],
  call_to_invalid: [13223, 400, "Invalid phone number format"],
  call_without_markup: [21205, 400, "No valid 'Url' or 'Twiml' is specified"],
  text_without_to: [21604, 400, "A 'To' phone number is required"],
  text_without_from: [21603, 400, "A 'From' phone number is required"],
  text_to_invalid: [21211, 400, "Invalid 'To' phone number"],
  text_without_body: [21602, 400, "A message body is required"],
  text_too_long: [21617, 400, "The message body exceeds 1600 characters"],
  broken: [20500, 500, "Internal server error"],
} as const satisfies Record<string, readonly [number, number, string]>;

function errorAnswer(name: keyof typeof ERRORS): Response {
  const [code, status, message] = ERRORS[name];
  return jsonAnswer(status, {
    code,
    message,
    more_info: `https://www.twilio.com/docs/errors/${code}`,
    status,
  });
}

/** A text or call that is taken. `text` is what the recipient reads, or the digits that they hear. */
export interface TakenMessage {
  readonly kind: "text" | "call";
  readonly to: string;
  readonly from: string;
  readonly text: string;
  /** How long it is of use; `null` when the sender did not say. */
  readonly validityMs: number | null;
}

export interface OutboxCredentials {
  readonly accountId: string;
  readonly authToken: string;
}

const NUMBER = /^\+[1-9]\d{7,14}$/;
const MAX_TEXT_CHARACTERS = 1600;
const MAX_MARKUP_CHARACTERS = 12_000;
const MAX_VALIDITY_SECONDS = 36_000;

/**
 * Serves one request; never rejects.
 *
 * @param deps.take keeps a message and gives its sid and time.
 * @param deps.onBug told what went wrong inside; the caller only sees a 500.
 */
export function createOutboxInterface(
  deps: {
    take: (message: TakenMessage) => Promise<{ sid: string; createdMs: number }>;
    onBug: (fault: unknown) => void;
  },
  credentials: OutboxCredentials,
): (request: Request) => Promise<Response> {
  const account = `/2010-04-01/Accounts/${credentials.accountId}`;
  const readers: ReadonlyMap<string, (form: Form) => TakenMessage | keyof typeof ERRORS> = new Map([
    [`POST ${account}/Calls.json`, readCall],
    [`POST ${account}/Messages.json`, readText],
  ]);

  const serve = async (request: Request): Promise<Response> => {
    if (!isAuthorized(request.headers.get("authorization"), credentials)) return errorAnswer("unauthorized");
    const read = readers.get(`${request.method} ${new URL(request.url).pathname}`);
    if (read === undefined) return errorAnswer("not_found");
    const form = await readForm(request);
    const message = form === null ? "bad_body" : read(form);
    if (typeof message === "string") return errorAnswer(message);
    const taken = await deps.take(message);
    return jsonAnswer(201, resourceOf(message, { ...taken, accountId: credentials.accountId }));
  };

  return async (request) => {
    try {
      return await serve(request);
    } catch (fault) {
      deps.onBug(fault);
      return errorAnswer("broken");
    }
  };
}

function isAuthorized(header: string | null, { accountId, authToken }: OutboxCredentials): boolean {
  const expected = new TextEncoder().encode(`Basic ${btoa(`${accountId}:${authToken}`)}`);
  const given = new TextEncoder().encode(header ?? "");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function readCall(form: Form): TakenMessage | keyof typeof ERRORS {
  const to = fieldOf(form, "To");
  const from = fieldOf(form, "From");
  if (to === null) return "call_without_to";
  if (!NUMBER.test(to)) return "call_to_invalid";
  if (from === null) return "call_without_from";
  const url = fieldOf(form, "Url", { maxCharacters: MAX_MARKUP_CHARACTERS });
  const twiml = fieldOf(form, "Twiml", { maxCharacters: MAX_MARKUP_CHARACTERS });
  const markup = markupOf({ url, twiml });
  if (markup === null) return "call_without_markup";
  return { kind: "call", to, from, text: spokenDigits(markup), validityMs: null };
}

function readText(form: Form): TakenMessage | keyof typeof ERRORS {
  const to = fieldOf(form, "To");
  const from = fieldOf(form, "From");
  if (to === null) return "text_without_to";
  if (!NUMBER.test(to)) return "text_to_invalid";
  if (from === null) return "text_without_from";
  const body = fieldOf(form, "Body", { maxCharacters: MAX_MARKUP_CHARACTERS });
  if (body === null) return "text_without_body";
  if (body.length > MAX_TEXT_CHARACTERS) return "text_too_long";
  return { kind: "text", to, from, text: body, validityMs: readValidityMs(form) };
}

function readValidityMs(form: Form): number | null {
  const text = fieldOf(form, "ValidityPeriod", { maxCharacters: 5 });
  if (text === null || !/^\d+$/.test(text)) return null;
  return Math.min(Math.max(Number(text), 1), MAX_VALIDITY_SECONDS) * 1000;
}

function resourceOf(
  message: TakenMessage,
  { sid, createdMs, accountId }: { sid: string; createdMs: number; accountId: string },
): Record<string, unknown> {
  const collection = message.kind === "call" ? "Calls" : "Messages";
  const common = {
    sid,
    account_sid: accountId,
    api_version: "2010-04-01",
    date_created: formatMailDate(createdMs),
    date_updated: formatMailDate(createdMs),
    direction: "outbound-api",
    from: message.from,
    to: message.to,
    status: "queued",
    price: null,
    price_unit: "USD",
    uri: `/2010-04-01/Accounts/${accountId}/${collection}/${sid}.json`,
  };
  if (message.kind === "call") return { ...common, queue_time: "0", subresource_uris: {} };
  // The body holds a passcode: the provider repeats it here, this outbox does not.
  return { ...common, num_segments: "1", num_media: "0", error_code: null, error_message: null };
}
