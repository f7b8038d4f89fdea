// The session of the account page: sign-in, end, and requests that wait for a new sign-in.

import { type ReadonlySignal, signal } from "@preact/signals";
import { ApiFailure, failureText } from "../web/api_client.ts";
import { LOADING, type Remote } from "../web/remote.ts";
import type { MeInfo, MeSessionAnswer } from "../api/account/account_types.ts";
import type { MeCalls } from "./me_calls.ts";

export interface MeSession {
  /** The newest answer; `me` in it stays while the session is {@link interrupted}. */
  readonly state: ReadonlySignal<Remote<MeSessionAnswer>>;
  /** The token of the link that the page was opened with; "" without one. */
  readonly link: ReadonlySignal<string>;
  /** It ended while the page was in use: a dialog over the page offers the ways back. */
  readonly interrupted: ReadonlySignal<boolean>;
  /** The user signed out here. */
  readonly left: ReadonlySignal<boolean>;
  load(): Promise<void>;
  /** A link was opened or pasted; uses nothing up. */
  bring(link: string): void;
  dropLink(): void;
  /** Resolve to `null`, or to why not. */
  openLink(link: string): Promise<string | null>;
  openPhone(userName: string): Promise<string | null>;
  signOut(): Promise<string | null>;
  /** Asks whether the session still stands; failures of the network change nothing. */
  probe(): Promise<void>;
  /** Reports that the user is active; resolves to whether the session was extended. */
  stay(): Promise<boolean>;
  /** Gives up what waits for a session. */
  giveUp(): void;
  /** Runs a call; when there is no session any more, waits for one and runs it again. */
  whileSignedIn<T>(call: () => Promise<T>): Promise<T>;
}

/** A call that still is not let in after this many tries fails like any other. */
const MAX_TRIES = 4;

export function createMeSession(
  calls: Pick<MeCalls, "session" | "stay" | "openLink" | "openPhone" | "signOut">,
  { onServerTime }: { onServerTime: (nowMs: number) => void },
): MeSession {
  const state = signal<Remote<MeSessionAnswer>>(LOADING);
  const link = signal("");
  const interrupted = signal(false);
  const left = signal(false);
  const waiting = new Set<(passed: boolean) => void>();

  const present = (): MeInfo | null => {
    const now = state.peek();
    return now.kind === "ready" ? now.value.me : null;
  };
  const settle = (passed: boolean): void => {
    interrupted.value = false;
    for (const resume of waiting) resume(passed);
    waiting.clear();
  };
  const adopt = (answer: MeSessionAnswer): void => {
    onServerTime(answer.nowMs);
    const before = present();
    if (answer.me === null && before !== null) {
      // The page stays as it is, with whatever is typed in it; the ways back are as new as the answer.
      state.value = { kind: "ready", value: { ...answer, me: before } };
      interrupted.value = true;
      return;
    }
    state.value = { kind: "ready", value: answer };
    if (answer.me === null) return;
    left.value = false;
    settle(before === null || before.userName === answer.me.userName);
  };
  const attempt = async (call: () => Promise<MeSessionAnswer>): Promise<string | null> => {
    try {
      adopt(await call());
      link.value = "";
      return null;
    } catch (fault) {
      return failureText(fault);
    }
  };
  /** The session is over. */
  const empty = (): void => {
    const now = state.peek();
    if (now.kind === "ready") state.value = { kind: "ready", value: { ...now.value, me: null } };
    settle(false);
  };

  return {
    state,
    link,
    interrupted,
    left,
    async load() {
      try {
        adopt(await calls.session());
      } catch (fault) {
        if (state.peek().kind !== "ready") state.value = { kind: "failed", message: failureText(fault) };
      }
    },
    bring: (next) => link.value = next,
    dropLink: () => link.value = "",
    openLink: (token) => attempt(() => calls.openLink(token)),
    openPhone: (userName) => attempt(() => calls.openPhone(userName)),
    async signOut() {
      try {
        await calls.signOut();
      } catch (fault) {
        if (!isOver(fault)) return failureText(fault);
      }
      empty();
      left.value = true;
      return null;
    },
    async probe() {
      try {
        adopt(await calls.session());
      } catch (_unreached) {
        // The account's own calls say that the server cannot be reached.
      }
    },
    async stay() {
      const endedMs = present()?.endsMs ?? 0;
      try {
        adopt(await calls.stay());
      } catch (fault) {
        if (isOver(fault)) interrupted.value = true;
      }
      return (present()?.endsMs ?? 0) > endedMs;
    },
    giveUp: empty,
    async whileSignedIn(call) {
      for (let tries = 1;; tries += 1) {
        try {
          return await call();
        } catch (fault) {
          if (!isOver(fault) || tries >= MAX_TRIES) throw fault;
          interrupted.value = true;
          if (!await new Promise<boolean>((resolve) => waiting.add(resolve))) throw fault;
        }
      }
    },
  };
}

function isOver(fault: unknown): boolean {
  return fault instanceof ApiFailure && fault.code === "me_over";
}

/** The token in the address or text of a link: what follows `#`, or the text itself; `null` when it is none. */
export function tokenIn(text: string): string | null {
  const trimmed = text.trim();
  const token = trimmed.slice(trimmed.lastIndexOf("#") + 1);
  return /^[\w-]{16,128}$/.test(token) ? token : null;
}
