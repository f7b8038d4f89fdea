// Notifications on the phone page: what they are for, turning them on and off, what prevents them, and the sound of an open page.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { errorText } from "../web/app/api_client.ts";
import { t } from "../web/i18n/translate.ts";
import { InlineIcon } from "../web/components/inline_icon.tsx";
import { HomeScreenSteps } from "./home_screen.tsx";
import type { PushModel, PushState } from "./push_model.ts";
import type { RequestAlerts } from "./request_alerts.ts";

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
