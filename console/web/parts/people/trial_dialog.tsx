// Tries a login without sending anything: which rows of the gateway's table would be taken, and how it would end.

import { useSignal } from "@preact/signals";
import type { LoginTrial, LoginView } from "../../../api/people/user_shapes.ts";
import { failureText } from "../../api_client.ts";
import type { TrialInput } from "../../models/user_calls.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { momentWords, stepLabel } from "../../words.ts";
import { Dialog } from "../dialog.tsx";
import { SelectField } from "../inputs.tsx";
import { Note } from "../note.tsx";
import { EmptyState } from "../states.tsx";
import { Status } from "../status.tsx";

const FORM_ID = "try-login";
const PASSWORDS = ["right", "wrong", "empty"] as const;
const APPENDED = ["push", "sms", "call"] as const;

export function TrialDialog(
  { user, calls, login, onClose }: UserPart & { readonly login: LoginView; readonly onClose: () => void },
) {
  const input = useSignal<TrialInput>({
    client: login.clients[0] ?? "",
    password: "right",
    appended: null,
  });
  const trial = useSignal<LoginTrial | null>(null);
  const problem = useSignal<string | null>(null);
  const play = async () => {
    problem.value = null;
    try {
      trial.value = await calls.tryLogin(input.value);
    } catch (fault) {
      problem.value = failureText(fault);
    }
  };
  const change = (next: Partial<TrialInput>) => {
    input.value = { ...input.value, ...next };
    trial.value = null;
  };
  return (
    <Dialog
      title={t("people.try_title", { name: user.name })}
      onClose={onClose}
      wide
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>{t("frame.close")}</button>
          <button
            type="submit"
            form={FORM_ID}
            class="button button-primary"
            disabled={login.clients.length === 0}
          >
            {t("people.try_login")}
          </button>
        </>
      }
    >
      <p class="quiet">{t("people.try_hint")}</p>
      {login.clients.length === 0 && (
        <EmptyState title={t("people.no_clients")} next={t("people.no_clients_next")} />
      )}
      <form
        id={FORM_ID}
        class="people-fields"
        onSubmit={(event) => {
          event.preventDefault();
          void play();
        }}
      >
        <SelectField
          id="trial-client"
          label={t("frame.client")}
          value={input.value.client}
          options={login.clients.map((value) => ({ value, label: value }))}
          onChoose={(client) => change({ client })}
        />
        <SelectField
          id="trial-password"
          label={t("people.password")}
          value={input.value.password}
          options={PASSWORDS.map((value) => ({ value, label: t(`people.password_${value}`) }))}
          onChoose={(value) => change({ password: PASSWORDS.find((one) => one === value) ?? "right" })}
        />
        <SelectField
          id="trial-appended"
          label={t("people.appended")}
          value={input.value.appended ?? ""}
          options={[
            { value: "", label: t("frame.none") },
            ...APPENDED.map((value) => ({ value, label: value })),
          ]}
          onChoose={(value) => change({ appended: APPENDED.find((one) => one === value) ?? null })}
        />
      </form>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {trial.value !== null && <Outcome trial={trial.value} />}
    </Dialog>
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
