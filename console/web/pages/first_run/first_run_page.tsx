// The first run: the set-up steps of a new owner. The server stores which steps are done; the address contains the current one.
// The last step, a login, is on the Live page.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { FirstStep } from "../../../api/onboarding/onboarding.ts";
import type { ClientList } from "../../../api/clients/client_types.ts";
import type { SettingsAnswer } from "../../../api/settings/setting_routes.ts";
import { failureText, take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { useInterval, useResource } from "../../app/resource.ts";
import { permissionHint, updateFirstStep } from "../../app/session_model.ts";
import { Alert, EmptyState, ErrorAlert, ErrorState, Fetched } from "../../components/alert.tsx";
import { Icon } from "../../components/icons.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { useAction } from "../../app/action.ts";
import { Button } from "../../components/button.tsx";
import { changeClient, fetchClients, toClientDraft, toClientRequest } from "../clients/client_form.ts";
import { settingCalls } from "../settings/setting_calls.ts";
import { faultText } from "../settings/setting_problems.ts";
import { refreshSession } from "../sign_in/sign_in_calls.ts";
import { ClientStep, type SetupStepProps, TargetStep } from "./setup_steps.tsx";

type StepName = FirstStep["name"];

const PARTS = {
  client: ClientStep,
  target: TargetStep,
  password: ProtectionStep,
} as const;
const STATE_ICONS = { done: "check", open: "ring", skipped: "cross" } as const;
const POLL_INTERVAL_MS = 2000;

/** The page of each step. */
const stepHref = (name: StepName) => name === "login" ? "/live?step=login" : `/first-run?step=${name}`;

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
function stepTitle(steps: readonly FirstStep[], { name }: FirstStep): string {
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

// The step of the first run that decides how passwords are checked, and whether administrators need a second factor.

interface Facts {
  readonly clients: ClientList;
  readonly settings: SettingsAnswer;
}

function ProtectionStep({ models, refresh }: SetupStepProps) {
  const facts = useResource<Facts>(models, {
    fetch: async () => {
      const [clients, settings] = await Promise.all([fetchClients(models), settingCalls(models).read()]);
      return { clients, settings };
    },
    inputs: [],
  });
  return (
    <Fetched resource={facts}>
      {(found) => (
        <Choices
          key={found.settings.version}
          models={models}
          facts={found}
          onSaved={async () => {
            await Promise.all([facts.reload(), refresh(), refreshSession(models)]);
          }}
        />
      )}
    </Fetched>
  );
}

/** `none`, `directory`, or `ldap:` and the name of the connector. */
type PasswordChoice = string;

interface ChoicesProps {
  readonly models: Models;
  readonly facts: Facts;
  readonly onSaved: () => Promise<void>;
}

function Choices({ models, facts: { clients, settings }, onSaved }: ChoicesProps) {
  const valueOf = (key: string) => settings.settings.find((one) => one.key === key)?.value;
  const check = useSignal<PasswordChoice | null>(presentChoice(clients, valueOf));
  const second = useSignal(String(valueOf("console.second_factor") ?? "offered"));
  const action = useAction();
  const reason = permissionHint(models, "owner") ??
    (check.value === null ? t("firstrun.choose_check") : undefined);
  const save = () =>
    action.run(async () => {
      const chosen = check.value ?? "none";
      await saveSettings(models, { chosen, second: second.value, version: settings.version, valueOf });
      if (chosen === "none") await markUnchecked(models, clients);
      await onSaved();
      models.toasts.show(t("firstrun.protection_saved"), { tone: "ok" });
    });
  const options: readonly (readonly [value: PasswordChoice, label: string, hint: string])[] = [
    ...clients.ldap.map((name) =>
      [`ldap:${name}`, t("firstrun.check_ldap", { name }), t("firstrun.check_ldap_hint")] as const
    ),
    ["directory", t("firstrun.check_directory"), t("firstrun.check_directory_hint")],
    ["none", t("firstrun.check_none"), t("firstrun.check_none_hint")],
  ];
  return (
    <section class="panel people-panel" aria-label={t("firstrun.password")}>
      <ErrorAlert of={action.fault} />
      <fieldset class="multi">
        <legend>{t("firstrun.check_legend")}</legend>
        {options.map(([value, label, hint]) => (
          <Choice
            key={value}
            name="password-check"
            {...{ value, label, hint }}
            isChosen={check.value === value}
            onChoose={() => check.value = value}
          />
        ))}
      </fieldset>
      {check.value === "none" && <Alert tone="wait" icon="alert">{t("firstrun.unchecked")}</Alert>}
      <fieldset class="multi">
        <legend>{t("firstrun.second_legend")}</legend>
        {(["required", "offered"] as const).map((value) => (
          <Choice
            key={value}
            name="second-factor"
            value={value}
            label={t(`firstrun.second_${value}`)}
            hint={t(`firstrun.second_${value}_hint`)}
            isChosen={second.value === value}
            onChoose={() => second.value = value}
          />
        ))}
      </fieldset>
      <div class="first-actions">
        <Button kind="primary" busy={action.busy.value} reason={reason} onClick={save}>
          {t("firstrun.protection_save")}
        </Button>
      </div>
    </section>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly value: string;
  readonly label: string;
  readonly hint: string;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function Choice({ name, value, label, hint, isChosen, onChoose }: ChoiceProps) {
  return (
    <label class="check">
      <input type="radio" name={name} value={value} checked={isChosen} onChange={onChoose} />
      <span>
        {label}
        <span class="hint">{hint}</span>
      </span>
    </label>
  );
}

/** `null` while nothing was chosen: the default checks nothing, and no client says that this is wanted. */
function presentChoice(
  { items, gateway: { firstFactor: globalFirstFactor } }: ClientList,
  valueOf: (key: string) => unknown,
): PasswordChoice | null {
  if (globalFirstFactor === "ldap") return `ldap:${valueOf("radius.first_factor_backend")}`;
  if (globalFirstFactor !== "none") return globalFirstFactor;
  return items.length > 0 && items.every(({ firstFactor }) => firstFactor === "none") ? "none" : null;
}

interface SaveProps {
  readonly chosen: PasswordChoice;
  readonly second: string;
  readonly version: string;
  readonly valueOf: (key: string) => unknown;
}

async function saveSettings(models: Models, { chosen, second, version, valueOf }: SaveProps): Promise<void> {
  const [check = "none", backend = ""] = chosen.split(":");
  const wanted: Record<string, string> = { "radius.first_factor": check, "console.second_factor": second };
  if (check === "ldap") wanted["radius.first_factor_backend"] = backend;
  const changed = Object.entries(wanted).filter(([key, value]) => valueOf(key) !== value);
  if (changed.length === 0) return;
  const changes = Object.fromEntries(changed);
  const saved = await models.session.whileSignedIn(() => settingCalls(models).save({ version, changes }));
  if (saved.kind === "faults") throw new Error(saved.faults.map(faultText).join(" "));
  if (saved.kind === "conflict") throw new Error(t("firstrun.changed_meanwhile"));
}

/** Clients that followed the global setting say from now on that their passwords are not checked here. */
async function markUnchecked(models: Models, { items }: ClientList): Promise<void> {
  for (const client of items) {
    if (client.from === "settings" || client.firstFactor !== "settings") continue;
    const form = toClientRequest({ ...toClientDraft(client), firstFactor: "none" });
    await changeClient(models, client.name, { ...form, version: client.version });
  }
}
