// The dialog that verifies a caller: it sends a question to the user's phone, shows the number to read out, and shows the result when it is known.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { StartedVerification } from "../../../api/help_desk/help_desk_types.ts";
import type { CallerVerification } from "../../../../upstream/embedded/second_factor/interfaces.ts";
import { useAction } from "../../app/action.ts";
import { useInterval } from "../../app/resource.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { SelectField } from "../../components/field.tsx";
import { TimeLeft } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import type { FactorPart } from "./user_page_model.ts";
import { calledOf } from "./user_summary.ts";

const POLL_INTERVAL_MS = 1000;

type DialogPart = FactorPart & { readonly onClose: () => void };
type State = CallerVerification["state"];

export function VerifyCallerDialog({ models, user, calls, page, login, onClose }: DialogPart) {
  const phones = login.pairings.filter(({ kind }) => kind === "device");
  const phone = useSignal(phones[0]?.id ?? "");
  const started = useSignal<StartedVerification | null>(null);
  const state = useSignal<State>("waiting");
  const action = useAction();
  const { busy, fault, run } = action;
  const isWaiting = started.value !== null && state.value === "waiting";
  const take = ({ nowMs, verification }: Pick<StartedVerification, "nowMs" | "verification">) => {
    models.clock.adjust(nowMs);
    // A late answer about an earlier question.
    if (started.peek()?.verification.id !== verification.id) return;
    state.value = verification.state;
    const { state: result, askedBy: by, endedMs, shownUntilMs: untilMs } = verification;
    if (result === "verified" && endedMs !== null) {
      page.put({ ...user, login: { ...login, verified: { by, atMs: endedMs, untilMs } } });
    }
  };
  const send = () =>
    run(async () => {
      started.value = null;
      const next = await calls.verifyCaller(phone.value);
      started.value = next;
      take(next);
    });
  useInterval(POLL_INTERVAL_MS, async () => {
    const id = started.peek()?.verification.id;
    if (id !== undefined && state.peek() === "waiting") {
      await calls.verification(id).then(take, () => undefined);
    }
  });
  useCancelOnClose(() => {
    const id = started.peek()?.verification.id;
    if (id !== undefined && state.peek() === "waiting") {
      void calls.cancelVerification(id).catch(() => undefined);
    }
  });
  const name = user.name;
  return (
    <Dialog
      title={t("users.verify_title", { name })}
      onClose={onClose}
      action={action}
      footer={
        <>
          <Button onClick={onClose}>{t(isWaiting ? "common.cancel" : "common.close")}</Button>
          {!isWaiting && (
            <Button kind="primary" busy={busy.value} onClick={() => void send()}>
              {t(started.value === null ? "users.verify_send" : "users.verify_again")}
            </Button>
          )}
        </>
      }
    >
      <ErrorAlert of={fault} title={t("users.verify_failed")} />
      {started.value === null && (
        <>
          <p>{t("users.verify_what", { name })}</p>
          {phones.length > 1 && (
            <SelectField
              id="verify-phone"
              label={t("common.phone")}
              options={phones.map((one) => ({ value: one.id, label: calledOf(one) }))}
              value={phone.value}
              onChoose={(id) => phone.value = id}
            />
          )}
        </>
      )}
      {started.value !== null && isWaiting && <NumberToRead models={models} started={started.value} />}
      <div role="status">
        {started.value !== null && <Result state={state.value} name={name} />}
      </div>
    </Dialog>
  );
}

/** A question whose dialog is closed must not stay on the phone. */
function useCancelOnClose(cancel: () => void): void {
  const newest = useRef(cancel);
  newest.current = cancel;
  useEffect(() => () => newest.current(), []);
}

function NumberToRead({ models, started: { number, verification } }: {
  models: FactorPart["models"];
  started: StartedVerification;
}) {
  return (
    <div class="verify-number">
      <p>{t("users.verify_read")}</p>
      <p class="mono verify-digits">{[...number].join(" ")}</p>
      <TimeLeft
        startMs={verification.createdMs}
        deadlineMs={verification.deadlineMs}
        nowMs={models.clock.nowMs.value}
        label={t("common.time_left")}
      />
    </div>
  );
}

const TONES = {
  waiting: "idle",
  verified: "ok",
  wrong_number: "bad",
  denied: "bad",
  not_me: "bad",
  expired: "wait",
  cancelled: "wait",
} as const satisfies Record<State, string>;

function Result({ state, name }: { state: State; name: string }) {
  return (
    <Alert tone={TONES[state]} icon={state === "verified" ? "check" : undefined}>
      <strong>{t(`users.verify_state_${state}`)}</strong>
      <p>{t(`users.verify_next_${state}`, { name })}</p>
    </Alert>
  );
}
