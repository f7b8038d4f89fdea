// The phone page's state: what the service shows to this phone, kept current by its event stream.

import { type ReadonlySignal, signal } from "@preact/signals";
import { hc } from "hono/client";
import type { PhoneView } from "../../upstream/embedded/second_factor/interfaces.ts";
import type { DeviceApi, PhoneNotice } from "../api/devices/device_api.ts";
import { ApiFailure, take } from "../web/api_client.ts";
import type { ClockModel } from "../web/models/clock_model.ts";
import type { EventChannel } from "../web/models/live_model.ts";
import { LOADING, type Remote, valueOf } from "../web/remote.ts";
import { failureMessage, t } from "../web/i18n/translate.ts";
import { hasNewQuestion, withoutAnswered } from "./answered.ts";
import { createPhoneStream } from "./phone_stream.ts";

/** What an action of the page did: the words `did_<name>`. */
type Done = "approved" | "denied" | "paired" | "pairing_denied" | "unpaired";

/** What was just done or refused, in a sentence. */
export interface Said {
  readonly good: boolean;
  readonly text: string;
}

export interface Invitation {
  readonly userName: string;
  readonly requesterName: string;
  readonly deadlineMs: number;
}

export interface Passcode {
  readonly code: string;
  readonly validUntilMs: number;
}

export interface PhoneModel {
  /** `ready` with `null`: this phone has no token. */
  readonly view: ReadonlySignal<Remote<PhoneView | null>>;
  /** What was added for this phone's users and is not confirmed yet. */
  readonly notices: ReadonlySignal<readonly PhoneNotice[]>;
  readonly said: ReadonlySignal<Said | null>;
  /** Whether the server was heard over the open stream. */
  readonly online: ReadonlySignal<boolean>;
  readonly busy: ReadonlySignal<boolean>;
  load(): Promise<void>;
  look(invitation: string): Promise<Invitation | null>;
  /** @param name what the phone shall be called; "": nothing. */
  accept(invitation: string, name: string): Promise<boolean>;
  showPhrase(): Promise<void>;
  decide(requestId: string, decision: { approve: boolean; number: string | null }): Promise<void>;
  decidePairing(pairingId: string, decision: { approve: boolean; name: string }): Promise<void>;
  passcode(pairingId: string): Promise<Passcode | null>;
  unpair(pairingId: string): Promise<void>;
  /** Opens the stream again when the browser let it go, or when it is silent for too long. */
  wake(): void;
}

const REOPEN_MS = 3000;
/** Over a dead connection a call can wait for minutes. */
const LOAD_LIMIT_MS = 15_000;
/** Refusals after which the question is not open any more. */
const CLOSING_CODES: ReadonlySet<string> = new Set([
  "wrong_number",
  "already_decided",
  "unknown_request",
  "expired",
]);

export interface PhoneModelDeps {
  readonly clock: ClockModel;
  readonly fetch: typeof fetch;
  readonly openStream: () => EventChannel;
  readonly localNowMs: () => number;
  readonly later: (delayMs: number, task: () => void) => () => void;
}

