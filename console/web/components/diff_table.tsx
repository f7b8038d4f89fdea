// A table of unsaved changes: attribute, current value, new value.

import { t } from "../i18n/translate.ts";

export interface DiffRow {
  readonly name: string;
  /** `null`: no value. */
  readonly now: string | null;
  readonly after: string | null;
  /** Why the value stays as it is, such as a read-only backend. */
  readonly readOnlyReason?: string;
  /** A remark, such as backends with another value. */
  readonly note?: string;
}

interface DiffProps {
  /** For screen readers: "Changes of ada". */
  readonly label: string;
  readonly rows: readonly DiffRow[];
  /** The headings of the values. */
  readonly heads?: readonly [now: string, after: string];
}

export function DiffTable(
  { label, rows, heads: [now, after] = [t("common.now"), t("common.after")] }: DiffProps,
) {
  return (
    <div class="table-frame" role="region" aria-label={label} tabIndex={0}>
      <table class="table diff">
        <thead>
          <tr>
            <th scope="col">{t("common.attribute")}</th>
            <th scope="col">{now}</th>
            <th scope="col">{after}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row" class="mono">{row.name}</th>
              <td class="mono">
                {row.now === null ? <span class="quiet">{t("common.none")}</span> : <del>{row.now}</del>}
              </td>
              <td class="mono">
                {row.readOnlyReason !== undefined
                  ? <span class="quiet">{row.readOnlyReason}</span>
                  : row.after === null
                  ? <span class="quiet">{t("common.none")}</span>
                  : <ins>{row.after}</ins>}
                {row.note !== undefined && <span class="quiet small">{` ${row.note}`}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
