// Settings of the file as text: the key to look for there, what it is now, what it would be otherwise.

import type { ShownSetting } from "../../../api/settings/setting_types.ts";
import type { SettingsPart } from "../../pages/settings_page.tsx";
import { findMessage, t } from "../../i18n/translate.ts";
import { type Column, DataTable } from "../data_table.tsx";
import { Note } from "../note.tsx";
import { SearchBox } from "../search_box.tsx";
import { EmptyState } from "../states.tsx";

interface SettingTableProps extends SettingsPart {
  readonly label: string;
  /** Tables of the file: `console.` */
  readonly tables: readonly string[];
}

export function SettingTable({ models, answer, label, tables }: SettingTableProps) {
  const text = models.router.param("q");
  const mine = answer.settings.filter(({ key }) => tables.some((table) => key.startsWith(table)));
  const rows = mine.filter((row) => isAbout(row, text.toLowerCase()));
  return (
    <section class="panel people-panel" aria-label={label}>
      <h2>{label}</h2>
      <Note tone="idle">
        {answer.file === null ? t("settings.no_file") : t("settings.in_file", { file: answer.file })}
      </Note>
      <div class="filters" role="search" aria-label={label}>
        <SearchBox models={models} label={t("settings.search")} />
      </div>
      {rows.length === 0
        ? (
          <EmptyState
            title={t("settings.none_match", { text })}
            next={t("settings.none_match_next")}
            onClear={() => models.router.setParams({ q: "" })}
          />
        )
        : (
          <DataTable
            label={label}
            columns={columns()}
            rows={rows}
            keyOf={({ key }) => key}
          />
        )}
    </section>
  );
}

function isAbout(row: ShownSetting, text: string): boolean {
  return [row.key, row.value, meaningOf(row) ?? row.doc].some((one) => one.toLowerCase().includes(text));
}

function columns(): Column<ShownSetting>[] {
  return [
    {
      label: t("settings.key"),
      width: "30%",
      cell: ({ key }) => <code class="wrap">{key}</code>,
    },
    {
      label: t("settings.value"),
      width: "24%",
      cell: (row) => (
        <>
          <Value row={row} />
          {row.isGiven && " "}
          {row.isGiven && <span class="hint">{t("settings.given")}</span>}
        </>
      ),
    },
    {
      label: t("settings.preset"),
      width: "16%",
      wideOnly: true,
      cell: ({ preset, isSecret }) => !isSecret && <TomlText text={preset} />,
    },
    {
      label: t("settings.means"),
      wideOnly: true,
      cell: (row) => <Meaning row={row} />,
    },
  ];
}

/** In the language that is on; `null`: only the settings' own English is there. */
function meaningOf({ key }: ShownSetting): string | null {
  return findMessage(`meanings.${key}`);
}

function Meaning({ row }: { row: ShownSetting }) {
  const meaning = meaningOf(row);
  return meaning === null
    ? <span class="quiet wrap" lang="en">{row.doc}</span>
    : <span class="quiet wrap">{meaning}</span>;
}

function Value({ row: { isSecret, isSet, value } }: { row: ShownSetting }) {
  if (isSecret) return <span>{t(isSet ? "settings.secret_set" : "settings.secret_unset")}</span>;
  return <TomlText text={value} />;
}

function TomlText({ text }: { text: string }) {
  return text === '""'
    ? <span class="quiet">{t("settings.empty")}</span>
    : <bdi class="mono wrap">{text}</bdi>;
}
