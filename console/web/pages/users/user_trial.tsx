// A test sign-in without side effects: the dialog, and its result in words.

import { useSignal } from "@preact/signals";
import type { DryRunResult, UserLoginView } from "../../../api/users/user_types.ts";
import type { Models } from "../../app/app_context.ts";
import { momentLabel, stepLabel, toReadableName } from "../../app/login_state_labels.ts";
import { Alert, EmptyState } from "../../components/alert.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { PolicyLink } from "../../components/policy_link.tsx";
import { StateText } from "../../components/status.tsx";
import { findMessage, t } from "../../i18n/translate.ts";
import type { TrialInput } from "./user_calls.ts";
import type { UserPart } from "./user_page_model.ts";

const METHOD: FieldRow<TrialInput> = {
  name: "method",
  label: "common.method",
  choices: ["pap", "mschapv2", "eap_gtc"],
  choiceLabel: (value) => t(`users.method_${value}`),
};

const PASSWORD_ROWS: readonly FieldRow<TrialInput>[] = [
  {
    name: "password",
    label: "common.password",
    choices: ["right", "wrong", "empty"],
    choiceLabel: (value) => t(`users.password_${value}`),
  },
  {
    name: "appended",
    label: "users.appended",
    choices: [null, "push", "sms", "call"],
    choiceLabel: (value) => value ?? t("common.none"),
  },
];

export function TrialDialog(
  { models, user, calls, login, onClose }: UserPart & {
    readonly login: UserLoginView;
    readonly onClose: () => void;
  },
) {
  const { clients } = login;
  const draft = useSignal<TrialInput>({
    ...{ client: clients[0] ?? "", method: "pap", password: "right", appended: null },
  });
  /** The result with its input. It is hidden when the input changes. */
  const tried = useSignal<{ readonly input: TrialInput; readonly trial: DryRunResult } | null>(null);
  const play = async () => {
    const input = draft.value;
    tried.value = { input, trial: await calls.tryLogin(input) };
    return "stay" as const;
  };
  const hasNone = clients.length === 0;
  // MS-CHAPv2 proves the password by a hash, to which nothing can be appended.
  const passwordRows = PASSWORD_ROWS.filter(({ name }) =>
    draft.value.method !== "mschapv2" || name !== "appended"
  );
  return (
    <FormDialog
      title={t("users.try_title", { name: user.name })}
      submitLabel={t("users.try_login")}
      cancelLabel={t("common.close")}
      reason={hasNone ? t("common.clients_none") : undefined}
      onSubmit={play}
      onClose={onClose}
      wide
    >
      <p class="quiet">{t("users.try_hint")}</p>
      {hasNone && <EmptyState title={t("common.clients_none")} next={t("common.clients_none_next")} />}
      <div class="people-fields">
        <FormFields
          prefix="trial"
          draft={draft}
          rows={[{ name: "client", label: "shell.client", choices: clients }, METHOD, ...passwordRows]}
        />
      </div>
      {tried.value?.input === draft.value && <Outcome models={models} trial={tried.value.trial} />}
    </FormDialog>
  );
}

const TONES = { accept: "ok", reject: "bad", challenge: "challenge", sends: "wait" } as const;

function Outcome({ models, trial }: { models: Models; trial: DryRunResult }) {
  const last = trial.steps.at(-1);
  return (
    <section role="status" aria-label={t("users.trial")}>
      <Alert tone={TONES[trial.end]} icon={trial.end === "accept" ? "check" : "alert"}>
        <strong>
          {trial.end === "sends" ? sentText(last?.to ?? "") : t(`users.trial_${trial.end}`)}
        </strong>{" "}
        {trial.because !== null && t(`users.because_${trial.because}`)}
        {trial.prompt !== null && <p class="mono small people-prompt">{promptText(trial.prompt)}</p>}
      </Alert>
      {trial.policy !== null && <AppliedPolicy models={models} name={trial.policy} />}
      <ol class="people-timeline">
        {trial.steps.map((step) => (
          <li key={step.row}>
            <strong>{rowText(step.row)}</strong>
            <StateText words={{ ...momentLabel(step.to), label: stepLabel(step.to) }} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** @param name "" if no policy applied */
function AppliedPolicy({ models, name }: { models: Models; name: string }) {
  return (
    <p class="people-policy">
      {t("users.trial_policy")} {name === ""
        ? <span class="quiet">{t("users.trial_no_policy")}</span>
        : <PolicyLink models={models} name={name} />}
    </p>
  );
}

/** The passages in which the gateway waits for a service, by what it sends. */
const SENT: Readonly<Record<string, "push" | "text" | "call" | "pairing">> = {
  pushing: "push",
  holding: "push",
  asking: "push",
  pushing_for_code: "push",
  texting: "text",
  texting_typed: "text",
  calling: "call",
  calling_typed: "call",
  pairing: "pairing",
};

function sentText(to: string): string {
  return t(`users.trial_sends_${SENT[to] ?? "other"}`);
}

/** A row of the flow table in words; the server may be newer than this page. */
function rowText(row: string): string {
  return findMessage(`users.row_${row}`) ?? findMessage(`explain.row_${row}`) ?? toReadableName(row);
}

/** The prompt of the login. Its lists depend on the user, so they are only named here. */
function promptText(prompt: string): string {
  return prompt.replace(/\{(?:menu|letters)\}/, t("users.prompt_menu"))
    .replace("{numbers}", t("users.prompt_numbers")).replace("{number}", "");
}
