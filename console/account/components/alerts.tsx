// Alerts of the account: an unreachable server, new factors, a lock, and the result of "This was not me".

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { fullTimeText, timeText } from "../../web/app/format.ts";
import { type Question, useAction } from "../../web/app/action.ts";
import { Alert } from "../../web/components/alert.tsx";
import { QuestionForm } from "../../web/components/form_dialog.tsx";
import { Icon } from "../../web/components/icons.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { AccountFactors, NotMeResult } from "../../api/account/account_types.ts";
import type { PartProps } from "./section.tsx";

export function Alerts({ models, account }: PartProps) {
  const state = account.factors.state.value;
  const locked = state.kind === "ready" ? state.value.locked : null;
  const untilMs = locked?.untilMs ?? Infinity;
  const isLocked = locked !== null && untilMs > models.clock.nowMs.value;
  const stopped = account.lockdown.value;
  return (
    <>
      <StaleAlert account={account} />
      {state.kind === "ready" && <Notices account={account} notices={state.value.notices ?? []} />}
      {state.kind === "ready" && <Unconfirmed account={account} factors={state.value.unconfirmed ?? []} />}
      {stopped !== null && <LockdownAlert done={stopped} onClose={account.dismissLockdown} />}
      {isLocked && stopped === null && (
        <Alert tone="bad">
          <strong>{t("account.lock_title")}</strong>
          {untilMs === Infinity
            ? <p>{t("account.lock_text_open")}</p>
            : <p title={fullTimeText(untilMs)}>{t("account.lock_text", { time: hourText(untilMs) })}</p>}
        </Alert>
      )}
    </>
  );
}

/** Factors that were added, until the user confirms them. */
function Notices(
  { account, notices }: Pick<PartProps, "account"> & { notices: NonNullable<AccountFactors["notices"]> },
) {
  const problem = useSignal<string | null>(null);
  const { busy, run } = useAction();
  if (notices.length === 0) return null;
  return (
    <Alert tone="wait">
      <strong>{t("account.notice_title")}</strong>
      <ul>
        {notices.map(({ atMs, what, by, isRemoved }) => (
          <li key={`${atMs}${what}`}>
            {t(`account.notice_${what}`)}, {t(isRemoved ? "account.notice_removed" : "account.notice_added")}
            {" "}
            {t(`account.notice_by_${by}`)}, {fullTimeText(atMs)}
          </li>
        ))}
      </ul>
      <p>{t("account.notice_next")}</p>
      {problem.value !== null && <p role="alert">{problem.value}</p>}
      <button
        type="button"
        class="button button-small"
        disabled={busy.value}
        onClick={() =>
          void run(() =>
            account.run({
              call: account.calls.confirmNotices,
              onProblem: (sentence) => problem.value = sentence,
            })
          )}
      >
        {t("account.notice_confirm")}
      </button>
    </Alert>
  );
}

/** Factors that a revoked phone added. They cannot be used until the user keeps them. */
function Unconfirmed(
  { account, factors }: Pick<PartProps, "account"> & { factors: NonNullable<AccountFactors["unconfirmed"]> },
) {
  const problem = useSignal<string | null>(null);
  const asked = useSignal<Question | null>(null);
  if (factors.length === 0) return null;
  const { keepUnconfirmed, removeUnconfirmed } = account.calls;
  const ask = (verb: "keep" | "remove", { id, factor }: { id: string; factor: string }) => {
    const label = t(`account.unconfirmed_${verb}`);
    const isBad = verb === "remove";
    asked.value = {
      title: `${label}: ${factor}`,
      submitLabel: label,
      text: t(`account.unconfirmed_${verb}_what`),
      isBad,
      run() {
        problem.value = null;
        return account.run<unknown>({
          call: () => isBad ? removeUnconfirmed(id) : keepUnconfirmed(id),
          doneText: t(isBad ? "account.unconfirmed_removed" : "account.unconfirmed_kept"),
          onProblem: (sentence) => problem.value = sentence,
        });
      },
    };
  };
  return (
    <Alert tone="wait">
      <strong>{t("account.unconfirmed_title")}</strong>
      <p>{t("account.unconfirmed_text")}</p>
      {problem.value !== null && <p role="alert">{problem.value}</p>}
      <ul>
        {factors.map(({ id, kind, name, addedBy, createdMs }) => {
          const factor = [t(`account.notice_${kind}`), name].filter((part) => part !== undefined).join(" ");
          return (
            <li key={id}>
              <bdi>{factor}</bdi>, {t("account.unconfirmed_by", { phone: addedBy })},{" "}
              {fullTimeText(createdMs)} {(["keep", "remove"] as const).map((verb) => (
                <button
                  key={verb}
                  type="button"
                  class="button button-small"
                  aria-label={`${t(`account.unconfirmed_${verb}`)}: ${factor}`}
                  onClick={() => ask(verb, { id, factor })}
                >
                  {t(`account.unconfirmed_${verb}`)}
                </button>
              ))}
            </li>
          );
        })}
      </ul>
      {asked.value !== null && <QuestionForm {...asked.value} onClose={() => asked.value = null} />}
    </Alert>
  );
}

/** The shown data is out of date, because the server cannot be reached. */
function StaleAlert({ account }: Pick<PartProps, "account">) {
  const problem = account.problem();
  const freshMs = account.refreshedMs.value;
  return (
    <div role="status" class="me-stale">
      {problem !== null && (
        <Alert tone="wait">
          {freshMs === null ? problem : t("account.offline", { time: timeText(freshMs) })}{" "}
          <button type="button" class="button button-small" onClick={() => void account.refresh()}>
            {t("common.try_again")}
          </button>
        </Alert>
      )}
    </div>
  );
}

function LockdownAlert({ done, onClose }: { done: NotMeResult; onClose: () => void }) {
  // A request can be denied before its login ends.
  const ended = Math.max(done.denied, done.ended);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The dialog restores the focus first.
    const frame = requestAnimationFrame(() => {
      box.current?.focus();
      box.current?.scrollIntoView({ block: "center" });
    });
    return () => cancelAnimationFrame(frame);
  }, []);
  return (
    <div class="me-lockdown tone-ok" ref={box} tabIndex={-1} role="group" aria-labelledby="me-lockdown">
      <Icon name="shield" size={20} />
      <div>
        <strong id="me-lockdown">{t("account.not_me_done_title")}</strong>
        <p>
          {ended > 0 && `${t("account.not_me_done_denied", { count: ended })} `}
          <span title={fullTimeText(done.lockedUntilMs)}>
            {t("account.not_me_done_locked", { time: hourText(done.lockedUntilMs) })}
          </span>
        </p>
        <p>{t("account.not_me_done_next")}</p>
      </div>
      <button type="button" class="button button-plain" onClick={onClose}>
        <Icon name="x" />
        <span class="unseen">{t("common.dismiss")}</span>
      </button>
    </div>
  );
}

/** Hours and minutes. */
function hourText(atMs: number): string {
  return timeText(atMs).slice(0, 5);
}
