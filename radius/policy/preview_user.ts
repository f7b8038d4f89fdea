// The factors that a user has or can add at a login, without a login: the rules of radius/conversation/flow_context.ts for a right password.

import type { ClientPolicy, FactorSettings } from "../../platform/config/config.ts";
import { isCountryAllowed } from "../../platform/phone_number.ts";
import {
  everHadFactor,
  hasOwnFactor,
  mayAddFactor,
  neverHadFactor,
  type OwnFactorDeps,
  usableKinds,
} from "../factors/own_factors.ts";
import type { Factor } from "../flow/context.ts";
import { rejectsUnknownUsers } from "../protocol/login_input.ts";
import type { DirectoryUser, LoginDirectory } from "../ports.ts";
import type { EnrolmentRule } from "./policy.ts";

export interface PreviewUserDeps extends OwnFactorDeps {
  readonly settings: Pick<FactorSettings, "enrolAtLogin" | "phoneNumbers" | "countryCodes">;
  /** The factors that are offered now. */
  readonly enabled: () => ReadonlySet<Factor>;
  readonly directory: LoginDirectory;
  readonly pairings: {
    usable(user: string): readonly { readonly kind: Factor }[];
    of(user: string): readonly unknown[];
  };
}

/** Where and under which rule of a policy the user signs in. */
interface PreviewEnrolment {
  /** `undefined`: the rule of the settings. */
  readonly rule: EnrolmentRule | undefined;
  /** Whether the gateway checks the password. */
  readonly isPasswordChecked: boolean;
}

/** A user whom the directory has prepared. Use it before any other wait. */
export class PreviewUser {
  readonly #deps: PreviewUserDeps;
  readonly #name: string;
  readonly record: DirectoryUser;

  /** @param name canonical */
  constructor(deps: PreviewUserDeps, name: string) {
    this.#deps = deps;
    this.#name = name;
    this.record = deps.directory.lookUp(name);
  }

  get hasFactor(): boolean {
    const enabled = this.#deps.enabled();
    return [...usableKinds(this.#deps, this.#name)].some((kind) => enabled.has(kind));
  }

  get neverHadFactor(): boolean {
    return neverHadFactor(this.#deps, this.#name, this.record);
  }

  /** Whether the user has codes that replace a factor. */
  get hasReplacementCodes(): boolean {
    const { recoveryCodes, bypassCodes } = this.#deps;
    return recoveryCodes.status(this.#name).left > 0 || bypassCodes.status(this.#name) !== null;
  }

  /** Whether every login of the user is rejected. @param policy of the client; `undefined` for an unknown one */
  isRefused(policy: Pick<ClientPolicy, "unknownUsers" | "firstFactor"> | undefined): boolean {
    const { status } = this.record;
    if (status === "unknown") return policy !== undefined && rejectsUnknownUsers(policy);
    return status !== "active";
  }

  /** Whether a message can be sent to a number of the directory. */
  get hasSendableNumber(): boolean {
    const { countryCodes } = this.#deps.settings;
    return this.record.phoneNumbers.some((number) => isCountryAllowed(number, countryCodes));
  }

  /** Whether the user has the factor, or can add it at the login. @param factor one that the settings enable */
  canUse(factor: Factor, enrolment: PreviewEnrolment): boolean {
    if (usableKinds(this.#deps, this.#name).has(factor)) return true;
    if (factor === "device") return this.#mayEnrol(enrolment);
    if (factor === "totp") return false;
    return this.record.phoneNumbers.length > 0 || this.#isAnyNumberAllowed;
  }

  get #isAnyNumberAllowed(): boolean {
    return this.#deps.settings.phoneNumbers === "any" &&
      !everHadFactor(this.#deps, this.#name, this.record);
  }

  get #hasOwnFactor(): boolean {
    return hasOwnFactor(this.#deps, { user: this.#name, phoneNumbers: this.record.phoneNumbers });
  }

  #mayEnrol({ rule = this.#deps.settings.enrolAtLogin, isPasswordChecked }: PreviewEnrolment): boolean {
    const user = { user: this.#name, record: this.record };
    return mayAddFactor(this.#deps, user, { rule, isPasswordRight: isPasswordChecked }) &&
      (rule === "always" || !this.#hasOwnFactor);
  }
}
