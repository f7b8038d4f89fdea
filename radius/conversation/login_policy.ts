// The policy of one packet: which policy applies to its login, and what follows from it. It is decided once for each packet, with the facts of
// the conversation, so that a changed policy holds for the next packet.

import type { Factor, Facts } from "../flow/context.ts";
import type { CompiledPolicy, PolicyEvaluator, PolicySubject } from "../policy/evaluator.ts";
import {
  type EnrolmentRule,
  type PolicyRules,
  type SessionAttributes,
  settingsRules,
} from "../policy/policy.ts";
import type { LoginDevice, RememberedDevices } from "../policy/remembered_devices.ts";
import type { Step } from "../protocol/steps.ts";
import { neverHadFactor, type OwnFactorDeps, usableKinds } from "../factors/own_factors.ts";
import { allGroupsOf, type DirectoryUser, type LoginDirectory } from "../ports.ts";
import type { Conversation } from "./conversation.ts";

/** The stored policies, and the devices that they remember. */
export interface LoginPolicies {
  readonly registry: { readonly current: PolicyEvaluator };
  readonly remembered: RememberedDevices;
}

/** `enabled`: the set is the same until the setting changes. */
interface LoginPolicyDeps extends OwnFactorDeps {
  readonly directory: Pick<LoginDirectory, "lookUp">;
  readonly policies: LoginPolicies;
}

/** The factors of steps; `code`: a passcode of an app or of the phone, or a recovery code. The menu has none. */
const STEP_FACTORS: Partial<Record<Step, "device" | "sms" | "voice" | "code">> = {
  SECONDFACTOR_GET_PAIRING_PHRASE: "device",
  SECONDFACTOR_AWAIT_PAIRING_APPROVAL: "device",
  SECONDFACTOR_AWAIT_DEVICE_APPROVAL: "device",
  GET_SMS_PHONE_NUMBER: "sms",
  VERIFY_SMS_PHONE_NUMBER: "sms",
  AWAIT_SMS_DELIVERED_PASSCODE: "sms",
  GET_VOICE_PHONE_NUMBER: "voice",
  VERIFY_VOICE_PHONE_NUMBER: "voice",
  AWAIT_VOICE_DELIVERED_PASSCODE: "voice",
  GET_DEVICE_GENERATED_PASSCODE: "code",
};

/** What a policy must know of a packet. */
export interface PolicyPacket {
  /** Whether its Message-Authenticator was verified, and that of the first packet. */
  readonly signed: boolean;
  /** Whether it has the password that the client checked, or is of a login that began with one. */
  readonly hasPassword: boolean;
}

export function policyPacketOf(
  { moments, signed }: Pick<Conversation, "moments" | "signed">,
  { answer, password, appended, signed: isSigned }: {
    readonly answer: string | null;
    readonly password: Uint8Array;
    readonly appended: unknown;
    readonly signed: boolean;
  },
): PolicyPacket {
  const began = moments[0]?.row;
  // A login that started over begins with "cancelled": it is unknown whether the one before had a password.
  const hasPassword = answer === null
    ? password.length > 0 || appended !== null
    : began !== "empty_password" && began !== "cancelled";
  // The first packet has the Calling-Station-Id.
  return { signed: isSigned && signed, hasPassword };
}

/** A login as the conditions of policies see it. */
class LoginSubject implements PolicySubject {
  readonly #deps: LoginPolicyDeps;
  readonly #login: Conversation;
  #known: DirectoryUser | null = null;

  constructor(deps: LoginPolicyDeps, login: Conversation) {
    this.#deps = deps;
    this.#login = login;
  }

