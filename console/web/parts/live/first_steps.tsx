// What is left after the set-up, on Live until it is done: each with the way there, each can be skipped.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { FirstStep, LoginTrialHint } from "../../../api/onboarding/onboarding.ts";
import { failureText, take } from "../../api_client.ts";
import type { LiveModels as Models } from "../../models/live_models.ts";
import { Symbol } from "../symbol.tsx";
import { t } from "../../i18n/translate.ts";
import { Note } from "../note.tsx";
import { LoginStep } from "./login_step.tsx";
import { whyNotNow } from "./reconnect_note.tsx";

const WAYS = {
  client: "/first-run?step=client",
  target: "/first-run?step=target",
  login: "/live?step=login",
} as const;
const SIGNS = { done: "check", open: "ring", skipped: "cross" } as const;

export function FirstSteps({ models }: { models: Models }) {
  const { session, board, api } = models;
  const problem = useSignal<string | null>(null);
  const trial = useSignal<LoginTrialHint | null>(null);
  const hasAccepted = useComputed(() => (board.outcomes.value.accepted ?? 0) > 0).value;
  useEffect(() => {
    take(api["first-steps"].$get()).then((answer) => {
      session.tellFirstSteps(answer.steps);
      trial.value = answer.trial;
    }, () => undefined);
  }, [hasAccepted]);
  const steps = session.firstSteps.value;
  const skip = async (name: FirstStep["name"], skipped: boolean) => {
    problem.value = null;
    try {
      const answer = await session.whileSignedIn(() =>
        take(api["first-steps"][":name"].$put({ param: { name }, json: { skipped } }))
      );
      session.tellFirstSteps(answer.steps);
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
      <h2 id="first-steps">{t("live.first_steps")}</h2>
      <ol>{steps.map((step) => <Step key={step.name} models={models} step={step} skip={skip} />)}</ol>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
    </section>
  );
}

interface StepProps {
  readonly models: Models;
  readonly step: FirstStep;
  readonly skip: (name: FirstStep["name"], skipped: boolean) => Promise<void>;
}

function Step({ models, step: { name, state }, skip }: StepProps) {
  const reason = whyNotNow(models, "owner");
  const label = t(`live.first_${name}`);
  return (
    <li class={state === "open" ? "" : "quiet"}>
      <span class={`status tone-${state === "done" ? "ok" : "idle"}`}>
        <Symbol name={`line-${SIGNS[state]}`} size={14} />
        <span class="unseen">{t(`live.first_${state}`)}</span>
      </span>
      {state === "open" ? <a href={WAYS[name]}>{label}</a> : <span>{label}</span>}
      {state !== "done" && (
        <button
          type="button"
          class="button button-plain button-small"
          disabled={reason !== undefined}
          title={reason}
          onClick={() => void skip(name, state === "open")}
        >
          {t(state === "open" ? "live.first_skip" : "live.first_take_up")}
          <span class="unseen">{` ${label}`}</span>
        </button>
      )}
    </li>
  );
}
