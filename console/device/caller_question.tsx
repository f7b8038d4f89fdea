// The question of the help desk on the phone page: is the user on the telephone with it? It lets no one sign in.

import { useSignal } from "@preact/signals";
import type { PhoneRequest } from "../../upstream/embedded/second_factor/interfaces.ts";
import { t } from "../web/i18n/translate.ts";
import { TimeLeft } from "../web/components/time.tsx";
import { NumberField, useFocusOfOpened } from "./paired.tsx";
import type { PhoneModel } from "./phone_model.ts";

const NUMBER_DIGITS = 2;

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
