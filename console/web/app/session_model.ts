// The session: the signed-in administrator, the permissions, the first steps, and what happens when the session ends.

import { type ReadonlySignal, signal } from "@preact/signals";
import type { FirstStep } from "../../api/onboarding/onboarding.ts";
import type { Features, SessionAnswer, SessionInfo } from "../../api/api_types.ts";
import { type ApiClient, ApiFailure, escapeParams, failureText, take } from "./api_client.ts";
import type { Role } from "../../api/auth/admin_records.ts";
import { type AsyncValue, LOADING, readyValue } from "./resource.ts";
import { t } from "../i18n/translate.ts";

/** From the fewest to the most permissions. Operators do not have those of the help desk. */
const ROLES: readonly Role[] = ["viewer", "help_desk", "operator", "user_manager", "owner"];
/** A call that is still refused after a sign-in and a recent factor fails like any other. */
const MAX_TRIES = 4;
const NO_FEATURES: Features = { approvals: false, outbox: false, phone: false };

interface SessionModelDeps {
  readonly onServerTime: (nowMs: number) => void;
}

export class SessionModel {
  readonly #api: ApiClient;
  readonly #onServerTime: SessionModelDeps["onServerTime"];
  readonly #session = signal<AsyncValue<SessionInfo | null>>(LOADING);
  readonly #features = signal(NO_FEATURES);
  readonly #needsSetUp = signal(false);
  readonly #firstSteps = signal<readonly FirstStep[] | null>(null);
  readonly #provider = signal<string | null>(null);
  readonly #endsMs = signal<number | null>(null);
  /** By the code of the refusal. */
  readonly #gates = { not_signed_in: new SignInGate(), step_up: new SignInGate() };

  /** `ready` with `null`: there is no session. */
  readonly session: ReadonlySignal<AsyncValue<SessionInfo | null>> = this.#session;
  readonly features: ReadonlySignal<Features> = this.#features;
  readonly needsSetUp: ReadonlySignal<boolean> = this.#needsSetUp;
  /** The open steps after the set-up; `null` when all are done. */
  readonly firstSteps: ReadonlySignal<readonly FirstStep[] | null> = this.#firstSteps;
  /** The name of the sign-in provider; `null` without one. */
  readonly provider: ReadonlySignal<string | null> = this.#provider;
  /** When the session expires, in the server's time; `null` without a session. Use moves it. */
  readonly endsMs: ReadonlySignal<number | null> = this.#endsMs;
  /** The session ended while a page was open: sign-in is a dialog over it. */
  readonly isInterrupted = this.#gates.not_signed_in.isOpen;
  /** A call needs a recent factor: a dialog over the page asks for it. */
  readonly isSteppingUp = this.#gates.step_up.isOpen;
  /** Opens the sign-in dialog before the session expires. */
  readonly signInAgain = this.#gates.not_signed_in.open;

  constructor(api: ApiClient, { onServerTime }: SessionModelDeps) {
    this.#api = api;
    this.#onServerTime = onServerTime;
  }

