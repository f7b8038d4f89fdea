// A second-factor service for tests: the documented records over real HTTP, OAuth signatures checked, every request
// recorded, and any fault on demand.

import { createSignatureChecker } from "./oauth1_checker.ts";
import {
  type Handling,
  type RawReply,
  type RawRequest,
  type RawServer,
  type ServiceFault,
  startRawServer,
} from "./raw_http.ts";

/** One request as it arrived. `authorized`: its OAuth signature is right and its nonce was new. */
export interface RecordedRequest extends RawRequest {
  readonly form: URLSearchParams;
  readonly authorized: boolean;
}

/** A pairing as the fake keeps it; change it with {@link FakeSecondFactor.changePairing}. */
export interface FakePairing {
  readonly id: string;
  readonly userName: string;
  readonly enabled: boolean;
  readonly pending: boolean;
  readonly deactivated: boolean;
  readonly totpLength: number;
}

/** An authentication request as the fake keeps it. */
export interface FakeRequest {
  readonly id: string;
  readonly pairingId: string;
  readonly terminalName: string;
  readonly pending: boolean;
  readonly granted: boolean;
  readonly cancelled: boolean;
  readonly reason: string;
}

/** The running fake. */
export interface FakeSecondFactor {
  readonly url: string;
  readonly consumerKey: string;
  readonly consumerSecret: string;
  /** Everything that arrived, in order. */
  readonly requests: readonly RecordedRequest[];
  /** The connections below; see raw_http.ts. */
  readonly server: RawServer;
  /** Adds a pairing (default enabled, six digits, a new id) that initiate, pairings/<id> and records then know. */
  pair(pairing: Partial<FakePairing> & { userName: string }): FakePairing;
  /** Makes `phrase` good once: pairings/create turns it into a pairing that is pending until it is changed. */
  offerPhrase(phrase: string): void;
  changePairing(id: string, change: Partial<FakePairing>): void;
  /** Decides (or re-decides) a request, as the person with the phone does. Throws for an unknown id. */
  decide(id: string, decision: { granted: boolean; cancelled?: boolean; reason?: string }): void;
  /** The code that otp_auth takes for a pairing; any other one denies the request. */
  setOtp(pairingId: string, otp: string): void;
  /** The authentication requests so far, in order. */
  initiated(): readonly FakeRequest[];
  /** The next request, or as many as there are faults, end so; `undefined` leaves one alone. */
  failNext(...faults: (ServiceFault | undefined)[]): void;
  /** From now on every request ends so; `null` heals. */
  failAlways(fault: ServiceFault | null): void;
  close(): Promise<void>;
}

export interface FakeSecondFactorOptions {
  readonly consumerKey?: string;
  readonly consumerSecret?: string;
  /** Whether initiate takes any pairing id, also one that was never paired (default true). */
  readonly acceptAnyPairing?: boolean;
  /** The service's clock; without one, a signature of any time is accepted. */
  readonly nowMs?: () => number;
}

const JSON_HEADERS = {
  "Content-Type": "application/json; charset=utf-8",
  "Vary": "Authorization",
  // Seen in recorded traffic: the network in front of the service sets a cookie that a client must not care about.
  "Set-Cookie": "edge=abc; path=/; HttpOnly",
};

