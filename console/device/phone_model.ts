// The phone page's state: what the service shows to this phone, kept current by its event stream.

import { type ReadonlySignal, signal } from "@preact/signals";
import { hc } from "hono/client";
import type { PhonePairing, PhoneView } from "../../upstream/embedded/second_factor/interfaces.ts";
import type { AppKey, EnrolledApp } from "../api/enrolment/invited_app.ts";
import type { DeviceApi, PhoneNotice } from "../api/devices/device_api.ts";
import { ApiFailure, errorText, take } from "../web/app/api_client.ts";
import { type ClockModel, MAX_SILENCE_MS, type RunLater } from "../web/app/clock_model.ts";
import type { EventSourceLike } from "../web/app/live_stream.ts";
import { type AsyncValue, LOADING, readyValue } from "../web/app/resource.ts";
import { t } from "../web/i18n/translate.ts";
import type { Passcode } from "./passcodes.ts";

/** What an action did: the message `did_<name>`. */
type Done =
  | "app"
  | "approved"
  | "denied"
  | "reported"
  | "paired"
  | "pairing_denied"
  | "renamed"
  | "unpaired"
  | "caller_confirm"
  | "caller_deny"
  | "caller_not_me";

/** The result of the latest action as a message. */
interface ActionResult {
  readonly good: boolean;
  readonly text: string;
}

export interface Invitation {
  readonly userName: string;
  readonly requesterName: string;
  readonly deadlineMs: number;
  /** An authenticator app can be enrolled instead of this phone. */
  readonly offersApp: boolean;
}

const REOPEN_MS = 3000;
/** So long a result, and the question after Deny, are shown. */
const RESULT_MS = 60_000;
const DENIED_MS = 5 * 60_000;
/** Over a dead connection a call can wait for minutes. */
const LOAD_DEADLINE_MS = 15_000;

interface PhoneModelDeps {
  readonly clock: ClockModel;
  readonly fetch: typeof fetch;
  readonly openStream: () => EventSourceLike;
  readonly localNowMs: () => number;
  readonly later: RunLater;
  /** Receives the server's time, and whether this phone has a token, with each answer. */
  readonly onAnswer?: (answer: { readonly nowMs: number; readonly view: PhoneView | null }) => void;
}

export class PhoneModel {
  readonly #clock: ClockModel;
  readonly #later: RunLater;
  readonly #api: ReturnType<typeof hc<DeviceApi>>;
  readonly #stream: PhoneStream;
  readonly #view = signal<AsyncValue<PhoneView | null>>(LOADING);
  readonly #notices = signal<readonly PhoneNotice[]>([]);
  readonly #result = signal<ActionResult | null>(null);
  readonly #busy = signal(false);
  readonly #opened = signal("");
  readonly #denied = signal("");
  readonly #answered = new Map<string, boolean>();
  /** The requests whose notification reached this phone. */
  readonly #notified = new Set<string>();
  readonly #onAnswer: NonNullable<PhoneModelDeps["onAnswer"]>;
  /** Numbers the loads and the `view` events, so that an older answer does not replace a newer one. */
  #turn = 0;
  #adopted = 0;
  #stopReload = () => {};
  #stopResult = () => {};
  #stopDenied = () => {};

  /** `ready` with `null`: this phone has no token. */
  readonly view: ReadonlySignal<AsyncValue<PhoneView | null>> = this.#view;
  /** What was added for this phone's users and is not confirmed yet. */
  readonly notices: ReadonlySignal<readonly PhoneNotice[]> = this.#notices;
  readonly result: ReadonlySignal<ActionResult | null> = this.#result;
  readonly busy: ReadonlySignal<boolean> = this.#busy;
  /** The id of the request whose notification the user chose; "" for none. */
  readonly opened: ReadonlySignal<string> = this.#opened;
  /** The id of the sign-in that was just denied on this phone, until the user says whether it was theirs; "" for none. */
  readonly denied: ReadonlySignal<string> = this.#denied;
  /** Whether the open stream received something. */
  readonly online: ReadonlySignal<boolean>;

