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
import { type FakePairing, type FakeRequest, pairingRecord, requestRecord } from "./second_factor_records.ts";

/** One request as it arrived. `authorized`: its OAuth signature is right and its nonce was new. */
export interface RecordedRequest extends RawRequest {
  readonly form: URLSearchParams;
  readonly authorized: boolean;
}

export interface FakeSecondFactorOptions {
  readonly consumerKey?: string;
  readonly consumerSecret?: string;
  /** Whether initiate accepts any pairing id, also an unknown one (default true). */
  readonly acceptAnyPairing?: boolean;
  /** The service's clock; without one, a signature of any time is accepted. */
  readonly nowMs?: () => number;
}

const JSON_HEADERS = {
  "Content-Type": "application/json; charset=utf-8",
  "Vary": "Authorization",
  // As in recorded traffic: the network in front of the service sets a cookie that a client must ignore.
  "Set-Cookie": "edge=abc; path=/; HttpOnly",
};

const NOT_FOUND = errorReply(404, { message: "Not Found" });

/** Starts on a free port of the loopback address. */
export function startFakeSecondFactor(options: FakeSecondFactorOptions = {}): Promise<FakeSecondFactor> {
  return Promise.resolve(new FakeSecondFactor(options));
}

/** The running fake. */
export class FakeSecondFactor {
  readonly url: string;
  readonly consumerKey: string;
  readonly consumerSecret: string;
  /** All requests, in order. */
  readonly requests: RecordedRequest[] = [];
  /** The connections below; see raw_http.ts. */
  readonly server: RawServer;
  readonly #acceptAnyPairing: boolean;
  readonly #checkSignature: ReturnType<typeof createSignatureChecker>;
  readonly #pairings = new Map<string, FakePairing>();
  readonly #initiated = new Map<string, FakeRequest>();
  readonly #phrases = new Set<string>();
  readonly #otps = new Map<string, string>();
  readonly #faults: (ServiceFault | undefined)[] = [];
  #permanentFault: ServiceFault | null = null;

  constructor(options: FakeSecondFactorOptions) {
    const { consumerKey = "test-key", consumerSecret = "test-secret", acceptAnyPairing = true } = options;
    this.consumerKey = consumerKey;
    this.consumerSecret = consumerSecret;
    this.#acceptAnyPairing = acceptAnyPairing;
    this.#checkSignature = createSignatureChecker({ ...options, consumerKey, consumerSecret });
    this.server = startRawServer((raw) => this.#handle(raw));
    this.url = this.server.url;
  }

  /** Adds a pairing (default enabled, six digits, a new id) for initiate, pairings/<id> and records. */
  pair(given: Partial<FakePairing> & { userName: string }): FakePairing {
    const base = {
      id: crypto.randomUUID(),
      enabled: true,
      pending: false,
      deactivated: false,
      totpLength: 6,
    };
    const pairing: FakePairing = { ...base, ...given };
    this.#pairings.set(pairing.id, pairing);
    return pairing;
  }

  /** Makes `phrase` valid once: pairings/create turns it into a pairing that is pending until it is changed. */
  offerPhrase(phrase: string): void {
    this.#phrases.add(phrase);
  }

  changePairing(id: string, change: Partial<FakePairing>): void {
    const pairing = this.#pairings.get(id);
    if (!pairing) throw new Error(`No pairing "${id}"`);
    this.#pairings.set(id, { ...pairing, ...change });
  }

  /** Decides (or decides again) a request, like the user of the phone. Throws for an unknown id. */
  decide(
    id: string,
    { granted, cancelled = false, reason = "" }: { granted: boolean; cancelled?: boolean; reason?: string },
  ): void {
    const request = this.#initiated.get(id);
    if (!request) throw new Error(`No authentication request "${id}"`);
    this.#initiated.set(id, { ...request, pending: false, granted, cancelled, reason });
  }

  /** The code that otp_auth accepts for a pairing; any other one denies the request. */
  setOtp(pairingId: string, otp: string): void {
    this.#otps.set(pairingId, otp);
  }

  /** The authentication requests so far, in order. */
  initiated(): readonly FakeRequest[] {
    return [...this.#initiated.values()];
  }

  /** The results of the next requests, one for each fault; `undefined` means no fault. */
  failNext(...faults: (ServiceFault | undefined)[]): void {
    this.#faults.push(...faults);
  }

  /** From now on every request has this fault; `null` ends it. */
  failAlways(fault: ServiceFault | null): void {
    this.#permanentFault = fault;
  }

  close(): Promise<void> {
    return this.server.close();
  }

  #handle(raw: RawRequest): Handling {
    const form = new URLSearchParams(raw.body);
    const arrived = { method: raw.method, url: this.url + raw.target, form };
    const authorized = this.#checkSignature(arrived, raw.headers.get("authorization")) === null;
    const request: RecordedRequest = { ...raw, form, authorized };
    this.requests.push(request);
    const fault = this.#faults.length > 0 ? this.#faults.shift() : this.#permanentFault ?? undefined;
    if (fault?.kind === "status") return { reply: statusReply(fault) };
    const reply = authorized
      ? this.#route(request)
      : errorReply(401, { message: "Not a valid OAuth signed request" });
    return fault?.kind === "wrong_id" ? { reply: underAnotherId(reply) } : { reply, fault };
  }

  #route({ method, target, form }: RecordedRequest): RawReply {
    const [, version, resource, id, action, ...rest] = target.split("/").map(decodeURIComponent);
    if (version !== "v1" || rest.length > 0 || id === undefined) return NOT_FOUND;
    switch (`${method} ${resource}${action === undefined ? "" : "/" + action}`) {
      case "POST authentication_requests":
        return id === "initiate" ? this.#initiate(form) : NOT_FOUND;
      case "GET authentication_requests":
        return this.#requestReply(id);
      case "POST authentication_requests/otp_auth":
        return this.#otpAuth(id, form);
      case "POST pairings":
        return id === "create" ? this.#createPairing(form) : NOT_FOUND;
      case "GET pairings": {
        const pairing = this.#pairings.get(id);
        return pairing ? jsonReply(pairingRecord(pairing)) : NOT_FOUND;
      }
      default:
        return NOT_FOUND;
    }
  }

