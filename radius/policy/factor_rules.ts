// What a policy allows of the factors that the settings enable.

import { type Factor, menuOf } from "../flow/context.ts";
import type { PolicyOutcome } from "./policy.ts";

/** The factors of a login. Without a policy, they follow from the settings. */
export interface PolicyRules {
  readonly enabled: ReadonlySet<Factor>;
  readonly menu: ReadonlySet<Factor>;
  /** Whether a passcode of the paired phone is accepted. */
  readonly deviceCodes: boolean;
  readonly recoveryCodes: boolean;
  readonly required: Factor | null;
}

/** The rules of the settings alone. */
export function settingsRules(enabled: ReadonlySet<Factor>): PolicyRules {
  return {
    enabled,
    menu: menuOf(enabled),
    deviceCodes: enabled.has("device"),
    recoveryCodes: true,
    required: null,
  };
}

/** The rules of one outcome. The last result is cached, because the enabled factors rarely change. */
export class FactorRules {
  readonly #outcome: PolicyOutcome;
  #enabled: ReadonlySet<Factor> | null = null;
  #rules: PolicyRules | null = null;

  constructor(outcome: PolicyOutcome) {
    this.#outcome = outcome;
  }

  of(enabled: ReadonlySet<Factor>): PolicyRules {
    if (this.#rules === null || this.#enabled !== enabled) {
      this.#rules = rulesOf(this.#outcome, enabled);
      this.#enabled = enabled;
    }
    return this.#rules;
  }
}

function rulesOf(outcome: PolicyOutcome, all: ReadonlySet<Factor>): PolicyRules {
  if (outcome.kind !== "challenge") return settingsRules(all);
  const { factors, requiredFactor: required = null } = outcome;
  if (factors === undefined && required === null) return settingsRules(all);
  const allowed = required === null ? factors ?? [] : [required];
  const enabled = new Set([...all].filter((factor) => allowed.includes(factor)));
  const recoveryCodes = allowed.includes("recovery");
  // A required phone means an approval there, not its passcode.
  const deviceCodes = enabled.has("device") && required === null;
  const menu = new Set(enabled);
  if (deviceCodes || recoveryCodes) menu.add("totp");
  return { enabled, menu, deviceCodes, recoveryCodes, required };
}