  /** @param messages are loaded before a failure is shown. */
  async load(messages?: Promise<unknown>): Promise<void> {
    try {
      this.adopt(await take(this.#api.session.$get()));
    } catch (fault) {
      await messages;
      this.#session.value = { kind: "failed", message: failureText(fault) };
    }
  }

  isSignedIn(): boolean {
    return readyValue(this.#session.peek()) !== null;
  }

  /** Whether the user has the permissions of `role`. */
  readonly hasRole = (role: Role): boolean => {
    const own = readyValue(this.#session.value)?.role;
    if (own === "operator" && role === "help_desk") return false;
    return own !== undefined && ROLES.indexOf(own) >= ROLES.indexOf(role);
  };

  /** Takes the session of an answer, and resumes the calls that waited for it. */
  adopt(answer: SessionAnswer): void {
    const { session } = answer;
    this.#session.value = { kind: "ready", value: session };
    this.#provider.value = answer.provider;
    if (session === null) this.#endsMs.value = null;
    else {
      this.#follow(session);
      this.#gates.not_signed_in.settle(true);
      if (session.freshUntilMs > session.nowMs) this.#gates.step_up.settle(true);
    }
    this.#features.value = answer.features;
    this.#needsSetUp.value = answer.needsSetUp;
    this.#firstSteps.value = answer.firstSteps ?? null;
  }

  setFirstSteps(steps: readonly FirstStep[] | null): void {
    this.#firstSteps.value = steps;
  }

  /** Ends the calls that wait for a recent factor. */
  readonly cancelStepUp = (): void => this.#gates.step_up.settle(false);

  async signOut(): Promise<void> {
    try {
      this.adopt(await take(this.#api.session.$delete()));
    } catch (fault) {
      this.#session.value = { kind: "failed", message: failureText(fault) };
    }
  }

  /** Asks the server whether the session is valid, and opens the sign-in dialog if it is not. */
  readonly check = async (): Promise<boolean> => {
    const gate = this.#gates.not_signed_in;
    const before = gate.passes;
    const { session } = await take(this.#api.session.$get());
    // A sign-in succeeded while this answer was on its way, so the answer is outdated.
    if (gate.passes > before) return this.isSignedIn();
    if (session === null) gate.open();
    else this.#follow(session);
    return session !== null;
  };

  /** Reports that the page is in use. */
  async extend(): Promise<void> {
    const gate = this.#gates.not_signed_in;
    const before = gate.passes;
    try {
      this.#follow(await take(this.#api.session.stay.$post()));
    } catch (fault) {
      // The banner of the stream reports an unreachable server.
      if (gateName(fault) === "not_signed_in" && gate.passes === before) gate.open();
    }
  }

  /** Runs a call. If it needs a new session or a recent factor, waits for that and runs the call again. */
  readonly whileSignedIn = async <T>(call: () => Promise<T>): Promise<T> => {
    for (let tries = 1;; tries += 1) {
      const before = { not_signed_in: this.#gates.not_signed_in.passes, step_up: this.#gates.step_up.passes };
      try {
        return await call();
      } catch (fault) {
        const name = tries < MAX_TRIES ? gateName(fault) : null;
        if (name === null) throw fault;
        // A sign-in succeeded while this answer was on its way, so the answer is outdated.
        if (this.#gates[name].passes > before[name]) continue;
        if (!await this.#gates[name].wait()) throw fault;
      }
    }
  };

  #follow({ nowMs, deadlineMs, idleDeadlineMs }: SessionInfo): void {
    this.#onServerTime(nowMs);
    this.#endsMs.value = Math.min(deadlineMs, idleDeadlineMs);
  }
}

function gateName(fault: unknown): "not_signed_in" | "step_up" | null {
  const code = fault instanceof ApiFailure ? fault.code : "";
  return code === "not_signed_in" || code === "step_up" ? code : null;
}

/** The reason why the user cannot do what needs a role, for the `title` of a disabled control; `undefined` if they can. */
export function permissionHint(
  { session }: { readonly session: Pick<SessionModel, "hasRole"> },
  needs: Role,
): string | undefined {
  return session.hasRole(needs) ? undefined : t(`shell.needs_${needs}`);
}

export class SignInGate {
  readonly #isOpen = signal(false);
  /** A dialog asks the user for what the calls need. */
  readonly isOpen: ReadonlySignal<boolean> = this.#isOpen;
  #passes = 0;
  readonly #waiting = new Set<(passed: boolean) => void>();

  /** Counts successes. A refusal of a call that began before the latest one is outdated. */
  get passes(): number {
    return this.#passes;
  }

  readonly open = (): void => {
    this.#isOpen.value = true;
  };

  /** Opens the gate. Resolves to whether the user did what the calls need. */
  wait(): Promise<boolean> {
    this.open();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** Closes the gate and resumes every waiting call. */
  settle(passed: boolean): void {
    if (passed) this.#passes += 1;
    this.#isOpen.value = false;
    for (const resume of this.#waiting) resume(passed);
    this.#waiting.clear();
  }
}

/** Marks a first step as skipped or open. */
export async function updateFirstStep(
  { api, session }: { readonly api: ApiClient; readonly session: SessionModel },
  { name, skipped }: { name: FirstStep["name"]; skipped: boolean },
): Promise<void> {
  const param = escapeParams({ name });
  const { steps } = await session.whileSignedIn(() =>
    take(api["first-steps"][":name"].$put({ param, json: { skipped } }))
  );
  session.setFirstSteps(steps);
}