  #initiate(form: URLSearchParams): RawReply {
    const pairingId = form.get("pairing_id");
    const terminalName = form.get("terminal_name");
    if (!pairingId || !terminalName) return errorReply(400, { message: "Missing parameter" });
    if (!this.#pairings.has(pairingId)) {
      if (!this.#acceptAnyPairing) return NOT_FOUND;
      this.pair({ id: pairingId, userName: "any" });
    }
    const pairing = this.#pairings.get(pairingId);
    if (pairing?.deactivated) return errorReply(409, { code: 707, message: "Pairing is deactivated" });
    if (!pairing?.enabled) {
      return errorReply(409, { code: 601, message: "This pairing has not been authorized to authenticate" });
    }
    const id = crypto.randomUUID();
    const undecided = { pending: true, granted: false, cancelled: false, reason: "" };
    const request: FakeRequest = { id, pairingId, terminalName, ...undecided };
    this.#initiated.set(id, request);
    return jsonReply(requestRecord(request, pairing));
  }

  #requestReply(id: string): RawReply {
    const request = this.#initiated.get(id);
    const pairing = this.#pairings.get(request?.pairingId ?? "");
    return request && pairing ? jsonReply(requestRecord(request, pairing)) : NOT_FOUND;
  }

  #otpAuth(id: string, form: URLSearchParams): RawReply {
    const request = this.#initiated.get(id);
    if (!request) return NOT_FOUND;
    if (request.pending) {
      const granted = this.#otps.get(request.pairingId) === form.get("otp");
      this.#initiated.set(id, { ...request, pending: false, granted, reason: granted ? "" : "wrong code" });
    }
    return this.#requestReply(id);
  }

  #createPairing(form: URLSearchParams): RawReply {
    const phrase = form.get("pairing_phrase") ?? "";
    const userName = form.get("user_name");
    if (!phrase || !userName) return errorReply(400, { message: "Missing parameter" });
    if (!this.#phrases.delete(phrase)) return errorReply(404, { message: "No such pairing phrase" });
    return jsonReply(pairingRecord(this.pair({ userName, enabled: false, pending: true })));
  }
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
