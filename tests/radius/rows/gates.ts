// Holds calls to the services until a test releases them, so that a packet can arrive while another one is handled.

import type { SecondFactorService, TelephonyService } from "../../../radius/ports.ts";
import { becomes } from "./passing_time.ts";

/** Calls wait here. */
export interface Gate {
  /** The number of calls so far. */
  calls(): number;
  /** Resolves after `count` calls. */
  reached(count?: number): Promise<void>;
  /** Releases the waiting calls, and lets all later ones pass. */
  open(): void;
  wait(): Promise<void>;
}

export function createGate(): Gate {
  let calls = 0;
  let release = (): void => {};
  const opened = new Promise<void>((resolve) => release = resolve);
  return {
    calls: () => calls,
    reached: (count = 1) => becomes(`${count} calls`, () => calls >= count),
    open: () => release(),
    wait() {
      calls++;
      return opened;
    },
  };
}

/** Initiate reaches the service only when the gate is open. */
export function beforeInitiate(gate: Gate) {
  return (service: SecondFactorService): SecondFactorService => ({
    ...service,
    async initiate(request) {
      await gate.wait();
      return await service.initiate(request);
    },
  });
}

/** A code reaches the service only when the gate is open. */
export function beforeCode(gate: Gate) {
  return (service: SecondFactorService): SecondFactorService => ({
    ...service,
    async otpAuth(requestId, code, also) {
      await gate.wait();
      return await service.otpAuth(requestId, code, also);
    },
  });
}

/** The answer to a status check comes back only when the gate is open. */
export function afterStatus(gate: Gate) {
  return (service: SecondFactorService): SecondFactorService => ({
    ...service,
    async status(id) {
      const answer = await service.status(id);
      await gate.wait();
      return answer;
    },
  });
}

/** A text or call is made, and its answer arrives only when the gate is open. */
export function afterSend(gate: Gate) {
  return (service: TelephonyService): TelephonyService => ({
    ...service,
    async text(message) {
      const answer = await service.text(message);
      await gate.wait();
      return answer;
    },
    async call(call) {
      const answer = await service.call(call);
      await gate.wait();
      return answer;
    },
  });
}
