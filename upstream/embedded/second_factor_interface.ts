// The HTTP interface of the embedded second-factor service, as the documents have it: signed calls in, records out.
// It is called in-process and never mounted on a listener.

import { CONTEXT_HEADER, decodeContext, NUMBER_HEADER } from "../approval_context.ts";
import { createOAuthVerifier, type OAuthKeys } from "../oauth1.ts";
import type { House } from "./house.ts";
import { fieldOf, jsonAnswer, readForm } from "./http_answers.ts";
import type { Pairings } from "./pairings.ts";
import type { PhraseBook } from "./phrase_book.ts";
import type { RecordWriter } from "./record_json.ts";
import type { Requests } from "./requests.ts";
import { CAPS, type RequestRow } from "./rows.ts";

type Form = readonly (readonly [string, string])[];

/** Errors of the interface: HTTP status, `error_code`, `error_message`. */
const ERRORS = {
  bad_request: [400, 400, "Bad Request"],
  unsigned: [401, 401, "Not a valid OAuth signed request"],
  not_found: [404, 404, "Not Found"],
  not_authorized: [409, 601, "This pairing has not been authorized to authenticate"],
  deactivated: [409, 707, "This pairing has been deactivated"],
  too_many: [429, 429, "Too Many Requests"],
  broken: [500, 500, "Internal Server Error"],
} as const satisfies Record<string, readonly [number, number, string]>;

function errorAnswer(name: keyof typeof ERRORS, headers: Record<string, string> = {}): Response {
  const [status, code, message] = ERRORS[name];
  return jsonAnswer(status, { error_message: message, error_code: code }, headers);
}

interface Parts {
  readonly requests: Requests;
  readonly pairings: Pairings;
  readonly phrases: PhraseBook;
  readonly records: RecordWriter;
  /** Told what went wrong inside; the caller only sees a 500. */
  readonly onBug: (fault: unknown) => void;
}

interface Call {
  readonly id: string;
  readonly form: Form;
  readonly headers: Headers;
}

/** Serves one request; never rejects. */
export function createSecondFactorInterface(
  house: House,
  parts: Parts,
  { keys }: { keys: OAuthKeys },
): (request: Request) => Promise<Response> {
  const verifier = createOAuthVerifier({ clock: house.clock, keys });
  const operations = createOperations(parts);

  const serve = async (request: Request): Promise<Response> => {
    const form = await readForm(request);
    if (form === null) return errorAnswer("bad_request");
    const signed = { method: request.method, url: request.url, form };
    if (!verifier.verify(signed, request.headers.get("authorization")).ok) return errorAnswer("unsigned");
    const found = match(request.method, new URL(request.url).pathname);
    if (found === null) return errorAnswer("not_found");
    return await operations[found.operation]({ id: found.id, form, headers: request.headers });
  };

  return async (request) => {
    try {
      return await serve(request);
    } catch (fault) {
      parts.onBug(fault);
      return errorAnswer("broken");
    }
  };
}

const ROUTES = [
  { method: "POST", path: "/v1/authentication_requests/initiate", operation: "initiate" },
  { method: "POST", path: "/v1/authentication_requests/:id/otp_auth", operation: "otpAuth" },
  { method: "GET", path: "/v1/authentication_requests/:id", operation: "status" },
  { method: "POST", path: "/v1/pairings/create", operation: "createPairing" },
  { method: "GET", path: "/v1/pairings/:id", operation: "pairing" },
] as const;

type Operation = (typeof ROUTES)[number]["operation"];

function match(method: string, pathname: string): { operation: Operation; id: string } | null {
  const asked = pathname.split("/");
  for (const route of ROUTES) {
    const parts = route.path.split("/");
    const fits = route.method === method && parts.length === asked.length &&
      parts.every((part, at) => part === ":id" || part === asked[at]);
    if (fits) return { operation: route.operation, id: asked[parts.indexOf(":id")] ?? "" };
  }
  return null;
}

function createOperations(
  { requests, pairings, phrases, records }: Parts,
): Record<Operation, (call: Call) => Response | Promise<Response>> {
  const requestAnswer = (row: RequestRow | undefined): Response => {
    const pairing = row && pairings.find(row.pairingId);
    if (row === undefined || pairing === undefined) return errorAnswer("not_found");
    const number = row.decision === null ? row.number : null;
    return jsonAnswer(
      200,
      records.request(row, pairing),
      number === null ? {} : { [NUMBER_HEADER]: number },
    );
  };

  return {
    async initiate({ form, headers }) {
      const pairingId = fieldOf(form, "pairing_id");
      const terminalName = fieldOf(form, "terminal_name", { maxCharacters: CAPS.nameCharacters });
      if (pairingId === null || terminalName === null) return errorAnswer("bad_request");
      const pairing = pairings.find(pairingId);
      if (pairing === undefined) return errorAnswer("not_found");
      if (pairing.state === "asks_approval") return errorAnswer("not_authorized");
      if (pairing.state !== "enabled") return errorAnswer("deactivated");
      const context = decodeContext(headers.get(CONTEXT_HEADER));
      const row = await requests.open(pairing, { terminalName, context });
      return row === null ? errorAnswer("too_many") : requestAnswer(row);
    },
    status: ({ id }) => requestAnswer(requests.find(id)),
    async otpAuth({ id, form }) {
      const otp = fieldOf(form, "otp", { maxCharacters: 16 });
      if (otp === null) return errorAnswer("bad_request");
      // A request that was decided before stays as it is, and its record says how.
      await requests.decideByPasscode(id, otp);
      return requestAnswer(requests.find(id));
    },
    async createPairing({ form }) {
      const phrase = fieldOf(form, "pairing_phrase");
      const userName = fieldOf(form, "user_name", { maxCharacters: CAPS.nameCharacters });
      if (phrase === null || userName === null) return errorAnswer("bad_request");
      const typed = await phrases.redeem(phrase, userName);
      if (typed.ok) return jsonAnswer(200, records.pairing(typed.pairing));
      if (typed.reason === "unknown") return errorAnswer("not_found");
      return errorAnswer("too_many", { "Retry-After": String(Math.ceil(typed.waitMs / 1000)) });
    },
    pairing({ id }) {
      const row = pairings.find(id);
      return row === undefined ? errorAnswer("not_found") : jsonAnswer(200, records.pairing(row));
    },
  };
}
