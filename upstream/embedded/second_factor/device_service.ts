// The service of the phone page. A phone authenticates with its token, and sees and decides only its own pairings and
// requests.

import type { SecondFactorContext } from "./context.ts";
import type {
  DecideOptions,
  DeviceService,
  PersonDecision,
  PhoneOrigin,
  PhoneResult,
  PhoneView,
  SecondFactorAdmin,
} from "./interfaces.ts";
import type { PairingInvitations } from "./invitations.ts";
import { type DevicePairings, findPhone, type PairingPhrases } from "./pairings.ts";
import { type PairingRecord, PASSCODE_DIGITS, phoneRequest, refusePhone } from "./records.ts";
import type { ApprovalRequests } from "./requests.ts";

interface DeviceServiceParts {
  readonly requests: ApprovalRequests;
  readonly pairings: DevicePairings;
  readonly phrases: PairingPhrases;
  readonly invitations: PairingInvitations;
  readonly events: PairingEvents;
}

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

  viewInvitation(invitation: string, source: string) {
    return this.#parts.invitations.view(invitation, source);
  }

  async acceptInvitation(
    invitation: string,
    { token, source, browser = "", name = null }: Parameters<DeviceService["acceptInvitation"]>[1],
  ): Promise<PhoneResult<{ token: string; pairingId: string }>> {
    const { invitations, pairings, events } = this.#parts;
    const known = token !== null && findPhone(this.#context, token) !== null ? token : null;
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
    const phone = findPhone(this.#context, token);
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

  decide(
    token: string,
    requestId: string,
    decision: PersonDecision,
    { also = () => [], isNotified = false }: DecideOptions & { isNotified?: boolean } = {},
  ): Promise<PhoneResult<null>> {
    const { requests, pairings } = this.#parts;
    return this.#authenticated(token, async (phone) => {
      const request = requests.find(requestId);
      if (request === undefined || pairings.find(request.pairingId)?.phone !== phone) {
        return refusePhone("unknown_request");
      }
      return await requests.decideAsPerson(request, {
        decision,
        isNotified,
        also: also(phoneRequest(request, this.#context.settings.requesterName)),
      });
    });
  }

  passcode(token: string, pairingId: string) {
    return this.#authenticated(token, (phone) => this.#parts.pairings.passcode(phone, pairingId));
  }

  issuePasscodeSeed(token: string, pairingId: string, origin = NO_ORIGIN) {
    return this.#authenticated(
      token,
      (phone) => this.#parts.pairings.issueSeed(phone, pairingId, origin),
    );
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
    const phone = findPhone(this.#context, token);
    return phone === null ? () => undefined : this.#context.phoneEvents.on(phone, notify);
  }

  async #authenticated<T>(
    token: string,
    use: (phone: string) => PhoneResult<T> | Promise<PhoneResult<T>>,
  ): Promise<PhoneResult<T>> {
    const phone = findPhone(this.#context, token);
    return phone === null ? refusePhone("unknown_token") : await use(phone);
  }

  #viewOf(phone: string): PhoneView {
    const { requests, pairings, phrases } = this.#parts;
    const { clock, settings: { requesterName } } = this.#context;
    const own = pairings.ofPhone(phone);
    return {
      nowMs: clock.nowMs(),
      phrase: phrases.shown(phone),
      pairings: own.map(({ id, userName, state, createdMs, seedMs }) => ({
        pairingId: id,
        userName,
        requesterName,
        status: state === "enabled" ? "enabled" : "asks_approval",
        createdMs,
        ...(seedMs === undefined ? {} : { seedMs }),
      })),
      requests: own.flatMap(({ id }) => requests.waitingFor(id)).map((request) =>
        phoneRequest(request, requesterName)
      ),
    };
  }
}

type OnPaired = Parameters<SecondFactorAdmin["onPaired"]>[0];
type OnUnpaired = Parameters<SecondFactorAdmin["onUnpaired"]>[0];

export class PairingEvents {
  readonly #onPaired = new Set<OnPaired>();
  readonly #onUnpaired = new Set<OnUnpaired>();

  /** Resolves to whether the pairing may stay. */
  async paired(pairing: PairingRecord, origin: PhoneOrigin): Promise<boolean> {
    const { id, userName, recordId, name, addedBy } = pairing;
    const reported = {
      pairingId: id,
      userName,
      recordId,
      totpLength: PASSCODE_DIGITS,
      ...origin,
      ...(name === undefined ? {} : { name }),
      ...(addedBy === undefined ? {} : { addedBy }),
    };
    for (const notify of this.#onPaired) if (!await notify(reported)) return false;
    return true;
  }

  async unpaired({ id, userName }: PairingRecord, origin: PhoneOrigin): Promise<void> {
    for (const notify of this.#onUnpaired) await notify({ pairingId: id, userName }, origin);
  }

  onPaired(notify: OnPaired): () => void {
    this.#onPaired.add(notify);
    return () => this.#onPaired.delete(notify);
  }

  onUnpaired(notify: OnUnpaired): () => void {
    this.#onUnpaired.add(notify);
    return () => this.#onUnpaired.delete(notify);
  }
}
