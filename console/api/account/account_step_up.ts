// A visit that a phone's cookie opened adds no factor by itself: the person first types a code, of the phone's page or of an authenticator app.

import { matchTotp } from "../../../radius/factors/totp.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { People } from "../users/user_deps.ts";

export interface MeStepUpDeps {
  readonly people: People;
  readonly desk: SecondFactorAdmin | null;
  readonly store: Store;
  readonly clock: Clock;
}

const DIGITS = 6;
/** RFC 6238 §5.2: one step of clock difference each way. */
const TOLERANCE_STEPS = 1;

/** The id of the user's pairing (canonical name) that has this code, or `null`. The code is used up, so that it counts once. */
export async function useOwnCode(
  { people: { pairings }, desk, store, clock }: MeStepUpDeps,
  { canonical, code }: { canonical: string; code: string },
): Promise<string | null> {
  for (const pairing of pairings.usable(canonical)) {
    if (pairing.kind === "device" && await desk?.usePasscode(pairing.id, code)) return pairing.id;
    const seed = pairing.kind === "totp" ? pairings.seedOf(pairing) : null;
    if (pairing.kind !== "totp" || seed === null) continue;
    const step = matchTotp({
      seed,
      code,
      nowMs: clock.nowMs(),
      digits: DIGITS,
      lastStep: pairing.lastStep,
      toleranceSteps: TOLERANCE_STEPS,
    });
    if (step === null) continue;
    const used = pairings.prepareUsedStep(pairing, step);
    // In memory first: the same code does not count in a login that comes at the same time.
    pairings.adopt(used.pairing);
    await store.commit({ mutations: [used.mutation] });
    return pairing.id;
  }
  return null;
}
