// The phone page: one column with the open question first, or the ways to pair a phone without a pairing.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { PhoneView } from "../../upstream/embedded/second_factor/interfaces.ts";
import type { ClockModel } from "../web/app/clock_model.ts";
import { countdownText, durationText, fullTimeText } from "../web/app/format.ts";
import { t } from "../web/i18n/translate.ts";
import { Logo } from "../web/components/icons.tsx";
import { InlineIcon } from "../web/components/inline_icon.tsx";
import { Alert } from "../web/components/alert.tsx";
import {
  CallerQuestion,
  DeniedQuestion,
  NameField,
  PairingQuestion,
  PairingRow,
  PhoneName,
  RequestCard,
  Sentence,
  ShownPasscode,
  Unpairing,
  usePhoneName,
} from "./paired.tsx";
import {
  HomeScreenFirst,
  InvitationField,
  NotificationCard,
  NotificationOffer,
} from "./notification_card.tsx";
import type { PhoneAppModel } from "./phone_app.ts";
import { AuthenticatorApp } from "./authenticator_app.tsx";
import type { Invitation, PhoneModel } from "./phone_model.ts";
import type { Passcode } from "./passcodes.ts";
import type { PasscodeKey } from "./phone_storage.ts";

interface AppProps {
  readonly app: PhoneAppModel;
  readonly clock: ClockModel;
  /** From the address; "" without one. */
  readonly invitation: string;
}

export function PhoneApp({ app, clock, invitation }: AppProps) {
  const { model } = app;
  const open = useSignal(invitation);
  const state = model.view.value;
  const nowMs = clock.nowMs.value;
  const onInvitation = (invitation: string) => open.value = invitation;
  return (
    <main class="phone">
      <header class="phone-head">
        <h1 class="wordmark">
          <Logo />
          Countersign
        </h1>
        {state.kind === "ready" && state.value !== null && <Connection online={model.online.value} />}
      </header>
      <ResultAlert model={model} />
      <DeniedQuestion model={model} />
      {state.kind === "failed" && (
        <>
          <Alert tone="bad" role="alert">{state.message}</Alert>
          <button type="button" class="button" onClick={() => void model.load()}>
            {t("common.try_again")}
          </button>
        </>
      )}
      <Notices model={model} />
      {state.kind === "ready" && open.value !== "" && app.needsHomeScreen && (
        <HomeScreenFirst invitation={open.value} />
      )}
      {state.kind === "ready" && open.value !== "" && (
        <InvitationCard
          model={model}
          invitation={open.value}
          nowMs={nowMs}
          done={() => open.value = ""}
        />
      )}
      {state.kind === "ready" &&
        (state.value === null
          ? open.value === "" && <PairingMethods model={model} onInvitation={onInvitation} />
          : <PhoneContents view={state.value} app={app} nowMs={nowMs} onInvitation={onInvitation} />)}
      {state.kind === "failed" && <OfflineAccounts app={app} nowMs={nowMs} />}
    </main>
  );
}

function Notices({ model }: { model: PhoneModel }): ComponentChildren {
  const notices = model.notices.value;
  if (notices.length === 0) return null;
  return (
    <Alert tone="wait">
      <strong>{t("device.notice_title")}</strong>
      {notices.map(({ userName, what, atMs, isRemoved }) => (
        <p key={`${userName}${what}${atMs}`}>
          {userName}: {t(`device.notice_${what}`)},{" "}
          {t(isRemoved ? "device.notice_removed" : "device.notice_added")}, {fullTimeText(atMs)}
        </p>
      ))}
      <a href="/me">{t("device.notice_next")}</a>
    </Alert>
  );
}

function Connection({ online }: { online: boolean }) {
  return (
    <span class={`chip ${online ? "tone-ok" : "tone-bad"}`} role="status">
      <InlineIcon name={online ? "check" : "cross"} size={12} />
      {t(online ? "device.listening" : "common.reconnecting")}
    </span>
  );
}

/** The result of the latest action. */
function ResultAlert({ model }: { model: PhoneModel }): ComponentChildren {
  const said = model.result.value;
  return (
    <div role="status">
      {said !== null && (
        <Alert tone={said.good ? "ok" : "bad"} icon={said.good ? "check" : "alert"}>{said.text}</Alert>
      )}
    </div>
  );
}

