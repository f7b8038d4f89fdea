// Decides which policy applies to a login. A decision allocates nothing, because it is made for each packet: policies are compiled once, so that names
// are numbers and networks are masks.

import { canonicalName } from "../../platform/canonical_name.ts";
import {
  acceptsUnknownUsers,
  coverWeek,
  type DeviceState,
  FactorRules,
  type NameConditionName,
  type Policy,
  type PolicyConditionName,
  type PolicyConditions,
  type PolicyRules,
  TimeWindow,
  ZoneClock,
} from "./policy.ts";
import type { Factor } from "../flow/context.ts";
import { ipOctets } from "../../platform/addresses.ts";

/** The facts of a login that conditions read. Properties are read only if a condition needs them. */
export interface PolicySubject {
  /** Canonical. */
  readonly user: string;
  readonly isKnown: boolean;
  /** As the directory spells them. */
  readonly groups: readonly string[];
  readonly client: string;
  /** Calling-Station-Id, or empty. */
  readonly address: string;
  /** The start of the login, since the epoch. */
  readonly atMs: number;
  /** Whether the user has a factor that is enabled and ready. */
  readonly hasFactor: boolean;
  /** See {@link neverHadFactor} of radius/factors/own_factors.ts. */
  readonly neverHadFactor: boolean;
  /** Whether a device is remembered for this user, client and Calling-Station-Id. */
  readonly isRemembered: boolean;
}

/**
 * Why a policy does not apply: it is disabled, its outcome needs a user of the directory, or the first condition that fails. A bypass never follows
 * from not knowing a user.
 */
export type PolicyMiss = PolicyConditionName | "disabled" | "unknownUser";

/** Known spellings of groups. Beyond it, the least recent half is not worth keeping: all are forgotten. */
const MAX_SPELLINGS = 10_000;

const MAPPED_PREFIX = 96;

/** The address of a login, in four words. IPv4 is in the last word, as in an IPv4-mapped IPv6 address. */
class AddressWords {
  readonly words = new Int32Array(4);
  isIpv4 = false;
  #text = "";
  #isAddress = false;

  /** Reads an address. Returns whether it is one; a MAC address or another text is none. */
  read(text: string): boolean {
    if (text === this.#text) return this.#isAddress;
    this.#text = text;
    this.#isAddress = this.#readIpv4(text) || this.#readOther(text);
    return this.#isAddress;
  }

  /** Reads four decimal parts without allocating. */
  #readIpv4(text: string): boolean {
    if (text.length < 7 || text.length > 15) return false;
    let word = 0;
    let parts = 0;
    let value = 0;
    let digits = 0;
    for (let at = 0; at <= text.length; at++) {
      const code = at < text.length ? text.charCodeAt(at) : 0x2e;
      if (code === 0x2e) {
        if (digits === 0 || value > 255 || ++parts > 4) return false;
        word = (word << 8) | value;
        value = digits = 0;
      } else if (code >= 0x30 && code <= 0x39) {
        if (digits === 3 || (digits > 0 && value === 0)) return false;
        value = value * 10 + code - 0x30;
        digits++;
      } else return false;
    }
    if (parts !== 4) return false;
    setIpv4(this.words, word);
    this.isIpv4 = true;
    return true;
  }

  #readOther(text: string): boolean {
    if (!text.includes(":")) return false;
    const octets = ipOctets(text);
    if (octets === null) return false;
    setOctets(this.words, octets);
    this.isIpv4 = octets.length === 4;
    return true;
  }
}

function setIpv4(words: Int32Array, word: number): void {
  words[0] = 0;
  words[1] = 0;
  words[2] = 0xffff;
  words[3] = word;
}

function setOctets(words: Int32Array, octets: Uint8Array): void {
  const word = (at: number) =>
    ((octets[at] as number) << 24) | ((octets[at + 1] as number) << 16) |
    ((octets[at + 2] as number) << 8) | (octets[at + 3] as number);
  if (octets.length === 4) return setIpv4(words, word(0));
  for (let at = 0; at < 4; at++) words[at] = word(4 * at);
}

class NetworkList {
  /** For each network four words of its address and four of its mask. */
  readonly #words: Int32Array;
  /** Whether each network is one of IPv4. `::/0` contains no IPv4 address. */
  readonly #isIpv4: readonly boolean[];
  /** Whether one of the networks is `0.0.0.0/0`. */
  readonly containsAllIpv4: boolean;

