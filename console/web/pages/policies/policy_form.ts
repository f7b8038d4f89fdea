// The draft of a policy in the editor, and the calls of policies.

import type { Factor } from "../../../../radius/flow/context.ts";
import {
  type ChallengeOutcome,
  conditionRow,
  type Policy,
  POLICY_CONDITIONS,
  type PolicyConditionName,
  type PolicyConditions,
  type PolicyFactor,
  type PolicyOutcome,
  type PolicyTime,
} from "../../../../radius/policy/policy.ts";
import type { EvaluationAnswer, PolicyPage, ReplayAnswer } from "../../../api/policies/policy_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";

/** Without an id for a new policy. */
type PolicyContent = Omit<Policy, "id">;
type FactorRule = "settings" | "some" | "one";
type DraftEnrolment = "settings" | "never" | "after_first_factor" | "always";

export interface PolicyDraft {
  readonly name: string;
  readonly enabled: boolean;
  /** The conditions that the editor shows. The server refuses empty ones. */
  readonly shown: readonly PolicyConditionName[];
  readonly conditions: PolicyConditions;
  /** Networks as typed, by condition. */
  readonly networks: Readonly<Partial<Record<PolicyConditionName, string>>>;
  readonly kind: PolicyOutcome["kind"];
  readonly factorRule: FactorRule;
  readonly factors: readonly PolicyFactor[];
  readonly requiredFactor: Factor;
  readonly enrolment: DraftEnrolment;
  /** Hours as typed; "" for none. */
  readonly rememberHours: string;
  readonly clientChecksPassword: boolean;
  /** Of a policy that accepts: also names outside the directory. */
  readonly unknownUsers: boolean;
  /** `Name = value`, one in each line. */
  readonly attributes: string;
}

/** The draft of a stored policy, or of a new one. */
export function draftOf(policy: Policy | null): PolicyDraft {
  const { name = "", enabled = true, conditions = {}, outcome = { kind: "challenge" } } = policy ?? {};
  const challenge: ChallengeOutcome = outcome.kind === "challenge" ? outcome : { kind: "challenge" };
  const { factors, requiredFactor, enrolment = "settings", rememberHours } = challenge;
  const given = outcome.kind === "deny" ? { kind: "deny" as const } : outcome;
  return {
    ...{ name, enabled, conditions, enrolment },
    shown: Object.keys(conditions) as PolicyConditionName[],
    networks: Object.fromEntries(
      POLICY_CONDITIONS.filter((one) => conditionRow(one).isNetwork).map((one) => [
        one,
        (conditions[one] ?? []).join("\n"),
      ]),
    ),
    kind: outcome.kind,
    factorRule: requiredFactor !== undefined ? "one" : factors !== undefined ? "some" : "settings",
    factors: factors ?? [],
    requiredFactor: requiredFactor ?? "device",
    rememberHours: rememberHours === undefined ? "" : String(rememberHours),
    clientChecksPassword: given.kind !== "deny" && given.clientChecksPassword === true,
    unknownUsers: given.kind === "bypass" && given.unknownUsers === true,
    attributes: given.kind === "deny"
      ? ""
      : Object.entries(given.attributes ?? {}).flatMap(([key, value]) =>
        (typeof value === "object" ? value : [value]).map((one) => `${key} = ${one}`)
      ).join("\n"),
  };
}

/** The policy that a draft describes. The server checks it. */
export function contentOf(draft: PolicyDraft): PolicyContent {
  const { name, enabled, shown, conditions } = draft;
  const entries = shown.map((condition) => {
    const typed = draft.networks[condition];
    return [condition, typed === undefined ? conditions[condition] ?? [] : linesOf(typed)];
  });
  return {
    ...{ name: name.trim(), enabled },
    conditions: Object.fromEntries(entries) as PolicyConditions,
    outcome: outcomeOf(draft),
  };
}