interface PhoneContentsProps {
  readonly view: PhoneView;
  readonly app: PhoneAppModel;
  readonly nowMs: number;
  readonly onInvitation: (invitation: string) => void;
}

function PhoneContents({ view, app, nowMs, onInvitation }: PhoneContentsProps) {
  const { model } = app;
  const asking = view.pairings.filter(({ status }) => status === "asks_approval");
  const enabled = view.pairings.filter(({ status }) => status === "enabled");
  const quiet = view.requests.length === 0 && asking.length === 0;
  return (
    <>
      {view.requests.map((request) => {
        const Card = request.kind === "verify" ? CallerQuestion : RequestCard;
        return <Card key={request.requestId} request={request} model={model} nowMs={nowMs} />;
      })}
      {asking.map((pairing) => <PairingQuestion key={pairing.pairingId} pairing={pairing} model={model} />)}
      {view.phrase !== null && <PhraseCard phrase={view.phrase} nowMs={nowMs} model={model} />}
      {quiet && enabled.length > 0 && (
        <p class="calm">
          <strong>{t("device.calm")}</strong>
          {t("device.calm_next")}
        </p>
      )}
      {enabled.length > 0 && <NotificationOffer push={app.push} />}
      {enabled.length > 0
        ? (
          <section class="card accounts" aria-labelledby="accounts">
            <h2 id="accounts">{t("device.paired_with")}</h2>
            <ul>
              {enabled.map((pairing) => (
                <PairingRow key={pairing.pairingId} pairing={pairing} app={app} nowMs={nowMs} />
              ))}
            </ul>
            <PhoneName model={model} name={enabled.find(({ name }) => name !== undefined)?.name ?? ""} />
            <a class="account-link" href="/me">{t("device.account")}</a>
            <div class="unpairings">
              {enabled.map((pairing) => (
                <Unpairing
                  key={pairing.pairingId}
                  pairing={pairing}
                  model={model}
                />
              ))}
            </div>
          </section>
        )
        : asking.length === 0 && view.phrase === null && (
          <PairingMethods model={model} onInvitation={onInvitation} />
        )}
      {enabled.length > 0 && <ClockError app={app} />}
      {enabled.length > 0 && <NotificationCard push={app.push} alerts={app.alerts} />}
    </>
  );
}

/** Shows whose invitation it is. Opening it decides nothing. */
function InvitationCard(
  { model, invitation, nowMs, done }: {
    model: PhoneModel;
    invitation: string;
    nowMs: number;
    done: () => void;
  },
) {
  const seen = useSignal<Invitation | null>(null);
  const looked = useSignal(false);
  const usesApp = useSignal(false);
  const name = usePhoneName();
  useEffect(() => {
    void model.look(invitation).then((found) => {
      seen.value = found;
      looked.value = true;
    });
  }, [invitation]);
  if (!looked.value) return <p class="quiet" role="status">{t("device.reading")}</p>;
  if (seen.value === null) {
    return <button type="button" class="button" onClick={done}>{t("device.without_invitation")}</button>;
  }
  const { userName, requesterName, deadlineMs, offersApp } = seen.value;
  if (usesApp.value) {
    const back = () => usesApp.value = false;
    return <AuthenticatorApp {...{ model, invitation, userName }} onBack={back} onDone={done} />;
  }
  return (
    <section class="card" aria-labelledby="invitation-title">
      <h2 id="invitation-title">{t("device.pair_title")}</h2>
      <p>
        <Sentence
          message="device.pair_invited"
          parts={{
            user: <strong class="mono">{userName}</strong>,
            service: <strong>{requesterName}</strong>,
            left: durationText(deadlineMs - nowMs),
          }}
        />
      </p>
      <NameField id="invitation-name" name={name} />
      <div class="choices">
        <button type="button" class="button" onClick={done}>{t("device.not_now")}</button>
        <button
          type="button"
          class="button button-primary"
          disabled={model.busy.value}
          onClick={() => void model.accept(invitation, name.value).then((paired) => paired && done())}
        >
          {t("device.pair")}
        </button>
      </div>
      {offersApp && (
        <div class="app-choice">
          <p class="quiet small">{t("device.app_use_why")}</p>
          <button type="button" class="button" onClick={() => usesApp.value = true}>
            {t("device.app_use")}
          </button>
        </div>
      )}
    </section>
  );
}

