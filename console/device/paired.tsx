// A paired phone: its name, open requests, pairings to confirm, passcodes, and unpairing.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ComponentChildren, RefObject } from "preact";
import { plainTyped } from "../../platform/typed_text.ts";
import type { PhonePairing, PhoneRequest } from "../../upstream/embedded/second_factor/interfaces.ts";
import {
  type BrowserIdentity,
  MAX_DEVICE_LABEL_CHARACTERS,
  proposePhoneName,
} from "../../platform/device_label.ts";
import { countdownText } from "../web/app/format.ts";
import { t } from "../web/i18n/translate.ts";
import { InlineIcon } from "../web/components/inline_icon.tsx";
import { TimeLeft } from "../web/components/time.tsx";
import type { MessageKey } from "../web/i18n/catalogue.ts";
import type { Passcode } from "./passcodes.ts";
import type { PhoneModel } from "./phone_model.ts";
import type { PhoneAppModel } from "./phone_app.ts";

const NUMBER_DIGITS = 2;

/** A login request, with Approve and Deny. */
export function RequestCard(
  { request, model, nowMs }: { request: PhoneRequest; model: PhoneModel; nowMs: number },
) {
  const number = useSignal("");
  const id = `request-${request.requestId}`;
  const form = useFocusOfOpened(model, request);
  const over = request.deadlineMs <= nowMs;
  const incomplete = request.asksNumber && number.value.length !== NUMBER_DIGITS;
  const decide = (approve: boolean) =>
    void model.decide(request.requestId, {
      approve,
      number: approve && request.asksNumber ? number.value : null,
    });
  return (
    <form
      ref={form}
      class="card request"
      aria-labelledby={id}
      onSubmit={(event) => {
        event.preventDefault();
        if (!incomplete && !over) decide(true);
      }}
    >
      <h2 id={id} tabIndex={-1}>{t("device.question")}</h2>
      <dl class="facts">
        <dt>{t("device.application")}</dt>
        <dd>{request.terminalName || request.requesterName}</dd>
        <dt>{t("common.user")}</dt>
        <dd class="mono">{request.userName}</dd>
        <dt>{t("device.network")}</dt>
        <dd class="mono">{request.client}</dd>
        <dt>{t("device.from")}</dt>
        <dd class="mono">{request.place || t("device.not_known")}</dd>
      </dl>
      {over ? <p role="status">{t("device.request_over")}</p> : (
        <>
          <TimeLeft
            startMs={request.createdMs}
            deadlineMs={request.deadlineMs}
            nowMs={nowMs}
            label={t("common.time_left")}
          />
          {request.asksNumber && (
            <NumberField
              id={`${id}-number`}
              number={number}
              label={t("device.number")}
              hint={t("device.number_hint")}
            />
          )}
          <div class="choices">
            <DenyButton model={model} onDeny={() => decide(false)} />
            <button class="button button-primary" type="submit" disabled={model.busy.value || incomplete}>
              {t("device.approve")}
            </button>
          </div>
        </>
      )}
    </form>
  );
}

function DenyButton({ model, onDeny }: { model: PhoneModel; onDeny: () => void }) {
  return (
    <button type="button" class="button button-bad" disabled={model.busy.value} onClick={onDeny}>
      {t("common.deny")}
    </button>
  );
}

/** After Deny: did the user start the sign-in? If not, one tap reports it. */
export function DeniedQuestion({ model }: { model: PhoneModel }) {
  const requestId = model.denied.value;
  if (requestId === "") return null;
  return (
    <section class="card" aria-labelledby="denied-question">
      <h2 id="denied-question">{t("device.denied_question")}</h2>
      <p id="denied-what">{t("device.denied_what")}</p>
      <div class="choices">
        <button type="button" class="button" disabled={model.busy.value} onClick={() => model.keepDenied()}>
          {t("device.denied_mine")}
        </button>
        <button
          type="button"
          class="button button-bad"
          disabled={model.busy.value}
          aria-describedby="denied-what"
          onClick={() => void model.reportDenied(requestId)}
        >
          {t("common.not_me")}
        </button>
      </div>
    </section>
  );
}

/**
 * The form of a request: it has the focus after the user chose the notification of the request. The focus is in the field of the
 * number or, without one, on the heading: a key that is pressed by accident must not approve.
 */
function useFocusOfOpened(
  model: PhoneModel,
  { requestId }: Pick<PhoneRequest, "requestId">,
): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  const isOpened = model.opened.value === requestId;
  useEffect(() => {
    if (!isOpened) return;
    const field = form.current?.querySelector<HTMLElement>("input");
    (field ?? form.current?.querySelector<HTMLElement>("h2"))?.focus();
  }, [isOpened]);
  return form;
}

