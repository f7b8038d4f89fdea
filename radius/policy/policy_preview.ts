// What policies do, without a login: which policy applies and why, what a draft would change, and whom it would lock out.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Factor } from "../flow/context.ts";
import { rejectsUnknownUsers, stripUserName } from "../protocol/login_input.ts";
import type { Client } from "../server/clients.ts";
import { type CompiledPolicy, PolicyEvaluator, type PolicyMiss, type PolicySubject } from "./evaluator.ts";
import { allGroupsOf, type DirectoryUser, type LoginDirectory } from "../ports.ts";
import { ipOctets } from "../../platform/addresses.ts";
import {
  type EnrolmentRule,
  type PolicyOutcome,
  type PolicyRules,
  type SessionAttributes,
  settingsRules,
} from "./policy.ts";
import { type PolicyRegistry, readPolicies, type ReadPolicy } from "./policy_registry.ts";
import type { RememberedDevices } from "./remembered_devices.ts";
import type { FactorSettings, RequestSettings } from "../../platform/config/config.ts";
import { isCountryAllowed } from "../../platform/phone_number.ts";
import {
  everHadFactor,
  hasOwnFactor,
  mayAddFactor,
  neverHadFactor,
  type OwnFactorDeps,
  usableKinds,
} from "../factors/own_factors.ts";

interface PolicyPreviewDeps extends PreviewUserDeps {
  readonly registry: PolicyRegistry;
  readonly remembered: RememberedDevices;
  readonly clients: () => readonly Pick<Client, "name" | "settings">[];
  readonly clock: Pick<Clock, "nowMs">;
}

/** A login that may never happen. */
interface PreviewLogin {
  /** As typed, unless {@link isStripped}. */
  readonly user: string;
  /** The client's rules have removed domain and realm already, as in a stored login. */
  readonly isStripped?: boolean;
  readonly client: string;
  /** Calling-Station-Id. */
  readonly address: string;
  readonly atMs: number;
}

/** What follows for a login whose password is right, and whose packets are signed. */
export interface PreviewEffect {
  readonly kind: "accept" | "reject" | "challenge";
  /** The factors that the user can choose. */
  readonly factors: readonly Factor[];
  readonly required: Factor | null;
  readonly attributes: SessionAttributes;
}

export interface PolicyDecision {
  /** `null`: the settings apply. */
  readonly policy: string | null;
  readonly effect: PreviewEffect;
}

export interface PolicyExplanation extends PolicyDecision {
  readonly status: "active" | "inactive" | "deleted" | "unknown";
  readonly groups: readonly string[];
  readonly hasFactor: boolean;
  readonly isRemembered: boolean;
  /** Whether the address is an IP address, so that networks can contain it. */
  readonly isAddress: boolean;
  /** In order: the first condition of each policy that fails; `null`: all hold. */
  readonly misses: readonly (PolicyMiss | null)[];
}

const NO_ATTRIBUTES: SessionAttributes = {};
/** The directory can drop a user between `prepare` and `lookUp`. */
const MAX_TRIES = 16;

export class PolicyPreview {
  readonly #deps: PolicyPreviewDeps;

  constructor(deps: PolicyPreviewDeps) {
    this.#deps = deps;
  }

  get stored(): PolicyEvaluator {
    return this.#deps.registry.current;
  }

  /** Compiles policies that are not stored. */
  readDraft(value: unknown): ReadPolicy<PolicyEvaluator> {
    const read = readPolicies(value);
    return read.ok ? { ok: true, value: new PolicyEvaluator(read.value) } : read;
  }

  async explain(evaluator: PolicyEvaluator, login: PreviewLogin): Promise<PolicyExplanation> {
    const subject = await this.#subject(login);
    const { policy, misses } = evaluator.explain(subject);
    const { groups, hasFactor, isRemembered } = subject;
    return {
      ...{ groups, hasFactor, isRemembered, misses },
      status: this.#deps.directory.lookUp(subject.user).status,
      policy: policy?.name ?? null,
      effect: this.#effect(policy, subject),
      isAddress: ipOctets(login.address) !== null,
    };
  }