function outcomeOf(draft: PolicyDraft): PolicyOutcome {
  const { kind, factorRule, factors, requiredFactor, enrolment, rememberHours } = draft;
  if (kind === "deny") return { kind };
  const attributes = attributesOf(draft.attributes);
  const hours = kind === "challenge" && rememberHours.trim() !== "" ? Number(rememberHours) : null;
  const shared = {
    ...(draft.clientChecksPassword && (kind === "bypass" || hours !== null)
      ? { clientChecksPassword: true }
      : {}),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
  };
  if (kind === "bypass") return { kind, ...(draft.unknownUsers ? { unknownUsers: true } : {}), ...shared };
  return {
    kind,
    ...(factorRule === "some" ? { factors } : factorRule === "one" ? { requiredFactor } : {}),
    ...(enrolment === "settings" ? {} : { enrolment }),
    ...(hours === null ? {} : { rememberHours: hours }),
    ...shared,
  };
}

/** Several lines with one name are its values. */
function attributesOf(text: string): Record<string, string | string[]> {
  const pairs = text.split("\n").filter((line) => line.trim() !== "").map((line) => {
    const at = line.indexOf("=");
    const [name, value] = at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
    return { name: name.trim(), value: value.trim() };
  });
  const byName = Map.groupBy(pairs, ({ name }) => name);
  return Object.fromEntries(
    [...byName].map(([name, rows]) => {
      const values = rows.map(({ value }) => value);
      return [name, values.length === 1 ? values[0] ?? "" : values];
    }),
  );
}

function linesOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((part) => part !== "");
}

/** A period in the time zone of the browser. */
export function newPeriod(): PolicyTime {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return { days: ["mon", "tue", "wed", "thu", "fri"], from: "08:00", to: "18:00", zone: timeZone };
}

/** What a change is based on, and whether it may lock users out. */
export interface PolicyBasis {
  readonly version: number;
  readonly confirm: boolean;
}

/** A sign-in to evaluate. */
interface TriedLogin {
  readonly user: string;
  readonly client: string;
  readonly address: string;
  readonly atMs?: number;
}

export type PolicyCalls = ReturnType<typeof createPolicyCalls>;

export function createPolicyCalls({ api, session }: Models) {
  const { policies } = api;
  const one = policies[":id"];
  const ask = session.whileSignedIn;
  const recordOf = (content: PolicyContent) => ({ ...content }) as Record<string, unknown>;
  return {
    read: () => as<PolicyPage>(policies.$get()),
    add: (content: PolicyContent, basis: PolicyBasis) =>
      ask(() => as<PolicyPage>(policies.$post({ json: { ...basis, policy: recordOf(content) } }))),
    change: (id: string, content: PolicyContent, basis: PolicyBasis) => {
      const json = { ...basis, policy: recordOf(content) };
      return ask(() => as<PolicyPage>(one.$put({ param: escapeParams({ id }), json })));
    },
    order: (ids: readonly string[], basis: PolicyBasis) =>
      ask(() => as<PolicyPage>(policies.order.$put({ json: { ...basis, ids: [...ids] } }))),
    remove: (id: string, basis: PolicyBasis) =>
      ask(() => as<PolicyPage>(one.$delete({ param: escapeParams({ id }), json: basis }))),
    evaluate: (login: TriedLogin) =>
      ask(() => as<EvaluationAnswer>(policies.evaluate.$post({ json: login }))),
    replay: (draft: readonly Policy[]) =>
      ask(() =>
        as<ReplayAnswer>(policies.replay.$post({ json: { draft: draft.map((one) => ({ ...one })) } }))
      ),
  };
}

/** The contents of a policy, without its id. */
export function toContent({ id: _id, ...content }: Policy): PolicyContent {
  return content;
}

/** Replaces the type that hono infers, which expands every value. */
async function as<T>(call: Parameters<typeof take<unknown>>[0]): Promise<T> {
  return await take(call) as T;
}
