// The second-factor service that the settings name now. A change of the settings does not lose requests in progress: each is answered by
// the service that it was sent to.

import { NO_CHANGE } from "../platform/write_batch.ts";
import type { SecondFactorService } from "../radius/ports.ts";
import type { EmbeddedSecondFactor } from "./embedded/second_factor/second_factor.ts";

/** A client of an external service. */
export interface ExternalSecondFactor {
  readonly service: SecondFactorService;
  close(): Promise<void>;
}

/** Requests whose service is remembered. The oldest are forgotten first; the service of the settings then answers. */
const MAX_REQUESTS = 20_000;

export class SwitchableSecondFactor {
  readonly service: SecondFactorService;
  readonly #embedded: EmbeddedSecondFactor;
  readonly #sentTo = new Map<string, SecondFactorService>();
  #external: ExternalSecondFactor | null = null;

  constructor(embedded: EmbeddedSecondFactor) {
    this.#embedded = embedded;
    this.service = this.#createService();
  }

  get isEmbedded(): boolean {
    return this.#external === null;
  }

  /** Sends new requests to `external`; `null`: to the embedded service. Returns the external service before. */
  use(external: ExternalSecondFactor | null): ExternalSecondFactor | null {
    const before = this.#external;
    this.#external = external;
    return before;
  }

  get #current(): SecondFactorService {
    return this.#external?.service ?? this.#embedded.service;
  }

  #serviceOf(requestId: string): SecondFactorService {
    const known = this.#sentTo.get(requestId);
    if (known !== undefined) return known;
    return this.#embedded.admin.request(requestId) === null ? this.#current : this.#embedded.service;
  }

  #remember(requestId: string, service: SecondFactorService): void {
    // The embedded service knows its requests.
    if (service.embedded) return;
    const [oldest] = this.#sentTo.keys();
    if (this.#sentTo.size >= MAX_REQUESTS && oldest !== undefined) this.#sentTo.delete(oldest);
    this.#sentTo.set(requestId, service);
  }

  #createService(): SecondFactorService {
    const current = (): SecondFactorService => this.#current;
    const serviceOf = (requestId: string): SecondFactorService => this.#serviceOf(requestId);
    return {
      get embedded() {
        return current().embedded;
      },
      initiate: async (request) => {
        const service = current();
        const answer = await service.initiate(request);
        if (answer.ok) this.#remember(answer.value.id, service);
        return answer;
      },
      status: (requestId) => serviceOf(requestId).status(requestId),
      otpAuth: (requestId, otp, also) => serviceOf(requestId).otpAuth(requestId, otp, also),
      createPairing: (pairing) => current().createPairing(pairing),
      pairing: (pairingId) => current().pairing(pairingId),
      cancel: (requestId) => serviceOf(requestId).cancel(requestId),
      onDecision: (requestId, notify) => serviceOf(requestId).onDecision(requestId, notify),
      denialOnExpiry: (requestId) => serviceOf(requestId).denialOnExpiry?.(requestId),
      onDenied: (notify) => this.#embedded.service.onDenied?.(notify) ?? (() => undefined),
      findDenied: (id) => this.#embedded.service.findDenied?.(id),
      hasOpenInvitation: (user) => current().hasOpenInvitation?.(user) ?? false,
      prepareInvitationEnds: (user) => current().prepareInvitationEnds?.(user) ?? NO_CHANGE,
    };
  }
}