/** Starts on a free port of the loopback address. */
export function startFakeSecondFactor(options: FakeSecondFactorOptions = {}): Promise<FakeSecondFactor> {
  const { consumerKey = "test-key", consumerSecret = "test-secret", acceptAnyPairing = true } = options;
  const requests: RecordedRequest[] = [];
  const pairings = new Map<string, FakePairing>();
  const asked = new Map<string, FakeRequest>();
  const phrases = new Set<string>();
  const otps = new Map<string, string>();
  const checkSignature = createSignatureChecker({ ...options, consumerKey, consumerSecret });
  const faults: (ServiceFault | undefined)[] = [];
  let permanent: ServiceFault | null = null;

  const pair: FakeSecondFactor["pair"] = (given) => {
    const pairing: FakePairing = {
      id: crypto.randomUUID(),
      enabled: true,
      pending: false,
      deactivated: false,
      totpLength: 6,
      ...given,
    };
    pairings.set(pairing.id, pairing);
    return pairing;
  };

  const initiate = (form: URLSearchParams): RawReply => {
    const pairingId = form.get("pairing_id");
    const terminalName = form.get("terminal_name");
    if (!pairingId || !terminalName) return errorReply(400, { message: "Missing parameter" });
    if (!pairings.has(pairingId)) {
      if (!acceptAnyPairing) return errorReply(404, { message: "Not Found" });
      pair({ id: pairingId, userName: "somebody" });
    }
    const pairing = pairings.get(pairingId);
    if (pairing?.deactivated) return errorReply(409, { code: 707, message: "Pairing is deactivated" });
    if (!pairing?.enabled) {
      return errorReply(409, { code: 601, message: "This pairing has not been authorized to authenticate" });
    }
    const request: FakeRequest = {
      id: crypto.randomUUID(),
      pairingId,
      terminalName,
      pending: true,
      granted: false,
      cancelled: false,
      reason: "",
    };
    asked.set(request.id, request);
    return jsonReply(requestRecord(request, pairing));
  };

  const requestReply = (id: string): RawReply => {
    const request = asked.get(id);
    const pairing = pairings.get(request?.pairingId ?? "");
    if (!request || !pairing) return errorReply(404, { message: "Not Found" });
    return jsonReply(requestRecord(request, pairing));
  };

  const otpAuth = (id: string, form: URLSearchParams): RawReply => {
    const request = asked.get(id);
    if (!request) return errorReply(404, { message: "Not Found" });
    if (request.pending) {
      const right = otps.get(request.pairingId) === form.get("otp");
      asked.set(id, { ...request, pending: false, granted: right, reason: right ? "" : "wrong code" });
    }
    return requestReply(id);
  };

  const createPairing = (form: URLSearchParams): RawReply => {
    const phrase = form.get("pairing_phrase") ?? "";
    const userName = form.get("user_name");
    if (!phrase || !userName) return errorReply(400, { message: "Missing parameter" });
    if (!phrases.delete(phrase)) return errorReply(404, { message: "No such pairing phrase" });
    return jsonReply(pairingRecord(pair({ userName, enabled: false, pending: true })));
  };

  const pairingReply = (id: string): RawReply => {
    const pairing = pairings.get(id);
    return pairing ? jsonReply(pairingRecord(pairing)) : errorReply(404, { message: "Not Found" });
  };

  const route = ({ method, target, form }: RecordedRequest): RawReply => {
    const [, version, resource, id, action, ...rest] = target.split("/").map(decodeURIComponent);
    if (version !== "v1" || rest.length > 0 || id === undefined) {
      return errorReply(404, { message: "Not Found" });
    }
    switch (`${method} ${resource}${action === undefined ? "" : "/" + action}`) {
      case "POST authentication_requests":
        return id === "initiate" ? initiate(form) : errorReply(404, { message: "Not Found" });
      case "GET authentication_requests":
        return requestReply(id);
      case "POST authentication_requests/otp_auth":
        return otpAuth(id, form);
      case "POST pairings":
        return id === "create" ? createPairing(form) : errorReply(404, { message: "Not Found" });
      case "GET pairings":
        return pairingReply(id);
      default:
        return errorReply(404, { message: "Not Found" });
    }
  };

  const handle = (raw: RawRequest): Handling => {
    const form = new URLSearchParams(raw.body);
    const arrived = { method: raw.method, url: server.url + raw.target, form };
    const authorized = checkSignature(arrived, raw.headers.get("authorization")) === null;
    const request: RecordedRequest = { ...raw, form, authorized };
    requests.push(request);
    const fault = faults.length > 0 ? faults.shift() : permanent ?? undefined;
    if (fault?.kind === "status") return { reply: statusReply(fault) };
    const reply = authorized
      ? route(request)
      : errorReply(401, { message: "Not a valid OAuth signed request" });
    return fault?.kind === "wrong_id" ? { reply: underAnotherId(reply) } : { reply, fault };
  };
  const server = startRawServer(handle);

  return Promise.resolve({
    url: server.url,
    consumerKey,
    consumerSecret,
    requests,
    server,
    pair,
    offerPhrase: (phrase) => void phrases.add(phrase),
    changePairing(id, change) {
      const pairing = pairings.get(id);
      if (!pairing) throw new Error(`No pairing "${id}"`);
      pairings.set(id, { ...pairing, ...change });
    },
    decide(id, { granted, cancelled = false, reason = "" }) {
      const request = asked.get(id);
      if (!request) throw new Error(`No authentication request "${id}"`);
      asked.set(id, { ...request, pending: false, granted, cancelled, reason });
    },
    setOtp: (pairingId, otp) => void otps.set(pairingId, otp),
    initiated: () => [...asked.values()],
    failNext: (...next) => void faults.push(...next),
    failAlways: (fault) => permanent = fault,
    close: () => server.close(),
  });
}

