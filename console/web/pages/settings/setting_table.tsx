// Settings of the settings file as a table: key, value, default and meaning.

import type { SettingsAnswer, SettingView } from "../../../api/settings/setting_routes.ts";
import type { PageProps } from "../../app/app_context.ts";
import { Alert, EmptyState } from "../../components/alert.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { SearchBox } from "../../components/list_filters.tsx";
import { findMessage, t } from "../../i18n/translate.ts";

interface SettingTableProps extends SettingsPart {
  readonly label: string;
  /** Prefixes of the keys, such as `console.` */
  readonly tables: readonly string[];
}

export function SettingTable({ models, answer, label, tables }: SettingTableProps) {
  const text = models.router.param("q");
  const mine = answer.settings.filter(({ key }) => tables.some((table) => key.startsWith(table)));
  const rows = mine.filter((row) => isAbout(row, text.toLowerCase()));
  return (
    <section class="panel people-panel" aria-label={label}>
      <h2>{label}</h2>
      <Alert tone="idle">
        {answer.file === null ? t("settings.no_file") : t("settings.in_file", { file: answer.file })}
      </Alert>
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

function isAbout(row: SettingView, text: string): boolean {
  return [row.key, row.value, meaningOf(row) ?? row.doc].some((one) => one.toLowerCase().includes(text));
}

function columns(): TableColumn<SettingView>[] {
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

/** The meaning in the language of the page; `null` if only the English text exists. */
function meaningOf({ key }: SettingView): string | null {
  return findMessage(`meanings.${key}`);
}

function Meaning({ row }: { row: SettingView }) {
  const meaning = meaningOf(row);
  return meaning === null
    ? <span class="quiet wrap" lang="en">{row.doc}</span>
    : <span class="quiet wrap">{meaning}</span>;
}

function Value({ row: { isSecret, isSet, value } }: { row: SettingView }) {
  if (isSecret) return <span>{t(isSet ? "settings.secret_set" : "settings.secret_unset")}</span>;
  return <TomlText text={value} />;
}

function TomlText({ text }: { text: string }) {
  return text === '""'
    ? <span class="quiet">{t("settings.empty")}</span>
    : <bdi class="mono wrap">{text}</bdi>;
}

/** The properties of each tab of the page. */
export interface SettingsPart extends Pick<PageProps, "models"> {
  readonly answer: SettingsAnswer;
}