export function createPhoneModel(deps: PhoneModelDeps): PhoneModel {
  const { clock, later } = deps;
  const api = hc<DeviceApi>("/device/api", { fetch: deps.fetch });
  const view = signal<Remote<PhoneView | null>>(LOADING);
  const notices = signal<readonly PhoneNotice[]>([]);
  const said = signal<Said | null>(null);
  const busy = signal(false);
  const answered = new Map<string, boolean>();
  /** Numbers the loads and the `view` events, so that an older answer does not replace a newer one. */
  let turn = 0;
  let adopted = 0;
  let stopReload = () => {};

  const show = (next: PhoneView | null): void => {
    const shown = next === null ? null : withoutAnswered(next, answered);
    if (hasNewQuestion(valueOf(view.peek()), shown)) said.value = null;
    view.value = { kind: "ready", value: shown };
  };
  const adopt = (mine: number, next: { nowMs: number; view: PhoneView | null }): void => {
    if (mine < adopted) return;
    adopted = mine;
    clock.adjust(next.nowMs);
    show(next.view);
    if (next.view === null) stream.close();
    else stream.listen();
  };
  const reload = (): void => {
    stopReload();
    stopReload = later(REOPEN_MS, () => void model.load());
  };
  const stream = createPhoneStream({
    open: deps.openStream,
    nowMs: deps.localNowMs,
    later,
    onView: (data) => adopt(turn += 1, JSON.parse(data)),
    onSignedOut: () => void model.load(),
    onLost: reload,
  });
  const fetchView = async () => {
    const giveUp = new AbortController();
    const stop = later(LOAD_LIMIT_MS, () => giveUp.abort());
    try {
      return await take(api.view.$get({}, { init: { signal: giveUp.signal } }));
    } finally {
      stop();
    }
  };
  /** Runs one call; says what it did or why it did not. */
  const run = async <T>(call: () => Promise<T>, done?: Done): Promise<T | null> => {
    busy.value = true;
    said.value = null;
    try {
      const value = await call();
      if (done !== undefined) said.value = { good: true, text: t(`device.did_${done}`) };
      return value;
    } catch (fault) {
      said.value = { good: false, text: sentenceFor(fault) };
      if (fault instanceof ApiFailure && fault.code === "unknown_token") await model.load();
      return null;
    } finally {
      busy.value = false;
    }
  };
  /** Answers a question, and takes it off the page when it is not open any more. */
  const answer = async (
    id: string,
    { approve, call }: { approve: boolean; call: () => Promise<unknown> },
  ) => {
    const leave = (isApproved: boolean) => {
      answered.set(id, isApproved);
      show(valueOf(view.peek()));
    };
    try {
      await call();
      leave(approve);
    } catch (fault) {
      if (fault instanceof ApiFailure && CLOSING_CODES.has(fault.code)) leave(false);
      throw fault;
    }
  };
  const byId = (id: string) => ({ param: { id } });

  const model: PhoneModel = {
    view,
    notices,
    said,
    online: stream.online,
    busy,
    async load() {
      stopReload();
      const mine = turn += 1;
      try {
        const answer = await fetchView();
        notices.value = answer.notices;
        adopt(mine, answer);
      } catch (fault) {
        if (view.peek().kind !== "ready") view.value = { kind: "failed", message: sentenceFor(fault) };
        else if (stream.isLost()) reload();
      }
    },
    look: (invitation) => run(() => take(api.invitation.look.$post({ json: { invitation } }))),
    async accept(invitation, name) {
      const call = () => take(api.invitation.accept.$post({ json: { invitation, name } }));
      const done = await run(call, "paired");
      if (done !== null) await model.load();
      return done !== null;
    },
    async showPhrase() {
      if (await run(() => take(api.phrase.$post({ json: {} }))) !== null) await model.load();
    },
    async decide(requestId, decision) {
      const call = () => take(api.requests[":id"].$post({ ...byId(requestId), json: decision }));
      const { approve } = decision;
      await run(() => answer(requestId, { approve, call }), approve ? "approved" : "denied");
    },
    async decidePairing(pairingId, decision) {
      const call = () => take(api.pairings[":id"].$post({ ...byId(pairingId), json: decision }));
      const { approve } = decision;
      await run(() => answer(pairingId, { approve, call }), approve ? "paired" : "pairing_denied");
    },
    passcode: (pairingId) =>
      run(() => take(api.pairings[":id"].passcode.$post({ ...byId(pairingId), json: {} }))),
    async unpair(pairingId) {
      if (await run(() => take(api.pairings[":id"].$delete(byId(pairingId))), "unpaired") !== null) {
        await model.load();
      }
    },
    wake() {
      if (view.peek().kind === "ready" && stream.isLost()) void model.load();
    },
  };
  return model;
}

function sentenceFor(fault: unknown): string {
  const code = fault instanceof ApiFailure ? fault.code : "nonsense";
  return failureMessage(code) ?? (fault instanceof ApiFailure ? fault.message : code);
}
