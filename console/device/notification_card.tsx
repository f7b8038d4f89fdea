// Notifications on the phone page: what they are for, turning them on and off, what prevents them, and the sound of an open page.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { errorText } from "../web/app/api_client.ts";
import { t } from "../web/i18n/translate.ts";
import { InlineIcon } from "../web/components/inline_icon.tsx";
import type { PushModel, PushState } from "./push_model.ts";
import type { RequestAlerts } from "./phone_app.ts";

const HEADING_ID = "notifications";

interface NotificationCardProps {
  readonly push: PushModel;
  readonly alerts: RequestAlerts;
}

/** Explains notifications before the browser asks for permission. */
export function NotificationOffer({ push }: Pick<NotificationCardProps, "push">) {
  const state = push.state.value;
  if (state !== "off" && state !== "failed") return null;
  const turnOn = async () => {
    await push.turnOn();
    // The offer is gone, and its button had the focus.
    if (push.state.peek() === "on") document.getElementById(HEADING_ID)?.focus();
  };
  return (
    <section class="card" aria-labelledby="offer">
      <h2 id="offer">
        <InlineIcon name="phone" size={16} />
        {t("device.push_offer")}
      </h2>
      <div role="status">
        {push.refusal.value === "" ? <StateText state={state} /> : <p>{push.refusal.value}</p>}
      </div>
      <button
        type="button"
        class="button button-primary"
        disabled={push.busy.value}
        onClick={() => void turnOn()}
      >
        {t(state === "off" ? "device.push_turn_on" : "common.try_again")}
      </button>
    </section>
  );
}

/** The state of notifications, and the sound of an open page. */
export function NotificationCard({ push, alerts }: NotificationCardProps) {
  const state = push.state.value;
  const isOffered = state === "off" || state === "failed";
  return (
    <section class="card push" aria-labelledby={HEADING_ID}>
      <h2 id={HEADING_ID} tabIndex={-1}>{t("common.notifications")}</h2>
      <div role="status">{!isOffered && <StateText state={state} />}</div>
      {state === "on" && <TurnedOn push={push} />}
      <label class="check">
        <input
          type="checkbox"
          checked={alerts.sound.value}
          onChange={(event) => alerts.setSound(event.currentTarget.checked)}
        />
        {t("device.sound")}
      </label>
    </section>
  );
}

function StateText({ state }: { state: PushState }): ComponentChildren {
  switch (state) {
    case "checking":
      return null;
    case "hidden":
      return <p>{t("device.push_hidden")}</p>;
    case "off":
      return <p>{t("device.push_why")}</p>;
    case "on":
      return <p>{t("device.push_on")}</p>;
    case "blocked":
      return (
        <>
          <p>
            <strong>{t("device.push_blocked")}</strong>
          </p>
          <p>{t("device.push_blocked_how")}</p>
        </>
      );
    case "needs_home_screen":
      return <HomeScreenSteps />;
    case "failed":
      return <p>{t("device.push_failed")}</p>;
    case "insecure":
      return <p>{t("device.push_insecure")}</p>;
    case "unsupported":
      return <p>{t("device.push_unsupported")}</p>;
  }
}

function TurnedOn({ push }: { push: PushModel }) {
  const result = useSignal("");
  const sendTest = async () => {
    try {
      const isAccepted = await push.sendTest();
      result.value = t(isAccepted ? "device.push_test_sent" : "device.push_not_delivered");
    } catch (fault) {
      result.value = errorText(fault);
    }
  };
  return (
    <>
      <div class="choices">
        <button
          type="button"
          class="button button-plain"
          disabled={push.busy.value}
          onClick={() => void push.turnOff()}
        >
          {t("common.turn_off")}
        </button>
        <button type="button" class="button" disabled={push.busy.value} onClick={() => void sendTest()}>
          {t("device.push_send_test")}
        </button>
      </div>
      <p role="status">{result.value}</p>
    </>
  );
}

// Pairing in the installed app: an iPhone gives a page on the Home Screen its own storage, so the invitation must reach the app as a
// link that the user pastes.

/** Safari has no way to install a page by a button. */
function HomeScreenSteps() {
  return (
    <>
      <p>{t("device.home_screen_why")}</p>
      <ol class="steps">
        <li>{t("device.home_screen_share")}</li>
        <li>{t("device.home_screen_add")}</li>
        <li>{t("device.home_screen_open")}</li>
      </ol>
    </>
  );
}

/** Before pairing in Safari on iOS: the notifications would need another pairing later. */
export function HomeScreenFirst({ invitation }: { invitation: string }) {
  const isCopied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(invitationLink(invitation));
    isCopied.value = true;
  };
  return (
    <section class="card" aria-labelledby="home-screen">
      <h2 id="home-screen">{t("device.home_screen_title")}</h2>
      <HomeScreenSteps />
      <button type="button" class="button button-primary" onClick={() => void copy()}>
        {t("device.invitation_copy")}
      </button>
      <p role="status">{isCopied.value && t("device.invitation_copied")}</p>
    </section>
  );
}

function invitationLink(invitation: string): string {
  return `${location.origin}/device/#invite=${invitation}`;
}

/** Takes the link of an invitation. */
export function InvitationField({ onInvitation }: { onInvitation: (invitation: string) => void }) {
  const typed = useSignal("");
  const invitation = invitationIn(typed.value);
  return (
    <form
      class="invitation"
      onSubmit={(event) => {
        event.preventDefault();
        if (invitation !== null) onInvitation(invitation);
      }}
    >
      <div class="field">
        <label for="invitation-link">{t("device.invitation_link")}</label>
        <input
          id="invitation-link"
          class="input"
          type="url"
          autocomplete="off"
          value={typed.value}
          aria-describedby="invitation-link-hint"
          onInput={(event) => typed.value = event.currentTarget.value}
        />
        <span class="hint" id="invitation-link-hint">{t("device.invitation_link_hint")}</span>
      </div>
      <button type="submit" class="button" disabled={invitation === null}>
        {t("device.invitation_open")}
      </button>
    </form>
  );
}

/** The invitation in a link; `null` if the text is no such link. */
function invitationIn(text: string): string | null {
  return /#invite=([\w-]{1,256})$/.exec(text.trim())?.[1] ?? null;
}
