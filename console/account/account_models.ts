// The models of the account page: its typed calls, its session, and how they are created.

import { hc } from "hono/client";
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Factor } from "../../radius/flow/context.ts";
import type { AccountApi } from "../api/account/account_api.ts";
import { ApiFailure, browserFetch, escapeParams, failureText, take } from "../web/app/api_client.ts";
import {
  type AsyncValue,
  createResource,
  LOADING,
  readyValue,
  type Resource,
  skipWhilePending,
} from "../web/app/resource.ts";
import { SignInGate } from "../web/app/session_model.ts";
import type {
  AccountFactors,
  AccountInfo,
  AccountLogins,
  AccountSessionAnswer,
  NotMeResult,
} from "../api/account/account_types.ts";
import { type ClockModel, createClockModel, runLater } from "../web/app/clock_model.ts";
import { createToasts, type ToastModel } from "../web/app/toasts.tsx";
import { createPreferences } from "../web/app/preferences.ts";

export type AccountCalls = ReturnType<typeof createAccountCalls>;

/** Each call resolves to its value or throws an ApiFailure. */
function createAccountCalls(api = hc<AccountApi>("/me/api", { fetch: browserFetch })) {
  const byId = (id: string) => ({ param: escapeParams({ id }) });
  return {
    session: () => take(api.session.$get()),
    /** Extends the session up to its maximum lifetime. */
    stay: () => take(api.session.stay.$post({ json: {} })),
    /** A code of the phone page or of an authenticator app. */
    stepUp: (code: string) => take(api.session["step-up"].$post({ json: { code } })),
    openLink: (link: string) => take(api.session.$post({ json: { link } })),
    openPhone: (userName: string) => take(api.session.$post({ json: { phone: true, userName } })),
    /** Does not use the link up. */
    look: (link: string) => take(api.link.look.$post({ json: { link } })),
    signOut: () => take(api.session.$delete()),
    factors: () => take(api.factors.$get()),
    logins: () => take(api.logins.$get()),
    confirmNotices: () => take(api.notices.$delete()),
    /** A factor that a revoked phone added. */
    keepUnconfirmed: (id: string) => take(api.unconfirmed[":id"].keep.$post({ ...byId(id), json: {} })),
    removeUnconfirmed: (id: string) => take(api.unconfirmed[":id"].$delete(byId(id))),
    invite: () => take(api.devices.invitation.$post({ json: {} })),
    renameDevice: (id: string, name: string) =>
      take(api.devices[":id"].$put({ ...byId(id), json: { name } })),
    removeDevice: (id: string) => take(api.devices[":id"].$delete(byId(id))),
    prefer: (factor: Factor | null) => take(api.preference.$put({ json: { factor } })),
    beginTotp: () => take(api.totp.$post({ json: {} })),
    confirmTotp: (code: string) => take(api.totp.confirm.$post({ json: { code } })),
    removeTotp: (id: string) => take(api.totp[":id"].$delete(byId(id))),
    resynchronizeToken: (id: string, codes: [string, string]) =>
      take(api.tokens[":id"].resynchronize.$post({ ...byId(id), json: { codes } })),
    revokeBypass: () => take(api.bypass.$delete()),
    makeCodes: () => take(api["recovery-codes"].$post({ json: {} })),
    /** Denies open requests, locks the user for an hour, and notifies the administrators. `null` for no specific login. */
    notMe: (conversationId: string | null) => take(api["not-me"].$post({ json: { conversationId } })),
  };
}

type SessionCalls = Pick<AccountCalls, "session" | "stay" | "openLink" | "openPhone" | "signOut">;

interface AccountSessionDeps {
  readonly onServerTime: (nowMs: number) => void;
}

/** A call that is still refused after this many tries fails like any other. */
const MAX_TRIES = 4;

/** Sign-in, the end of the session, and requests that wait for a new sign-in. */
export class AccountSessionModel {
  readonly #calls: SessionCalls;
  readonly #onServerTime: AccountSessionDeps["onServerTime"];
  readonly #state = signal<AsyncValue<AccountSessionAnswer>>(LOADING);
  readonly #link = signal("");
  readonly #hasSignedOut = signal(false);
  readonly #gate = new SignInGate();
  /** Counts sign-ins and sign-outs: an answer to a call that began before one of them is outdated. */
  #changes = 0;

  /** The newest answer. It keeps its `me` while the session {@link isInterrupted}. */
  readonly state: ReadonlySignal<AsyncValue<AccountSessionAnswer>> = this.#state;
  /** The token of the link that opened the page; "" without one. */
  readonly link: ReadonlySignal<string> = this.#link;
  /** The session ended while the page was in use: sign-in is a dialog over it. */
  readonly isInterrupted = this.#gate.isOpen;
  /** The user signed out on this page. */
  readonly hasSignedOut: ReadonlySignal<boolean> = this.#hasSignedOut;

  constructor(calls: SessionCalls, { onServerTime }: AccountSessionDeps) {
    this.#calls = calls;
    this.#onServerTime = onServerTime;
  }

