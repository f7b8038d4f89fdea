// What is kept, where, and how long or how much of it.

import type { KeptRow } from "../../../api/settings/setting_types.ts";
import type { SettingsPart } from "../../pages/settings_page.tsx";
import { t } from "../../i18n/translate.ts";
import { type Column, DataTable } from "../data_table.tsx";

const MIB = 1024 * 1024;

export function Retention({ answer: { kept } }: SettingsPart) {
  return (
    <section class="panel people-panel" aria-label={t("settings.kept")}>
      <h2>{t("settings.kept")}</h2>
      <p class="quiet">{t("settings.kept_why")}</p>
      <DataTable
        label={t("settings.kept")}
        columns={columns()}
        rows={kept}
        keyOf={({ name }) => name}
      />
    </section>
  );
}

function columns(): Column<KeptRow>[] {
  return [
    {
      label: t("settings.kept_what"),
      width: "50%",
      cell: ({ name }) => <span class="wrap">{t(`settings.kept_${name}`)}</span>,
    },
    { label: t("settings.kept_most"), cell: amountText },
    {
      label: t("settings.kept_where"),
      wideOnly: true,
      cell: ({ where }) => t(`settings.in_${where}`),
    },
  ];
}

function amountText({ amount, unit }: KeptRow): string {
  if (unit === "count") return t("settings.most", { count: amount });
  return t(`settings.${unit}`, { count: unit === "octets" ? amount / MIB : amount });
}