/** The two digits that the login or the help desk shows. */
function NumberField({ id, number, label, hint }: {
  id: string;
  number: Signal<string>;
  label: string;
  hint: string;
}) {
  return (
    <div class="field number-field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input mono"
        inputMode="numeric"
        autocomplete="off"
        maxLength={NUMBER_DIGITS}
        value={number.value}
        aria-describedby={`${id}-hint`}
        onInput={(event) => {
          number.value = plainTyped(event.currentTarget.value).replace(/\D/g, "");
        }}
      />
      <span class="hint" id={`${id}-hint`}>{hint}</span>
    </div>
  );
}

/** A login used the phrase of this phone. The pairing needs the confirmation of the user. */
export function PairingQuestion({ pairing, model }: { pairing: PhonePairing; model: PhoneModel }) {
  const id = `pairing-${pairing.pairingId}`;
  const name = usePhoneName();
  const decide = (approve: boolean) =>
    void model.decidePairing(pairing.pairingId, { approve, name: approve ? name.value : "" });
  return (
    <section class="card request" aria-labelledby={id}>
      <h2 id={id}>{t("device.pair_title")}</h2>
      <p>
        <Sentence
          message="device.pair_asked"
          parts={{
            user: <strong class="mono">{pairing.userName}</strong>,
            service: <strong>{pairing.requesterName}</strong>,
          }}
        />
      </p>
      <NameField id={`${id}-name`} name={name} />
      <div class="choices">
        <DenyButton model={model} onDeny={() => decide(false)} />
        <button
          type="button"
          class="button button-primary"
          disabled={model.busy.value}
          onClick={() => decide(true)}
        >
          {t("common.confirm")}
        </button>
      </div>
    </section>
  );
}

/** One account of this phone, with its passcode on demand. */
export function PairingRow(
  { pairing, app, nowMs }: { pairing: PhonePairing; app: PhoneAppModel; nowMs: number },
) {
  const { model, passcodes } = app;
  const passcode = useSignal<Passcode | null>(null);
  const shown = passcode.value !== null && passcode.value.validUntilMs > nowMs ? passcode.value : null;
  const toggle = async () => {
    const { pairingId } = pairing;
    passcode.value = shown === null
      ? await passcodes.current(pairingId) ?? await model.passcode(pairingId)
      : null;
  };
  return (
    <li class="pairing">
      <div class="pairing-name">
        <strong class="mono">{pairing.userName}</strong>
        <span class="quiet">{pairing.requesterName}</span>
      </div>
      {shown !== null && <ShownPasscode passcode={shown} nowMs={nowMs} />}
      <button
        type="button"
        class="button"
        disabled={model.busy.value}
        onClick={() => void toggle()}
      >
        <InlineIcon name="key" />
        {t(shown === null ? "device.show_passcode" : "device.hide_passcode")}
        <span class="unseen">{` ${t("device.passcode_of", { user: pairing.userName })}`}</span>
      </button>
    </li>
  );
}

/** Unpairing, away from what is used each day. */
export function Unpairing({ pairing, model }: { pairing: PhonePairing; model: PhoneModel }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = `unpair-${pairing.pairingId}`;
  return (
    <>
      <button
        type="button"
        class="button button-plain"
        onClick={() => dialog.current?.showModal()}
      >
        {t("device.unpair")}
        <span class="unseen">{` ${t("device.unpair_of", { user: pairing.userName })}`}</span>
      </button>
      <dialog class="dialog" ref={dialog} aria-labelledby={titleId}>
        <div class="card">
          <h2 id={titleId}>{t("device.unpair_title", { user: pairing.userName })}</h2>
          <p>{t("device.unpair_text")}</p>
          <form method="dialog" class="choices">
            <button type="submit" class="button" autofocus>{t("common.cancel")}</button>
            <button
              type="submit"
              class="button button-bad"
              onClick={() => void model.unpair(pairing.pairingId)}
            >
              {t("device.unpair")}
            </button>
          </form>
        </div>
      </dialog>
    </>
  );
}

/** A passcode with the time that it is valid. */
export function ShownPasscode({ passcode, nowMs }: { passcode: Passcode; nowMs: number }) {
  return (
    <p class="passcode" role="status">
      <span class="mono digits">{grouped(passcode.code)}</span>
      <span class="quiet mono">{countdownText(passcode.validUntilMs - nowMs)}</span>
    </p>
  );
}

/** Two groups of digits are easier to read. */
function grouped(code: string): string {
  const half = Math.ceil(code.length / 2);
  return `${code.slice(0, half)}\u2009${code.slice(half)}`;
}

