// The remaining set-up steps on the Live page, with links, and the test login as the last step.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { FirstStep, LoginTrialHint } from "../../../api/onboarding/onboarding.ts";
import { failureText, take } from "../../app/api_client.ts";
import { userHref } from "../../app/routes.ts";
import { radtestCommand, stateLabel } from "../../app/login_state_labels.ts";
import { Alert } from "../../components/alert.tsx";
import { CopyButton } from "../../components/button.tsx";
import type { LiveModels as Models } from "./live_context.tsx";
import { livePermissionHint } from "./live_permission.ts";
import { Icon } from "../../components/icons.tsx";
import { StateText } from "../../components/status.tsx";
import { t } from "../../i18n/translate.ts";
import { updateFirstStep } from "../../app/session_model.ts";

const STEP_HREFS = {
  client: "/first-run?step=client",
  target: "/first-run?step=target",
  password: "/first-run?step=password",
  login: "/live?step=login",
} as const;
const STATE_ICONS = { done: "check", open: "ring", skipped: "cross" } as const;

export function OnboardingPanel({ models }: { models: Models }) {
  const { session, board, api } = models;
  const problem = useSignal<string | null>(null);
  const trial = useSignal<LoginTrialHint | null>(null);
  const hasAccepted = useComputed(() => (board.outcomes.value.accepted ?? 0) > 0).value;
  useEffect(() => {
    take(api["first-steps"].$get()).then((answer) => {
      session.setFirstSteps(answer.steps);
      trial.value = answer.trial;
    }, () => undefined);
  }, [hasAccepted]);
  const steps = session.firstSteps.value;
  const skip = async (name: FirstStep["name"], skipped: boolean) => {
    problem.value = null;
    try {
      await updateFirstStep(models, { name, skipped });
    } catch (fault) {
      problem.value = failureText(fault);
    }
  };
  if (models.router.param("step") === "login") {
    return <LoginStep models={models} steps={steps} trial={trial.value} skip={() => skip("login", true)} />;
  }
  if (steps === null) return null;
  return (
    <section class="panel first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">{t("firstrun.steps")}</h2>
      <ol>{steps.map((step) => <Step key={step.name} models={models} step={step} skip={skip} />)}</ol>
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
    </section>
  );
}

interface StepProps {
  readonly models: Models;
  readonly step: FirstStep;
  readonly skip: (name: FirstStep["name"], skipped: boolean) => Promise<void>;
}

function Step({ models, step: { name, state }, skip }: StepProps) {
  const reason = livePermissionHint(models, "owner");
  const label = t(`firstrun.${name}`);
  return (
    <li class={state === "open" ? "" : "quiet"}>
      <span class={`status tone-${state === "done" ? "ok" : "idle"}`}>
        <Icon name={`line-${STATE_ICONS[state]}`} size={14} />
        <span class="unseen">{t(`firstrun.${state}`)}</span>
      </span>
      {state === "open" ? <a href={STEP_HREFS[name]}>{label}</a> : <span>{label}</span>}
      {state !== "done" && (
        <button
          type="button"
          class="button button-plain button-small"
          disabled={reason !== undefined}
          title={reason}
          onClick={() => void skip(name, state === "open")}
        >
          {t(state === "open" ? "common.skip" : "common.resume")}
          <span class="unseen">{` ${label}`}</span>
        </button>
      )}
    </li>
  );
}

/** What works now, and what is still open. */
function Accepted({ trial }: Pick<LoginStepProps, "trial">) {
  return (
    <p role="status">
      {t("firstrun.accepted")} {trial?.isPasswordUnchecked === true && (
        <>
          {t("firstrun.accepted_unchecked")} <a href="/first-run?step=password">{t("firstrun.password")}</a>.
          {" "}
        </>
      )}
      <a href="/health">{t("firstrun.still_open")}</a>
    </p>
  );
}

interface LoginStepProps {
  readonly models: Models;
  /** `null`: all steps are done. */
  readonly steps: readonly FirstStep[] | null;
  /** User and address of the test login; `null` until it is fetched. */
  readonly trial: LoginTrialHint | null;
  readonly skip: () => Promise<void>;
}

function LoginStep({ models, steps, trial, skip }: LoginStepProps) {
  const { board, router } = models;
  const newest = useComputed(() => board.rows.value[0] ?? null).value;
  const openedMs = useRef(models.clock.nowMs.peek());
  // Ignore logins that started earlier, even if the stream delivers them later.
  const tried = newest !== null && newest.startedMs >= openedMs.current ? newest : null;
  const chosen = router.param("c");
  useEffect(() => {
    const isFree = chosen === "" || board.conversation(chosen)?.outcome !== null;
    if (tried !== null && tried.id !== chosen && isFree) router.setParams({ c: tried.id });
  }, [tried?.id]);
  // After the set-up, each visit starts a new test.
  const isDone = tried?.outcome === "accepted" ||
    (steps ?? []).some(({ name, state }) => name === "login" && state === "done");
  const reason = livePermissionHint(models, "owner");
  const close = () => router.setParams({ step: "" });
  const user = trial?.user ?? null;
  const command = radtestCommand({
    command: trial?.radius.tryCommand,
    user,
    nasIdentifier: trial?.nasIdentifier ?? "",
  });
  return (
    <section class="panel first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">
        {t("firstrun.step_of", { step: 5, count: 5, what: t("firstrun.login") })}
      </h2>
      {isDone ? <Accepted trial={trial} /> : (
        <>
          <p>
            {t("firstrun.login_why")}{" "}
            {user !== null && <a href={`${userHref(user, "")}#devices`}>{t("firstrun.pair", { user })}</a>}
          </p>
          <span class="first-command">
            <code>{command}</code>
            <CopyButton text={command} what={t("common.copy")} />
          </span>
          <p role="status">
            {tried === null ? t("firstrun.waiting") : <StateText words={stateLabel(tried)} />}
          </p>
        </>
      )}
      <span class="first-end">
        {isDone
          ? (
            <button type="button" class="button button-primary button-small" onClick={close}>
              {t("common.done")}
            </button>
          )
          : (
            <>
              <a class="button button-plain button-small" href="/first-run?step=password">
                {t("common.back")}
              </a>
              <button
                type="button"
                class="button button-small"
                disabled={reason !== undefined}
                title={reason}
                onClick={() => void skip().then(close)}
              >
                {t("firstrun.skip_step")}
              </button>
            </>
          )}
      </span>
    </section>
  );
}
