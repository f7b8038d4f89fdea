// Tries a login without sending anything: which rows of the gateway's table would be taken, and how it would end.

import { useSignal } from "@preact/signals";
import type { LoginTrial, LoginView } from "../../../api/users/user_types.ts";
import type { TrialInput } from "../../models/user_calls.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../i18n/translate.ts";
import { momentWords, stepLabel } from "../../words.ts";
import { type FieldRow, Fields } from "../fields.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { Note } from "../note.tsx";
import { EmptyState } from "../states.tsx";
import { Status } from "../status.tsx";

const LAST_ROWS: readonly FieldRow<TrialInput>[] = [
  {
    name: "password",
    label: "people.password",
    choices: ["right", "wrong", "empty"],
    sayChoice: (value) => t(`people.password_${value}`),
  },
  {
    name: "appended",
    label: "people.appended",
    choices: [null, "push", "sms", "call"],
    sayChoice: (value) => value ?? t("frame.none"),
  },
];

export function TrialDialog(
  { user, calls, login, onClose }: UserPart & { readonly login: LoginView; readonly onClose: () => void },
) {
  const { clients } = login;
  const draft = useSignal<TrialInput>({ client: clients[0] ?? "", password: "right", appended: null });
  /** What came of which input: of another one it says nothing. */
  const tried = useSignal<{ readonly input: TrialInput; readonly trial: LoginTrial } | null>(null);
  const play = async () => {
    const input = draft.value;
    tried.value = { input, trial: await calls.tryLogin(input) };
    return "stay" as const;
  };
  const hasNone = clients.length === 0;
  return (
    <FormDialog
      title={t("people.try_title", { name: user.name })}
      verb={t("people.try_login")}
      keep={t("frame.close")}
      reason={hasNone ? t("people.no_clients") : undefined}
      onSubmit={play}
      onClose={onClose}
      wide
    >
      <p class="quiet">{t("people.try_hint")}</p>
      {hasNone && <EmptyState title={t("people.no_clients")} next={t("people.no_clients_next")} />}
      <div class="people-fields">
        <Fields
          prefix="trial"
          draft={draft}
          rows={[{ name: "client", label: "frame.client", choices: clients }, ...LAST_ROWS]}
        />
      </div>
      {tried.value?.input === draft.value && <Outcome trial={tried.value.trial} />}
    </FormDialog>
  );
}

const TONES = { accept: "ok", reject: "bad", challenge: "challenge", sends: "wait" } as const;

function Outcome({ trial }: { trial: LoginTrial }) {
  const last = trial.steps.at(-1);
  return (
    <section role="status" aria-label={t("people.trial")}>
      <Note tone={TONES[trial.end]} icon={trial.end === "accept" ? "check" : "alert"}>
        <strong>{t(`people.trial_${trial.end}`)}</strong>{" "}
        {trial.because !== null && t(`people.because_${trial.because}`)}
        {trial.end === "sends" && last !== undefined && last.then.join(", ")}
        {trial.prompt !== null && <p class="mono small people-prompt">{trial.prompt}</p>}
      </Note>
      <ol class="people-timeline">
        {trial.steps.map((step) => (
          <li key={step.row}>
            <strong class="mono">{step.row}</strong>
            <span class="small">{step.when.join(", ")}</span>
            {step.then.length > 0 && <span class="quiet small">{`→ ${step.then.join(", ")}`}</span>}
            <Status words={{ ...momentWords(step.to), label: stepLabel(step.to) }} />
          </li>
        ))}
      </ol>
    </section>
  );
}
