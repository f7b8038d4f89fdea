// A phone that is paired with the embedded second-factor service by invitation, like the phone page.

import type { PhoneRequest } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { InProcess } from "./in_process.ts";
import { becomes } from "./passing_time.ts";

export interface Phone {
  readonly pairingId: string;
  /** The requests that wait for a decision. */
  requests(): Promise<readonly PhoneRequest[]>;
  /**
   * Waits for a number of pending requests: a login is answered before its request is cancelled. No request expires
   * meanwhile.
   */
  untilRequests(count: number): Promise<void>;
  /** Decides about the only request. `number`: the two digits of the prompt, if they are required. */
  approve(number: string | null): Promise<string>;
  deny(): Promise<void>;
  /** The passcode that the phone shows. */
  passcode(): Promise<string>;
}

/** Pairs a phone. The gateway is notified by the service. */
export async function pairPhone(world: InProcess, user: string, name: string | null = null): Promise<Phone> {
  const { embedded } = world.services;
  if (embedded === null) throw new Error("This gateway has no embedded service");
  const { phone, admin } = embedded;
  const { invitation } = await admin.invite(user);
  const accepted = await phone.acceptInvitation(invitation, { token: null, source: "192.0.2.9", name });
  if (!accepted.ok) throw new Error(`The invitation was refused: ${accepted.reason}`);
  const { token, pairingId } = accepted.value;
  const requests = async () => (await phone.view(token))?.requests ?? [];
  const only = async () => {
    const [request, ...more] = await requests();
    if (request === undefined || more.length > 0) throw new Error("There is not exactly one request");
    return request.requestId;
  };
  return {
    pairingId,
    requests,
    untilRequests: (count) => becomes(`${count} requests`, async () => (await requests()).length === count),
    async approve(number) {
      const decided = await phone.decide(token, await only(), { approve: true, number });
      return decided.ok ? "approved" : decided.reason;
    },
    async deny() {
      await phone.decide(token, await only(), { approve: false });
    },
    async passcode() {
      const shown = await phone.passcode(token, pairingId);
      if (!shown.ok) throw new Error(`No passcode: ${shown.reason}`);
      return shown.value.code;
    },
  };
}
