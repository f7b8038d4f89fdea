// The phone page's state: what the service shows to this phone, kept current by its event stream.

import { type ReadonlySignal, signal } from "@preact/signals";
import { hc } from "hono/client";
import type { PhonePairing, PhoneView } from "../../upstream/embedded/second_factor/interfaces.ts";
import type { DeviceApi, PhoneNotice } from "../api/devices/device_api.ts";
import { ApiFailure, errorText, take } from "../web/app/api_client.ts";
import type { ClockModel, RunLater } from "../web/app/clock_model.ts";
import type { EventSourceLike } from "../web/app/live_stream.ts";
import { type AsyncValue, LOADING, readyValue } from "../web/app/resource.ts";
import { t } from "../web/i18n/translate.ts";
import { createPhoneStream, type PhoneStream } from "./phone_stream.ts";

/** What an action did: the message `did_<name>`. */
type Done = "approved" | "denied" | "paired" | "pairing_denied" | "unpaired";

/** The result of the latest action as a message. */
interface ActionResult {
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

const REOPEN_MS = 3000;
/** Over a dead connection a call can wait for minutes. */
const LOAD_DEADLINE_MS = 15_000;
/** Refusals after which the question is closed. */
const CLOSING_CODES: ReadonlySet<string> = new Set([
  "wrong_number",
  "already_decided",
  "unknown_request",
  "expired",
]);

interface PhoneModelDeps {
  readonly clock: ClockModel;
  readonly fetch: typeof fetch;
  readonly openStream: () => EventSourceLike;
  readonly localNowMs: () => number;
  readonly later: RunLater;
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
  readonly #answered = new Map<string, boolean>();
  /** Numbers the loads and the `view` events, so that an older answer does not replace a newer one. */
  #turn = 0;
  #adopted = 0;
  #stopReload = () => {};

  /** `ready` with `null`: this phone has no token. */
  readonly view: ReadonlySignal<AsyncValue<PhoneView | null>> = this.#view;
  /** What was added for this phone's users and is not confirmed yet. */
  readonly notices: ReadonlySignal<readonly PhoneNotice[]> = this.#notices;
  readonly result: ReadonlySignal<ActionResult | null> = this.#result;
  readonly busy: ReadonlySignal<boolean> = this.#busy;
  /** Whether the open stream received something. */
  readonly online: ReadonlySignal<boolean>;

  constructor({ clock, later, fetch, openStream, localNowMs }: PhoneModelDeps) {
    this.#clock = clock;
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
      if (this.#view.peek().kind !== "ready") {
        this.#view.value = { kind: "failed", message: errorText(fault) };
      } else if (this.#stream.isLost()) this.#reloadLater();
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

  async showPhrase(): Promise<void> {
    if (await this.#run(() => take(this.#api.phrase.$post({ json: {} }))) !== null) await this.load();
  }

  async decide(requestId: string, decision: { approve: boolean; number: string | null }): Promise<void> {
    const call = () => take(this.#api.requests[":id"].$post({ ...byId(requestId), json: decision }));
    const { approve } = decision;
    await this.#run(() => this.#answer(requestId, { approve, call }), approve ? "approved" : "denied");
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

  /** Loads and opens the stream again if it was closed, or is silent for too long. */
  wake(): void {
    if (this.#view.peek().kind === "ready" && this.#stream.isLost()) void this.load();
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
    this.#show(next.view);
    if (next.view === null) this.#stream.close();
    else this.#stream.listen();
  }

  #show(next: PhoneView | null): void {
    const shown = next === null ? null : withoutAnswered(next, this.#answered);
    if (hasNewQuestion(readyValue(this.#view.peek()), shown)) this.#result.value = null;
    this.#view.value = { kind: "ready", value: shown };
  }

  #reloadLater(): void {
    this.#stopReload();
    this.#stopReload = this.#later(REOPEN_MS, () => void this.load());
  }

  /** Runs one call, and shows its result or its failure. */
  async #run<T>(call: () => Promise<T>, done?: Done): Promise<T | null> {
    this.#busy.value = true;
    this.#result.value = null;
    try {
      const value = await call();
      if (done !== undefined) this.#result.value = { good: true, text: t(`device.did_${done}`) };
      return value;
    } catch (fault) {
      this.#result.value = { good: false, text: errorText(fault) };
      if (fault instanceof ApiFailure && fault.code === "unknown_token") await this.load();
      return null;
    } finally {
      this.#busy.value = false;
    }
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

/** Request and pairing ids, with whether the person approved. */
type AnsweredQuestions = ReadonlyMap<string, boolean>;

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

function questionsOf(view: PhoneView | null): string[] {
  if (view === null) return [];
  const asking = view.pairings.filter(asks).map(({ pairingId }) => pairingId);
  return [...view.requests.map(({ requestId }) => requestId), ...asking];
}

function asks({ status }: PhonePairing): boolean {
  return status === "asks_approval";
}
