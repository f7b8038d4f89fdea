// Stands in for what the gateway asks of others, where a test wants nothing of them: every call is refused, no user is known.

import type { Directory, Outcome, SecondFactorService, TelephonyService } from "../../radius/ports.ts";

const refused = <T>(): Promise<Outcome<T>> =>
  Promise.resolve({ ok: false, fault: { kind: "not_called", detail: "there is no service in this test" } });

/** Asks no phone. */
export const silentSecondFactor: SecondFactorService = {
  embedded: false,
  initiate: refused,
  status: refused,
  otpAuth: refused,
  createPairing: refused,
  pairing: refused,
  cancel: () => Promise.resolve(),
  onDecision: () => () => {},
};

/** Sends nothing. */
export const silentTelephony: TelephonyService = { embedded: false, text: refused, call: refused };

/** Has no people. */
export const nobodyKnown: Directory = {
  prepare: () => null,
  lookUp: (name) => ({ status: "unknown", name, phoneNumbers: [], groups: [] }),
};
