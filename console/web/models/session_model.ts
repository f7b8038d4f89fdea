// Who is signed in, and what happens when the session ends during work.

import { type ReadonlySignal, signal } from "@preact/signals";
import type { FirstStep } from "../../api/onboarding/onboarding.ts";
import type { Features, SessionAnswer, SessionInfo } from "../../api/api_types.ts";
import { type ApiClient, ApiFailure, failureText, take } from "../api_client.ts";
import type { Role } from "../../api/auth/permissions.ts";
import { LOADING, type Remote } from "../remote.ts";

export interface SessionModel {
  /** `ready` with `null`: there is no session. */
  readonly session: ReadonlySignal<Remote<SessionInfo | null>>;
  readonly features: ReadonlySignal<Features>;
  readonly needsSetUp: ReadonlySignal<boolean>;
  /** What is left to do after the set-up; `null` when nothing is. */
  readonly firstSteps: ReadonlySignal<readonly FirstStep[] | null>;
  /** Takes in what the server said of them. */
  tellFirstSteps(steps: readonly FirstStep[] | null): void;
  /** The session ended while a page was open: sign-in is a dialog over it. */
  readonly interrupted: ReadonlySignal<boolean>;
  /** Something that was asked for needs a factor shown again: a dialog over the page asks for it. */
  readonly steppingUp: ReadonlySignal<boolean>;
  /** What the sign-in provider is called; `null` without one. */
  readonly provider: ReadonlySignal<string | null>;
  /** When the session ends by itself, the server's time; `null` without one. Moves on with use. */
  readonly endsMs: ReadonlySignal<number | null>;
  /** @param told what a failure waits for before it is put into words. */
  load(told?: Promise<unknown>): Promise<void>;
  isSignedIn(): boolean;
  /** Whether who is here may do what needs `role`. */
  may(role: Role): boolean;
  /** Takes in what the server said about the session, and goes on with what waited for it. */
  adopt(answer: SessionAnswer): void;
  /** Gives up what needed a fresh factor. */
  leaveStepUp(): void;
  signOut(): Promise<void>;
  /** Asks whether the session still stands; opens the dialog when it does not. Resolves to whether it does. */
  probe(): Promise<boolean>;
  /** Tells the server that the page is in use. */
  stay(): Promise<void>;
  /** Opens the dialog before the session ends by itself. */
  signInAgain(): void;
  /** Runs a call; when it needs a new session or a fresh factor, waits for that and runs it again. */
  whileSignedIn<T>(call: () => Promise<T>): Promise<T>;
}

/** From least to most, as the API's table has them. */
const ROLES: readonly Role[] = ["viewer", "operator", "user_manager", "owner"];
/** A call that still is not let in after a sign-in and a factor shown again fails like any other. */
const MAX_TRIES = 4;
const NO_FEATURES: Features = { approvals: false, outbox: false, phone: false };

export function createSessionModel(
  api: ApiClient,
  { onServerTime }: { onServerTime: (nowMs: number) => void },
): SessionModel {
  const session = signal<Remote<SessionInfo | null>>(LOADING);
  const features = signal<Features>(NO_FEATURES);
  const needsSetUp = signal(false);
  const firstSteps = signal<readonly FirstStep[] | null>(null);
  const interrupted = signal(false);
  const steppingUp = signal(false);
  const provider = signal<string | null>(null);
  const endsMs = signal<number | null>(null);
  /** By what the calls wait for; `passes` counts the successful sign-ins. */
  const gates = {
    not_signed_in: { open: interrupted, waiting: new Set<(passed: boolean) => void>(), passes: 0 },
    step_up: { open: steppingUp, waiting: new Set<(passed: boolean) => void>(), passes: 0 },
  };
  const settle = (name: keyof typeof gates, passed: boolean): void => {
    const { open, waiting } = gates[name];
    if (passed) gates[name].passes += 1;
    open.value = false;
    for (const resume of waiting) resume(passed);
    waiting.clear();
  };

  const follow = ({ nowMs, deadlineMs, idleDeadlineMs }: SessionInfo): void => {
    onServerTime(nowMs);
    endsMs.value = Math.min(deadlineMs, idleDeadlineMs);
  };
  const adopt = (answer: SessionAnswer): void => {
    session.value = { kind: "ready", value: answer.session };
    provider.value = answer.provider;
    if (answer.session === null) endsMs.value = null;
    else {
      follow(answer.session);
      settle("not_signed_in", true);
      if (answer.session.freshUntilMs > answer.session.nowMs) settle("step_up", true);
    }
    features.value = answer.features;
    needsSetUp.value = answer.needsSetUp;
    firstSteps.value = answer.firstSteps ?? null;
  };
  const attempt = async (call: () => Promise<SessionAnswer>): Promise<string | null> => {
    try {
      adopt(await call());
      return null;
    } catch (fault) {
      return failureText(fault);
    }
  };
  const interrupt = (): void => {
    interrupted.value = true;
  };

  const present = (remote: Remote<SessionInfo | null>) => remote.kind === "ready" ? remote.value : null;

  return {
    session,
    isSignedIn: () => present(session.peek()) !== null,
    may(role) {
      const mine = present(session.value)?.role;
      return mine !== undefined && ROLES.indexOf(mine) >= ROLES.indexOf(role);
    },
    features,
    needsSetUp,
    firstSteps,
    tellFirstSteps: (steps) => firstSteps.value = steps,
    interrupted,
    async load(told) {
      try {
        adopt(await take(api.session.$get()));
      } catch (fault) {
        await told;
        session.value = { kind: "failed", message: failureText(fault) };
      }
    },
    steppingUp,
    provider,
    endsMs,
    adopt,
    leaveStepUp: () => settle("step_up", false),
    async signOut() {
      const problem = await attempt(() => take(api.session.$delete()));
      if (problem !== null) session.value = { kind: "failed", message: problem };
    },
    async probe() {
      const answer = await take(api.session.$get());
      if (answer.session === null) interrupt();
      else follow(answer.session);
      return answer.session !== null;
    },
    async stay() {
      try {
        follow(await take(api.session.stay.$post()));
      } catch (fault) {
        // An unreachable server is shown by the stream's banner.
        if (fault instanceof ApiFailure && fault.code === "not_signed_in") interrupt();
      }
    },
    signInAgain: interrupt,
    async whileSignedIn(call) {
      for (let tries = 1;; tries += 1) {
        const before = { not_signed_in: gates.not_signed_in.passes, step_up: gates.step_up.passes };
        try {
          return await call();
        } catch (fault) {
          const name = fault instanceof ApiFailure && tries < MAX_TRIES ? gateNamed(fault.code) : null;
          if (name === null) throw fault;
          const gate = gates[name];
          // A sign-in succeeded while this answer was on its way, so the answer is outdated.
          if (gate.passes > before[name]) continue;
          gate.open.value = true;
          if (!await new Promise<boolean>((resolve) => gate.waiting.add(resolve))) throw fault;
        }
      }
    },
  };

  function gateNamed(code: string): keyof typeof gates | null {
    return code === "not_signed_in" || code === "step_up" ? code : null;
  }
}
