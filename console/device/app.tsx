// The phone page: one column, the question first.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { PhoneView } from "../../upstream/embedded/second_factor/interfaces.ts";
import type { ClockModel } from "../web/models/clock_model.ts";
import { fullTimeText } from "../web/format.ts";
import { t } from "../web/i18n/translate.ts";
import { Icon } from "../web/parts/icon.tsx";
import { Mark } from "../web/parts/frame/mark.tsx";
import { Note } from "../web/parts/note.tsx";
import { PairingQuestion, PairingRow, RequestCard } from "./paired.tsx";
import type { PhoneModel } from "./phone_model.ts";
import { InvitationCard, PhraseCard, WaysToPair } from "./unpaired.tsx";

interface AppProps {
  readonly model: PhoneModel;
  readonly clock: ClockModel;
  /** From the address; "" when the page was opened without one. */
  readonly invitation: string;
}

export function PhoneApp({ model, clock, invitation }: AppProps) {
  const open = useSignal(invitation);
  const state = model.view.value;
  const nowMs = clock.nowMs.value;
  return (
    <main class="phone">
      <header class="phone-head">
        <h1 class="wordmark">
          <Mark />
          Countersign
        </h1>
        {state.kind === "ready" && state.value !== null && <Connection online={model.online.value} />}
      </header>
      <Said model={model} />
      {state.kind === "failed" && (
        <>
          <Note tone="bad" role="alert">{state.message}</Note>
          <button type="button" class="button" onClick={() => void model.load()}>
            {t("device.try_again")}
          </button>
        </>
      )}
      <Notices model={model} />
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
          ? open.value === "" && <WaysToPair model={model} />
          : <PhoneContents view={state.value} model={model} nowMs={nowMs} />)}
    </main>
  );
}

function Notices({ model }: { model: PhoneModel }): ComponentChildren {
  const notices = model.notices.value;
  if (notices.length === 0) return null;
  return (
    <Note tone="wait">
      <strong>{t("device.notice_title")}</strong>
      {notices.map(({ userName, what, atMs }) => (
        <p key={`${userName}${what}${atMs}`}>
          {userName}: {t(`device.notice_${what}`)}, {fullTimeText(atMs)}
        </p>
      ))}
      <a href="/me">{t("device.notice_next")}</a>
    </Note>
  );
}

function Connection({ online }: { online: boolean }) {
  return (
    <span class={`chip ${online ? "tone-ok" : "tone-bad"}`} role="status">
      <Icon name={online ? "check" : "cross"} size={12} />
      {t(online ? "device.listening" : "device.reconnecting")}
    </span>
  );
}

/** The outcome of what was just done. It stays until the next action or the next question. */
function Said({ model }: { model: PhoneModel }): ComponentChildren {
  const said = model.said.value;
  return (
    <div role="status">
      {said !== null && (
        <Note tone={said.good ? "ok" : "bad"} icon={said.good ? "check" : "alert"}>{said.text}</Note>
      )}
    </div>
  );
}

function PhoneContents({ view, model, nowMs }: { view: PhoneView; model: PhoneModel; nowMs: number }) {
  const asking = view.pairings.filter(({ status }) => status === "asks_approval");
  const enabled = view.pairings.filter(({ status }) => status === "enabled");
  const quiet = view.requests.length === 0 && asking.length === 0;
  return (
    <>
      {view.requests.map((request) => (
        <RequestCard key={request.requestId} request={request} model={model} nowMs={nowMs} />
      ))}
      {asking.map((pairing) => <PairingQuestion key={pairing.pairingId} pairing={pairing} model={model} />)}
      {view.phrase !== null && <PhraseCard phrase={view.phrase} nowMs={nowMs} model={model} />}
      {quiet && enabled.length > 0 && (
        <p class="calm">
          <strong>{t("device.calm")}</strong>
          {t("device.calm_next")}
        </p>
      )}
      {enabled.length > 0
        ? (
          <section class="card accounts" aria-labelledby="accounts">
            <h2 id="accounts">{t("device.paired_with")}</h2>
            <ul>
              {enabled.map((pairing) => (
                <PairingRow key={pairing.pairingId} pairing={pairing} model={model} nowMs={nowMs} />
              ))}
            </ul>
            <a class="account-link" href="/me">{t("device.account")}</a>
          </section>
        )
        : asking.length === 0 && view.phrase === null && <WaysToPair model={model} />}
    </>
  );
}
