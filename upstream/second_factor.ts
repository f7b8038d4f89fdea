// The second-factor service over HTTP: /v1/authentication_requests and /v1/pairings, signed with OAuth 1.0. The same
// client speaks to an external service and to the embedded one.

import type { ApprovalRequest, Outcome, SecondFactorService } from "../radius/doing/ports.ts";
import type { Clock, Random } from "../runtime.ts";
import { CONTEXT_HEADER, encodeContext, readNumberToMatch } from "./approval_context.ts";
import { failed } from "./faults.ts";
import type { HttpAnswer, HttpCaller } from "./http.ts";
import { authorizationHeader, createNonce } from "./oauth1.ts";
import { encodeForm, type Parameters, percentEncode } from "./percent_encoding.ts";
import { isIdentifier, readApprovalRequest, readPairing } from "./records.ts";

/** Where the service is and how to sign for it. The client adds `/v1/…` to `url`. */
export interface SecondFactorSettings {
  readonly url: string;
  readonly consumerKey: string;
  readonly consumerSecret: string;
  /** Over one call: the wait for a connection, the request, the body. */
  readonly timeoutMs: number;
}

/** What the embedded service can do beyond the HTTP interface. */
export interface EmbeddedLink {
  /** The request becomes cancelled, unless it was decided. Never rejects. */
  cancel(requestId: string): Promise<void>;
  /** Calls back at most once, when the request is no longer pending. Returns what stops it. */
  onDecision(requestId: string, notify: () => void): () => void;
  /** Why a request was not granted; `undefined` while it is pending, when it was granted, or when it is unknown. */
  denialOf(requestId: string): ApprovalRequest["denial"];
  /** The same when the login of the request expires: then a pending request expired. */
  denialOnExpiry(requestId: string): ApprovalRequest["denial"];
}

interface ServiceRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly form?: Parameters;
  readonly headers?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
}

/**
 * @param deps.embedded `null` for an external service: then nothing but the documented interface is used.
 * @param deps.userAgent sent with every call, e.g. `Countersign/1.0`.
 */
export function createSecondFactorClient(
  deps: {
    caller: HttpCaller;
    settings: SecondFactorSettings;
    clock: Clock;
    random: Random;
    userAgent: string;
    embedded: EmbeddedLink | null;
  },
): SecondFactorService {
  const { caller, settings, embedded } = deps;
  const base = withoutTrailingSlashes(settings.url);

  const send = (request: ServiceRequest): Promise<Outcome<HttpAnswer>> => {
    const { method, form = [], secrets = [] } = request;
    const url = `${base}/v1/${request.path}`;
    return caller.call({
      method,
      url,
      headers: () => ({ ...commonHeaders(deps, { method, url, form }), ...request.headers }),
      ...(method === "POST" && { body: encodeForm(form) }),
      timeoutMs: settings.timeoutMs,
      readError: (body) => ({ code: body.member("error_code"), detail: body.member("error_message") }),
      secrets: [settings.consumerSecret, ...secrets],
    });
  };

  return {
    embedded: embedded !== null,

    async initiate({ pairingId, terminalName, context }) {
      const answer = await send({
        method: "POST",
        path: "authentication_requests/initiate",
        form: [["pairing_id", pairingId], ["terminal_name", terminalName]],
        headers: embedded === null ? {} : { [CONTEXT_HEADER]: encodeContext(context) },
      });
      return readRequest(answer, { askedId: null, withNumber: embedded !== null });
    },

    async status(requestId) {
      if (!isIdentifier(requestId)) return unsendable();
      const path = `authentication_requests/${percentEncode(requestId)}`;
      const answer = await send({ method: "GET", path });
      return withDenial(readRequest(answer, { askedId: requestId, withNumber: embedded !== null }), embedded);
    },

    async otpAuth(requestId, otp) {
      if (!isIdentifier(requestId)) return unsendable();
      const path = `authentication_requests/${percentEncode(requestId)}/otp_auth`;
      const answer = await send({ method: "POST", path, form: [["otp", otp]], secrets: [otp] });
      return withDenial(
        readRequest(answer, { askedId: requestId, withNumber: false, secrets: [otp] }),
        embedded,
      );
    },

    async createPairing({ phrase, userName }) {
      const answer = await send({
        method: "POST",
        path: "pairings/create",
        form: [["pairing_phrase", phrase], ["user_name", userName]],
        secrets: [phrase],
      });
      return answer.ok ? readPairing(answer.value.body, { askedId: null }) : answer;
    },

    async pairing(pairingId) {
      if (!isIdentifier(pairingId)) return unsendable();
      const answer = await send({ method: "GET", path: `pairings/${percentEncode(pairingId)}` });
      return answer.ok ? readPairing(answer.value.body, { askedId: pairingId }) : answer;
    },

    cancel: (requestId) => embedded?.cancel(requestId) ?? Promise.resolve(),
    onDecision: (requestId, notify) => embedded?.onDecision(requestId, notify) ?? (() => undefined),
    denialOnExpiry: (requestId) => embedded?.denialOnExpiry(requestId),
  };
}

function withoutTrailingSlashes(url: string): string {
  let end = url.length;
  while (end > 0 && url[end - 1] === "/") end--;
  return url.slice(0, end);
}

function commonHeaders(
  { settings, clock, random, userAgent }: {
    settings: SecondFactorSettings;
    clock: Clock;
    random: Random;
    userAgent: string;
  },
  request: { method: "GET" | "POST"; url: string; form: Parameters },
): Record<string, string> {
  const headers: Record<string, string> = {
    "Accept": "application/json",
    "User-Agent": userAgent,
    "Authorization": authorizationHeader(request, {
      keys: settings,
      timestampSeconds: clock.nowMs() / 1000,
      nonce: createNonce(random),
    }),
  };
  if (request.method === "POST") headers["Content-Type"] = "application/x-www-form-urlencoded";
  return headers;
}

function readRequest(
  answer: Outcome<HttpAnswer>,
  options: { askedId: string | null; withNumber: boolean; secrets?: readonly string[] },
): Outcome<ApprovalRequest> {
  if (!answer.ok) return answer;
  const read = readApprovalRequest(answer.value.body, options);
  const numberToMatch = options.withNumber ? readNumberToMatch(answer.value.headers) : undefined;
  return read.ok && numberToMatch !== undefined
    ? { ok: true, value: { ...read.value, numberToMatch } }
    : read;
}

/** Adds why the embedded service did not grant the request. */
function withDenial(read: Outcome<ApprovalRequest>, embedded: EmbeddedLink | null): Outcome<ApprovalRequest> {
  if (!read.ok || embedded === null) return read;
  const denial = embedded.denialOf(read.value.id);
  return denial === undefined ? read : { ok: true, value: { ...read.value, denial } };
}

/** An identifier that no service issues: no request is sent, and the result is the one that the service would return. */
function unsendable<T>(): Outcome<T> {
  return failed({ kind: "unknown", code: 404, detail: "not an identifier" });
}