  async load(): Promise<void> {
    try {
      this.#adopt(await this.#calls.session());
    } catch (fault) {
      if (this.#state.peek().kind !== "ready") {
        this.#state.value = { kind: "failed", message: failureText(fault) };
      }
    }
  }

  /** Keeps the token of a link that was opened or pasted. This does not use the link up. */
  setLink(link: string): void {
    this.#link.value = link;
  }

  readonly clearLink = (): void => this.setLink("");

  /** Resolves to `null` or to the error message. */
  readonly openLink = (token: string): Promise<string | null> =>
    this.#signIn(() => this.#calls.openLink(token));

  /** Resolves to `null` or to the error message. */
  openPhone(userName: string): Promise<string | null> {
    return this.#signIn(() => this.#calls.openPhone(userName));
  }

  /** Resolves to `null` or to the error message. */
  async signOut(): Promise<string | null> {
    try {
      await this.#calls.signOut();
    } catch (fault) {
      if (!isSessionOver(fault)) return failureText(fault);
    }
    this.#end();
    this.#hasSignedOut.value = true;
    return null;
  }

  /** Asks the server whether the session is valid. An unreachable server changes nothing. */
  async check(): Promise<void> {
    const before = this.#changes;
    try {
      const answer = await this.#calls.session();
      if (this.#changes === before) this.#adopt(answer);
    } catch (_unreached) {
      // The account's own calls report that the server cannot be reached.
    }
  }

  /** Reports that the user is active. Resolves to whether the session was extended. */
  async extend(): Promise<boolean> {
    const endedMs = this.#user()?.endsMs ?? 0;
    const before = this.#changes;
    try {
      this.#adopt(await this.#calls.stay());
    } catch (fault) {
      if (isSessionOver(fault) && this.#changes === before) this.#gate.open();
    }
    return (this.#user()?.endsMs ?? 0) > endedMs;
  }

  /** Ends the calls that wait for a session, and leaves the account. */
  readonly cancelSignIn = (): void => this.#end();

  /** Runs a call. If the session is over, waits for a new one and runs the call again. */
  async whileSignedIn<T>(call: () => Promise<T>): Promise<T> {
    for (let tries = 1;; tries += 1) {
      const changes = this.#changes;
      const userName = this.#user()?.userName;
      try {
        return await call();
      } catch (fault) {
        if (!isSessionOver(fault) || tries >= MAX_TRIES) throw fault;
        const isOutdated = this.#changes > changes;
        // The call is never repeated for another user.
        if (isOutdated && (userName === undefined || this.#user()?.userName !== userName)) throw fault;
        if (!isOutdated && !await this.#gate.wait()) throw fault;
      }
    }
  }

  #user(): AccountInfo | null {
    return readyValue(this.#state.peek())?.me ?? null;
  }

  #adopt(answer: AccountSessionAnswer): void {
    this.#onServerTime(answer.nowMs);
    const before = this.#user();
    if (answer.me === null && before !== null) {
      // The page stays, with unsaved input. The sign-in methods are those of the answer.
      this.#state.value = { kind: "ready", value: { ...answer, me: before } };
      this.#gate.open();
      return;
    }
    this.#state.value = { kind: "ready", value: answer };
    if (answer.me === null) return;
    this.#hasSignedOut.value = false;
    this.#changes += 1;
    this.#gate.settle(before === null || before.userName === answer.me.userName);
  }

  async #signIn(call: () => Promise<AccountSessionAnswer>): Promise<string | null> {
    try {
      this.#adopt(await call());
      this.clearLink();
      return null;
    } catch (fault) {
      return failureText(fault);
    }
  }

  #end(): void {
    this.#changes += 1;
    const answer = readyValue(this.#state.peek());
    if (answer !== null) this.#state.value = { kind: "ready", value: { ...answer, me: null } };
    this.#gate.settle(false);
  }
}

function isSessionOver(fault: unknown): boolean {
  return fault instanceof ApiFailure && fault.code === "me_over";
}

/** The token in the address or text of a link: what follows `#`, or the text itself; `null` when it is none. */
export function parseLinkToken(text: string): string | null {
  const trimmed = text.trim();
  const token = trimmed.slice(trimmed.lastIndexOf("#") + 1);
  return /^[\w-]{16,128}$/.test(token) ? token : null;
}

export type AccountModels = ReturnType<typeof createAccountModels>;

/** Creates the models and connects them to the browser. */
export function createAccountModels(window: Window & typeof globalThis) {
  const { document, history, location } = window;
  const calls = createAccountCalls();
  const clock = createClockModel();
  const session = new AccountSessionModel(calls, { onServerTime: clock.adjust });
  const preferences = createPreferences(document.documentElement);
  const toasts = createToasts({ later: runLater });
  const takeLink = (): void => {
    const token = parseLinkToken(location.hash);
    if (token === null) return;
    session.setLink(token);
    // The link works once, so it is removed from the address bar and the history.
    history.replaceState(null, "", location.pathname);
  };
  takeLink();
  window.addEventListener("hashchange", takeLink);
  setInterval(clock.tick, 1000);
  return { calls, clock, session, preferences, toasts };
}

// The account of the signed-in user: its factors and logins, and the actions that change them.

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
