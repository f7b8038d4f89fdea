// The test of a service with the values of the form: nothing is saved.

import { useSignal } from "@preact/signals";
import { ApiFailure } from "../../app/api_client.ts";
import { useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import { spanText } from "../../app/format.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { TextField } from "../../components/field.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { language, t } from "../../i18n/translate.ts";
import type { SettingTest } from "../../../api/settings/setting_types.ts";
import { type ServiceName, testService, toSaveAnswer } from "./setting_calls.ts";
import type { SettingsModel } from "./settings_model.ts";
import type { TopicName } from "./setting_topics.ts";

/** The service of a topic. */
export const TOPIC_SERVICES: Readonly<Partial<Record<TopicName, ServiceName>>> = {
  second_factor: "second_factor",
  telephony: "telephony",
  mail: "mail",
  console: "oidc",
};

interface ServiceTestProps {
  readonly models: Models;
  readonly model: SettingsModel;
  readonly service: ServiceName;
}

export function ServiceTest({ models, model, service }: ServiceTestProps) {
  const action = useAction();
  const number = useSignal("");
  const result = useSignal<{ readonly of: string; readonly result: SettingTest } | null>(null);
  // A result is for the values that were tested.
  const tested = JSON.stringify([model.edited.value.map(({ key }) => key), model.changes(), number.value]);
  const shown = result.value?.of === tested ? result.value.result : null;
  const run = () =>
    action.run(async () => {
      const to = number.value.trim();
      const changes = model.changes() as Parameters<typeof testService>[2]["changes"];
      const json = { changes, ...(to === "" ? {} : { to }) };
      try {
        result.value = { of: tested, result: await testService(models, service, json) };
      } catch (fault) {
        const refused = toSaveAnswer(fault);
        if (refused?.kind !== "faults") throw fault;
        model.showFaults(refused.faults);
        throw new ApiFailure("bad_settings", { message: t("settings.test_bad_values") });
      }
    });
  return (
    <Panel title={t(`settings.test_${service}`)}>
      <p class="quiet">{t("settings.test_why")}</p>
      {service === "mail" && (
        <TextField
          id="settings-test-address"
          label={t("settings.test_address")}
          hint={t("settings.test_address_hint")}
          text={number}
          input={{ type: "email", maxLength: 254 }}
        />
      )}
      {service === "telephony" && (
        <TextField
          id="settings-test-number"
          label={t("settings.test_number")}
          hint={t("settings.test_number_hint")}
          text={number}
          input={{ type: "tel", maxLength: 16 }}
        />
      )}
      <ErrorAlert of={action.fault} />
      {shown !== null && (
        <Alert tone={shown.ok ? "ok" : "bad"} icon={shown.ok ? "check" : "alert"} role="status">
          {testText(shown)} {t("settings.test_took", { time: spanText(shown.tookMs) })}
        </Alert>
      )}
      <Button busy={action.busy.value} reason={permissionHint(models, "owner")} onClick={run}>
        {t("settings.test_run")}
      </Button>
    </Panel>
  );
}

/** The server's English message has details. Other languages have a message for each code. */
function testText({ code, message, detail }: SettingTest): string {
  if (language.value === "en") return message;
  return detail === "" ? t(`settings.trial_${code}`) : `${t(`settings.trial_${code}`)} (${detail})`;
}
