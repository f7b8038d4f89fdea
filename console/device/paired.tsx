// What a paired phone shows: requests that wait, pairings that ask, passcodes, and the way out.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { PhonePairing, PhoneRequest } from "../../upstream/embedded/interfaces.ts";
import { countdownText } from "../web/format.ts";
import { Icon } from "../web/parts/icon.tsx";
import { TimeLeft } from "../web/parts/time_left.tsx";
import { NameField, usePhoneName } from "./name_field.tsx";
import type { Passcode, PhoneModel } from "./phone_model.ts";

const NUMBER_DIGITS = 2;

/** One login that asks: who, where, how long; approve or deny. */
export function RequestCard(
  { request, model, nowMs }: { request: PhoneRequest; model: PhoneModel; nowMs: number },
) {
  const number = useSignal("");
  const id = `request-${request.requestId}`;
  const over = request.deadlineMs <= nowMs;
  const incomplete = request.asksNumber && number.value.length !== NUMBER_DIGITS;
  const decide = (approve: boolean) =>
    void model.decide(request.requestId, {
      approve,
      number: approve && request.asksNumber ? number.value : null,
    });
  return (
    <form
      class="card request"
      aria-labelledby={id}
      onSubmit={(event) => {
        event.preventDefault();
        if (!incomplete && !over) decide(true);
      }}
    >
      <h2 id={id}>Is this you signing in?</h2>
      <dl class="facts">
        <dt>Application</dt>
        <dd>{request.terminalName || request.requesterName}</dd>
        <dt>As</dt>
        <dd class="mono">{request.userName}</dd>
        <dt>Through</dt>
        <dd class="mono">{request.client}</dd>
        <dt>From</dt>
        <dd class="mono">{request.place || "not known"}</dd>
      </dl>
      {over ? <p role="status">Its time is over. Start the login again.</p> : (
        <>
          <TimeLeft
            startMs={request.createdMs}
            deadlineMs={request.deadlineMs}
            nowMs={nowMs}
            label="Time left"
          />
          {request.asksNumber && (
            <div class="field number-field">
              <label for={`${id}-number`}>Number shown in your login</label>
              <input
                id={`${id}-number`}
                class="input mono"
                inputMode="numeric"
                autocomplete="off"
                maxLength={NUMBER_DIGITS}
                placeholder="00"
                value={number.value}
                aria-describedby={`${id}-hint`}
                onInput={(event) => {
                  number.value = event.currentTarget.value.replace(/\D/g, "");
                }}
              />
              <span class="hint" id={`${id}-hint`}>A wrong number denies the login.</span>
            </div>
          )}
          <div class="choices">
            <button
              type="button"
              class="button button-bad"
              disabled={model.busy.value}
              onClick={() => decide(false)}
            >
              Deny
            </button>
            <button class="button button-primary" type="submit" disabled={model.busy.value || incomplete}>
              Approve
            </button>
          </div>
        </>
      )}
    </form>
  );
}

/** A login used this phone's phrase: it is paired only when the person says so. */
export function PairingQuestion({ pairing, model }: { pairing: PhonePairing; model: PhoneModel }) {
  const id = `pairing-${pairing.pairingId}`;
  const name = usePhoneName();
  const decide = (approve: boolean) =>
    void model.decidePairing(pairing.pairingId, { approve, name: approve ? name.value : "" });
  return (
    <section class="card request" aria-labelledby={id}>
      <h2 id={id}>Pair this phone?</h2>
      <p>
        A login of <strong class="mono">{pairing.userName}</strong> at{" "}
        <strong>{pairing.requesterName}</strong>{" "}
        used your phrase. Confirm only if you typed it yourself just now.
      </p>
      <NameField id={`${id}-name`} name={name} />
      <div class="choices">
        <button
          type="button"
          class="button button-bad"
          disabled={model.busy.value}
          onClick={() => decide(false)}
        >
          Deny
        </button>
        <button
          type="button"
          class="button button-primary"
          disabled={model.busy.value}
          onClick={() => decide(true)}
        >
          Confirm
        </button>
      </div>
    </section>
  );
}

/** One account of this phone: its passcode on demand, and unpairing. */
export function PairingRow(
  { pairing, model, nowMs }: { pairing: PhonePairing; model: PhoneModel; nowMs: number },
) {
  const passcode = useSignal<Passcode | null>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = passcode.value !== null && passcode.value.validUntilMs > nowMs ? passcode.value : null;
  const toggle = async () => {
    passcode.value = shown === null ? await model.passcode(pairing.pairingId) : null;
  };
  const titleId = `unpair-${pairing.pairingId}`;
  return (
    <li class="pairing">
      <div class="pairing-name">
        <strong class="mono">{pairing.userName}</strong>
        <span class="quiet">{pairing.requesterName}</span>
      </div>
      {shown !== null && (
        <p class="passcode" role="status">
          <span class="mono digits">{grouped(shown.code)}</span>
          <span class="quiet mono">{countdownText(shown.validUntilMs - nowMs)}</span>
        </p>
      )}
      <div class="choices">
        <button type="button" class="button button-plain" onClick={() => dialog.current?.showModal()}>
          Unpair
          <span class="unseen">{` from ${pairing.userName}`}</span>
        </button>
        <button
          type="button"
          class="button"
          disabled={model.busy.value}
          onClick={() => void toggle()}
        >
          <Icon name="key" />
          {shown === null ? "Show passcode" : "Hide passcode"}
          <span class="unseen">{` for ${pairing.userName}`}</span>
        </button>
      </div>
      <dialog class="dialog" ref={dialog} aria-labelledby={titleId}>
        <div class="card">
          <h2 id={titleId}>Unpair this phone from {pairing.userName}?</h2>
          <p>Logins stop asking this phone at once. Pairing it again takes a new invitation or phrase.</p>
          <form method="dialog" class="choices">
            <button type="submit" class="button" autofocus>Keep</button>
            <button
              type="submit"
              class="button button-bad"
              onClick={() => void model.unpair(pairing.pairingId)}
            >
              Unpair
            </button>
          </form>
        </div>
      </dialog>
    </li>
  );
}

/** Six digits are read more easily in two groups. */
function grouped(code: string): string {
  const half = Math.ceil(code.length / 2);
  return `${code.slice(0, half)}\u2009${code.slice(half)}`;
}
