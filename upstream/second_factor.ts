// The client of an external second-factor service: /v1/authentication_requests and /v1/pairings, signed with OAuth 1.0
// (RFC 5849).

import type { ApprovalRequest, DevicePairing, Outcome, SecondFactorService } from "../radius/ports.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import { failed, type HttpAnswer, type HttpCaller, malformed, maskDetail } from "./http/service_caller.ts";
import {
  authorizationHeader,
  createNonce,
  encodeForm,
  type FormParameters,
  percentEncode,
} from "./http/oauth1.ts";
import { parseDeviceLabel } from "../platform/device_label.ts";
import { asRecord, type JsonRecord } from "../platform/safe_json.ts";

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

// Parses the answers of the service. A member that a decision depends on must be present and have its type. Other members may be missing, and
// unknown ones are ignored.

const MAX_ID_CHARACTERS = 128;
const MAX_NAME_CHARACTERS = 256;
const MAX_TOTP_DIGITS = 10;

/** Whether an identifier is valid in a path: printable ASCII, and no dot segment, which a URL parser would resolve. */
export function isIdentifier(text: string): boolean {
  return text.length <= MAX_ID_CHARACTERS && /^[\x21-\x7e]+$/.test(text) && !/^\.+$/.test(text);
}

/**
 * An authentication request record.
 *
 * @param options.askedId the requested identifier; an answer for another one is a fault. `null` for a new one.
 * @param options.secrets texts that must not appear in `reason`.
 */
function parseApprovalRequest(
  body: JsonRecord,
  { askedId, secrets = [] }: { askedId: string | null; secrets?: readonly string[] },
): Outcome<ApprovalRequest> {
  const fields = createFieldReader(body);
  const id = fields.identifier("id", askedId);
  const pending = fields.boolean("pending");
  const granted = fields.boolean("granted");
  const cancelled = fields.boolean("cancelled", false);
  const reason = fields.text("reason");
  const reasonCode = fields.integer("reason_code");
  if (fields.flaw() !== null) return malformed(`an authentication request whose ${fields.flaw()}`);
  return {
    ok: true,
    // A record that is granted and cancelled at the same time grants nothing.
    value: {
      id,
      pending,
      granted: granted && !cancelled,
      cancelled,
      reason: maskDetail(reason, secrets),
      reasonCode,
    },
  };
}

/** A pairing record. `askedId` as in {@link parseApprovalRequest}. */
function parsePairing(
  body: JsonRecord,
  { askedId }: { askedId: string | null },
): Outcome<DevicePairing> {
  const fields = createFieldReader(body);
  const id = fields.identifier("id", askedId);
  const enabled = fields.boolean("enabled");
  const deactivated = fields.boolean("deactivated", false);
  const pending = fields.boolean("pending", !enabled && !deactivated);
  const totpLength = fields.integer("totp_length");
  const userName = readUserName(body);
  if (userName === null) return malformed("a pairing whose user has no name");
  if (fields.flaw() !== null) return malformed(`a pairing whose ${fields.flaw()}`);
  if (totpLength < 0 || totpLength > MAX_TOTP_DIGITS) return malformed("a pairing whose totp_length is odd");
  return {
    ok: true,
    value: {
      id,
      enabled: enabled && !deactivated,
      pending,
      deactivated,
      userName,
      totpLength,
      ...readDeviceName(body),
    },
  };
}

/** The name of the authenticator; a text that is not a valid phone name is left out, without an error. */
function readDeviceName(body: JsonRecord): { name?: string } {
  const given = asRecord(body.member("authenticator"))?.member("name");
  const name = typeof given === "string" ? parseDeviceLabel(given) : null;
  return name === null ? {} : { name };
}

function readUserName(body: JsonRecord): string | null {
  const name = asRecord(body.member("user"))?.member("name");
  return typeof name === "string" && name.length <= MAX_NAME_CHARACTERS ? name : null;
}

interface FieldReader {
  identifier(name: string, asked: string | null): string;
  boolean(name: string, absent?: boolean): boolean;
  /** Absent or null: empty. */
  text(name: string): string;
  /** Absent or null: 0. */
  integer(name: string): number;
  /** The first problem, as the end of a sentence, or `null`. */
  flaw(): string | null;
}

function createFieldReader(body: JsonRecord): FieldReader {
  let flaw: string | null = null;
  const wrong = <T>(what: string, fallback: T): T => {
    flaw ??= what;
    return fallback;
  };
  return {
    identifier(name, asked) {
      const value = body.member(name);
      if (typeof value !== "string" || !isIdentifier(value)) return wrong(`${name} is no identifier`, "");
      return asked === null || asked === value ? value : wrong(`${name} is not the one asked for`, "");
    },
    boolean(name, absent) {
      const value = body.member(name);
      if (value === undefined && absent !== undefined) return absent;
      return typeof value === "boolean" ? value : wrong(`${name} is no boolean`, false);
    },
    text(name) {
      const value = body.member(name) ?? "";
      return typeof value === "string" ? value : wrong(`${name} is no text`, "");
    },
    integer(name) {
      const value = body.member(name) ?? 0;
      return typeof value === "number" && Number.isSafeInteger(value)
        ? value
        : wrong(`${name} is no integer`, 0);
    },
    flaw: () => flaw,
  };
}
