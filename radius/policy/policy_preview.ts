// What policies do, without a login: which policy applies and why, what a draft would change, and whom it would lock out.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { FactorSettings } from "../../platform/config/config.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Factor } from "../flow/context.ts";
import { stripUserName } from "../protocol/login_input.ts";
import type { LoginDirectory } from "../ports.ts";
import type { Client } from "../server/clients.ts";
import { type CompiledPolicy, PolicyEvaluator, type PolicyMiss, type PolicySubject } from "./evaluator.ts";
import { ipOctets } from "../../platform/addresses.ts";
import { settingsRules } from "./factor_rules.ts";
import type { ChallengeOutcome, PolicyOutcome, SessionAttributes } from "./policy.ts";
import type { PolicyRegistry } from "./policy_registry.ts";
import { readPolicies, type ReadPolicy } from "./read_policy.ts";
import type { RememberedDevices } from "./remembered_devices.ts";

export interface PolicyPreviewDeps {
  readonly settings: Pick<FactorSettings, "enrolAtLogin" | "phoneNumbers">;
  /** The factors that are offered now. */
  readonly enabled: () => ReadonlySet<Factor>;
  readonly directory: LoginDirectory;
  readonly pairings: {
    usable(user: string): readonly { readonly kind: Factor }[];
    of(user: string): readonly unknown[];
  };
  readonly recoveryCodes: { status(user: string): { readonly left: number } };
  readonly registry: PolicyRegistry;
  readonly remembered: RememberedDevices;
  readonly clients: () => readonly Pick<Client, "name" | "policy">[];
  readonly clock: Pick<Clock, "nowMs">;
}

/** A login that may never happen. */
export interface PreviewLogin {
  /** As typed. */
  readonly user: string;
  readonly client: string;
  /** Calling-Station-Id. */
  readonly address: string;
  readonly atMs: number;
}

/** What follows for a login whose password is right. */
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
    { user, client }: { user: string; client: Pick<Client, "name" | "policy"> },
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
    { policy: { outcome } }: CompiledPolicy,
    { user, client }: { user: string; client: Pick<Client, "name" | "policy"> },
  ): boolean {
    if (outcome.kind !== "challenge") return outcome.kind === "bypass";
    const { pairings, recoveryCodes, directory, settings } = this.#deps;
    const enabled = this.#deps.enabled();
    const { factors, requiredFactor, enrolment = settings.enrolAtLogin } = outcome;
    if (factors === undefined && requiredFactor === undefined && outcome.enrolment === undefined) return true;
    const rules = allowedFactors(outcome, enabled);
    if (pairings.usable(user).some(({ kind }) => rules.has(kind))) return true;
    const hasCodes = recoveryCodes.status(user).left > 0;
    if (hasCodes && (factors === undefined || factors.includes("recovery"))) return true;
    const hasNumber = directory.lookUp(user).phoneNumbers.length > 0;
    const sends = rules.has("sms") || rules.has("voice");
    if (hasNumber && sends) return true;
    if (enrolment === "never" || pairings.of(user).length > 0 || hasCodes) return false;
    if (enrolment === "after_first_factor" && client.policy.firstFactor === "none") return false;
    const numbersCount = enabled.has("sms") || enabled.has("voice");
    if (hasNumber && numbersCount && enrolment !== "always") return false;
    return rules.has("device") || (sends && settings.phoneNumbers === "any");
  }

  async #subject({ user, client: name, address, atMs }: PreviewLogin): Promise<PolicySubject> {
    const client = this.#deps.clients().find((one) => one.name === name);
    const canonical = canonicalName(client === undefined ? user : stripUserName(user, client.policy));
    await this.#prepare(canonical);
    return this.#subjectOf({ user: canonical, client: name, address, atMs });
  }

  #subjectOf({ user, client, address, atMs }: PreviewLogin): PolicySubject {
    const { directory, pairings, remembered } = this.#deps;
    const enabled = this.#deps.enabled();
    return {
      ...{ user, client, address, atMs },
      groups: directory.lookUp(user).groups,
      hasFactor: pairings.usable(user).some(({ kind }) => enabled.has(kind)),
      isRemembered: remembered.isRemembered({ user, client, place: address }),
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
    const { remembered, clients } = this.#deps;
    const enabled = this.#deps.enabled();
    const rules = policy?.rules(enabled) ?? settingsRules(enabled);
    const outcome = policy?.policy.outcome ?? null;
    const attributes = outcome === null || outcome.kind === "deny"
      ? NO_ATTRIBUTES
      : outcome.attributes ?? NO_ATTRIBUTES;
    const client = clients().find(({ name }) => name === subject.client);
    const isChecked = trustsClient(outcome) ||
      (client !== undefined && client.policy.firstFactor !== "none");
    const { user, client: clientName, address: place } = subject;
    const hours = outcome?.kind === "challenge" ? outcome.rememberHours ?? 0 : 0;
    const isKnownDevice = hours > 0 &&
      remembered.isRemembered({ user, client: clientName, place }, { hours });
    const isAccepted = isChecked && (outcome?.kind === "bypass" || isKnownDevice);
    return {
      kind: outcome?.kind === "deny" ? "reject" : isAccepted ? "accept" : "challenge",
      factors: outcome?.kind === "deny" || isAccepted ? [] : [...rules.menu],
      required: rules.required,
      attributes,
    };
  }
}

function trustsClient(outcome: PolicyOutcome | null): boolean {
  return outcome !== null && outcome.kind !== "deny" && outcome.clientChecksPassword === true;
}

function allowedFactors(
  { factors, requiredFactor }: ChallengeOutcome,
  enabled: ReadonlySet<Factor>,
): ReadonlySet<Factor> {
  const allowed = requiredFactor === undefined ? factors : [requiredFactor];
  return allowed === undefined ? enabled : new Set([...enabled].filter((one) => allowed.includes(one)));
}