/** The typed name, with the proposal as the initial value. */
export function usePhoneName(): Signal<string> {
  return useSignal(
    proposePhoneName(
      navigator as BrowserIdentity,
      (browser, device) => t("device.proposed_name", { browser, device }),
    ),
  );
}

export function NameField({ id, name }: { id: string; name: Signal<string> }) {
  return (
    <div class="field">
      <label for={id}>{t("device.name")}</label>
      <input
        id={id}
        class="input"
        autocomplete="off"
        maxLength={MAX_DEVICE_LABEL_CHARACTERS}
        value={name.value}
        aria-describedby={`${id}-hint`}
        onInput={(event) => name.value = event.currentTarget.value}
      />
      <span class="hint" id={`${id}-hint`}>
        {t("device.name_hint")}
      </span>
    </div>
  );
}

interface SentenceProps {
  readonly message: MessageKey;
  /** An element for each placeholder of the sentence. */
  readonly parts: Readonly<Record<string, ComponentChildren>>;
}

export function Sentence({ message, parts }: SentenceProps) {
  // The text between placeholders has even indices, the names of placeholders have odd ones.
  return <>{t(message).split(/\{(\w+)\}/).map((text, at) => at % 2 === 0 ? text : parts[text])}</>;
}

// The name of this phone, with a dialog to change it.

interface PhoneNameProps {
  readonly model: PhoneModel;
  /** "" for none. */
  readonly name: string;
}

export function PhoneName({ model, name }: PhoneNameProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useSignal(name);
  const open = () => {
    typed.value = name;
    dialog.current?.showModal();
  };
  return (
    <div class="phone-name">
      <span>
        <span class="quiet">{t("device.name")}</span>
        <strong>{name || t("device.no_name")}</strong>
      </span>
      <button type="button" class="button button-plain" onClick={open}>
        {t("common.rename")}
      </button>
      <dialog class="dialog" ref={dialog} aria-labelledby="rename-title">
        <form
          method="dialog"
          class="card"
          onSubmit={() => {
            if (typed.value.trim() !== name) void model.rename(typed.value);
          }}
        >
          <h2 id="rename-title">{t("common.rename")}</h2>
          <NameField id="new-name" name={typed} />
          <div class="choices">
            <button type="button" class="button" onClick={() => dialog.current?.close()}>
              {t("common.cancel")}
            </button>
            <button type="submit" class="button button-primary" disabled={typed.value.trim() === ""}>
              {t("device.rename_save")}
            </button>
          </div>
        </form>
      </dialog>
    </div>
  );
}

// The question of the help desk on the phone page: is the user on the telephone with it? It lets no one sign in.

export function CallerQuestion(
  { request, model, nowMs }: { request: PhoneRequest; model: PhoneModel; nowMs: number },
) {
  const number = useSignal("");
  const id = `request-${request.requestId}`;
  const isOver = request.deadlineMs <= nowMs;
  const isIncomplete = number.value.length !== NUMBER_DIGITS;
  const busy = model.busy.value;
  return (
    <form
      ref={useFocusOfOpened(model, request)}
      class="card request"
      aria-labelledby={id}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isIncomplete && !isOver) {
          void model.answerCaller(request.requestId, { answer: "confirm", number: number.value });
        }
      }}
    >
      <h2 id={id}>{t("device.caller_question")}</h2>
      <p>{t("device.caller_no_login")}</p>
      <dl class="facts">
        <dt>{t("device.caller_asks")}</dt>
        <dd>
          <bdi>{request.askedBy}</bdi>
        </dd>
        <dt>{t("device.caller_service")}</dt>
        <dd>
          <bdi>{request.requesterName}</bdi>
        </dd>
        <dt>{t("common.user")}</dt>
        <dd class="mono">{request.userName}</dd>
      </dl>
      {isOver ? <p role="status">{t("device.request_over")}</p> : (
        <>
          <TimeLeft
            startMs={request.createdMs}
            deadlineMs={request.deadlineMs}
            nowMs={nowMs}
            label={t("common.time_left")}
          />
          <NumberField
            id={`${id}-number`}
            number={number}
            label={t("device.caller_number")}
            hint={t("device.caller_number_hint")}
          />
          <div class="choices">
            <button
              type="button"
              class="button"
              disabled={busy}
              onClick={() => void model.answerCaller(request.requestId, { answer: "deny" })}
            >
              {t("common.deny")}
            </button>
            <button class="button button-primary" type="submit" disabled={busy || isIncomplete}>
              {t("common.confirm")}
            </button>
          </div>
          <button
            type="button"
            class="button button-bad"
            disabled={busy}
            onClick={() => void model.answerCaller(request.requestId, { answer: "not_me" })}
          >
            {t("device.caller_not_me")}
          </button>
        </>
      )}
    </form>
  );
}