  /** The decisions of several lists of policies about one login. */
  async decide(evaluators: readonly PolicyEvaluator[], login: PreviewLogin): Promise<PolicyDecision[]> {
    const subject = await this.#subject(login);
    return evaluators.map((evaluator) => {
      const policy = evaluator.decide(subject);
      return { policy: policy?.name ?? null, effect: this.#effect(policy, subject) };
    });
  }

  /**
   * Whether policies keep a user out at every client, at any time and from any address. Policies with networks or times count only if they let the
   * user in. `null`: the user cannot sign in anyway, because the account is inactive or unknown.
   *
   * @param user canonical
   */
  async isLockedOut(evaluator: PolicyEvaluator, user: string): Promise<boolean | null> {
    await this.#prepare(user);
    const { directory, clients } = this.#deps;
    if (directory.lookUp(user).status !== "active") return null;
    const all = clients();
    return all.length > 0 && all.every((client) => this.#isLockedOutAt(evaluator, { user, client }));
  }

  #isLockedOutAt(
    evaluator: PolicyEvaluator,
    { user, client }: { user: string; client: Pick<Client, "name" | "settings"> },
  ): boolean {
    const subject = this.#subjectOf({ user, client: client.name, address: "", atMs: 0 });
    for (const { policy, isCertain } of evaluator.possible(subject)) {
      if (this.#letsIn(policy, { user, client })) return false;
      if (isCertain) return true;
    }
    return false;
  }

  /** Whether a user has, or can add, a factor that the outcome allows. */
  #letsIn(
    compiled: CompiledPolicy,
    { user: name, client }: { user: string; client: Pick<Client, "name" | "settings"> },
  ): boolean {
    const { outcome } = compiled.policy;
    if (outcome.kind !== "challenge") return outcome.kind === "bypass";
    const { factors, requiredFactor, enrolment: rule } = outcome;
    if (factors === undefined && requiredFactor === undefined && rule === undefined) return true;
    const rules = compiled.rules(this.#deps.enabled());
    const user = new PreviewUser(this.#deps, name);
    if (user.hasReplacementCodes && rules.recoveryCodes) return true;
    const enrolment = { rule, isPasswordChecked: client.settings.firstFactor !== "none" };
    return [...rules.enabled].some((factor) => user.canUse(factor, enrolment));
  }

  async #subject(
    { user, isStripped = false, client: name, address, atMs }: PreviewLogin,
  ): Promise<PolicySubject> {
    const client = isStripped ? undefined : this.#deps.clients().find((one) => one.name === name);
    const canonical = canonicalName(client === undefined ? user : stripUserName(user, client.settings));
    await this.#prepare(canonical);
    return this.#subjectOf({ user: canonical, client: name, address, atMs });
  }

  #subjectOf({ user, client, address, atMs }: PreviewLogin): PolicySubject {
    const known = new PreviewUser(this.#deps, user);
    return {
      ...{ user, client, address, atMs },
      isKnown: known.record.status !== "unknown",
      groups: allGroupsOf(known.record),
      hasFactor: known.hasFactor,
      neverHadFactor: known.neverHadFactor,
      isRemembered: this.#deps.remembered.isRemembered({ user, client, place: address }, {
        rules: settingsRules(this.#deps.enabled()),
      }),
    };
  }

  /** @param user canonical */
  async #prepare(user: string): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const pending = this.#deps.directory.prepare(user);
      if (pending === null) return;
      await pending;
    }
    throw new Error(`Cannot evaluate policies: the directory has not loaded "${user}"`);
  }

  #effect(policy: CompiledPolicy | null, subject: PolicySubject): PreviewEffect {
    const enabled = this.#deps.enabled();
    const rules = policy?.rules(enabled) ?? settingsRules(enabled);
    const outcome = policy?.policy.outcome ?? null;
    const attributes = outcome === null || outcome.kind === "deny"
      ? NO_ATTRIBUTES
      : outcome.attributes ?? NO_ATTRIBUTES;
    const client = this.#deps.clients().find(({ name }) => name === subject.client);
    const user = new PreviewUser(this.#deps, subject.user);
    const reject = { kind: "reject", factors: [], required: null, attributes: NO_ATTRIBUTES } as const;
    if (outcome?.kind === "deny" || user.isRefused(client?.settings)) return reject;
    if (this.#isAccepted(outcome, subject, { client, rules })) {
      return { ...reject, kind: "accept", attributes };
    }
    const { required } = rules;
    const rule = outcome?.kind === "challenge" ? outcome.enrolment : undefined;
    const enrolment = {
      rule,
      isPasswordChecked: client !== undefined && client.settings.firstFactor !== "none",
    };
    const isLacking = required !== null &&
      !(rules.enabled.has(required) && user.canUse(required, enrolment));
    if (isLacking) return { ...reject, required };
    return { kind: "challenge", factors: [...rules.menu], required, attributes };
  }

  /** Whether the outcome accepts a login without a second factor. A client that does not sign never gets it. */
  #isAccepted(
    outcome: PolicyOutcome | null,
    { user, client: clientName, address: place }: PolicySubject,
    { client, rules }: { client: Pick<Client, "settings"> | undefined; rules: PolicyRules },
  ): boolean {
    if (client?.settings.messageAuthenticator === "off") return false;
    const isChecked = trustsClient(outcome) ||
      (client !== undefined && client.settings.firstFactor !== "none");
    if (!isChecked) return false;
    if (outcome?.kind === "bypass") return true;
    const hours = outcome?.kind === "challenge" ? outcome.rememberHours ?? 0 : 0;
    const device = { user, client: clientName, place };
    return hours > 0 && this.#deps.remembered.isRemembered(device, { hours, rules });
  }
}

function trustsClient(outcome: PolicyOutcome | null): boolean {
  return outcome !== null && outcome.kind !== "deny" && outcome.clientChecksPassword === true;
}

interface PreviewUserDeps extends OwnFactorDeps {
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
  readonly isPasswordChecked: boolean;
}

/** A user whom the directory has prepared. Use it before any other wait. */
class PreviewUser {
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

  /** Whether every login of the user is rejected. @param settings of the client; `undefined` for an unknown one */
  isRefused(settings: Pick<RequestSettings, "unknownUsers" | "firstFactor"> | undefined): boolean {
    const { status } = this.record;
    if (status === "unknown") return settings !== undefined && rejectsUnknownUsers(settings);
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