  /** @param ranges canonical addresses and CIDR ranges @throws TypeError for anything else */
  constructor(ranges: readonly string[]) {
    this.#words = new Int32Array(ranges.length * 8);
    this.containsAllIpv4 = ranges.includes("0.0.0.0/0");
    this.#isIpv4 = ranges.map((range) => !range.includes(":"));
    for (const [at, range] of ranges.entries()) this.#add(at * 8, range);
  }

  #add(at: number, range: string): void {
    const [address = "", prefixText] = range.split("/");
    const octets = ipOctets(address);
    if (octets === null) throw new TypeError(`"${range}" is not a network`);
    const bits = prefixText === undefined ? octets.length * 8 : Number(prefixText);
    const prefix = octets.length === 4 ? bits + MAPPED_PREFIX : bits;
    setOctets(this.#words.subarray(at, at + 4), octets);
    for (let word = 0; word < 4; word++) {
      const ones = Math.max(0, Math.min(32, prefix - 32 * word));
      this.#words[at + 4 + word] = ones === 0 ? 0 : -1 << (32 - ones);
    }
  }

  contains({ words, isIpv4 }: AddressWords): boolean {
    const own = this.#words;
    for (let at = 0; at < own.length; at += 8) {
      let isInside = this.#isIpv4[at >> 3] === isIpv4;
      for (let word = 0; isInside && word < 4; word++) {
        const mask = own[at + 4 + word] as number;
        isInside = ((words[word] as number) & mask) === ((own[at + word] as number) & mask);
      }
      if (isInside) return true;
    }
    return false;
  }
}

export class PolicyEvaluator {
  readonly policies: readonly CompiledPolicy[];
  readonly #enabled: readonly CompiledPolicy[];
  readonly #clients = new NameNumbers();
  readonly #users = new NameNumbers();
  readonly #groups = new NameNumbers();
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
    const zones = new ZoneClocks();
    const shared = { clients: this.#clients, users: this.#users, groups: this.#groups, zones };
    this.policies = policies.map((policy) => new CompiledPolicy(policy, shared));
    this.#enabled = this.policies.filter(({ policy }) => policy.enabled);
    this.#byName = new Map(this.policies.map((one) => [one.name, one]));
    this.#ownGroups = new Uint32Array(Math.ceil(this.#groups.size / 32));
  }

  get isEmpty(): boolean {
    return this.#enabled.length === 0;
  }

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
   * The policies that can apply to a login of this user and client, in order. `isCertain`: the policy applies at any time and from any device and IPv4
   * address, unless an earlier one does.
   */
  *possible(subject: PolicySubject): Iterable<{ policy: CompiledPolicy; isCertain: boolean }> {
    for (const policy of this.#enabled) {
      this.#begin(subject);
      if (this.#missOfUser(policy, subject) !== null) continue;
      if (!IS_CERTAIN.device(policy, subject) && policy.device?.has("remembered") !== true) continue;
      yield { policy, isCertain: Object.values(IS_CERTAIN).every((holds) => holds(policy, subject)) };
    }
  }

  #begin({ client, user }: PolicySubject): void {
    this.#client = this.#clients.of(client);
    this.#user = this.#users.of(user);
    this.#knowsGroups = false;
    this.#knowsAddress = false;
  }

