// Plays what a login would meet, by the flow table and the facts as they are now: nothing is sent, counted or recorded.

import { canonicalName } from "../../platform/canonical_name.ts";
import { CONDITIONS } from "../flow/conditions.ts";
import type { Appended } from "../protocol/password.ts";
import { EFFECTS, type FlowRow } from "../flow/flow.ts";
import { PROMPTS } from "../flow/prompts.ts";
import { isStep, type Place } from "../protocol/steps.ts";
import { reachesOutside, step } from "../flow/step.ts";
import type { Attempt } from "../server/request_context.ts";
import { type FactDeps, gatherFacts } from "./flow_context.ts";
import type { Client } from "../server/clients.ts";
import type { Conversation } from "./conversation.ts";
import { stripUserName } from "../protocol/user_name.ts";

/** A hypothetical login. */
export interface TrialRequest {
  readonly client: string;
  readonly user: string;
  /** What the password is taken for: a first factor is not asked. */
  readonly password: "right" | "wrong" | "empty";
  readonly appended: "push" | "sms" | "call" | null;
}

/** One row of the flow table that would be taken, in words. */
export interface TrialStep {
  readonly row: string;
  readonly from: string;
  readonly to: string;
  readonly when: readonly string[];
  readonly then: readonly string[];
}

export interface LoginTrial {
  readonly steps: readonly TrialStep[];
  /** `sends`: something would leave here (a push, a text, a call), and what follows hangs on the answer. */
  readonly end: "accept" | "reject" | "challenge" | "sends";
  readonly because: "inactive" | "deleted" | "unknown" | "locked" | null;
  /** What the person would read, before names and numbers are put in. */
  readonly prompt: string | null;
}

export interface LoginTrials {
  /** Names of the clients that a login may be thought to come from. */
  clients(): string[];
  /** Resolves with `null` for a client that is not known. */
  play(request: TrialRequest): Promise<LoginTrial | null>;
}

/** A passage through the table is short; this ends it even if the table did not. */
const MOST_ROWS = 16;

export function createLoginTrials(deps: FactDeps, all: () => readonly Client[]): LoginTrials {
  return {
    clients: () => all().map(({ name }) => name),
    async play(request) {
      const client = all().find(({ name }) => name === request.client);
      if (client === undefined) return null;
      const user = canonicalName(stripUserName(request.user, client.policy));
      for (let tries = 0; tries < MOST_ROWS; tries += 1) {
        const pending = deps.directory.prepare(user);
        if (pending === null) return playTrial(deps, { request, client, user });
        await pending;
      }
      throw new Error(`Cannot play a trial: the directory does not keep "${user}" at hand`);
    },
  };
}

function playTrial(
  deps: FactDeps,
  { request, client, user }: { request: TrialRequest; client: Client; user: string },
): LoginTrial {
  const attempt = attemptOf(request, { client, nowMs: deps.clock.nowMs() });
  const conversation = conversationOf(request, { user, nowMs: deps.clock.nowMs() });
  const steps: TrialStep[] = [];
  let place: Place = "start";
  while (steps.length < MOST_ROWS) {
    const row = step(place, gatherFacts(deps, conversation, attempt));
    steps.push(shown(row));
    if (row.then.includes("check_first_factor")) {
      attempt.firstFactor = request.password === "right" ? "right" : "wrong";
    } else if (reachesOutside(row)) return ended("sends", { steps, row, attempt });
    if (row.then.includes("note_first_factor")) conversation.firstFactorRight = true;
    if (row.to === "accept" || row.to === "reject") return ended(row.to, { steps, row, attempt });
    if (isStep(row.to)) return ended("challenge", { steps, row, attempt });
    place = row.to;
  }
  throw new Error(`Cannot play a trial: over ${MOST_ROWS} rows from "start"`);
}

function ended(
  end: LoginTrial["end"],
  { steps, row, attempt }: { steps: TrialStep[]; row: FlowRow; attempt: Attempt },
): LoginTrial {
  return {
    steps,
    end,
    because: end === "reject" ? attempt.refusedFor : null,
    prompt: row.say === null ? null : PROMPTS[row.say].text,
  };
}

function shown({ name, from, to, when, then }: FlowRow): TrialStep {
  return {
    row: name,
    from,
    to,
    when: when.map((condition) => CONDITIONS[condition].says),
    then: then.map((effect) => EFFECTS[effect].does),
  };
}

function attemptOf(
  { password, appended }: TrialRequest,
  { client, nowMs }: { client: Client; nowMs: number },
): Attempt {
  const typed: Appended | null = appended === null || !client.policy.appendMode ? null : { kind: appended };
  return {
    client,
    answer: null,
    password: new Uint8Array(password === "empty" ? 0 : 1),
    appended: typed,
    receivedMs: nowMs,
    holdsAgain: false,
    approvalUsed: false,
    firstFactor: null,
    passwordChecked: false,
    refusedFor: null,
    decision: null,
    pairing: null,
    messageSent: false,
    notSent: null,
    newPairingTotpLength: 0,
    newPairingName: undefined,
    totp: undefined,
    recoveryCode: undefined,
  };
}

function conversationOf(
  { client, user: shownUser }: TrialRequest,
  { user, nowMs }: { user: string; nowMs: number },
): Conversation {
  return {
    orderedId: "trial",
    secretId: "",
    client,
    user,
    shownUser,
    source: "",
    place: "",
    tuple: "",
    hasToken: false,
    signed: true,
    startedMs: nowMs,
    deadlineMs: nowMs,
    at: "start",
    round: 0,
    updatedMs: nowMs,
    firstFactorRight: false,
    factor: null,
    requestId: null,
    pairingId: null,
    phone: null,
    newPairingId: null,
    numberToMatch: null,
    passcode: null,
    numbers: [],
    prompt: null,
    lastAnswer: null,
    outcome: null,
    moments: [],
    stored: "not",
    answerDigest: null,
  };
}
