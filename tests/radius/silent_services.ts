// Services for tests that need none: every call is refused, and no user is known.

import type { LoginDirectory, Outcome, SecondFactorService, TelephonyService } from "../../radius/ports.ts";

const refused = <T>(): Promise<Outcome<T>> =>
  Promise.resolve({ ok: false, fault: { kind: "not_called", detail: "there is no service in this test" } });

/** Sends no push. */
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

/** Has no users. */
export const emptyDirectory: LoginDirectory = {
  prepare: () => null,
  lookUp: (name) => ({ status: "unknown", name, phoneNumbers: [], groups: [] }),
};
