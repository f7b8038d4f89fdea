// The step of the first run that decides how passwords are checked, and whether administrators need a second factor.

import { useSignal } from "@preact/signals";
import type { ClientList } from "../../../api/clients/client_types.ts";
import type { SettingsAnswer } from "../../../api/settings/setting_types.ts";
import { useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import { useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, ErrorAlert, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { t } from "../../i18n/translate.ts";
import { changeClient, fetchClients, toClientDraft, toClientRequest } from "../clients/client_form.ts";
import { settingCalls } from "../settings/setting_calls.ts";
import { faultText } from "../settings/setting_problems.ts";
import { refreshSession } from "../sign_in/sign_in_calls.ts";
import type { SetupStepProps } from "./setup_steps.tsx";

interface Facts {
  readonly clients: ClientList;
  readonly settings: SettingsAnswer;
}

export function ProtectionStep({ models, refresh }: SetupStepProps) {
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
  { items, globalFirstFactor }: ClientList,
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