/** The two ways to pair. */
function PairingMethods(
  { model, onInvitation }: { model: PhoneModel; onInvitation: (invitation: string) => void },
) {
  return (
    <>
      <p class="intro">
        <strong>{t("device.pair")}</strong>
        {t("device.pair_why")}
      </p>
      <section class="card" aria-labelledby="by-link">
        <h2 id="by-link">
          <InlineIcon name="link" size={16} />
          {t("device.by_link")}
        </h2>
        <p>{t("device.by_link_how")}</p>
        <InvitationField onInvitation={onInvitation} />
      </section>
      <section class="card" aria-labelledby="by-phrase">
        <h2 id="by-phrase">
          <InlineIcon name="key" size={16} />
          {t("device.by_phrase")}
        </h2>
        <p>{t("device.by_phrase_how")}</p>
        <button
          type="button"
          class="button button-primary"
          disabled={model.busy.value}
          onClick={() => void model.showPhrase()}
        >
          {t("device.show_phrase")}
        </button>
      </section>
    </>
  );
}

function PhraseCard(
  { phrase, nowMs, model }: {
    phrase: { text: string; deadlineMs: number };
    nowMs: number;
    model: PhoneModel;
  },
) {
  const over = phrase.deadlineMs <= nowMs;
  return (
    <section class="card" aria-labelledby="phrase-title">
      <h2 id="phrase-title">{t("device.phrase_title")}</h2>
      {over ? <p>{t("device.phrase_over")}</p> : (
        <>
          <p class="phrase mono">{phrase.text}</p>
          <p>
            <Sentence
              message="device.phrase_how"
              parts={{ left: <span class="mono">{countdownText(phrase.deadlineMs - nowMs)}</span> }}
            />
          </p>
        </>
      )}
      <button
        type="button"
        class="button"
        disabled={model.busy.value}
        onClick={() => void model.showPhrase()}
      >
        {t("device.new_phrase")}
      </button>
    </section>
  );
}

// The phone page without the network: the passcodes of its accounts, and a warning if the clock of the phone is wrong.

interface OfflineProps {
  readonly app: PhoneAppModel;
  readonly nowMs: number;
}

/** The accounts whose passcodes this phone can compute without the server. */
function OfflineAccounts({ app, nowMs }: OfflineProps) {
  const keys = app.passcodes.keys.value;
  if (keys.length === 0) return null;
  return (
    <>
      <section class="card accounts" aria-labelledby="accounts">
        <h2 id="accounts">{t("device.offline_title")}</h2>
        <ul>
          {keys.map((account) => (
            <OfflineAccount key={account.pairingId} account={account} app={app} nowMs={nowMs} />
          ))}
        </ul>
      </section>
      <ClockError app={app} />
    </>
  );
}

function OfflineAccount({ account, app, nowMs }: OfflineProps & { readonly account: PasscodeKey }) {
  const passcode = useSignal<Passcode | null>(null);
  const shown = passcode.value !== null && passcode.value.validUntilMs > nowMs ? passcode.value : null;
  const toggle = async () => {
    passcode.value = shown === null ? await app.passcodes.current(account.pairingId) : null;
  };
  return (
    <li class="pairing">
      <div class="pairing-name">
        <strong class="mono">{account.userName}</strong>
        <span class="quiet">{account.requesterName}</span>
      </div>
      {shown !== null && <ShownPasscode passcode={shown} nowMs={nowMs} />}
      <button type="button" class="button" onClick={() => void toggle()}>
        <InlineIcon name="key" />
        {t(shown === null ? "device.show_passcode" : "device.hide_passcode")}
        <span class="unseen">{` ${t("device.passcode_of", { user: account.userName })}`}</span>
      </button>
    </li>
  );
}

/** Passcodes are corrected by the difference at the last contact, but a change of the clock offline would make them wrong. */
function ClockError({ app }: Pick<OfflineProps, "app">) {
  const errorMs = app.passcodes.clockErrorMs();
  if (errorMs === 0) return null;
  const span = durationText(Math.abs(errorMs));
  return (
    <Alert tone="wait">
      <strong>{t(errorMs > 0 ? "device.clock_ahead" : "device.clock_behind", { span })}</strong>
      <p>{t("device.clock_next")}</p>
    </Alert>
  );
}
