// Who is signed in, and what happens when that ends while somebody works.

import { type ReadonlySignal, signal } from "@preact/signals";
import type { Features, SessionAnswer, SessionInfo } from "../../api/shapes.ts";
import { type ApiClient, ApiFailure, failureText, take } from "../api_client.ts";
import type { Role } from "../../api/access.ts";
import { LOADING, type Remote } from "../remote.ts";

export interface SessionModel {
  /** `ready` with `null`: nobody is signed in. */
  readonly session: ReadonlySignal<Remote<SessionInfo | null>>;
  readonly features: ReadonlySignal<Features>;
  readonly needsSetUp: ReadonlySignal<boolean>;
  /** The session ended while a page was open: sign-in is a dialog over it. */
  readonly interrupted: ReadonlySignal<boolean>;
  load(): Promise<void>;
  isSignedIn(): boolean;
  /** Whether who is here may do what needs `role`. */
  may(role: Role): boolean;
  /** Resolves to `null`, or to what to say. */
  signIn(name: string, password: string): Promise<string | null>;
  setUp(claim: { token: string; name: string; password: string }): Promise<string | null>;
  signOut(): Promise<void>;
  /** Asks whether the session still stands; opens the dialog when it does not. Resolves to whether it does. */
  probe(): Promise<boolean>;
  /** Tells the server that somebody is looking. */
  stay(): Promise<void>;
  /** Opens the dialog before the session ends by itself. */
  signInAgain(): void;
  /** Runs a call; when the session has ended, waits for a new one and runs it again. */
  whileSignedIn<T>(call: () => Promise<T>): Promise<T>;
}

/** From least to most, as the API's table has them. */
const ROLES: readonly Role[] = ["viewer", "operator", "user_manager", "owner"];
const NO_FEATURES: Features = { approvals: false, outbox: false, phone: false };

export function createSessionModel(
  api: ApiClient,
  { onServerTime }: { onServerTime: (nowMs: number) => void },
): SessionModel {
  const session = signal<Remote<SessionInfo | null>>(LOADING);
  const features = signal<Features>(NO_FEATURES);
  const needsSetUp = signal(false);
  const interrupted = signal(false);
  let waiting: (() => void)[] = [];

  const adopt = (answer: SessionAnswer): void => {
    if (answer.session !== null) {
      onServerTime(answer.session.nowMs);
      interrupted.value = false;
      for (const resume of waiting) resume();
      waiting = [];
    }
    features.value = answer.features;
    needsSetUp.value = answer.needsSetUp;
    session.value = { kind: "ready", value: answer.session };
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
    interrupted,
    async load() {
      try {
        adopt(await take(api.session.$get()));
      } catch (fault) {
        session.value = { kind: "failed", message: failureText(fault) };
      }
    },
    signIn: (name, password) => attempt(() => take(api.session.$post({ json: { name, password } }))),
    setUp: (claim) => attempt(() => take(api.setup.$post({ json: claim }))),
    async signOut() {
      const problem = await attempt(() => take(api.session.$delete()));
      if (problem !== null) session.value = { kind: "failed", message: problem };
    },
    async probe() {
      const answer = await take(api.session.$get());
      if (answer.session === null) interrupt();
      else onServerTime(answer.session.nowMs);
      return answer.session !== null;
    },
    async stay() {
      try {
        onServerTime((await take(api.session.stay.$post())).nowMs);
      } catch (fault) {
        // An unreachable server is shown by the stream's banner.
        if (fault instanceof ApiFailure && fault.code === "not_signed_in") interrupt();
      }
    },
    signInAgain: interrupt,
    async whileSignedIn(call) {
      try {
        return await call();
      } catch (fault) {
        if (!(fault instanceof ApiFailure) || fault.code !== "not_signed_in") throw fault;
        interrupt();
        await new Promise<void>((resolve) => waiting.push(resolve));
        return await call();
      }
    },
  };
}
