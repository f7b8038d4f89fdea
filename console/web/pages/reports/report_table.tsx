// A short table of a report: names with counts, and a bar for the share. Names wrap, so that none is cut.

import type { ComponentChildren } from "preact";
import { countText } from "../../app/format.ts";
import { Icon } from "../../components/icons.tsx";
import { ShareBar } from "../../components/time.tsx";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";

export interface ReportColumn<T> {
  readonly label: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Hidden below 560 px. */
  readonly wideOnly?: boolean;
}

interface ReportTableProps<T> {
  readonly title: string;
  /** The heading of the names. */
  readonly names: string;
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly name: (row: T) => ComponentChildren;
  /** The length of the bar. */
  readonly amount?: (row: T) => number;
  readonly columns: readonly ReportColumn<T>[];
  /** The addresses of the exports. */
  readonly files?: ComponentChildren;
  /** Beside the title. */
  readonly note?: ComponentChildren;
  readonly empty: MessageKey;
}

/** Further rows are in the export. */
const MAX_SHOWN = 10;
const MAX_LINE = 12;

export function ReportTable<T>(props: ReportTableProps<T>) {
  const { title, names, rows, keyOf, name, amount, columns, files, note, empty } = props;
  const shown = rows.slice(0, MAX_SHOWN);
  const largest = amount === undefined ? 0 : Math.max(1, ...shown.map(amount));
  return (
    <section class="panel report-panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        {note}
        {files !== undefined && <div class="end">{files}</div>}
      </div>
      {rows.length === 0
        ? <p class="report-empty quiet">{t(empty)}</p>
        : (
          <table class="report-table" aria-label={title}>
            <thead>
              <tr>
                <th scope="col">{names}</th>
                {columns.map(({ label, wideOnly }) => (
                  <th key={label} scope="col" class={`${columnClass(wideOnly)} ${wrapClass(label)}`}>
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={keyOf(row)}>
                  <th scope="row">
                    {name(row)}
                    {amount !== undefined && <ShareBar share={amount(row) / largest} />}
                  </th>
                  {columns.map(({ label, wideOnly, cell }) => (
                    <td key={label} class={columnClass(wideOnly)}>{cell(row)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      {rows.length > MAX_SHOWN && (
        <p class="report-empty quiet small">
          {t("reports.more_rows", { shown: MAX_SHOWN, count: countText(rows.length) })}
        </p>
      )}
    </section>
  );
}

/** A short heading such as "Sign-ins" stays on one line. */
function wrapClass(label: string): string {
  return label.length <= MAX_LINE ? "nowrap" : "";
}

function columnClass(wideOnly = false): string {
  return wideOnly ? "number wide-only" : "number";
}

/** The links to a report as CSV and JSON. */
export function ExportLinks(
  { report, of, query }: { report: string; of: string; query: Readonly<Record<string, string>> },
) {
  return (
    <>
      {(["csv", "json"] as const).map((format) => (
        <a
          key={format}
          class="button button-small"
          href={`/console/api/reports/export?${new URLSearchParams({ ...query, report, format })}`}
          download=""
          aria-label={t("reports.export_as", { of, format: format.toUpperCase() })}
        >
          <Icon name="download" size={14} />
          {format.toUpperCase()}
        </a>
      ))}
    </>
  );
}
