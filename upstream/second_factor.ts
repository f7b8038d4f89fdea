// The client of an external second-factor service: /v1/authentication_requests and /v1/pairings, signed with OAuth 1.0
// (RFC 5849).

import type { Outcome, SecondFactorService } from "../radius/ports.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import { failed, isIdentifier, parseApprovalRequest, parsePairing } from "./response_parsers.ts";
import type { HttpAnswer, HttpCaller } from "./http/service_caller.ts";
import {
  authorizationHeader,
  createNonce,
  encodeForm,
  type FormParameters,
  percentEncode,
} from "./http/oauth1.ts";

/** The address and the credentials of the service. The client adds `/v1/…` to `url`. */
interface SecondFactorSettings {
  readonly url: string;
  readonly consumerKey: string;
  readonly consumerSecret: string;
  /** Over one call: the wait for a connection, the request, the body. */
  readonly timeoutMs: number;
}

interface ServiceRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly form?: FormParameters;
  readonly secrets?: readonly string[];
}

/** @param deps.userAgent sent with every call, e.g. `Countersign/1.0`. */
export function createSecondFactorClient(
  deps: {
    caller: HttpCaller;
    settings: SecondFactorSettings;
    clock: Clock;
    random: Random;
    userAgent: string;
  },
): SecondFactorService {
  const { caller, settings } = deps;
  const base = withoutTrailingSlashes(settings.url);

  const send = (request: ServiceRequest): Promise<Outcome<HttpAnswer>> => {
    const { method, form = [], secrets = [] } = request;
    const url = `${base}/v1/${request.path}`;
    return caller.call({
      method,
      url,
      headers: () => headersOf(deps, { method, url, form }),
      ...(method === "POST" && { body: encodeForm(form) }),
      timeoutMs: settings.timeoutMs,
      readError: (body) => ({ code: body.member("error_code"), detail: body.member("error_message") }),
      secrets: [settings.consumerSecret, ...secrets],
    });
  };

  return {
    embedded: false,

    async initiate({ pairingId, terminalName }) {
      const answer = await send({
        method: "POST",
        path: "authentication_requests/initiate",
        form: [["pairing_id", pairingId], ["terminal_name", terminalName]],
      });
      return answer.ok ? parseApprovalRequest(answer.value.body, { askedId: null }) : answer;
    },

    async status(requestId) {
      if (!isIdentifier(requestId)) return notAnIdentifier();
      const path = `authentication_requests/${percentEncode(requestId)}`;
      const answer = await send({ method: "GET", path });
      return answer.ok ? parseApprovalRequest(answer.value.body, { askedId: requestId }) : answer;
    },

    async otpAuth(requestId, otp) {
      if (!isIdentifier(requestId)) return notAnIdentifier();
      const path = `authentication_requests/${percentEncode(requestId)}/otp_auth`;
      const answer = await send({ method: "POST", path, form: [["otp", otp]], secrets: [otp] });
      return answer.ok
        ? parseApprovalRequest(answer.value.body, { askedId: requestId, secrets: [otp] })
        : answer;
    },

    async createPairing({ phrase, userName }) {
      const answer = await send({
        method: "POST",
        path: "pairings/create",
        form: [["pairing_phrase", phrase], ["user_name", userName]],
        secrets: [phrase],
      });
      return answer.ok ? parsePairing(answer.value.body, { askedId: null }) : answer;
    },

    async pairing(pairingId) {
      if (!isIdentifier(pairingId)) return notAnIdentifier();
      const answer = await send({ method: "GET", path: `pairings/${percentEncode(pairingId)}` });
      return answer.ok ? parsePairing(answer.value.body, { askedId: pairingId }) : answer;
    },

    cancel: () => Promise.resolve(),
    onDecision: () => () => undefined,
  };
}

function withoutTrailingSlashes(url: string): string {
  let end = url.length;
  while (end > 0 && url[end - 1] === "/") end--;
  return url.slice(0, end);
}

function headersOf(
  { settings, clock, random, userAgent }: {
    settings: SecondFactorSettings;
    clock: Clock;
    random: Random;
    userAgent: string;
  },
  request: { method: "GET" | "POST"; url: string; form: FormParameters },
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

/** An identifier that no service issues: no request is sent, and the result is the one that the service would return. */
function notAnIdentifier<T>(): Outcome<T> {
  return failed({ kind: "unknown", code: 404, detail: "not an identifier" });
}
