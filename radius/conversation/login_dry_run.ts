// Dry run of a login: follows the rows of the flow table with the current facts. Nothing is sent, counted or recorded.

import { isRelaying, type RequestSettings } from "../../platform/client_settings.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { CONDITIONS, type Facts } from "../flow/context.ts";
import { callsUpstream, EFFECTS, type FlowRow, step } from "../flow/flow.ts";
import { PROMPTS } from "../flow/prompts.ts";
import { type FlowPlace, isStep } from "../protocol/steps.ts";
import { type LoginAttempt, newLoginAttempt, REQUEST_REFUSALS } from "../server/request.ts";
import { type FlowContextDeps, gatherFacts } from "./flow_context.ts";
import type { Client } from "../server/clients.ts";
import { newConversation } from "./conversation.ts";
import { stripUserName } from "../protocol/login_input.ts";

/** A hypothetical login. */
export interface DryRunRequest {
  readonly client: string;
  readonly user: string;
  /** `mschapv2`: the first-factor server checks the password, as with CHAP and relayed EAP. */
  readonly method: "pap" | "mschapv2" | "eap_gtc";
  /** The assumed result of the first factor, which is not checked. */
  readonly password: "right" | "wrong" | "empty";
  readonly appended: "push" | "sms" | "call" | null;
}

/** One row of the flow table, in words. */
interface DryRunStep {
  readonly row: string;
  readonly from: string;
  readonly to: string;
  readonly when: readonly string[];
  readonly then: readonly string[];
}

export interface DryRunResult {
  readonly steps: readonly DryRunStep[];
  /** `sends`: the login would call a service here (a push, a text, a call), and the result decides what follows. */
  readonly end: "accept" | "reject" | "challenge" | "sends";
  /** `chap` and `eap`: the client does not support the method. */
  readonly because: "inactive" | "deleted" | "unknown" | "locked" | "chap" | "eap" | null;
  /** The policy that applied, by name; "" if the settings applied; `null` if the login ended before. */
  readonly policy: string | null;
  /** The prompt, with its placeholders. */
  readonly prompt: string | null;
  /** Of a challenge: whether the menu offers a message to a number that is known. */
  readonly hasNumber: boolean;
}

export interface LoginDryRun {
  clients(): string[];
  /** Resolves to `null` if the client is unknown. */
  run(request: DryRunRequest): Promise<DryRunResult | null>;
}

/** No path through the table has so many rows. This bound ends the loop even if the table has a cycle. */
const MAX_ROWS = 16;

export function createLoginDryRun(deps: FlowContextDeps, all: () => readonly Client[]): LoginDryRun {
  return {
    clients: () => all().map(({ name }) => name),
    async run(request) {
      const client = all().find(({ name }) => name === request.client);
      if (client === undefined) return null;
      const user = canonicalName(stripUserName(request.user, client.settings));
      for (let tries = 0; tries < MAX_ROWS; tries += 1) {
        const pending = deps.directory.prepare(user);
        if (pending === null) return dryRun(deps, { request, client, user });
        await pending;
      }
      throw new Error(`Cannot run a dry run: the directory has not loaded "${user}"`);
    },
  };
}

function dryRun(
  deps: FlowContextDeps,
  { request, client, user }: { request: DryRunRequest; client: Client; user: string },
): DryRunResult {
  const { password, appended, method } = request;
  const refusal = refusalOfMethod(method, client.settings);
  if (refusal !== null) {
    const { prompt } = REQUEST_REFUSALS[refusal];
    return {
      ...{ steps: [], end: "reject", because: refusal, policy: null },
      ...{ prompt: PROMPTS[prompt].text, hasNumber: false },
    };
  }
  const isRelayed = method === "mschapv2";
  const attempt = newLoginAttempt({ client, receivedMs: deps.clock.nowMs(), signed: true }, {
    answer: null,
    // EAP-GTC has a password prompt only if a first factor is configured.
    password: new Uint8Array(password === "empty" || hasNoPrompt(method, client.settings) ? 0 : 1),
    appended: appended === null || isRelayed || !client.settings.appendMode
      ? null
      : { kind: appended, nth: 0 },
  });
  if (isRelayed) attempt.firstFactor = password === "right" ? "right" : "wrong";
  const conversation = newConversation(
    {
      client: request.client,
      user,
      shownUser: request.user,
      source: "",
      place: "",
      tuple: "",
      hasToken: false,
      signed: true,
      relay: isRelayed ? { key: "", method: "MS-CHAPv2", outer: request.user } : null,
    },
    { orderedId: "trial", nowMs: deps.clock.nowMs(), ttlMs: 0 },
  );
  const steps: DryRunStep[] = [];
  // The flow of a relayed login begins when the server has answered.
  let place: FlowPlace = isRelayed ? "first_factor" : "start";
  while (steps.length < MAX_ROWS) {
    const row = step(place, gatherFacts(deps, conversation, attempt));
    steps.push(shown(row));
    const end = { steps, row, attempt, hasNumber: false };
    if (row.then.includes("check_first_factor")) {
      attempt.firstFactor = request.password === "right" ? "right" : "wrong";
    } else if (callsUpstream(row)) return ended("sends", end);
    if (row.then.includes("note_first_factor")) conversation.firstFactorRight = true;
    if (row.to === "accept" || row.to === "reject") return ended(row.to, end);
    if (isStep(row.to)) {
      return ended("challenge", { ...end, hasNumber: hasNumber(gatherFacts(deps, conversation, attempt)) });
    }
    place = row.to;
  }
  throw new Error(`Cannot run a dry run: over ${MAX_ROWS} rows from "start"`);
}

function refusalOfMethod(
  method: DryRunRequest["method"],
  settings: Pick<RequestSettings, "firstFactor" | "eap">,
): "chap" | "eap" | null {
  if (method === "mschapv2" && !isRelaying(settings)) return "chap";
  return method === "eap_gtc" && settings.eap !== "gtc" ? "eap" : null;
}

function hasNoPrompt(
  method: DryRunRequest["method"],
  { firstFactor }: Pick<RequestSettings, "firstFactor">,
): boolean {
  return method === "eap_gtc" && firstFactor === "none";
}

function ended(
  end: DryRunResult["end"],
  { steps, row, attempt, hasNumber }: Pick<DryRunResult, "hasNumber"> & {
    steps: DryRunStep[];
    row: FlowRow;
    attempt: LoginAttempt;
  },
): DryRunResult {
  return {
    steps,
    end,
    // No password and no code is checked here.
    because: end === "reject" ? attempt.refusedFor as DryRunResult["because"] : null,
    policy: attempt.policy === null ? null : attempt.policy.name ?? "",
    prompt: row.prompt === null ? null : PROMPTS[row.prompt].text,
    hasNumber,
  };
}

function hasNumber({ menu, smsNumbers, voiceNumbers }: Facts): boolean {
  return (menu.has("sms") && smsNumbers.length > 0) || (menu.has("voice") && voiceNumbers.length > 0);
}

function shown({ name, from, to, when, then }: FlowRow): DryRunStep {
  return {
    row: name,
    from,
    to,
    when: when.map((condition) => CONDITIONS[condition].text),
    then: then.map((effect) => EFFECTS[effect].text),
  };
}
