// What a change would do, before it is done: attribute, now, after.

import { t } from "../i18n/translate.ts";

export interface DiffRow {
  readonly name: string;
  /** `null`: there is none. */
  readonly now: string | null;
  readonly after: string | null;
  /** Why this one stays as it is, such as a backend that is only read. */
  readonly fixed?: string;
  /** What is to be said of it besides, such as who keeps a value of their own. */
  readonly note?: string;
}

/** @param props.label what is compared: "Changes of ada". */
export function DiffTable({ label, rows }: { label: string; rows: readonly DiffRow[] }) {
  return (
    <div class="table-frame" role="region" aria-label={label} tabIndex={0}>
      <table class="table diff">
        <thead>
          <tr>
            <th scope="col">{t("frame.attribute")}</th>
            <th scope="col">{t("frame.now")}</th>
            <th scope="col">{t("frame.after")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row" class="mono">{row.name}</th>
              <td class="mono">
                {row.now === null ? <span class="quiet">{t("frame.none")}</span> : <del>{row.now}</del>}
              </td>
              <td class="mono">
                {row.fixed !== undefined
                  ? <span class="quiet">{row.fixed}</span>
                  : row.after === null
                  ? <span class="quiet">{t("frame.none")}</span>
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
