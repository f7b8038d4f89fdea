// A policy, compiled once for comparisons: names become numbers, networks become masks.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Factor } from "../flow/context.ts";
import { FactorRules, type PolicyRules } from "./factor_rules.ts";
import { NetworkList } from "./networks.ts";
import { acceptsUnknownUsers, type DeviceState, type Policy, type PolicyConditions } from "./policy.ts";
import { coverWeek, TimeWindow, ZoneClock } from "./time_windows.ts";

/** Numbers for the names that policies mention. */
export class NameNumbers {
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
export class ZoneClocks {
  readonly #clocks = new Map<string, ZoneClock>();

  of(zone: string): ZoneClock {
    const known = this.#clocks.get(zone);
    if (known !== undefined) return known;
    const clock = new ZoneClock(zone);
    this.#clocks.set(zone, clock);
    return clock;
  }
}
