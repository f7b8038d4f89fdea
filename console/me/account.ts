// One person's account as the page shows it: factors and logins kept current, and the deeds that change them.

import { type ReadonlySignal, signal } from "@preact/signals";
import { ApiFailure, failureText } from "../web/api_client.ts";
import type { ClockModel } from "../web/models/clock_model.ts";
import { createResource, type Resource } from "../web/models/resource.ts";
import type { Toasts } from "../web/models/toasts_model.ts";
import type { MeDisowned, MeFactors, MeLogins } from "../api/account/account_types.ts";
import type { MeCalls } from "./me_calls.ts";
import type { MeSession } from "./me_session.ts";

export interface Account {
  readonly calls: MeCalls;
  readonly factors: Resource<MeFactors>;
  readonly logins: Resource<MeLogins>;
  /** What "This was not me" did, until it is put away. */
  readonly stopped: ReadonlySignal<MeDisowned | null>;
  /** When what is shown was fetched, the server's time; `null` before the first. */
  readonly freshMs: ReadonlySignal<number | null>;
  /** Why the newest fetch failed although older values are shown. */
  problem(): string | null;
  refresh(): Promise<void>;
  /** A change waits for a code: a dialog asks for it. */
  readonly steppingUp: ReadonlySignal<boolean>;
  /** Sends the code, and continues what waited for it; resolves to `null`, or to why not. */
  stepUp(code: string): Promise<string | null>;
  leaveStepUp(): void;
  /** Does it and says so; resolves to its value, or `null` after `onProblem` got the sentence. */
  run<T>(deed: Deed<T>): Promise<T | null>;
  notMe(conversationId: string | null): Promise<string | null>;
  putAway(): void;
}

interface Deed<T> {
  readonly call: () => Promise<T>;
  /** What is said when it is done; nothing unless given. */
  readonly said?: string;
  readonly onProblem: (sentence: string) => void;
}

export interface AccountDeps {
  readonly calls: MeCalls;
  readonly session: MeSession;
  readonly clock: ClockModel;
  readonly toasts: Toasts;
}

export function createAccount(deps: AccountDeps): Account {
  const { calls, session, clock, toasts } = deps;
  const factors = createResource<MeFactors>({ session });
  const logins = createResource<MeLogins>({ session });
  const stopped = signal<MeDisowned | null>(null);
  const freshMs = signal<number | null>(null);
  const refresh = async (): Promise<void> => {
    await Promise.all([factors.load(calls.factors), logins.load(calls.logins)]);
    if (factors.problem.peek() === null && logins.problem.peek() === null) freshMs.value = clock.nowMs.peek();
  };
  const steppingUp = signal(false);
  const waiting = new Set<(passed: boolean) => void>();
  const settle = (passed: boolean): void => {
    steppingUp.value = false;
    for (const resume of waiting) resume(passed);
    waiting.clear();
  };
  /** Runs a call; when the server asks for a code first, waits for that and runs it again. */
  const withCode = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await call();
    } catch (fault) {
      if (!(fault instanceof ApiFailure) || fault.code !== "me_step_up") throw fault;
      steppingUp.value = true;
      if (!await new Promise<boolean>((resolve) => waiting.add(resolve))) throw fault;
      return await call();
    }
  };
  const run = async <T>({ call, said, onProblem }: Deed<T>): Promise<T | null> => {
    try {
      const value = await session.whileSignedIn(() => withCode(call));
      if (said !== undefined) toasts.say(said, { tone: "ok" });
      void refresh();
      return value;
    } catch (fault) {
      onProblem(failureText(fault));
      return null;
    }
  };
  return {
    calls,
    factors,
    logins,
    stopped,
    freshMs,
    problem: () =>
      factors.state.value.kind === "ready" && logins.state.value.kind === "ready"
        ? factors.problem.value ?? logins.problem.value
        : null,
    refresh,
    steppingUp,
    async stepUp(code) {
      try {
        await calls.stepUp(code);
        settle(true);
        return null;
      } catch (fault) {
        return failureText(fault);
      }
    },
    leaveStepUp: () => settle(false),
    run,
    async notMe(conversationId) {
      let problem: string | null = null;
      const done = await run({
        call: () => calls.notMe(conversationId),
        onProblem: (sentence) => problem = sentence,
      });
      if (done !== null) stopped.value = done;
      return problem;
    },
    putAway: () => stopped.value = null,
  };
}

const LOOK_EVERY_MS = 10_000;

/** Keeps an account current while its page is looked at; to read is not to use, so the session's end stays. Returns what ends that. */
export function keepCurrent(account: Account, { session, window }: {
  session: MeSession;
  window: Window & typeof globalThis;
}): () => void {
  const { document } = window;
  const ending = new AbortController();
  const look = (): void => {
    if (document.visibilityState !== "visible" || session.interrupted.peek()) return;
    void session.probe();
    void account.refresh();
  };
  const options = { signal: ending.signal, passive: true };
  window.addEventListener("online", look, options);
  document.addEventListener("visibilitychange", () => {
    // Another tab may have opened a new session meanwhile.
    if (session.interrupted.peek()) void session.probe();
    else look();
  }, options);
  const timer = setInterval(look, LOOK_EVERY_MS);
  void account.refresh();
  return () => {
    ending.abort();
    clearInterval(timer);
  };
}
