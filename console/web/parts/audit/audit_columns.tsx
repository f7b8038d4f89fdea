// The columns of the audit: a click on a cell narrows the list to it, a sign beside it opens what it is about.

import type { AuditItem } from "../../../api/govern/audit_reader.ts";
import type { Models } from "../../models/models.ts";
import { objectHref } from "../../object_links.ts";
import { readable } from "../../words.ts";
import { knownWord, t } from "../../words/translate.ts";
import type { Column } from "../data_table.tsx";
import { Symbol } from "../symbol.tsx";
import { Time } from "../time.tsx";
import { ChangeText } from "./change_text.tsx";

/** What a deed is called; one that the words do not know is called as the record has it. */
export function deedText(action: string): string {
  const name = action.replaceAll(".", "_");
  return knownWord("govern", `deed_${name}`) ?? readable(name);
}

export function auditColumns(models: Models): Column<AuditItem>[] {
  const narrow = (changes: Readonly<Record<string, string>>) => models.router.setParams(changes);
  return [
    {
      name: "at",
      label: t("govern.at"),
      width: "130px",
      cell: ({ atMs }) => (
        <button
          type="button"
          class="cell-filter"
          title={t("govern.this_day")}
          onClick={() => narrow(dayOf(atMs))}
        >
          <Time models={models} atMs={atMs} />
        </button>
      ),
    },
    {
      name: "who",
      label: t("govern.who"),
      cell: ({ actor }) => <Named value={actor} onNarrow={() => narrow({ actor })} />,
    },
    {
      name: "deed",
      label: t("govern.deed"),
      width: "17%",
      cell: ({ action }) => <Narrowing value={deedText(action)} onNarrow={() => narrow({ action })} />,
    },
    {
      name: "object",
      label: t("govern.object"),
      width: "20%",
      cell: ({ objects }) =>
        objects.map((object) => <Named key={object} value={object} onNarrow={() => narrow({ object })} />),
    },
    {
      name: "change",
      label: t("govern.change"),
      wideOnly: true,
      width: "26%",
      cell: (item) => <ChangeText item={item} />,
    },
    {
      name: "from",
      label: t("govern.from_place"),
      wideOnly: true,
      cell: ({ source }) =>
        source !== "" && <Narrowing value={source} isMono onNarrow={() => narrow({ source })} />,
    },
  ];
}

interface NarrowingProps {
  readonly value: string;
  readonly onNarrow: () => void;
  readonly isMono?: boolean;
}

function Narrowing({ value, onNarrow, isMono = false }: NarrowingProps) {
  return (
    <button
      type="button"
      class={`cell-filter cut ${isMono ? "mono" : ""}`}
      title={t("govern.filter_by", { value })}
      onClick={onNarrow}
    >
      {value}
    </button>
  );
}

/** What has a page of its own gets the way there. */
function Named({ value, onNarrow }: NarrowingProps) {
  const href = objectHref(value);
  const label = t("govern.open", { object: value });
  return (
    <span class="cell-named">
      <Narrowing value={value} onNarrow={onNarrow} />
      {href !== null && (
        <a class="cell-link" href={href} title={label}>
          <Symbol name="chevron-right" size={14} />
          <span class="unseen">{label}</span>
        </a>
      )}
    </span>
  );
}

/** The day of here that a moment is in. */
function dayOf(atMs: number): { from: string; to: string } {
  const day = new Date(atMs);
  day.setHours(0, 0, 0, 0);
  const next = new Date(day);
  next.setDate(next.getDate() + 1);
  return { from: day.toISOString(), to: new Date(next.getTime() - 1).toISOString() };
}