  /** Checks cheap conditions first, in the order of POLICY_CONDITIONS. */
  #miss(one: CompiledPolicy, subject: PolicySubject): PolicyMiss | null {
    return this.#missOfUser(one, subject) ?? this.#missOfPlace(one, subject);
  }

  #missOfUser(one: CompiledPolicy, subject: PolicySubject): PolicyMiss | null {
    if (one.clients !== null && !one.clients.has(this.#client)) return "clients";
    if (one.users !== null && (this.#user < 0 || !one.users.has(this.#user))) return "users";
    if (one.exceptUsers !== null && this.#user >= 0 && one.exceptUsers.has(this.#user)) return "exceptUsers";
    if (one.groups !== null && !this.#isMember(one.groups, subject)) return "groups";
    if (one.exceptGroups !== null && this.#isMember(one.exceptGroups, subject)) return "exceptGroups";
    return one.coversUnknownUsers || subject.isKnown ? null : "unknownUser";
  }

  #missOfPlace(one: CompiledPolicy, subject: PolicySubject): PolicyConditionName | null {
    if (one.networks !== null && !this.#isInside(one.networks, subject)) return "networks";
    if (one.exceptNetworks !== null && this.#isExcluded(one, one.exceptNetworks, subject)) {
      return "exceptNetworks";
    }
    if (one.times !== null && !isWithin(one.times, subject.atMs)) return "times";
    if (one.device !== null && !hasState(one, one.device, subject)) return "device";
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
    return this.#readAddress(subject) && networks.contains(this.#address);
  }

  /** Without an IP address, it is not known where the login comes from: it needs its second factor. */
  #isExcluded({ policy }: CompiledPolicy, networks: NetworkList, subject: PolicySubject): boolean {
    if (!this.#readAddress(subject)) return policy.outcome.kind === "bypass";
    return networks.contains(this.#address);
  }

  #readAddress(subject: PolicySubject): boolean {
    if (!this.#knowsAddress) {
      this.#hasAddress = this.#address.read(subject.address);
      this.#knowsAddress = true;
    }
    return this.#hasAddress;
  }
}

function isWithin(times: readonly TimeWindow[], atMs: number): boolean {
  for (let at = 0; at < times.length; at++) if ((times[at] as TimeWindow).contains(atMs)) return true;
  return false;
}

function hasState(
  one: CompiledPolicy,
  states: ReadonlySet<DeviceState>,
  subject: PolicySubject,
): boolean {
  return hasFactorState(one, states, subject) || states.has("remembered") && subject.isRemembered;
}

/**
 * A user either has no factor, or has one or had one. What is lost or turned off counts as a factor, except for a bypass, which needs one that is
 * ready. A denial of users without a factor includes names that the directory does not know.
 */
function hasFactorState(
  { policy: { outcome: { kind } } }: CompiledPolicy,
  states: ReadonlySet<DeviceState>,
  subject: PolicySubject,
): boolean {
  if (states.has("has_factor")) {
    if (subject.hasFactor || kind !== "bypass" && subject.isKnown && !subject.neverHadFactor) return true;
  }
  if (!states.has("no_factor")) return false;
  return subject.neverHadFactor || kind === "deny" && !subject.isKnown && !subject.hasFactor;
}

/** Whether a condition that names no user, group or client holds for each login: at any time, and from any device and IPv4 address. */
const IS_CERTAIN: Readonly<
  Record<
    Exclude<PolicyConditionName, NameConditionName>,
    (one: CompiledPolicy, subject: PolicySubject) => boolean
  >
> = {
  networks: ({ networks }) => networks === null || networks.containsAllIpv4,
  exceptNetworks: ({ exceptNetworks }) => exceptNetworks === null,
  times: ({ isAnytime }) => isAnytime,
  device: (one, subject) => one.device === null || hasFactorState(one, one.device, subject),
};

/** Numbers for the names that policies mention. */
class NameNumbers {
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
export class CompiledPolicy implements Readonly<Record<PolicyConditionName, unknown>> {
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
  /** Whether it applies to names that the directory does not know. */
  readonly coversUnknownUsers: boolean;
  readonly #rules: FactorRules;
  #isAnytime: boolean | null = null;

  constructor(
    policy: Policy,
    shared: { clients: NameNumbers; users: NameNumbers; groups: NameNumbers; zones: ZoneClocks },
  ) {
    const { conditions } = policy;
    const numbers = (
      name: "clients" | "users" | "exceptUsers" | "groups" | "exceptGroups",
      of: NameNumbers,
    ) => conditions[name]?.map((one) => of.add(name === "clients" ? one : canonicalName(one))) ?? null;
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
    this.coversUnknownUsers = policy.outcome.kind !== "bypass" || acceptsUnknownUsers(policy);
    this.#rules = new FactorRules(policy.outcome);
  }

  get name(): string {
    return this.policy.name;
  }

  /** Whether its times leave no minute of a week out. */
  get isAnytime(): boolean {
    return this.#isAnytime ??= this.times === null || coverWeek(this.times);
  }

  /** The factors that the policy allows, of those that the settings enable. */
  rules(enabled: ReadonlySet<Factor>): PolicyRules {
    return this.#rules.of(enabled);
  }
}

/** One clock for each zone, so that its cached time serves all policies. */
class ZoneClocks {
  readonly #clocks = new Map<string, ZoneClock>();

  of(zone: string): ZoneClock {
    const known = this.#clocks.get(zone);
    if (known !== undefined) return known;
    const clock = new ZoneClock(zone);
    this.#clocks.set(zone, clock);
    return clock;
  }
}

export const NO_POLICIES: PolicyEvaluator = new PolicyEvaluator([]);
