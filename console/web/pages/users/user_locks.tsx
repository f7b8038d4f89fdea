// The locks and limits of a user, with the buttons that end them.

import { fullTimeText } from "../../app/format.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { t } from "../../i18n/translate.ts";
import type { FactorPart } from "./user_page_model.ts";

/** Locks, failed attempts and limits, with the buttons that end them. */
export function LockNote(part: FactorPart) {
  const { models, user, calls, page, login: { lock } } = part;
  const reason = permissionHint(models, "help_desk");
  const unlock = () =>
    page.change({
      call: calls.unlock,
      done: t(lock.locked ? "users.unlocked" : "users.failures_cleared", { name: user.name }),
      failed: t(lock.locked ? "users.not_unlocked" : "users.failures_not_cleared"),
    });
  const ask = () =>
    models.question.value = {
      title: t("users.unlock_title", { name: user.name }),
      submitLabel: t("users.unlock"),
      text: t(lock.isReported ? "users.unlock_reported" : "users.unlock_what", { name: user.name }),
      run: unlock,
    };
  return (
    <>
      {(lock.locked || lock.failures > 0) && (
        <Alert tone={lock.locked ? "bad" : "wait"} icon="alert">
          <div class="lock-note">
            {lock.locked && (
              <strong>
                {lock.hardLocked
                  ? t("users.locked_hard")
                  : t(lock.isReported ? "users.locked_reported" : "users.locked_until", {
                    time: fullTimeText(lock.lockedUntilMs),
                  })}
              </strong>
            )}
            {lock.failures > 0 && <span>{t("users.failures", { count: lock.failures })}</span>}
            <Button
              small
              icon={lock.locked ? "lock-open" : undefined}
              reason={reason}
              onClick={lock.locked ? ask : unlock}
            >
              {t(lock.locked ? "users.unlock" : "users.clear_failures")}
            </Button>
          </div>
        </Alert>
      )}
      <LimitNote {...part} reason={reason} />
    </>
  );
}

/** The reached limits with their end, and a button that resets both. */
function LimitNote(
  { user, calls, page, login: { lock }, reason }: FactorPart & { reason: string | undefined },
) {
  const { pushesBlockedUntilMs: pushes, sendsBlockedUntilMs: sends } = lock;
  if (pushes === null && sends === null) return null;
  const reset = () =>
    page.change({
      call: calls.resetLimits,
      done: t("users.limits_reset", { name: user.name }),
      failed: t("users.limits_not_reset"),
    });
  return (
    <Alert tone="wait" icon="alert">
      <div class="lock-note">
        {pushes !== null && <span>{t("users.push_limit", { time: fullTimeText(pushes) })}</span>}
        {sends !== null && <span>{t("users.message_limit", { time: fullTimeText(sends) })}</span>}
        <Button small reason={reason} onClick={reset}>{t("users.reset_limits")}</Button>
      </div>
    </Alert>
  );
}
