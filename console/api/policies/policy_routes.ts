// Policies: the list, changes of it, what they decide about one sign-in, and what a draft would have changed.

import { type Context, Hono } from "hono";
import { auditEntry, type AuditValues } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import { Semaphore } from "../../../platform/semaphore.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { PolicyEvaluator } from "../../../radius/policy/evaluator.ts";
import type { Policy } from "../../../radius/policy/policy.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../../../radius/protocol/packet.ts";
import type { ReplyAttributeRegistry } from "../../../radius/factors/reply_attribute_registry.ts";
import { may } from "../auth/permissions.ts";
import { type Connect, type People, requireGateway, requireUsers, targetOf } from "../deps.ts";
import { DetailedRefusal, Refusal } from "../errors.ts";
import { type Caller, callerOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import { findMissingNames } from "./missing_names.ts";
import { findLockout, type PolicyLockoutDeps } from "./policy_lockout.ts";
import { replayDay } from "./policy_replay.ts";
import { missSentence, policyAuditValues } from "./policy_texts.ts";
import {
  CHANGED_POLICY,
  EVALUATION,
  type EvaluationAnswer,
  NEW_POLICY,
  POLICY_ORDER,
  type PolicyPage,
  REMOVED_POLICY,
  REPLAY,
} from "./policy_types.ts";

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

/** A change of the list. */
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
