// The phone page's state: what the service shows to this phone, kept current by its event stream.

import { type ReadonlySignal, signal } from "@preact/signals";
import { hc } from "hono/client";
import type { PhoneView } from "../../upstream/embedded/interfaces.ts";
import type { DeviceApi, PhoneNotice } from "../api/me/device_api.ts";
import { ApiFailure, take } from "../web/api_client.ts";
import type { ClockModel } from "../web/models/clock_model.ts";
import { LOADING, type Remote } from "../web/remote.ts";
import { failureWord, t } from "../web/words/translate.ts";

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
  /** Opens the stream again when the browser let it go. */
  wake(): void;
}

const CLOSED = 2;
const REOPEN_MS = 3000;

export function createPhoneModel(clock: ClockModel): PhoneModel {
  const api = hc<DeviceApi>("/device/api");
  const view = signal<Remote<PhoneView | null>>(LOADING);
  const notices = signal<readonly PhoneNotice[]>([]);
  const said = signal<Said | null>(null);
  const online = signal(true);
  const busy = signal(false);
  let stream: EventSource | null = null;

  const adopt = (next: { nowMs: number; view: PhoneView | null }): void => {
    clock.adjust(next.nowMs);
    view.value = { kind: "ready", value: next.view };
    if (next.view === null) close();
    else listen();
  };
  const close = (): void => {
    stream?.close();
    stream = null;
  };
  const listen = (): void => {
    if (stream !== null && stream.readyState !== CLOSED) return;
    const mine = new EventSource("/device/api/stream");
    stream = mine;
    mine.addEventListener("open", () => online.value = true);
    mine.addEventListener("view", (event: MessageEvent<string>) => {
      online.value = true;
      adopt(JSON.parse(event.data));
    });
    mine.addEventListener("signed_out", () => void model.load());
    mine.addEventListener("error", () => {
      online.value = false;
      if (mine.readyState !== CLOSED || stream !== mine) return;
      close();
      setTimeout(() => void model.load(), REOPEN_MS);
    });
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
  const byId = (id: string) => ({ param: { id } });

  const model: PhoneModel = {
    view,
    notices,
    said,
    online,
    busy,
    async load() {
      try {
        const answer = await take(api.view.$get());
        notices.value = answer.notices;
        adopt(answer);
        online.value = true;
      } catch (fault) {
        online.value = false;
        if (view.peek().kind !== "ready") view.value = { kind: "failed", message: sentenceFor(fault) };
        if (stream === null && view.peek().kind === "ready") setTimeout(() => void model.load(), REOPEN_MS);
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
      await run(call, decision.approve ? "approved" : "denied");
    },
    async decidePairing(pairingId, decision) {
      const call = () => take(api.pairings[":id"].$post({ ...byId(pairingId), json: decision }));
      await run(call, decision.approve ? "paired" : "pairing_denied");
    },
    passcode: (pairingId) =>
      run(() => take(api.pairings[":id"].passcode.$post({ ...byId(pairingId), json: {} }))),
    async unpair(pairingId) {
      if (await run(() => take(api.pairings[":id"].$delete(byId(pairingId))), "unpaired") !== null) {
        await model.load();
      }
    },
    wake() {
      if (view.peek().kind === "ready" && stream === null) void model.load();
    },
  };
  return model;
}

function sentenceFor(fault: unknown): string {
  const code = fault instanceof ApiFailure ? fault.code : "nonsense";
  return failureWord(code) ?? (fault instanceof ApiFailure ? fault.message : code);
}
