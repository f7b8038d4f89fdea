// A phone without a pairing: open an invitation, or show a phrase to type at a login.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { countdownText, durationText } from "../web/format.ts";
import { Icon } from "../web/parts/icon.tsx";
import { NameField, usePhoneName } from "./name_field.tsx";
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
  if (!looked.value) return <p class="quiet" role="status">Reading the invitation…</p>;
  if (seen.value === null) {
    return <button type="button" class="button" onClick={done}>Go on without it</button>;
  }
  const { userName, requesterName, deadlineMs } = seen.value;
  return (
    <section class="card" aria-labelledby="invitation-title">
      <h2 id="invitation-title">Pair this phone?</h2>
      <p>
        Logins of <strong class="mono">{userName}</strong> at <strong>{requesterName}</strong>{" "}
        will ask this phone. The invitation is good for {durationText(deadlineMs - nowMs)}.
      </p>
      <NameField id="invitation-name" name={name} />
      <div class="choices">
        <button type="button" class="button" onClick={done}>Not now</button>
        <button
          type="button"
          class="button button-primary"
          disabled={model.busy.value}
          onClick={() => void model.accept(invitation, name.value).then((paired) => paired && done())}
        >
          Pair this phone
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
        <strong>Pair this phone</strong>
        Then your logins ask it, and you approve or deny them here. There are two ways.
      </p>
      <section class="card" aria-labelledby="by-link">
        <h2 id="by-link">
          <Icon name="link" size={16} />With an invitation
        </h2>
        <p>Open the link that your administrator gave you on this phone, or scan its code with the camera.</p>
      </section>
      <section class="card" aria-labelledby="by-phrase">
        <h2 id="by-phrase">
          <Icon name="key" size={16} />With a pairing phrase
        </h2>
        <p>A login can ask for a pairing phrase. This page makes one; you type it there.</p>
        <button
          type="button"
          class="button button-primary"
          disabled={model.busy.value}
          onClick={() => void model.showPhrase()}
        >
          Show a pairing phrase
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
      <h2 id="phrase-title">Your pairing phrase</h2>
      {over ? <p>It has expired.</p> : (
        <>
          <p class="phrase mono">{phrase.text}</p>
          <p>
            Type it at the login that asks for it. It works once, for{" "}
            <span class="mono">{countdownText(phrase.deadlineMs - nowMs)}</span> more.
          </p>
        </>
      )}
      <button
        type="button"
        class="button"
        disabled={model.busy.value}
        onClick={() => void model.showPhrase()}
      >
        Show a new phrase
      </button>
    </section>
  );
}
