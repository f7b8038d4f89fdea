// The service of the phone page. A phone authenticates with its token, and sees and decides only its own pairings and
// requests.

import { decideApproval } from "./approval_decision.ts";
import type { SecondFactorContext } from "./context.ts";
import type {
  DeviceService,
  PersonDecision,
  PhoneOrigin,
  PhoneRequest,
  PhoneResult,
  PhoneView,
} from "./interfaces.ts";
import type { PairingInvitations } from "./invitations.ts";
import type { PairingEvents } from "./pairing_events.ts";
import { type PairingPhrases, phoneOfToken } from "./pairing_phrases.ts";
import { type DevicePairings, refusePhone } from "./pairings.ts";
import type { ApprovalRecord } from "./records.ts";
import type { ApprovalRequests } from "./requests.ts";

interface DeviceServiceParts {
  readonly requests: ApprovalRequests;
  readonly pairings: DevicePairings;
  readonly phrases: PairingPhrases;
  readonly invitations: PairingInvitations;
  readonly events: PairingEvents;
}

const MAX_TOKEN_CHARACTERS = 128;
const NO_ORIGIN: PhoneOrigin = { source: "" };

export class EmbeddedDeviceService implements DeviceService {
  readonly #context: SecondFactorContext;
  readonly #parts: DeviceServiceParts;

  constructor(context: SecondFactorContext, parts: DeviceServiceParts) {
    this.#context = context;
    this.#parts = parts;
  }

  async startWithPhrase(source: string) {
    const started = await this.#parts.phrases.startPhone(source);
    if (started === null) return refusePhone<never>("too_many_tries");
    const { token, phrase: { text, deadlineMs } } = started;
    return { ok: true, value: { token, phrase: text, deadlineMs } } as const;
  }

  newPhrase(token: string): Promise<PhoneResult<{ phrase: string; deadlineMs: number }>> {
    return this.#authenticated(token, async (phone) => {
      const shown = await this.#parts.phrases.renew(phone);
      if (shown === null) return refusePhone("too_many_tries");
      return { ok: true, value: { phrase: shown.text, deadlineMs: shown.deadlineMs } };
    });
  }

  lookAtInvitation(invitation: string, source: string) {
    return this.#parts.invitations.view(invitation, source);
  }

  async acceptInvitation(
    invitation: string,
    { token, source, browser = "", name = null }: Parameters<DeviceService["acceptInvitation"]>[1],
  ): Promise<PhoneResult<{ token: string; pairingId: string }>> {
    const { invitations, pairings, events } = this.#parts;
    const known = token !== null && this.#phoneOf(token) !== null ? token : null;
    const accepted = await invitations.accept(invitation, { token: known, source, name });
    if (!accepted.ok) return accepted;
    const { token: phoneToken, pairing } = accepted.value;
    try {
      if (!await events.paired(pairing, { source, browser })) {
        await pairings.end(pairing.id);
        return refusePhone("account_changed");
      }
    } catch (fault) {
      // The gateway does not know the pairing, so the pairing cannot be used.
      await pairings.end(pairing.id);
      throw new Error("Cannot pair the phone: the gateway did not store the pairing", { cause: fault });
    }
    return { ok: true, value: { token: phoneToken, pairingId: pairing.id } };
  }

  view(token: string): Promise<PhoneView | null> {
    const phone = this.#phoneOf(token);
    return Promise.resolve(phone === null ? null : this.#viewOf(phone));
  }

  decidePairing(
    token: string,
    pairingId: string,
    { approve, name = null, origin = NO_ORIGIN }: Parameters<DeviceService["decidePairing"]>[2],
  ): Promise<PhoneResult<null>> {
    return this.#authenticated(
      token,
      (phone) => this.#parts.pairings.decide(phone, pairingId, { approve, name, origin }),
    );
  }

  decide(token: string, requestId: string, decision: PersonDecision): Promise<PhoneResult<null>> {
    const { requests, pairings } = this.#parts;
    return this.#authenticated(token, async (phone) => {
      const request = requests.find(requestId);
      if (request === undefined || pairings.find(request.pairingId)?.phone !== phone) {
        return refusePhone("unknown_request");
      }
      return await decideApproval(requests, request, { decision });
    });
  }

  passcode(token: string, pairingId: string) {
    return this.#authenticated(token, (phone) => this.#parts.pairings.passcode(phone, pairingId));
  }

  unpair(token: string, pairingId: string, origin = NO_ORIGIN): Promise<PhoneResult<null>> {
    const { pairings, events } = this.#parts;
    return this.#authenticated(token, async (phone) => {
      if (pairings.find(pairingId)?.phone !== phone) return refusePhone("unknown_request");
      const ended = await pairings.end(pairingId);
      if (ended === null) return refusePhone("already_decided");
      await events.unpaired(ended, origin);
      return { ok: true, value: null };
    });
  }

  watch(token: string, notify: () => void): () => void {
    const phone = this.#phoneOf(token);
    return phone === null ? () => undefined : this.#context.phoneEvents.on(phone, notify);
  }

  /** The digest of a valid token. */
  #phoneOf(token: string): string | null {
    if (token.length > MAX_TOKEN_CHARACTERS) return null;
    const phone = phoneOfToken(this.#context, token);
    const record = this.#context.tables.phones.get(phone);
    const isValid = record !== undefined && (record.deadlineMs ?? Infinity) > this.#context.clock.nowMs();
    return isValid ? phone : null;
  }

  async #authenticated<T>(
    token: string,
    use: (phone: string) => PhoneResult<T> | Promise<PhoneResult<T>>,
  ): Promise<PhoneResult<T>> {
    const phone = this.#phoneOf(token);
    return phone === null ? refusePhone("unknown_token") : await use(phone);
  }

  #viewOf(phone: string): PhoneView {
    const { requests, pairings, phrases } = this.#parts;
    const { clock, settings: { requesterName } } = this.#context;
    const own = pairings.ofPhone(phone);
    return {
      nowMs: clock.nowMs(),
      phrase: phrases.shown(phone),
      pairings: own.map(({ id, userName, state, createdMs }) => ({
        pairingId: id,
        userName,
        requesterName,
        status: state === "enabled" ? "enabled" : "asks_approval",
        createdMs,
      })),
      requests: own.flatMap(({ id }) => requests.waitingFor(id)).map((request) => this.#requestView(request)),
    };
  }

  #requestView(request: ApprovalRecord): PhoneRequest {
    const { id, userName, terminalName, client, place, createdMs, deadlineMs, number } = request;
    return {
      requestId: id,
      userName,
      requesterName: this.#context.settings.requesterName,
      terminalName,
      client,
      place,
      createdMs,
      deadlineMs,
      asksNumber: number !== null,
    };
  }
}
