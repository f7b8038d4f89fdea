// Policies: the list, changes of it, what they decide about one sign-in, and what a draft would have changed.

import { type Context, Hono } from "hono";
import { auditEntry, type AuditValues } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import { Semaphore } from "../../../platform/semaphore.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import { type Clock, pauseFor, type Random } from "../../../platform/runtime.ts";
import type { PolicyEvaluator, PolicyMiss } from "../../../radius/policy/evaluator.ts";
import {
  CONDITION_FIELDS,
  namesInConditions,
  type Policy,
  type PolicyOutcome,
  type PolicyTime,
} from "../../../radius/policy/policy.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../../../radius/protocol/packet.ts";
import type { ReplyAttributeRegistry } from "../../../radius/factors/reply_attribute_registry.ts";
import { may } from "../auth/permissions.ts";
import { type Connect, type People, requireGateway, requireUsers, targetOf } from "../deps.ts";
import { DetailedRefusal, Refusal } from "../errors.ts";
import { type Caller, callerOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import {
  CHANGED_POLICY,
  EVALUATION,
  type EvaluationAnswer,
  MAX_CHANGES_SHOWN,
  type MissingNames,
  NEW_POLICY,
  POLICY_ORDER,
  type PolicyPage,
  REMOVED_POLICY,
  REPLAY,
  type ReplayAnswer,
  type ReplayChange,
} from "./policy_types.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { TargetDirectory } from "../../../scim/ports.ts";
import type { AdminCommands } from "../auth/admin_commands.ts";
import type { ErrorCode } from "../error_codes.ts";
import { DAY_MS } from "../../../platform/durations.ts";
import type { PolicyDecision, PolicyPreview } from "../../../radius/policy/policy_preview.ts";
import { decodeLoginRecord, historyKey, historyKeyAt } from "../../../radius/conversation/login_record.ts";

export interface PolicyRouteDeps extends Omit<PolicyLockoutDeps, "people"> {
  readonly people?: People;
  readonly connect?: Connect;
  readonly store: Store;
  /** The reply attributes of groups, which are added to those of a policy. */
  readonly replies?: Pick<ReplyAttributeRegistry, "octetsWith">;
  readonly clock: Clock;
  readonly random: Random;
}

/** What a change is based on, and whether it may lock users out. */
interface ChangeBasis {
  readonly version: number;
  readonly confirm: boolean;
}

interface ListChange {
  readonly next: readonly Policy[];
  readonly event: {
    readonly action: AuditAction;
    readonly object: string;
    readonly before?: AuditValues;
    readonly after?: AuditValues;
  };
}

const ID_OCTETS = 6;
const OWNER = may("owner", { recentFactor: true });
/** Replays at the same time, and those that may wait: each one reads thousands of sign-ins beside those in progress. */
const REPLAYS = { concurrent: 1, waiting: 4 };
const MAX_WAIT_MS = 15_000;

export function createPolicyRoutes(deps: PolicyRouteDeps) {
  const policies = new PolicyCommands(deps);
  const { clock } = deps;
  const replays = new Semaphore({ clock, limits: REPLAYS });
  return new Hono<HttpEnv>()
    .get("/", may("user_manager"), async (c) => c.json(await policies.page()))
    .post("/", OWNER, jsonBody(NEW_POLICY), async (c) => {
      const { policy, position, ...change } = c.req.valid("json");
      await policies.save(c, change, () => policies.created(policy, position));
      return c.json(await policies.page());
    })
    .put("/order", OWNER, jsonBody(POLICY_ORDER), async (c) => {
      const { ids, ...change } = c.req.valid("json");
      await policies.save(c, change, () => policies.reordered(ids));
      return c.json(await policies.page());
    })
    .post("/evaluate", may("user_manager"), jsonBody(EVALUATION), async (c) => {
      const { draft, atMs = clock.nowMs(), ...login } = c.req.valid("json");
      return c.json(await policies.evaluate(policies.draftOf(draft), { ...login, atMs }));
    })
    .post("/replay", may("user_manager"), jsonBody(REPLAY), async (c) => {
      const { preview } = policies.services();
      const draft = policies.draftOf(c.req.valid("json").draft);
      const done = await replays.run(
        () => replayDay({ ...deps, preview }, draft),
        clock.nowMs() + MAX_WAIT_MS,
      );
      if (!done.ran) throw new Refusal("overloaded", { "retry-after": "5" });
      return c.json(done.value);
    })
    .put("/:id", OWNER, jsonBody(CHANGED_POLICY), async (c) => {
      const { policy, ...change } = c.req.valid("json");
      await policies.save(c, change, () => policies.changed(c.req.param("id"), policy));
      return c.json(await policies.page());
    })
    .delete("/:id", OWNER, jsonBody(REMOVED_POLICY), async (c) => {
      await policies.save(c, c.req.valid("json"), () => policies.removed(c.req.param("id")));
      return c.json(await policies.page());
    });
}

class PolicyCommands {
  readonly #deps: PolicyRouteDeps;

  constructor(deps: PolicyRouteDeps) {
    this.#deps = deps;
  }

  services(): People["policies"] {
    return requireUsers(this.#deps.people).policies;
  }

  async page(): Promise<PolicyPage> {
    const { registry: { list } } = this.services();
    const people = requireUsers(this.#deps.people);
    const clients = this.#deps.connect === undefined
      ? []
      : requireGateway(this.#deps.connect).register.list();
    const names = clients.map(({ name }) => name);
    const missing = await findMissingNames(list.policies, {
      directory: targetOf(people, undefined).directory,
      clients: this.#deps.connect === undefined ? null : names,
    });
    return {
      ...{ version: list.version, policies: list.policies, factors: people.factors.enabled, missing },
      clients: names,
      uncheckedClients: clients.filter(({ firstFactor }) => firstFactor === "none").map(({ name }) => name),
    };
  }

  created(content: object, position: number | undefined): ListChange {
    const policies = [...this.#policies];
    const id = this.#deps.random.bytes(ID_OCTETS).toHex();
    const policy = this.#read({ ...content, id }, policies);
    policies.splice(position ?? policies.length, 0, policy);
    const event = {
      action: "policy.create",
      object: `policy:${policy.name}`,
      after: policyAuditValues(policy),
    } as const;
    return { next: policies, event };
  }

  changed(id: string, content: object): ListChange {
    const before = this.#known(id);
    const policy = this.#read({ ...content, id }, this.#policies.filter((one) => one !== before));
    const event = {
      action: "policy.change",
      object: `policy:${policy.name}`,
      before: policyAuditValues(before),
      after: policyAuditValues(policy),
    } as const;
    return { next: this.#policies.map((one) => one === before ? policy : one), event };
  }

  /** @throws Refusal `changed_meanwhile` if the ids are not those of the list */
  reordered(ids: readonly string[]): ListChange {
    const byId = new Map(this.#policies.map((policy) => [policy.id, policy]));
    const next = [...new Set(ids)].flatMap((id) => byId.get(id) ?? []);
    if (next.length !== byId.size || ids.length !== byId.size) throw new Refusal("changed_meanwhile");
    const names = (list: readonly Policy[]) => list.map(({ name }) => name).join(", ");
    const event = {
      action: "policy.order",
      object: "policy:",
      before: { order: names(this.#policies) },
      after: { order: names(next) },
    } as const;
    return { next, event };
  }

  removed(id: string): ListChange {
    const before = this.#known(id);
    const event = {
      action: "policy.remove",
      object: `policy:${before.name}`,
      before: policyAuditValues(before),
    } as const;
    return { next: this.#policies.filter((one) => one !== before), event };
  }

  /**
   * Saves a change of the list that `make` computes.
   *
   * @throws Refusal if the list was changed meanwhile (with the author and time of that change), is not valid, or locks out users and is not
   * confirmed
   */
  async save(c: Context<HttpEnv>, basis: ChangeBasis, make: () => ListChange): Promise<void> {
    try {
      if (this.services().registry.list.version !== basis.version) throw new Refusal("changed_meanwhile");
      await this.#save(callerOf(c), basis, make());
    } catch (fault) {
      if (fault instanceof Refusal && fault.code === "changed_meanwhile") {
        const last = await this.services().registry.lastChange();
        const { actor } = callerOf(c);
        if (last !== null) fault.lastChange = { actor: last.by, atMs: last.atMs, isOwn: last.by === actor };
      }
      throw fault;
    }
  }

  async #save(caller: Caller, { version, confirm }: ChangeBasis, { next, event }: ListChange): Promise<void> {
    const { registry } = this.services();
    const draft = this.draftOf(next);
    this.#checkRoom(next);
    if (!confirm) {
      const lockout = await findLockout({ ...this.#deps, people: requireUsers(this.#deps.people) }, draft);
      if (lockout !== null) throw new Refusal(lockout);
    }
    const audit: Mutation[] = [auditEntry({ ...caller, ...event })];
    const changed = { by: caller.actor, atMs: this.#deps.clock.nowMs() };
    const done = await registry.replace(next, { version, audit, changed });
    if (done.ok) return;
    if (done.reason === "bad") throw new DetailedRefusal("bad_value", { message: done.detail });
    throw new Refusal(done.reason === "changed" ? "changed_meanwhile" : "policies_too_large");
  }

  /** An Access-Accept has room for the attributes of a policy and of all groups. */
  #checkRoom(policies: readonly Policy[]): void {
    for (const { name, outcome } of policies) {
      const attributes = outcome.kind === "deny" ? undefined : outcome.attributes;
      if (attributes === undefined) continue;
      const octets = this.#deps.replies?.octetsWith(attributes) ?? 0;
      if (octets <= MAX_ACCEPT_ATTRIBUTE_OCTETS) continue;
      const message = `The session attributes of "${name}" and those of all groups have ${octets} octets; ` +
        `an Access-Accept has room for ${MAX_ACCEPT_ATTRIBUTE_OCTETS}.`;
      throw new DetailedRefusal("bad_value", { message });
    }
  }

  /** @param draft absent: the stored list */
  draftOf(draft: readonly unknown[] | undefined): PolicyEvaluator {
    const { preview } = this.services();
    if (draft === undefined) return preview.stored;
    const read = preview.readDraft(draft);
    if (!read.ok) throw new DetailedRefusal("bad_value", { message: read.problem });
    return read.value;
  }

  async evaluate(
    evaluator: PolicyEvaluator,
    login: Parameters<People["policies"]["preview"]["explain"]>[1],
  ): Promise<EvaluationAnswer> {
    const { misses, ...explained } = await this.services().preview.explain(evaluator, login);
    const verdicts = evaluator.policies.map(({ policy: { id, name } }, at) => {
      const miss = misses[at] ?? null;
      const applies = name === explained.policy;
      const held = applies ? "This policy applies." : "An earlier policy applies.";
      return { id, name, miss, applies, reason: miss === null ? held : missSentence(miss) };
    });
    return { ...explained, atMs: login.atMs, verdicts };
  }

  get #policies(): readonly Policy[] {
    return this.services().registry.list.policies;
  }

  #known(id: string): Policy {
    const found = this.#policies.find((policy) => policy.id === id);
    if (found === undefined) throw new Refusal("unknown_policy");
    return found;
  }

  /** Reads a policy together with the others, because names must differ. */
  #read(content: object, others: readonly Policy[]): Policy {
    const [policy] = this.draftOf([content, ...others]).policies;
    if (policy === undefined) throw new Refusal("malformed");
    return policy.policy;
  }
}

/** Groups that are looked up for one page. */
const MAX_GROUPS = 500;

/** @param clients the names of the RADIUS clients; `null` if they are not known */
async function findMissingNames(
  policies: readonly Policy[],
  { directory, clients }: {
    directory: Pick<TargetDirectory, "read">;
    clients: readonly string[] | null;
  },
): Promise<MissingNames> {
  const named = policies.flatMap(({ conditions }) => namesInConditions(conditions, "groups"));
  const groups: string[] = [];
  for (const name of [...new Set(named)].slice(0, MAX_GROUPS)) {
    if (await directory.read("group", canonicalName(name)) === null) groups.push(name);
  }
  const ofClients = new Set(policies.flatMap(({ conditions }) => namesInConditions(conditions, "clients")));
  return {
    groups,
    clients: clients === null ? [] : [...ofClients].filter((name) => !clients.includes(name)),
  };
}

const MAX_RUN_MS = 10;

/** Returns a function that waits for the event loop if the last wait is more than 10 ms ago. */
function createPauses(clock: Pick<Clock, "nowMs" | "after">): () => Promise<void> {
  let sinceMs = clock.nowMs();
  return async () => {
    if (clock.nowMs() - sinceMs < MAX_RUN_MS) return;
    await pauseFor(clock, 0);
    sinceMs = clock.nowMs();
  };
}

/** Why a policy does not apply. */
function missSentence(miss: PolicyMiss): string {
  if (miss === "disabled") return "The policy is turned off.";
  return miss === "unknownUser"
    ? "The policy accepts without a second factor, and the user is not in the directory."
    : CONDITION_FIELDS[miss].miss;
}

const timeText = ({ days, from, to, zone }: PolicyTime) => `${days.join(" ")} ${from}–${to} ${zone}`;

/** The fields of a policy for the audit log. */
function policyAuditValues({ name, enabled, conditions, outcome }: Policy): AuditValues {
  const lists = Object.entries(conditions).map(([field, list]) => [
    field,
    field === "times" ? (list as readonly PolicyTime[]).map(timeText).join(", ") : list.join(", "),
  ]);
  return { name, enabled, ...Object.fromEntries(lists), ...outcomeValues(outcome) };
}

function outcomeValues(outcome: PolicyOutcome): AuditValues {
  const { kind, ...fields } = outcome;
  const texts = Object.entries(fields).map(([field, value]) => [
    field,
    field === "attributes"
      ? Object.entries(value as object).map(([name, one]) => `${name} = ${one}`).join(", ")
      : Array.isArray(value)
      ? value.join(", ")
      : value,
  ]);
  return { outcome: kind, ...Object.fromEntries(texts) };
}

interface PolicyLockoutDeps {
  readonly people: People;
  readonly clock: Pick<Clock, "nowMs" | "after">;
  readonly administrators: Pick<AdminCommands, "list">;
}

/** Users that are checked. If all of these are locked out, the list needs a confirmation. */
const MAX_USERS = 20_000;
/** How long a check of users, or of the sign-ins of a day, may take. */
const MAX_CHECK_MS = 5000;

/** Why a list needs a confirmation; `null`: some users and some administrators can still sign in. */
async function findLockout(
  deps: PolicyLockoutDeps,
  draft: PolicyEvaluator,
): Promise<ErrorCode | null> {
  if (draft.isEmpty) return null;
  if (await locksOutEvery(deps, draft, userNames(deps))) return "policies_lock_out_users";
  return await locksOutEvery(deps, draft, adminNames(deps)) ? "policies_lock_out_admins" : null;
}

/** Whether every user of the names is locked out. Usually the first one is not, which ends the search. */
async function locksOutEvery(
  { people: { policies: { preview } }, clock }: PolicyLockoutDeps,
  draft: PolicyEvaluator,
  names: AsyncIterable<string>,
): Promise<boolean> {
  const endMs = clock.nowMs() + MAX_CHECK_MS;
  const pause = createPauses(clock);
  let checked = 0;
  for await (const name of names) {
    const isLockedOut = await preview.isLockedOut(draft, name);
    if (isLockedOut === false) return false;
    if (isLockedOut === true) checked++;
    await pause();
    if (checked >= MAX_USERS || clock.nowMs() > endMs) break;
  }
  return checked > 0;
}

async function* userNames({ people }: PolicyLockoutDeps): AsyncIterable<string> {
  for await (const { content } of targetOf(people, undefined).directory.all("user")) {
    yield canonicalName(content.name);
  }
}

/** Administrators whose names may be names of users. */
async function* adminNames({ administrators }: PolicyLockoutDeps): AsyncIterable<string> {
  for (const { name } of (await administrators.list()).items) yield canonicalName(name);
}

interface ReplayDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs" | "after">;
  readonly preview: PolicyPreview;
}

const MAX_LOGINS = 20_000;
/** Ends that repeat another sign-in, and say nothing about a decision. */
const NOT_COUNTED: ReadonlySet<string> = new Set(["superseded", "cancelled"]);

/** Evaluates sign-ins, newest first, with the groups and factors that users have now. */
async function replayDay(deps: ReplayDeps, draft: PolicyEvaluator): Promise<ReplayAnswer> {
  const { store, clock, preview } = deps;
  const startedMs = clock.nowMs();
  const fromMs = startedMs - DAY_MS;
  const range = { start: historyKey(historyKeyAt(fromMs)), end: historyKey(historyKeyAt(startedMs + 1)) };
  const changes: ReplayChange[] = [];
  const pause = createPauses(clock);
  let evaluated = 0;
  let changed = 0;
  let read = 0;
  let oldestMs = startedMs;
  for await (const { key, value } of store.range<unknown>(range, { reverse: true })) {
    if (read >= MAX_LOGINS || clock.nowMs() - startedMs > MAX_CHECK_MS) {
      return { fromMs, evaluated, cutAtMs: oldestMs, changed, changes };
    }
    read++;
    const login = decodeLoginRecord(value);
    if (login === null || NOT_COUNTED.has(login.outcome)) continue;
    const { user, client, place, startedMs: atMs, outcome } = login;
    oldestMs = atMs;
    evaluated++;
    await pause();
    const [before, after] = await preview.decide([preview.stored, draft], {
      ...{ user, client, atMs },
      ...{ address: place, isStripped: true },
    });
    if (before === undefined || after === undefined || isSameEffect(before, after)) continue;
    changed++;
    if (changes.length >= MAX_CHANGES_SHOWN) continue;
    changes.push({ id: String(key[1]), user, client, place, atMs, outcome, before, after });
  }
  return { fromMs, evaluated, cutAtMs: null, changed, changes };
}

/** Another name of a policy alone changes nothing for the user. */
function isSameEffect({ effect: a }: PolicyDecision, { effect: b }: PolicyDecision): boolean {
  return a.kind === b.kind && a.required === b.required && a.factors.join() === b.factors.join() &&
    JSON.stringify(a.attributes) === JSON.stringify(b.attributes);
}
