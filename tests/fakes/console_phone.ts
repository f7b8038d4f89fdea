// A fake of the embedded second-factor service for the phone page: one token and one user.

import type {
  DeviceService,
  PhonePairing,
  PhoneRefusal,
  PhoneRequest,
  PhoneResult,
} from "../../upstream/embedded/second_factor/interfaces.ts";

export const FAKE_TOKEN = "phone-token-of-the-fake";
export const FAKE_INVITATION = "invitation-of-the-fake";
export const FAKE_NUMBER = "47";
/** The seed of the test vectors of RFC 6238, Appendix B. */
const FAKE_SEED = new TextEncoder().encode("12345678901234567890");
const MINUTE_MS = 60_000;

const refuse = (reason: PhoneRefusal) => Promise.resolve({ ok: false, reason } as const);
const succeed = <T>(value: T): Promise<PhoneResult<T>> => Promise.resolve({ ok: true, value });

export class FakePhone implements DeviceService {
  readonly decided: { id: string; approve: boolean; number: string | null }[] = [];
  seedsIssued = 0;
  readonly #nowMs: () => number;
  readonly #listeners = new Set<() => void>();
  #isKnown = false;
  #name: string | null = null;
  #invitationUsed = false;
  #phrase: { text: string; deadlineMs: number } | null = null;
  #pairings: PhonePairing[] = [];
  #requests: PhoneRequest[] = [];

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  ask(request: PhoneRequest): void {
    this.#requests = [...this.#requests, request];
    this.#notify();
  }

  /** A login in which the user typed the phrase. */
  typePhrase(): void {
    this.#phrase = null;
    this.#pair("asks_approval");
  }

  /** The phone's name from the pairing; `null`: none. */
  named(): string | null {
    return this.#name;
  }

  startWithPhrase(_source: string) {
    this.#isKnown = true;
    return succeed({ token: FAKE_TOKEN, ...this.#makePhrase() });
  }

  newPhrase(token: string) {
    return this.#holds(token) ? succeed(this.#makePhrase()) : refuse("unknown_token");
  }

  viewInvitation(invitation: string) {
    const refusal = this.#invitationRefusal(invitation);
    if (refusal !== null) return refuse(refusal);
    const deadlineMs = this.#nowMs() + 24 * 60 * MINUTE_MS;
    return Promise.resolve({ ok: true, userName: "ada", requesterName: "Example VPN", deadlineMs } as const);
  }

  acceptInvitation(invitation: string, { name = null }: Parameters<DeviceService["acceptInvitation"]>[1]) {
    const refusal = this.#invitationRefusal(invitation);
    if (refusal !== null) return refuse(refusal);
    this.#invitationUsed = true;
    this.#name = name;
    this.#isKnown = true;
    this.#pair("enabled");
    return succeed({ token: FAKE_TOKEN, pairingId: "p1" });
  }

  view(token: string) {
    const shown = {
      nowMs: this.#nowMs(),
      phrase: this.#phrase,
      pairings: this.#pairings,
      requests: this.#requests,
    };
    return Promise.resolve(this.#holds(token) ? shown : null);
  }

  decidePairing(
    token: string,
    pairingId: string,
    { approve, name = null }: { approve: boolean; name?: string | null },
  ) {
    if (!this.#holds(token)) return refuse("unknown_token");
    if (!this.#pairings.some((one) => one.pairingId === pairingId)) return refuse("unknown_request");
    if (approve) {
      this.#name = name;
      this.#pair("enabled");
    } else {
      this.#pairings = [];
      this.#notify();
    }
    return succeed(null);
  }

  decide(...[token, requestId, decision]: Parameters<DeviceService["decide"]>) {
    if (!this.#holds(token)) return refuse("unknown_token");
    const request = this.#requests.find((one) => one.requestId === requestId);
    if (request === undefined) {
      return refuse(this.decided.some(({ id }) => id === requestId) ? "already_decided" : "unknown_request");
    }
    const number = decision.approve ? decision.number : null;
    this.decided.push({ id: requestId, approve: decision.approve, number });
    this.#requests = this.#requests.filter((one) => one !== request);
    this.#notify();
    const isWrong = decision.approve && request.asksNumber && number !== FAKE_NUMBER;
    return isWrong ? refuse("wrong_number") : succeed(null);
  }

  passcode(token: string) {
    if (!this.#holds(token)) return refuse("unknown_token");
    return succeed({ code: "492817", validUntilMs: this.#nowMs() + 24_000 });
  }

  issuePasscodeSeed(token: string) {
    if (!this.#holds(token)) return refuse("unknown_token");
    this.seedsIssued += 1;
    const seedMs = this.seedsIssued;
    this.#pairings = this.#pairings.map((pairing) => ({ ...pairing, seedMs }));
    return succeed({ seed: FAKE_SEED.slice(), digits: 6, stepMs: 30_000, seedMs });
  }

  unpair(token: string) {
    if (!this.#holds(token)) return refuse("unknown_token");
    this.#pairings = [];
    this.#isKnown = false;
    this.#notify();
    return succeed(null);
  }

  watch(_token: string, notify: () => void) {
    this.#listeners.add(notify);
    return () => void this.#listeners.delete(notify);
  }

  #notify(): void {
    for (const notify of this.#listeners) notify();
  }

  #holds(token: string): boolean {
    return this.#isKnown && token === FAKE_TOKEN;
  }

  #pair(status: PhonePairing["status"]): void {
    const createdMs = this.#nowMs();
    this.#pairings = [{ pairingId: "p1", userName: "ada", requesterName: "Example VPN", status, createdMs }];
    this.#notify();
  }

  #makePhrase() {
    const phrase = { text: "amber fox river stone", deadlineMs: this.#nowMs() + 10 * MINUTE_MS };
    this.#phrase = phrase;
    this.#notify();
    return { phrase: phrase.text, deadlineMs: phrase.deadlineMs };
  }

  #invitationRefusal(invitation: string): PhoneRefusal | null {
    if (invitation !== FAKE_INVITATION) return "unknown_invitation";
    return this.#invitationUsed ? "already_used" : null;
  }
}

/** A login that sends a request to the phone. */
export function phoneRequest(id: string, values: Partial<PhoneRequest> = {}): PhoneRequest {
  const createdMs = Date.now();
  return {
    requestId: id,
    userName: "ada",
    requesterName: "Example VPN",
    terminalName: "Company VPN",
    client: "vpn-1",
    place: "198.51.100.23",
    createdMs,
    deadlineMs: createdMs + MINUTE_MS,
    asksNumber: true,
    ...values,
  };
}