  get user(): string {
    return this.#login.user;
  }
  get client(): string {
    return this.#login.client;
  }
  get address(): string {
    return this.#login.place;
  }
  get atMs(): number {
    return this.#login.startedMs;
  }
  get isKnown(): boolean {
    return this.#record.status !== "unknown";
  }
  get groups(): readonly string[] {
    return allGroupsOf(this.#record);
  }
  get #record(): DirectoryUser {
    return this.#known ??= this.#deps.directory.lookUp(this.user);
  }
  get hasFactor(): boolean {
    const enabled = this.#deps.enabled();
    return [...usableKinds(this.#deps, this.user)].some((kind) => enabled.has(kind));
  }
  get neverHadFactor(): boolean {
    return neverHadFactor(this.#deps, this.user, this.#record);
  }
  get isRemembered(): boolean {
    const { rules } = settingsPolicy(this.#deps.enabled());
    return this.#deps.policies.remembered.isRemembered(this.#login, { rules });
  }
}

export class LoginPolicy {
  readonly rules: PolicyRules;
  readonly #decided: CompiledPolicy | null;
  readonly #isRemembered: (hours: number) => boolean;

  constructor(
    decided: CompiledPolicy | null,
    { rules, isRemembered }: { rules: PolicyRules; isRemembered: (hours: number) => boolean },
  ) {
    this.#decided = decided;
    this.rules = rules;
    this.#isRemembered = isRemembered;
  }

  /** `null`: the settings apply. */
  get name(): string | null {
    return this.#decided?.name ?? null;
  }
  get denies(): boolean {
    return this.#decided?.policy.outcome.kind === "deny";
  }
  get enrolment(): EnrolmentRule | null {
    const outcome = this.#decided?.policy.outcome;
    return outcome?.kind === "challenge" ? outcome.enrolment ?? null : null;
  }
  /** 0: the policy remembers no devices. */
  get rememberHours(): number {
    const outcome = this.#decided?.policy.outcome;
    return outcome?.kind === "challenge" ? outcome.rememberHours ?? 0 : 0;
  }

  /** Those of the Access-Accept; `undefined`: the policy has none. */
  get attributes(): SessionAttributes | undefined {
    return attributesOf(this.#decided);
  }

  /** Whether the login needs no second factor. */
  bypasses(firstFactor: Facts["firstFactor"], packet: PolicyPacket): boolean {
    return this.#decided?.policy.outcome.kind === "bypass" && this.#isPasswordChecked(firstFactor, packet);
  }

  /** Whether the device was remembered, which replaces the second factor. */
  replacesFactor(firstFactor: Facts["firstFactor"], packet: PolicyPacket): boolean {
    return this.rememberHours > 0 && this.#isPasswordChecked(firstFactor, packet) &&
      this.#isRemembered(this.rememberHours);
  }

  /** Whether the policy or the settings do not allow the factor of a step any more. */
  forbids(step: string): boolean {
    const { enabled, deviceCodes, recoveryCodes } = this.rules;
    const factor = STEP_FACTORS[step as Step];
    if (factor === undefined) return false;
    if (factor !== "code") return !enabled.has(factor);
    return !enabled.has("totp") && !deviceCodes && !recoveryCodes;
  }

  /**
   * Only for a signed packet: without Message-Authenticator, anyone between client and gateway can change Calling-Station-Id, also beside a right
   * password. The word of the client needs a password that it checked: after an empty one, an answer proves nothing.
   */
  #isPasswordChecked(firstFactor: Facts["firstFactor"], { signed, hasPassword }: PolicyPacket): boolean {
    if (!signed) return false;
    if (firstFactor === "right") return true;
    const outcome = this.#decided?.policy.outcome;
    return firstFactor === "not_configured" && hasPassword && outcome !== undefined &&
      outcome.kind !== "deny" && outcome.clientChecksPassword === true;
  }
}

/** The session attributes of a policy. */
export function attributesOf(decided: CompiledPolicy | null): SessionAttributes | undefined {
  const outcome = decided?.policy.outcome;
  return outcome === undefined || outcome.kind === "deny" ? undefined : outcome.attributes;
}

const settingsPolicies = new WeakMap<ReadonlySet<Factor>, LoginPolicy>();

/** The settings as a policy that no condition limits. */
function settingsPolicy(enabled: ReadonlySet<Factor>): LoginPolicy {
  const known = settingsPolicies.get(enabled);
  if (known !== undefined) return known;
  const made = new LoginPolicy(null, { rules: settingsRules(enabled), isRemembered: () => false });
  settingsPolicies.set(enabled, made);
  return made;
}

/** Decides the policy of a login. The directory has prepared its user. */
export function decideLoginPolicy(deps: LoginPolicyDeps, login: Conversation): LoginPolicy {
  const { policies: { registry, remembered } } = deps;
  const enabled = deps.enabled();
  if (registry.current.isEmpty) return settingsPolicy(enabled);
  const decided = registry.current.decide(new LoginSubject(deps, login));
  if (decided === null) return settingsPolicy(enabled);
  const { user, client, place }: LoginDevice = login;
  const rules = decided.rules(enabled);
  return new LoginPolicy(decided, {
    rules,
    isRemembered: (hours) => remembered.isRemembered({ user, client, place }, { hours, rules }),
  });
}

/** The factors of the menu of a login. @param policy the name of the policy that applied to its last packet; "" for none */
export function menuOfLogin(
  { enabled, policies: { registry } }: Pick<LoginPolicyDeps, "enabled"> & {
    policies: Pick<LoginPolicies, "registry">;
  },
  policy: string,
): ReadonlySet<Factor> {
  const offered = enabled();
  const named = policy === "" ? undefined : registry.current.byName(policy);
  return (named?.rules(offered) ?? settingsPolicy(offered).rules).menu;
}
