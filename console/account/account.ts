// The account of the signed-in user: its factors and logins, and the actions that change them.

import { type ReadonlySignal, signal } from "@preact/signals";
import { ApiFailure, failureText } from "../web/app/api_client.ts";
import type { ClockModel } from "../web/app/clock_model.ts";
import { createResource, type Resource, skipWhilePending } from "../web/app/resource.ts";
import { SignInGate } from "../web/app/session_model.ts";
import type { ToastModel } from "../web/app/toasts.tsx";
import type { AccountFactors, AccountLogins, NotMeResult } from "../api/account/account_types.ts";
import type { AccountCalls, AccountSessionModel } from "./account_models.ts";

export interface Account {
  readonly calls: AccountCalls;
  readonly factors: Resource<AccountFactors>;
  readonly logins: Resource<AccountLogins>;
  /** The result of "This was not me", until it is dismissed. */
  readonly lockdown: ReadonlySignal<NotMeResult | null>;
  /** When the shown data was loaded, in the server's time. `null` before the first load. */
  readonly refreshedMs: ReadonlySignal<number | null>;
  /** Why the latest load failed while older data is shown. */
  problem(): string | null;
  refresh(): Promise<void>;
  /** An action waits for a code; the dialog for it is open. */
  readonly isSteppingUp: ReadonlySignal<boolean>;
  /** Sends the code and runs the waiting actions again. Resolves to `null` or to the error message. */
  stepUp(code: string): Promise<string | null>;
  cancelStepUp(): void;
  /** Runs an action and shows its message. Resolves to its value, or to `null` after `onProblem` received the error message. */
  run<T>(action: AccountAction<T>): Promise<T | null>;
  reportNotMe(conversationId: string | null): Promise<string | null>;
  dismissLockdown(): void;
}

interface AccountAction<T> {
  readonly call: () => Promise<T>;
  /** The message after success. */
  readonly doneText?: string;
  readonly onProblem: (sentence: string) => void;
}

interface AccountDeps {
  readonly calls: AccountCalls;
  readonly session: AccountSessionModel;
  readonly clock: ClockModel;
  readonly toasts: ToastModel;
}

export function createAccount(deps: AccountDeps): Account {
  const { calls, session, clock, toasts } = deps;
  const factors = createResource<AccountFactors>({ session });
  const logins = createResource<AccountLogins>({ session });
  const lockdown = signal<NotMeResult | null>(null);
  const refreshedMs = signal<number | null>(null);
  const refresh = async (): Promise<void> => {
    await Promise.all([factors.load(calls.factors), logins.load(calls.logins)]);
    if (factors.problem.peek() === null && logins.problem.peek() === null) {
      refreshedMs.value = clock.nowMs.peek();
    }
  };
  const gate = new SignInGate();
  /** Runs a call. If the server requires a code first, waits for the code and runs the call again. */
  const withCode = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await call();
    } catch (fault) {
      if (!(fault instanceof ApiFailure) || fault.code !== "me_step_up") throw fault;
      if (!await gate.wait()) throw fault;
      return await call();
    }
  };
  const run = async <T>({ call, doneText, onProblem }: AccountAction<T>): Promise<T | null> => {
    try {
      const value = await session.whileSignedIn(() => withCode(call));
      if (doneText !== undefined) toasts.show(doneText, { tone: "ok" });
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
    lockdown,
    refreshedMs,
    problem: () =>
      factors.state.value.kind === "ready" && logins.state.value.kind === "ready"
        ? factors.problem.value ?? logins.problem.value
        : null,
    refresh,
    isSteppingUp: gate.isOpen,
    async stepUp(code) {
      try {
        await calls.stepUp(code);
        gate.settle(true);
        return null;
      } catch (fault) {
        return failureText(fault);
      }
    },
    cancelStepUp: () => gate.settle(false),
    run,
    async reportNotMe(conversationId) {
      let problem: string | null = null;
      const done = await run({
        call: () => calls.notMe(conversationId),
        onProblem: (sentence) => problem = sentence,
      });
      if (done !== null) lockdown.value = done;
      return problem;
    },
    dismissLockdown: () => lockdown.value = null,
  };
}

const POLL_INTERVAL_MS = 10_000;

/** Refreshes an account while its page is visible. This does not extend the session. Returns a function that ends it. */
export function keepCurrent(account: Account, { session, window }: {
  session: AccountSessionModel;
  window: Window & typeof globalThis;
}): () => void {
  const { document } = window;
  const ending = new AbortController();
  const refresh = async (): Promise<void> => {
    if (document.visibilityState !== "visible" || session.isInterrupted.peek()) return;
    await Promise.all([session.check(), account.refresh()]);
  };
  const options = { signal: ending.signal, passive: true };
  window.addEventListener("online", () => void refresh(), options);
  document.addEventListener("visibilitychange", () => {
    // Another tab may have opened a new session meanwhile.
    if (session.isInterrupted.peek()) void session.check();
    else void refresh();
  }, options);
  const timer = setInterval(skipWhilePending(refresh), POLL_INTERVAL_MS);
  void account.refresh();
  return () => {
    ending.abort();
    clearInterval(timer);
  };
}
