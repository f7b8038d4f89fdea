// A phone without a pairing: open an invitation, or show a phrase to type at a login.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { countdownText, durationText } from "../web/format.ts";
import { t } from "../web/i18n/translate.ts";
import { Icon } from "../web/parts/icon.tsx";
import { NameField, usePhoneName } from "./name_field.tsx";
import { Sentence } from "./sentence.tsx";
import type { Invitation, PhoneModel } from "./phone_model.ts";

/** Says who an invitation is for. Opening it decides nothing; the button does. */
export function InvitationCard(
  { model, invitation, nowMs, done }: {
    model: PhoneModel;
    invitation: string;
    nowMs: number;
    done: () => void;
  },
) {
  const seen = useSignal<Invitation | null>(null);
  const looked = useSignal(false);
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
  const { userName, requesterName, deadlineMs } = seen.value;
  return (
    <section class="card" aria-labelledby="invitation-title">
      <h2 id="invitation-title">{t("device.pair_title")}</h2>
      <p>
        <Sentence
          word="device.pair_invited"
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
    </section>
  );
}

/** The two ways to pair. */
export function WaysToPair({ model }: { model: PhoneModel }) {
  return (
    <>
      <p class="intro">
        <strong>{t("device.pair")}</strong>
        {t("device.pair_why")}
      </p>
      <section class="card" aria-labelledby="by-link">
        <h2 id="by-link">
          <Icon name="link" size={16} />
          {t("device.by_link")}
        </h2>
        <p>{t("device.by_link_how")}</p>
      </section>
      <section class="card" aria-labelledby="by-phrase">
        <h2 id="by-phrase">
          <Icon name="key" size={16} />
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

export function PhraseCard(
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
              word="device.phrase_how"
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
