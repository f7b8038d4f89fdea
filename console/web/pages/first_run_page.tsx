// The first run: what a new owner does, one step after another, each with the parts that do it. What is done is the
// server's knowledge; the step stands in the address. The last one, a login, is done on Live.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { FirstStep } from "../../api/onboarding/onboarding.ts";
import { whyNot } from "../access_words.ts";
import { failureText, take } from "../api_client.ts";
import type { PageProps } from "../page_loader.ts";
import { useEvery } from "../models/every.ts";
import { late } from "../parts/late.tsx";
import { Note } from "../parts/note.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { EmptyState, ErrorState } from "../parts/states.tsx";
import { Symbol } from "../parts/symbol.tsx";
import { t } from "../i18n/translate.ts";

type StepName = FirstStep["name"];

const PARTS = {
  client: late(async () => (await import("../parts/first_run/client_step.tsx")).ClientStep),
  target: late(async () => (await import("../parts/first_run/target_step.tsx")).TargetStep),
} as const;
const SIGNS = { done: "check", open: "ring", skipped: "cross" } as const;
const LOOK_EVERY_MS = 2000;

/** Where each step is done. */
export const stepHref = (name: StepName) => name === "login" ? "/live?step=login" : `/first-run?step=${name}`;

export default function FirstRunPage({ models }: PageProps) {
  const { api, session, router } = models;
  const problem = useSignal<string | null>(null);
  const unread = useSignal<string | null>(null);
  const look = async () => {
    try {
      session.tellFirstSteps((await session.whileSignedIn(() => take(api["first-steps"].$get()))).steps);
      unread.value = null;
    } catch (fault) {
      unread.value = failureText(fault);
    }
  };
  useEffect(() => void look(), []);
  useEvery(LOOK_EVERY_MS, () => void look());
  const steps = session.firstSteps.value;
  const asked = router.param("step");
  const step = steps?.find(({ name }) => name === asked) ?? steps?.find(({ state }) => state === "open");
  const isLogin = step?.name === "login";
  // The step stays the same one when it is done meanwhile, and after a reload.
  useEffect(() => {
    if (isLogin) router.go(stepHref("login"));
    else if (step !== undefined && asked !== step.name) router.setParams({ step: step.name });
  }, [step?.name, asked]);
  const lost = unread.value !== null && (
    <ErrorState title={t("connect.unread")} onRetry={() => void look()}>{unread.value}</ErrorState>
  );
  if (steps === null || step === undefined) return <Finished>{lost}</Finished>;
  if (step.name === "login") return <main class="page" id="page" />;
  const next = steps[steps.indexOf(step) + 1];
  const goOn = () => router.go(next === undefined ? "/live" : stepHref(next.name));
  const skip = async () => {
    problem.value = null;
    try {
      const answer = await session.whileSignedIn(() =>
        take(api["first-steps"][":name"].$put({ param: { name: step.name }, json: { skipped: true } }))
      );
      session.tellFirstSteps(answer.steps);
      goOn();
    } catch (fault) {
      problem.value = failureText(fault);
    }
  };
  const Part = PARTS[step.name];
  const mayNot = whyNot(models, "owner");
  const undone = step.state === "open" ? t("live.first_undone") : undefined;
  return (
    <main class="page" id="page">
      <PageBar title={titleOf(steps, step)} />
      {lost}
      <StepBar steps={steps} current={step} />
      <p class="first-why">{t(`live.first_${step.name}_why`, { port: String(step.radius.port) })}</p>
      <Part models={models} look={look} />
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      <div class="first-end">
        {step.state === "open" && (
          <button
            type="button"
            class="button"
            disabled={mayNot !== undefined}
            title={mayNot}
            onClick={() => void skip()}
          >
            {t("live.first_skip_step")}
          </button>
        )}
        <button
          type="button"
          class="button button-primary"
          disabled={undone !== undefined}
          title={undone}
          onClick={goOn}
        >
          {t("live.go_on")}
        </button>
      </div>
    </main>
  );
}

/** "Step 2 of 4: Add a RADIUS client": the account was the first. */
export function titleOf(steps: readonly FirstStep[], { name }: FirstStep): string {
  const step = steps.findIndex((one) => one.name === name) + 2;
  return t("live.first_step_of", { step, count: steps.length + 1, what: t(`live.first_${name}`) });
}

function StepBar({ steps, current }: { steps: readonly FirstStep[]; current: FirstStep }) {
  return (
    <nav aria-label={t("live.first_run")}>
      <ol class="first-bar">
        <li class="quiet">
          <Mark state="done" />
          {t("live.first_owner")}
        </li>
        {steps.map((step) => (
          <li key={step.name} class={step.state === "open" ? "" : "quiet"}>
            <Mark state={step.state} />
            <a href={stepHref(step.name)} aria-current={step === current ? "step" : undefined}>
              {t(`live.first_${step.name}`)}
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
      <Symbol name={`line-${SIGNS[state]}`} size={14} />
      <span class="unseen">{t(`live.first_${state}`)}</span>
    </span>
  );
}

function Finished({ children }: { children: ComponentChildren }) {
  return (
    <main class="page" id="page">
      <PageBar title={t("live.first_run")} />
      {children}
      <EmptyState title={t("live.first_finished")} next={t("live.first_finished_next")}>
        <a class="button button-primary" href="/live">{t("live.first_open_live")}</a>{" "}
        <a class="button" href="/live?step=login">{t("live.first_test_again")}</a>
      </EmptyState>
    </main>
  );
}