  constructor(
    { clock, later, fetch, openStream, localNowMs, onAnswer = () => undefined }: PhoneModelDeps,
  ) {
    this.#clock = clock;
    this.#onAnswer = onAnswer;
    this.#later = later;
    this.#api = hc<DeviceApi>("/device/api", { fetch });
    this.#stream = createPhoneStream({
      open: openStream,
      nowMs: localNowMs,
      later,
      onView: (data) => this.#adopt(this.#turn += 1, JSON.parse(data)),
      onSignedOut: () => void this.load(),
      onLost: () => this.#reloadLater(),
    });
    this.online = this.#stream.online;
  }

  async load(): Promise<void> {
    this.#stopReload();
    const turn = this.#turn += 1;
    try {
      const answer = await this.#fetchView();
      this.#notices.value = answer.notices;
      this.#adopt(turn, answer);
    } catch (fault) {
      const isFirst = this.#view.peek().kind !== "ready";
      if (isFirst) this.#view.value = { kind: "failed", message: errorText(fault) };
      // The event "online" can come before the network, and for a server that was down there is none.
      if (isFirst || this.#stream.isLost()) this.#reloadLater();
    }
  }

  look(invitation: string): Promise<Invitation | null> {
    return this.#run(() => take(this.#api.invitation.look.$post({ json: { invitation } })));
  }

  /** @param name of the phone; "" for none. */
  async accept(invitation: string, name: string): Promise<boolean> {
    const call = () => take(this.#api.invitation.accept.$post({ json: { invitation, name } }));
    const isDone = await this.#run(call, "paired") !== null;
    if (isDone) await this.load();
    return isDone;
  }

  /** A new key for an authenticator app, which replaces an earlier one of the invitation. */
  beginApp(invitation: string): Promise<AppKey | null> {
    return this.#run(() => take(this.#api.invitation.app.$post({ json: { invitation } })));
  }

  /** Enrols the app with a code. The invitation is then used. */
  confirmApp(
    invitation: string,
    proof: { readonly code: string; readonly recoveryCodes: boolean },
  ): Promise<EnrolledApp | null> {
    const json = { invitation, ...proof };
    return this.#run(() => take(this.#api.invitation.app.confirm.$post({ json })), "app");
  }

  async showPhrase(): Promise<void> {
    if (await this.#run(() => take(this.#api.phrase.$post({ json: {} }))) !== null) await this.load();
  }

  async decide(requestId: string, decision: { approve: boolean; number: string | null }): Promise<void> {
    const { approve } = decision;
    const call = () => this.#send(requestId, decision);
    await this.#run(() => this.#answer(requestId, { approve, call }), approve ? "approved" : "denied");
    if (!approve && this.#result.peek()?.good === true) this.#ask(requestId);
  }

  /** The user did not start the sign-in that was denied. */
  async reportDenied(requestId: string): Promise<void> {
    const call = () => take(this.#api.requests[":id"]["not-me"].$post({ ...byId(requestId), json: {} }));
    if (await this.#run(call, "reported") !== null) this.#ask("");
  }

  /** The user started the sign-in that was denied. */
  keepDenied(): void {
    this.#ask("");
    this.#tell(null);
  }

  /** The user chose the notification about a sign-in that this phone denied. */
  async openDenied(requestId: string): Promise<void> {
    await this.load();
    this.#tell({ good: true, text: t("device.did_denied") });
    this.#ask(requestId);
  }

  /** Answers the help desk, which asks whether the user called. */
  async answerCaller(requestId: string, given: CallerAnswer): Promise<void> {
    const approve = given.answer === "confirm";
    const number = given.answer === "confirm" ? given.number : null;
    const call = () => this.#send(requestId, { approve, number, notMe: given.answer === "not_me" });
    const answer = () => this.#answer(requestId, { approve, call });
    // The API's message is about a sign-in.
    const textOf = (fault: unknown) =>
      fault instanceof ApiFailure && fault.code === "wrong_number"
        ? t("device.caller_wrong_number")
        : errorText(fault);
    await this.#run(answer, `caller_${given.answer}`, textOf);
  }

  async decidePairing(pairingId: string, decision: { approve: boolean; name: string }): Promise<void> {
    const call = () => take(this.#api.pairings[":id"].$post({ ...byId(pairingId), json: decision }));
    const { approve } = decision;
    await this.#run(() => this.#answer(pairingId, { approve, call }), approve ? "paired" : "pairing_denied");
  }

  passcode(pairingId: string): Promise<Passcode | null> {
    return this.#run(() => take(this.#api.pairings[":id"].passcode.$post({ ...byId(pairingId), json: {} })));
  }

  async unpair(pairingId: string): Promise<void> {
    const call = () => take(this.#api.pairings[":id"].$delete(byId(pairingId)));
    if (await this.#run(call, "unpaired") !== null) await this.load();
  }

  /** Names this phone, for all its accounts. */
  async rename(name: string): Promise<boolean> {
    const isDone = await this.#run(() => take(this.#api.name.$post({ json: { name } })), "renamed") !== null;
    if (isDone) await this.load();
    return isDone;
  }

  /** The user chose the notification of a request. If it is not open any more, the page shows this. */
  async openRequest(requestId: string): Promise<void> {
    this.#opened.value = requestId;
    this.#notified.add(requestId);
    await this.load();
    const view = readyValue(this.#view.peek());
    if (view === null || requestId === "") return;
    if (view.requests.some((request) => request.requestId === requestId)) return;
    this.#tell({ good: false, text: t("device.request_gone") });
  }

  /**
   * The push service delivered a message about a request or a pairing (""). If the page does not show the same, its stream is late
   * or dead, and the worker shows nothing beside a visible page.
   */
  pushed({ requestId, asks }: { requestId: string; asks: boolean }): void {
    if (asks) this.#notified.add(requestId);
    const isShown = questionsOf(readyValue(this.#view.peek())).includes(requestId);
    if (isShown !== asks && !this.#answered.has(requestId)) void this.load();
  }

  /** Loads and opens the stream again if it was closed, or is silent for too long. */
  wake(): void {
    const { kind } = this.#view.peek();
    if (kind === "failed" || (kind === "ready" && this.#stream.isLost())) void this.load();
  }

  async #fetchView() {
    const deadline = new AbortController();
    const stopTimer = this.#later(LOAD_DEADLINE_MS, () => deadline.abort());
    try {
      return await take(this.#api.view.$get({}, { init: { signal: deadline.signal } }));
    } finally {
      stopTimer();
    }
  }

  #adopt(turn: number, next: { nowMs: number; view: PhoneView | null }): void {
    if (turn < this.#adopted) return;
    this.#adopted = turn;
    this.#clock.adjust(next.nowMs);
    this.#onAnswer(next);
    this.#show(next.view);
    if (next.view === null) this.#stream.close();
    else this.#stream.listen();
  }

  #show(next: PhoneView | null): void {
    const shown = next === null ? null : withoutAnswered(next, this.#answered);
    const before = readyValue(this.#view.peek());
    if (hasNewQuestion(before, shown)) this.#tell(null);
    const isRevoked = shown === null && (before?.pairings.length ?? 0) > 0;
    if (isRevoked && this.#result.peek()?.text !== t("device.did_unpaired")) {
      this.#tell({ good: false, text: t("device.no_longer_paired") });
    }
    this.#view.value = { kind: "ready", value: shown };
  }

  /** Shows a result. What worked disappears by itself. */
  #tell(result: ActionResult | null): void {
    this.#stopResult();
    this.#result.value = result;
    if (result?.good === true) this.#stopResult = this.#later(RESULT_MS, () => this.#result.value = null);
  }

  /** Asks whether the user started the sign-in that was denied. @param requestId "" asks no more */
  #ask(requestId: string): void {
    this.#stopDenied();
    this.#denied.value = requestId;
    if (requestId !== "") this.#stopDenied = this.#later(DENIED_MS, () => this.#denied.value = "");
  }

  #reloadLater(): void {
    this.#stopReload();
    this.#stopReload = this.#later(REOPEN_MS, () => void this.load());
  }

  /** Runs one call, and shows its result or its failure. */
  async #run<T>(call: () => Promise<T>, done?: Done, textOf = errorText): Promise<T | null> {
    this.#busy.value = true;
    this.#tell(null);
    try {
      const value = await call();
      if (done !== undefined) this.#tell({ good: true, text: t(`device.did_${done}`) });
      return value;
    } catch (fault) {
      this.#tell({ good: false, text: textOf(fault) });
      if (fault instanceof ApiFailure && fault.code === "unknown_token") await this.load();
      return null;
    } finally {
      this.#busy.value = false;
    }
  }

  #send(requestId: string, decision: { approve: boolean; number: string | null; notMe?: boolean }) {
    const json = { ...decision, isNotified: this.#notified.has(requestId) };
    return take(this.#api.requests[":id"].$post({ ...byId(requestId), json }));
  }

  /** Answers a question, and removes it from the page when it is closed. */
  async #answer(
    id: string,
    { approve, call }: { approve: boolean; call: () => Promise<unknown> },
  ): Promise<void> {
    const remove = (isApproved: boolean) => {
      this.#answered.set(id, isApproved);
      this.#show(readyValue(this.#view.peek()));
    };
    try {
      await call();
      remove(approve);
    } catch (fault) {
      if (fault instanceof ApiFailure && CLOSING_CODES.has(fault.code)) remove(false);
      throw fault;
    }
  }
}

function byId(id: string) {
  return { param: { id } };
}

// The phone page's event stream, with a check that it is alive. A connection can die without an error event, for example
// when the phone sleeps or changes its network.

interface PhoneStream {
  /** Whether the open stream received something. */
  readonly online: ReadonlySignal<boolean>;
  /** Opens the stream unless it is open. */
  listen(): void;
  close(): void;
  /** Closes a stream that is silent for too long. Returns whether the stream is closed. */
  isLost(): boolean;
}

interface PhoneStreamDeps {
  readonly open: () => EventSourceLike;
  readonly nowMs: () => number;
  readonly later: RunLater;
  /** Receives the data of a `view` event. */
  readonly onView: (data: string) => void;
  readonly onSignedOut: () => void;
  /** The browser closed the stream, or it was silent for too long. */
  readonly onLost: () => void;
}

const CLOSED = 2;
const CHECK_EVERY_MS = 2000;

function createPhoneStream(deps: PhoneStreamDeps): PhoneStream {
  const online = signal(false);
  let stream: EventSourceLike | null = null;
  let lastSignMs = 0;
  let stopCheck = () => {};

  const close = (): void => {
    stream?.close();
    stream = null;
    stopCheck();
    online.value = false;
  };
  const isLost = (): boolean => {
    if (stream !== null && deps.nowMs() - lastSignMs > MAX_SILENCE_MS) close();
    return stream === null;
  };
  const check = (): void => {
    if (isLost()) deps.onLost();
    else stopCheck = deps.later(CHECK_EVERY_MS, check);
  };
  const listen = (): void => {
    if (stream !== null && stream.readyState !== CLOSED) return;
    close();
    const mine = deps.open();
    stream = mine;
    lastSignMs = deps.nowMs();
    stopCheck = deps.later(CHECK_EVERY_MS, check);
    const on = (type: string, act: (event: MessageEvent<string>) => void) =>
      mine.addEventListener(type, (event) => {
        if (stream !== mine) return;
        lastSignMs = deps.nowMs();
        online.value = true;
        act(event);
      });
    on("open", () => undefined);
    on("beat", () => undefined);
    on("view", ({ data }) => deps.onView(data));
    on("signed_out", deps.onSignedOut);
    mine.onerror = () => {
      if (stream !== mine) return;
      online.value = false;
      if (mine.readyState !== CLOSED) return;
      close();
      deps.onLost();
    };
  };
  return { online, listen, close, isLost };
}

// What the phone page asks its user: requests, and pairings that wait for a confirmation.

/** Request and pairing ids, with whether the person approved. */
type AnsweredQuestions = ReadonlyMap<string, boolean>;

/** The answer to the help desk. `not_me`: the user did not call. */
type CallerAnswer =
  | { readonly answer: "confirm"; readonly number: string }
  | { readonly answer: "deny" | "not_me" };

/** Refusals of an answer after which the question is closed. */
const CLOSING_CODES: ReadonlySet<string> = new Set([
  "wrong_number",
  "already_decided",
  "unknown_request",
  "expired",
]);

/** The view without answered questions. An approved pairing is shown as enabled. */
function withoutAnswered(view: PhoneView, answered: AnsweredQuestions): PhoneView {
  const requests = view.requests.filter(({ requestId }) => !answered.has(requestId));
  const pairings = view.pairings.flatMap((pairing): readonly PhonePairing[] => {
    if (!asks(pairing)) return [pairing];
    const isApproved = answered.get(pairing.pairingId);
    if (isApproved === undefined) return [pairing];
    return isApproved ? [{ ...pairing, status: "enabled" }] : [];
  });
  return { ...view, requests, pairings };
}

/** Whether `after` asks something that `before` did not ask. */
function hasNewQuestion(before: PhoneView | null, after: PhoneView | null): boolean {
  const known = questionsOf(before);
  return questionsOf(after).some((id) => !known.includes(id));
}

/** The ids of the open requests, and of the pairings that wait for a confirmation. */
export function questionsOf(view: PhoneView | null): string[] {
  if (view === null) return [];
  const asking = view.pairings.filter(asks).map(({ pairingId }) => pairingId);
  return [...view.requests.map(({ requestId }) => requestId), ...asking];
}

function asks({ status }: PhonePairing): boolean {
  return status === "asks_approval";
}
