// How people sign in to this console: what holds for everybody, whether passkeys can be used, the provider, and the file's own rules.

import type { ProviderStanding } from "../../../api/settings/setting_types.ts";
import { durationText } from "../../format.ts";
import type { SettingsPart } from "../../pages/settings_page.tsx";
import { t } from "../../i18n/translate.ts";
import { FixedField } from "../inputs.tsx";
import { Note } from "../note.tsx";
import { Status } from "../status.tsx";
import { Time } from "../time.tsx";
import { SettingTable } from "./setting_table.tsx";

export function SignInRules({ models, answer }: SettingsPart) {
  const { signIn } = answer;
  const isPossible = signIn.passkeys === "possible";
  return (
    <>
      <section class="panel people-panel" aria-label={t("settings.rules")}>
        <h2>{t("settings.rules")}</h2>
        <p class="quiet">{t("settings.rules_fixed")}</p>
        <div class="people-fields">
          <FixedField label={t("settings.password")}>
            {t("settings.password_rule", { count: signIn.minPasswordCharacters })}
          </FixedField>
          <FixedField label={t("settings.failures")}>
            {t("settings.failures_rule", { count: signIn.failuresPerMinute })}
          </FixedField>
          <FixedField label={t("settings.wrong_codes")}>
            {t("settings.wrong_codes_rule", {
              count: signIn.wrongCodes,
              time: durationText(signIn.codeLockMs),
            })}
          </FixedField>
          <FixedField label={t("settings.step_up")}>
            {t("settings.step_up_rule", { time: durationText(signIn.stepUpMs) })}
          </FixedField>
        </div>
      </section>
      <section class="panel people-panel" aria-label={t("settings.passkeys")}>
        <h2>{t("settings.passkeys")}</h2>
        <Note tone={isPossible ? "ok" : "idle"} icon={isPossible ? "check" : "alert"}>
          {t(`settings.passkeys_${signIn.passkeys}`, { url: signIn.publicUrl })}
          {!isPossible && ` ${t("settings.passkeys_next")}`}
        </Note>
      </section>
      <section class="panel people-panel" aria-label={t("settings.provider")}>
        <h2>{t("settings.provider")}</h2>
        {signIn.provider === null
          ? <p class="quiet">{t("settings.provider_none")}</p>
          : <Provider models={models} provider={signIn.provider} />}
      </section>
      <SettingTable
        models={models}
        answer={answer}
        label={t("settings.sign_in")}
        tables={["console.", "http."]}
      />
    </>
  );
}

const OK = { tone: "ok", shape: "check" } as const;
const OFF = { tone: "idle", shape: "ring" } as const;
const BAD = { tone: "bad", shape: "cross" } as const;

interface ProviderProps extends Pick<SettingsPart, "models"> {
  readonly provider: ProviderStanding;
}

function Provider({ models, provider: { name, issuer, asked } }: ProviderProps) {
  const words = asked === null
    ? { label: t("settings.provider_unasked"), ...OFF }
    : asked.ok
    ? { label: t("settings.provider_ok"), ...OK }
    : { label: t("settings.provider_bad"), ...BAD };
  return (
    <div class="people-head">
      <strong>{name}</strong>
      <bdi class="mono wrap">{issuer}</bdi>
      <Status words={words} />
      {asked !== null && <Time models={models} atMs={asked.atMs} />}
    </div>
  );
}
