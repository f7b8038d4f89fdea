// Settings: what holds here and where it is changed. What the file says is text; how this browser looks can be set.

import type { SettingsAnswer } from "../../api/settings/setting_types.ts";
import { take } from "../api_client.ts";
import { useResource } from "../models/resource.ts";
import { Fetched } from "../parts/fetched.tsx";
import { late } from "../parts/late.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { currentTab, type Tab, Tabs } from "../parts/tabs.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../i18n/translate.ts";

/** What each part of the page is given. */
export interface SettingsPart extends Pick<PageProps, "models"> {
  readonly answer: SettingsAnswer;
}

const PARTS = {
  "": late(async () => (await import("../parts/settings/sign_in_rules.tsx")).SignInRules),
  retention: late(async () => (await import("../parts/settings/retention.tsx")).Retention),
  radius: late(async () => (await import("../parts/settings/radius_policy.tsx")).RadiusPolicy),
  look: late(async () => (await import("../parts/settings/look.tsx")).Look),
  about: late(async () => (await import("../parts/settings/about.tsx")).About),
} as const;

export default function SettingsPage({ models }: PageProps) {
  const page = useResource(models, { fetch: () => take(models.api.settings.$get()), inputs: [] });
  const tabs: readonly Tab[] = [
    { hash: "", label: t("settings.sign_in") },
    { hash: "retention", label: t("settings.retention") },
    { hash: "radius", label: t("settings.radius") },
    { hash: "look", label: t("settings.look") },
    { hash: "about", label: t("settings.about") },
  ];
  const current = currentTab(models, tabs) as keyof typeof PARTS;
  const Part = PARTS[current];
  return (
    <main class="page" id="page">
      <PageBar title={t("frame.settings")} />
      <Tabs models={models} tabs={tabs} label={t("settings.parts")} />
      <Fetched resource={page} failed="settings.failed" old="settings.old" rows={5}>
        {(answer) => <Part key={current} models={models} answer={answer} />}
      </Fetched>
    </main>
  );
}
