// Decides which policy applies to a login. Policies are compiled once: names become numbers, networks become masks. A decision
// allocates nothing, because it is made for each packet.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Factor } from "../flow/context.ts";
import { AddressWords, NetworkList } from "./networks.ts";
import { FactorRules, type PolicyRules } from "./factor_rules.ts";
import type { DeviceState, Policy, PolicyConditionName, PolicyConditions } from "./policy.ts";
import { TimeWindow, ZoneClock } from "./time_windows.ts";

/** The facts of a login that conditions read. Properties are read only if a condition needs them. */
export interface PolicySubject {
  /** Canonical. */
  readonly user: string;
  /** As the directory spells them. */
  readonly groups: readonly string[];
  readonly client: string;
  /** Calling-Station-Id, or empty. */
  readonly address: string;
  /** The start of the login, since the epoch. */
  readonly atMs: number;
  /** Whether the user has a factor that is enabled and ready. */
  readonly hasFactor: boolean;
  /** Whether a device is remembered for this user, client and Calling-Station-Id. */
  readonly isRemembered: boolean;
}

/** Why a policy does not apply: it is disabled, or the first condition that fails. */
export type PolicyMiss = PolicyConditionName | "disabled";

/** Known spellings of groups. Beyond it, the least recent half is not worth keeping: all are forgotten. */
const MAX_SPELLINGS = 10_000;

/** Numbers for the names that policies mention. */
class Numbers {
  readonly #numbers = new Map<string, number>();

  get size(): number {
    return this.#numbers.size;
  }
  add(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.#numbers.size);
    return this.#numbers.size - 1;
  }
  /** -1 for a name that no policy mentions. */
  of(name: string): number {
    return this.#numbers.get(name) ?? -1;
  }
}

/** A policy, ready to be compared. */
export class CompiledPolicy {
  readonly policy: Policy;
  readonly clients: ReadonlySet<number> | null;
  readonly users: ReadonlySet<number> | null;
  readonly exceptUsers: ReadonlySet<number> | null;
  readonly groups: readonly number[] | null;
  readonly exceptGroups: readonly number[] | null;
  readonly networks: NetworkList | null;
  readonly exceptNetworks: NetworkList | null;
  readonly times: readonly TimeWindow[] | null;
  readonly device: ReadonlySet<DeviceState> | null;
  readonly #rules: FactorRules;

  constructor(policy: Policy, shared: { clients: Numbers; users: Numbers; groups: Numbers; zones: Zones }) {
    const { conditions } = policy;
    const numbers = (name: "clients" | "users" | "exceptUsers" | "groups" | "exceptGroups", of: Numbers) =>
      conditions[name]?.map((one) => of.add(name === "clients" ? one : canonicalName(one))) ?? null;
    const set = (list: readonly number[] | null) => list === null ? null : new Set(list);
    const networks = (list: PolicyConditions["networks"]) =>
      list === undefined ? null : new NetworkList(list);
    this.policy = policy;
    this.clients = set(numbers("clients", shared.clients));
    this.users = set(numbers("users", shared.users));
    this.exceptUsers = set(numbers("exceptUsers", shared.users));
    this.groups = numbers("groups", shared.groups);
    this.exceptGroups = numbers("exceptGroups", shared.groups);
    this.networks = networks(conditions.networks);
    this.exceptNetworks = networks(conditions.exceptNetworks);
    this.times = conditions.times?.map((time) => new TimeWindow(time, shared.zones.of(time.zone))) ?? null;
    this.device = conditions.device === undefined ? null : new Set(conditions.device);
    this.#rules = new FactorRules(policy.outcome);
  }

  get name(): string {
    return this.policy.name;
  }

  /** The factors that the policy allows, of those that the settings enable. */
  rules(enabled: ReadonlySet<Factor>): PolicyRules {
    return this.#rules.of(enabled);
  }
}

/** One clock for each zone, so that its cached time serves all policies. */
class Zones {
  readonly #clocks = new Map<string, ZoneClock>();

  of(zone: string): ZoneClock {
    const known = this.#clocks.get(zone);
    if (known !== undefined) return known;
    const clock = new ZoneClock(zone);
    this.#clocks.set(zone, clock);
    return clock;
  }
}

export class PolicyEvaluator {
  readonly policies: readonly CompiledPolicy[];
  readonly #enabled: readonly CompiledPolicy[];
  readonly #clients = new Numbers();
  readonly #users = new Numbers();
  readonly #groups = new Numbers();
  /** The number of each spelling of a group's name, so that no name is made canonical twice. */
  readonly #spellings = new Map<string, number>();
  readonly #byName: ReadonlyMap<string, CompiledPolicy>;
  readonly #address = new AddressWords();
  /** One bit for each group of the user that a policy mentions. */
  readonly #ownGroups: Uint32Array;
  // The facts of the current decision, read at most once. Functions set them before they are read.
  #client = -1;
  #user = -1;
  #knowsGroups = false;
  #knowsAddress = false;
  #hasAddress = false;

