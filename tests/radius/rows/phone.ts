// A phone that is paired with the embedded second-factor service by invitation, as the phone page does it.

import type { PhoneRequest } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { InProcess } from "./in_process.ts";
import { becomes } from "./passing_time.ts";

export interface Phone {
  readonly pairingId: string;
  /** What waits for a decision. */
  requests(): Promise<readonly PhoneRequest[]>;
  /** Waits until so many wait for a decision: no answer to a login waits for a cancellation. No request runs out of time meanwhile. */
  untilRequests(count: number): Promise<void>;
  /** Decides about the only request. `number`: the two digits of the prompt, where they are asked for. */
  approve(number: string | null): Promise<string>;
  deny(): Promise<void>;
  /** The passcode that the phone shows. */
  passcode(): Promise<string>;
}

/** Pairs a phone; the gateway learns of it by itself. */
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
