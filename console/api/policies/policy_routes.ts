// Policies: the list, changes of it, what they decide about one sign-in, and what a draft would have changed.

import { type Context, Hono } from "hono";
import { auditEntry, type AuditValues } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { PolicyEvaluator } from "../../../radius/policy/evaluator.ts";
import type { Policy } from "../../../radius/policy/policy.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../../../radius/protocol/packet.ts";
import type { ReplyAttributeRegistry } from "../../../radius/factors/reply_attributes.ts";
import { may } from "../auth/permissions.ts";
import { type Connect, type People, requireGateway, requireUsers } from "../deps.ts";
import { DetailedRefusal, Refusal } from "../errors.ts";
import { callerOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import { findLockout, type PolicyLockoutDeps } from "./policy_lockout.ts";
import { replayDay } from "./policy_replay.ts";
import { MISS_SENTENCES, policyAuditValues } from "./policy_texts.ts";
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

/** A change of the list. */
interface ListChange {
  readonly version: number;
  readonly confirm: boolean;
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

export function createPolicyRoutes(deps: PolicyRouteDeps) {
  const policies = new PolicyCommands(deps);
  return new Hono<HttpEnv>()
    .get("/", may("user_manager"), (c) => c.json(policies.page()))
    .post("/", OWNER, jsonBody(NEW_POLICY), async (c) => {
      const { policy, position, ...change } = c.req.valid("json");
      await policies.save(c, policies.created(policy, position, change));
      return c.json(policies.page());
    })
    .put("/order", OWNER, jsonBody(POLICY_ORDER), async (c) => {
      const { ids, ...change } = c.req.valid("json");
      await policies.save(c, policies.reordered(ids, change));
      return c.json(policies.page());
    })
    .post("/evaluate", may("user_manager"), jsonBody(EVALUATION), async (c) => {
      const { draft, atMs = deps.clock.nowMs(), ...login } = c.req.valid("json");
      return c.json(await policies.evaluate(policies.draftOf(draft), { ...login, atMs }));
    })
    .post("/replay", may("user_manager"), jsonBody(REPLAY), async (c) => {
      const { preview } = policies.services();
      return c.json(await replayDay({ ...deps, preview }, policies.draftOf(c.req.valid("json").draft)));
    })
    .put("/:id", OWNER, jsonBody(CHANGED_POLICY), async (c) => {
      const { policy, ...change } = c.req.valid("json");
      await policies.save(c, policies.changed(c.req.param("id"), policy, change));
      return c.json(policies.page());
    })
    .delete("/:id", OWNER, jsonBody(REMOVED_POLICY), async (c) => {
      await policies.save(c, policies.removed(c.req.param("id"), c.req.valid("json")));
      return c.json(policies.page());
    });
}

type Basis = Pick<ListChange, "version" | "confirm">;

class PolicyCommands {
  readonly #deps: PolicyRouteDeps;

  constructor(deps: PolicyRouteDeps) {
    this.#deps = deps;
  }

  services(): People["policies"] {
    return requireUsers(this.#deps.people).policies;
  }

  page(): PolicyPage {
    const { registry: { list } } = this.services();
    const { factors: { enabled } } = requireUsers(this.#deps.people);
    const clients = this.#deps.connect === undefined
      ? []
      : requireGateway(this.#deps.connect).register.list();
    return {
      ...{ version: list.version, policies: list.policies, factors: enabled },
      clients: clients.map(({ name }) => name),
      uncheckedClients: clients.filter(({ firstFactor }) => firstFactor === "none").map(({ name }) => name),
    };
  }

  created(content: object, position: number | undefined, basis: Basis): ListChange {
    const policies = [...this.#policies];
    const id = this.#deps.random.bytes(ID_OCTETS).toHex();
    const policy = this.#read({ ...content, id }, policies);
    policies.splice(position ?? policies.length, 0, policy);
    const event = {
      action: "policy.create",
      object: `policy:${policy.name}`,
      after: policyAuditValues(policy),
    } as const;
    return { ...basis, next: policies, event };
  }

  changed(id: string, content: object, basis: Basis): ListChange {
    const before = this.#known(id);
    const policy = this.#read({ ...content, id }, this.#policies.filter((one) => one !== before));
    const event = {
      action: "policy.change",
      object: `policy:${policy.name}`,
      before: policyAuditValues(before),
      after: policyAuditValues(policy),
    } as const;
    return { ...basis, next: this.#policies.map((one) => one === before ? policy : one), event };
  }

  /** @throws Refusal `changed_meanwhile` if the ids are not those of the list */
  reordered(ids: readonly string[], basis: Basis): ListChange {
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
    return { ...basis, next, event };
  }

  removed(id: string, basis: Basis): ListChange {
    const before = this.#known(id);
    const event = {
      action: "policy.remove",
      object: `policy:${before.name}`,
      before: policyAuditValues(before),
    } as const;
    return { ...basis, next: this.#policies.filter((one) => one !== before), event };
  }

  /** @throws Refusal if the list was changed meanwhile, is not valid, or locks out users and is not confirmed */
  async save(c: Context<HttpEnv>, { version, confirm, next, event }: ListChange): Promise<void> {
    const { registry } = this.services();
    if (registry.list.version !== version) throw new Refusal("changed_meanwhile");
    const draft = this.draftOf(next);
    this.#checkRoom(next);
    if (!confirm) {
      const lockout = await findLockout({ ...this.#deps, people: requireUsers(this.#deps.people) }, draft);
      if (lockout !== null) throw new Refusal(lockout);
    }
    const audit: Mutation[] = [auditEntry({ ...callerOf(c), ...event })];
    const done = await registry.replace(next, { version, audit });
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
      return { id, name, miss, applies, reason: miss === null ? held : MISS_SENTENCES[miss] };
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