  /** @param policies in order */
  constructor(policies: readonly Policy[]) {
    const zones = new Zones();
    const shared = { clients: this.#clients, users: this.#users, groups: this.#groups, zones };
    this.policies = policies.map((policy) => new CompiledPolicy(policy, shared));
    this.#enabled = this.policies.filter(({ policy }) => policy.enabled);
    this.#byName = new Map(this.policies.map((one) => [one.name, one]));
    this.#ownGroups = new Uint32Array(Math.ceil(this.#groups.size / 32));
  }

  get isEmpty(): boolean {
    return this.#enabled.length === 0;
  }

  /** Whether a policy remembers devices. */
  get remembersDevices(): boolean {
    return this.policies.some(({ policy: { outcome } }) =>
      outcome.kind === "challenge" && outcome.rememberHours !== undefined
    );
  }

  byName(name: string): CompiledPolicy | null {
    return this.#byName.get(name) ?? null;
  }

  /** The first policy whose conditions all hold; `null`: the settings apply. */
  decide(subject: PolicySubject): CompiledPolicy | null {
    const enabled = this.#enabled;
    if (enabled.length === 0) return null;
    this.#begin(subject);
    for (let at = 0; at < enabled.length; at++) {
      const one = enabled[at] as CompiledPolicy;
      if (this.#miss(one, subject) === null) return one;
    }
    return null;
  }

  /** The decision, and for each policy the first condition that fails; `null` if all hold. Policies after the decision are compared, too. */
  explain(
    subject: PolicySubject,
  ): { policy: CompiledPolicy | null; misses: readonly (PolicyMiss | null)[] } {
    this.#begin(subject);
    const misses = this.policies.map((one) => one.policy.enabled ? this.#miss(one, subject) : "disabled");
    const at = misses.indexOf(null);
    return { policy: at < 0 ? null : this.policies[at] ?? null, misses };
  }

  /**
   * The policies that can apply to a login of this user and client, in order. `isCertain`: the policy applies at any time and from any address and
   * device, unless an earlier one does.
   */
  *possible(subject: PolicySubject): Iterable<{ policy: CompiledPolicy; isCertain: boolean }> {
    for (const policy of this.#enabled) {
      this.#begin(subject);
      if (this.#missOfUser(policy, subject) !== null) continue;
      const { networks, exceptNetworks, times, device } = policy;
      const isOpen = device === null || device.has(subject.hasFactor ? "has_factor" : "no_factor");
      if (!isOpen && !device.has("remembered")) continue;
      yield { policy, isCertain: networks === null && exceptNetworks === null && times === null && isOpen };
    }
  }

  #begin({ client, user }: PolicySubject): void {
    this.#client = this.#clients.of(client);
    this.#user = this.#users.of(user);
    this.#knowsGroups = false;
    this.#knowsAddress = false;
  }

  /** Checks cheap conditions first, in the order of POLICY_CONDITIONS. */
  #miss(one: CompiledPolicy, subject: PolicySubject): PolicyConditionName | null {
    return this.#missOfUser(one, subject) ?? this.#missOfPlace(one, subject);
  }

  #missOfUser(one: CompiledPolicy, subject: PolicySubject): PolicyConditionName | null {
    if (one.clients !== null && !one.clients.has(this.#client)) return "clients";
    if (one.users !== null && (this.#user < 0 || !one.users.has(this.#user))) return "users";
    if (one.exceptUsers !== null && this.#user >= 0 && one.exceptUsers.has(this.#user)) return "exceptUsers";
    if (one.groups !== null && !this.#isMember(one.groups, subject)) return "groups";
    if (one.exceptGroups !== null && this.#isMember(one.exceptGroups, subject)) return "exceptGroups";
    return null;
  }

  #missOfPlace(one: CompiledPolicy, subject: PolicySubject): PolicyConditionName | null {
    if (one.networks !== null && !this.#isInside(one.networks, subject)) return "networks";
    if (one.exceptNetworks !== null && this.#isInside(one.exceptNetworks, subject)) return "exceptNetworks";
    if (one.times !== null && !isWithin(one.times, subject.atMs)) return "times";
    if (one.device !== null && !hasState(one.device, subject)) return "device";
    return null;
  }

  #isMember(groups: readonly number[], subject: PolicySubject): boolean {
    if (!this.#knowsGroups) this.#readGroups(subject.groups);
    const own = this.#ownGroups;
    for (let at = 0; at < groups.length; at++) {
      const group = groups[at] as number;
      if (((own[group >>> 5] as number) & (1 << (group & 31))) !== 0) return true;
    }
    return false;
  }

  #readGroups(groups: readonly string[]): void {
    const own = this.#ownGroups;
    own.fill(0);
    for (let at = 0; at < groups.length; at++) {
      const group = this.#groupNumber(groups[at] as string);
      if (group < 0) continue;
      const word = group >>> 5;
      own[word] = (own[word] as number) | (1 << (group & 31));
    }
    this.#knowsGroups = true;
  }

  #groupNumber(spelling: string): number {
    const known = this.#spellings.get(spelling);
    if (known !== undefined) return known;
    const group = this.#groups.of(canonicalName(spelling));
    if (this.#spellings.size >= MAX_SPELLINGS) this.#spellings.clear();
    this.#spellings.set(spelling, group);
    return group;
  }

  #isInside(networks: NetworkList, subject: PolicySubject): boolean {
    if (!this.#knowsAddress) {
      this.#hasAddress = this.#address.read(subject.address);
      this.#knowsAddress = true;
    }
    return this.#hasAddress && networks.contains(this.#address);
  }
}

function isWithin(times: readonly TimeWindow[], atMs: number): boolean {
  for (let at = 0; at < times.length; at++) if ((times[at] as TimeWindow).contains(atMs)) return true;
  return false;
}

function hasState(states: ReadonlySet<DeviceState>, subject: PolicySubject): boolean {
  if (states.has("has_factor") && subject.hasFactor) return true;
  if (states.has("no_factor") && !subject.hasFactor) return true;
  return states.has("remembered") && subject.isRemembered;
}

export const NO_POLICIES: PolicyEvaluator = new PolicyEvaluator([]);
