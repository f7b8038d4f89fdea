// The first run: the set-up steps of a new owner. The server stores which steps are done; the address contains the current one.
// The last step, a login, is on the Live page.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { FirstStep } from "../../../api/onboarding/onboarding.ts";
import { failureText, take } from "../../app/api_client.ts";
import type { PageProps } from "../../app/app_context.ts";
import { useInterval } from "../../app/resource.ts";
import { permissionHint, updateFirstStep } from "../../app/session_model.ts";
import { Alert, EmptyState, ErrorState } from "../../components/alert.tsx";
import { Icon } from "../../components/icons.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { ProtectionStep } from "./protection_step.tsx";
import { ClientStep, TargetStep } from "./setup_steps.tsx";

type StepName = FirstStep["name"];

const PARTS = {
  client: ClientStep,
  target: TargetStep,
  password: ProtectionStep,
} as const;
const STATE_ICONS = { done: "check", open: "ring", skipped: "cross" } as const;
const POLL_INTERVAL_MS = 2000;

/** The page of each step. */
export const stepHref = (name: StepName) => name === "login" ? "/live?step=login" : `/first-run?step=${name}`;

export default function FirstRunPage({ models }: PageProps) {
  const { api, session, router } = models;
  const problem = useSignal<string | null>(null);
  const unread = useSignal<string | null>(null);
  const refresh = async () => {
    try {
      session.setFirstSteps((await session.whileSignedIn(() => take(api["first-steps"].$get()))).steps);
      unread.value = null;
    } catch (fault) {
      unread.value = failureText(fault);
    }
  };
  useEffect(() => void refresh(), []);
  useInterval(POLL_INTERVAL_MS, refresh);
  const steps = session.firstSteps.value;
  const asked = router.param("step");
  const step = steps?.find(({ name }) => name === asked) ?? steps?.find(({ state }) => state === "open");
  const isLogin = step?.name === "login";
  // The address keeps the step when it is completed, and after a reload.
  useEffect(() => {
    if (isLogin) router.go(stepHref("login"));
    else if (step !== undefined && asked !== step.name) router.setParams({ step: step.name });
  }, [step?.name, asked]);
  const lost = unread.value !== null && (
    <ErrorState
      title={t("common.unread")}
      onRetry={() => void refresh()}
    >
      {unread.value}
    </ErrorState>
  );
  if (steps === null || step === undefined) return <Finished>{lost}</Finished>;
  if (step.name === "login") return <main class="page" id="page" />;
  const next = steps[steps.indexOf(step) + 1];
  const goToNext = () => router.go(next === undefined ? "/live" : stepHref(next.name));
  const skip = async () => {
    problem.value = null;
    try {
      await updateFirstStep(models, { name: step.name, skipped: true });
      goToNext();
    } catch (fault) {
      problem.value = failureText(fault);
    }
  };
  const Part = PARTS[step.name];
  const mayNot = permissionHint(models, "owner");
  const undone = step.state === "open" ? t("firstrun.undone") : undefined;
  return (
    <main class="page first-run" id="page">
      <PageBar title={stepTitle(steps, step)} />
      {lost}
      <StepBar steps={steps} current={step} />
      <p class="first-why">{t(`firstrun.${step.name}_why`, { port: String(step.radius.port) })}</p>
      <Part models={models} refresh={refresh} />
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
      <div class="first-end">
        {step.state === "open" && (
          <button
            type="button"
            class="button"
            disabled={mayNot !== undefined}
            title={mayNot}
            onClick={() => void skip()}
          >
            {t("firstrun.skip_step")}
          </button>
        )}
        <button
          type="button"
          class="button button-primary"
          disabled={undone !== undefined}
          title={undone}
          onClick={goToNext}
        >
          {t("common.next")}
        </button>
      </div>
    </main>
  );
}

/** "Step 2 of 4: Add a RADIUS client". The first step was the account. */
export function stepTitle(steps: readonly FirstStep[], { name }: FirstStep): string {
  const step = steps.findIndex((one) => one.name === name) + 2;
  return t("firstrun.step_of", { step, count: steps.length + 1, what: t(`firstrun.${name}`) });
}

function StepBar({ steps, current }: { steps: readonly FirstStep[]; current: FirstStep }) {
  return (
    <nav aria-label={t("shell.first_run")}>
      <ol class="first-bar">
        <li class="quiet">
          <Mark state="done" />
          {t("firstrun.owner")}
        </li>
        {steps.map((step) => (
          <li key={step.name} class={step.state === "open" ? "" : "quiet"}>
            <Mark state={step.state} />
            <a href={stepHref(step.name)} aria-current={step === current ? "step" : undefined}>
              {t(`firstrun.${step.name}`)}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

function Mark({ state }: Pick<FirstStep, "state">) {
  return (
    <span class={`status tone-${state === "done" ? "ok" : "idle"}`}>
      <Icon name={`line-${STATE_ICONS[state]}`} size={14} />
      <span class="unseen">{t(`firstrun.${state}`)}</span>
    </span>
  );
}

function Finished({ children }: { children: ComponentChildren }) {
  return (
    <main class="page first-run" id="page">
      <PageBar title={t("shell.first_run")} />
      {children}
      <EmptyState title={t("firstrun.finished")} next={t("firstrun.finished_next")}>
        <a class="button button-primary" href="/live">{t("firstrun.open_live")}</a>{" "}
        <a class="button" href="/live?step=login">{t("firstrun.test_again")}</a>
      </EmptyState>
    </main>
  );
}
