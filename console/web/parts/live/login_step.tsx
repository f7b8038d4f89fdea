// The last step of the first run, on Live: a login is tried, its way lights up on the diagram, and the first that is let in
// is the end of the set-up.

import { useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { FirstStep, LoginTrialHint } from "../../../api/onboarding/onboarding.ts";
import type { LiveModels as Models } from "../../models/live_models.ts";
import { stateWords, tryCommand } from "../../words.ts";
import { t } from "../../i18n/translate.ts";
import { userHref } from "../../user_href.ts";
import { CopyButton } from "../copy_button.tsx";
import { Status } from "../status.tsx";
import { whyNotNow } from "./reconnect_note.tsx";

interface LoginStepProps {
  readonly models: Models;
  /** `null`: nothing is left. */
  readonly steps: readonly FirstStep[] | null;
  /** What the login is tried with; `null` until it was fetched. */
  readonly trial: LoginTrialHint | null;
  readonly skip: () => Promise<void>;
}

export function LoginStep({ models, steps, trial, skip }: LoginStepProps) {
  const { board, router } = models;
  const newest = useComputed(() => board.rows.value[0] ?? null).value;
  const openedMs = useRef(models.clock.nowMs.peek());
  // Those of before are not the one that is tried now, also when they are shown only after the step.
  const tried = newest !== null && newest.startedMs >= openedMs.current ? newest : null;
  const chosen = router.param("c");
  useEffect(() => {
    const isFree = chosen === "" || board.conversation(chosen)?.outcome !== null;
    if (tried !== null && tried.id !== chosen && isFree) router.setParams({ c: tried.id });
  }, [tried?.id]);
  // After the set-up, the test begins again with each visit.
  const isDone = tried?.outcome === "accepted" ||
    (steps ?? []).some(({ name, state }) => name === "login" && state === "done");
  const reason = whyNotNow(models, "owner");
  const close = () => router.setParams({ step: "" });
  const user = trial?.user ?? null;
  const command = tryCommand({ at: trial?.radius.tryAt ?? "127.0.0.1", user });
  return (
    <section class="panel first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">
        {t("live.first_step_of", { step: 4, count: 4, what: t("live.first_login") })}
      </h2>
      {isDone ? <p role="status">{t("live.first_accepted")}</p> : (
        <>
          <p>
            {t("live.first_login_why")}{" "}
            {user !== null && <a href={`${userHref(user, "")}#devices`}>{t("live.first_pair", { user })}</a>}
          </p>
          <span class="first-command">
            <code>{command}</code>
            <CopyButton text={command} what={t("frame.copy")} />
          </span>
          <p role="status">
            {tried === null ? t("live.first_waiting") : <Status words={stateWords(tried)} />}
          </p>
        </>
      )}
      <span class="first-end">
        {isDone
          ? (
            <button type="button" class="button button-primary button-small" onClick={close}>
              {t("frame.done")}
            </button>
          )
          : (
            <>
              <a class="button button-plain button-small" href="/first-run?step=target">
                {t("live.first_back")}
              </a>
              <button
                type="button"
                class="button button-small"
                disabled={reason !== undefined}
                title={reason}
                onClick={() => void skip().then(close)}
              >
                {t("live.first_skip_step")}
              </button>
            </>
          )}
      </span>
    </section>
  );
}
