// The locks and limits of a user, with the buttons that end them.

import { fullTimeText } from "../../app/format.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";
import type { FactorPart } from "./user_page_model.ts";

/** Locks, failed attempts and limits, with the buttons that end them. */
export function LockNote(part: FactorPart) {
  const { models, user: { name }, calls, page, login: { lock: { locked, ...lock } } } = part;
  const reason = permissionHint(models, "help_desk");
  const end = (call: typeof calls.unlock, [done, failed]: readonly [MessageKey, MessageKey]) =>
    page.change({ call, done: t(done, { name }), failed: t(failed) });
  const unlock = () =>
    end(
      calls.unlock,
      locked
        ? ["users.unlocked", "users.not_unlocked"]
        : ["users.failures_cleared", "users.failures_not_cleared"],
    );
  const ask = () =>
    models.question.value = {
      title: t("users.unlock_title", { name }),
      submitLabel: t("users.unlock"),
      text: t("users.unlock_reported", { name }),
      run: unlock,
    };
  const { pushesBlockedUntilMs: pushes, sendsBlockedUntilMs: sends } = lock;
  return (
    <>
      {(locked || lock.failures > 0) && (
        <Alert tone={locked ? "bad" : "wait"} icon="alert">
          <div class="lock-note">
            {locked && (
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
              icon={locked ? "lock-open" : undefined}
              reason={reason}
              onClick={locked && lock.isReported ? ask : unlock}
            >
              {t(locked ? "users.unlock" : "users.clear_failures")}
            </Button>
          </div>
        </Alert>
      )}
      {(pushes ?? sends) !== null && (
        <Alert tone="wait" icon="alert">
          <div class="lock-note">
            {pushes !== null && <span>{t("users.push_limit", { time: fullTimeText(pushes) })}</span>}
            {sends !== null && <span>{t("users.message_limit", { time: fullTimeText(sends) })}</span>}
            <Button
              small
              reason={reason}
              onClick={() => end(calls.resetLimits, ["users.limits_reset", "users.limits_not_reset"])}
            >
              {t("users.reset_limits")}
            </Button>
          </div>
        </Alert>
      )}
    </>
  );
}
