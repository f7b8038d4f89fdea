// The embedded second-factor service as the phone page sees it: one token, one user, played by hand.

import type {
  DeviceService,
  PhonePairing,
  PhoneRefusal,
  PhoneRequest,
  PhoneResult,
} from "../../upstream/embedded/second_factor/interfaces.ts";

export interface FakePhone extends DeviceService {
  ask(request: PhoneRequest): void;
  /** A login typed the phrase. */
  typePhrase(): void;
  /** What the phone was called when it was paired; `null`: nothing. */
  named(): string | null;
  readonly decided: { id: string; approve: boolean; number: string | null }[];
}

export const FAKE_TOKEN = "phone-token-of-the-fake";
export const FAKE_INVITATION = "invitation-of-the-fake";
export const FAKE_NUMBER = "47";
const MINUTE_MS = 60_000;

export function createFakePhone(nowMs: () => number = Date.now): FakePhone {
  let known = false;
  let name: string | null = null;
  let invitationUsed = false;
  let phrase: { text: string; deadlineMs: number } | null = null;
  let pairings: PhonePairing[] = [];
  let requests: PhoneRequest[] = [];
  const listeners = new Set<() => void>();
  const decided: FakePhone["decided"] = [];
  const changed = () => listeners.forEach((notify) => notify());
  const no = (reason: PhoneRefusal) => Promise.resolve({ ok: false, reason } as const);
  const yes = <T>(value: T): Promise<PhoneResult<T>> => Promise.resolve({ ok: true, value });
  const holds = (token: string) => known && token === FAKE_TOKEN;
  const pair = (status: PhonePairing["status"]) => {
    pairings = [{
      pairingId: "p1",
      userName: "ada",
      requesterName: "Example VPN",
      status,
      createdMs: nowMs(),
    }];
  };
  const makePhrase = () => {
    phrase = { text: "amber fox river stone", deadlineMs: nowMs() + 10 * MINUTE_MS };
    changed();
    return { phrase: phrase.text, deadlineMs: phrase.deadlineMs };
  };
  return {
    decided,
    ask(request) {
      requests = [...requests, request];
      changed();
    },
    typePhrase() {
      phrase = null;
      pair("asks_approval");
      changed();
    },
    startWithPhrase() {
      known = true;
      return yes({ token: FAKE_TOKEN, ...makePhrase() });
    },
    newPhrase: (token) => holds(token) ? yes(makePhrase()) : no("unknown_token"),
    lookAtInvitation(invitation) {
      if (invitation !== FAKE_INVITATION) return no("unknown_invitation");
      if (invitationUsed) return no("already_used");
      return Promise.resolve({
        ok: true,
        userName: "ada",
        requesterName: "Example VPN",
        deadlineMs: nowMs() + 24 * 60 * MINUTE_MS,
      });
    },
    named: () => name,
    acceptInvitation(invitation, { name: given = null }) {
      if (invitation !== FAKE_INVITATION) return no("unknown_invitation");
      if (invitationUsed) return no("already_used");
      invitationUsed = true;
      name = given;
      known = true;
      pair("enabled");
      changed();
      return yes({ token: FAKE_TOKEN, pairingId: "p1" });
    },
    view: (token) => Promise.resolve(holds(token) ? { nowMs: nowMs(), phrase, pairings, requests } : null),
    decidePairing(token, pairingId, { approve, name: given = null }) {
      if (!holds(token)) return no("unknown_token");
      if (!pairings.some((one) => one.pairingId === pairingId)) return no("unknown_request");
      if (approve) name = given;
      if (approve) pair("enabled");
      else pairings = [];
      changed();
      return yes(null);
    },
    decide(token, requestId, decision) {
      if (!holds(token)) return no("unknown_token");
      const request = requests.find((one) => one.requestId === requestId);
      if (request === undefined) {
        return no(decided.some((one) => one.id === requestId) ? "already_decided" : "unknown_request");
      }
      const number = decision.approve ? decision.number : null;
      decided.push({ id: requestId, approve: decision.approve, number });
      requests = requests.filter((one) => one !== request);
      changed();
      return decision.approve && request.asksNumber && number !== FAKE_NUMBER
        ? no("wrong_number")
        : yes(null);
    },
    passcode: (token) =>
      holds(token) ? yes({ code: "492817", validUntilMs: nowMs() + 24_000 }) : no("unknown_token"),
    unpair(token) {
      if (!holds(token)) return no("unknown_token");
      pairings = [];
      known = false;
      changed();
      return yes(null);
    },
    watch(_token, notify) {
      listeners.add(notify);
      return () => void listeners.delete(notify);
    },
  };
}

/** A login that asks the phone. */
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