function jsonReply(record: unknown): RawReply {
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify(record, null, 4) };
}

function errorReply(
  status: number,
  { code = status, message }: { code?: number; message: string },
): RawReply {
  return {
    status,
    headers: JSON_HEADERS,
    body: JSON.stringify({ error_code: code, error_message: message }),
  };
}

function statusReply({ status, headers, body }: ServiceFault & { kind: "status" }): RawReply {
  const reply = errorReply(status, { message: `Fault ${status}` });
  return { status, headers: { ...reply.headers, ...headers }, body: body ?? reply.body };
}

function underAnotherId(reply: RawReply): RawReply {
  return {
    ...reply,
    body: JSON.stringify({ ...JSON.parse(reply.body), id: "00000000-0000-4000-8000-00000000dead" }),
  };
}

const STAMP = { created: "2014-10-29 20:11:52", modified: "2014-10-29 20:11:52" };

function requesterRecord() {
  return {
    ...STAMP,
    consumer: { key: "test-key" },
    id: "0bd0e1b5-3a5a-4b3a-9d4f-000000000001",
    name: "Fake requester",
  };
}

function userRecord(name: string) {
  return { ...STAMP, requester: requesterRecord(), id: "0bd0e1b5-3a5a-4b3a-9d4f-000000000002", name };
}

function authenticatorRecord() {
  return {
    ...STAMP,
    consumer: { key: "phone-key" },
    id: "0bd0e1b5-3a5a-4b3a-9d4f-000000000003",
    name: "Fake phone",
  };
}

function pairingRecord(pairing: FakePairing) {
  return {
    authenticator_type: "c2dm",
    totp_length: pairing.totpLength,
    ...STAMP,
    created_seconds_since_epoch: 1414613512,
    deactivated: pairing.deactivated,
    enabled: pairing.enabled,
    pending: pairing.pending,
    handleable: true,
    reason: "",
    reason_code: 0,
    minimum_version: 0,
    authenticator: authenticatorRecord(),
    id: pairing.id,
    user: userRecord(pairing.userName),
  };
}

function requestRecord(request: FakeRequest, pairing: FakePairing) {
  return {
    id: request.id,
    ...STAMP,
    created_seconds_since_epoch: 1414613512,
    granted: request.granted,
    pending: request.pending,
    cancelled: request.cancelled,
    automated: false,
    automation_requested: false,
    automation_allowed: true,
    challenge_required: false,
    handleable: true,
    totp_valid: false,
    reason: request.reason,
    reason_code: 0,
    minimum_version: 0,
    terminal: {
      ...STAMP,
      id: "0bd0e1b5-3a5a-4b3a-9d4f-000000000004",
      name: request.terminalName,
      name_extra: "",
      user: userRecord(pairing.userName),
    },
    pairing: pairingRecord(pairing),
    authenticator: authenticatorRecord(),
    action: {
      ...STAMP,
      requester: requesterRecord(),
      id: "0bd0e1b5-3a5a-4b3a-9d4f-000000000005",
      name: "log in",
    },
  };
}
