// The columns of the audit: a click on a cell narrows the list to it, a sign beside it opens what it is about.

import type { ComponentChildren } from "preact";
import type { AuditItem } from "../../../api/audit/audit_reader.ts";
import type { Models } from "../../models/models.ts";
import { objectHref } from "../../object_links.ts";
import { t } from "../../i18n/translate.ts";
import type { Column } from "../data_table.tsx";
import { CellFilter } from "../cell_filter.tsx";
import { Symbol } from "../symbol.tsx";
import { Time } from "../time.tsx";
import { ChangeText } from "./change_text.tsx";
import { deedText } from "./event_label.ts";

export function auditColumns(models: Models): Column<AuditItem>[] {
  const narrowing = (to: Readonly<Record<string, string>>, value: string, look?: string) => (
    <CellFilter models={models} to={to} says="govern.filter_by" value={value} look={look} />
  );
  return [
    {
      label: t("govern.at"),
      width: "130px",
      cell: ({ atMs }) => (
        <CellFilter models={models} to={dayOf(atMs)} says="govern.this_day" value="" look="">
          <Time models={models} atMs={atMs} />
        </CellFilter>
      ),
    },
    {
      label: t("govern.who"),
      cell: ({ actor }) => <Named value={actor}>{narrowing({ actor }, actor)}</Named>,
    },
    {
      label: t("govern.deed"),
      width: "17%",
      cell: ({ action }) => narrowing({ action }, deedText(action), "wrap"),
    },
    {
      label: t("govern.object"),
      width: "20%",
      cell: ({ objects }) =>
        objects.map((object) => <Named key={object} value={object}>{narrowing({ object }, object)}</Named>),
    },
    {
      label: t("govern.change"),
      wideOnly: true,
      width: "26%",
      cell: ({ before, after, details: { caller: _, ...details } }) => (
        <ChangeText item={{ before, after, details }} />
      ),
    },
    {
      label: t("govern.from_place"),
      wideOnly: true,
      cell: ({ actor, source, details: { caller } }) => {
        if (source === "") return false;
        const address = narrowing({ source }, source, "cut mono");
        return actor === "radius" ? <LoginAddresses client={address} caller={caller} /> : address;
      },
    },
  ];
}

/** At a login, two devices have an address: the RADIUS client that asks, and the caller (Calling-Station-Id). */
function LoginAddresses({ client, caller }: { client: ComponentChildren; caller: string | undefined }) {
  return (
    <dl class="addresses">
      <dt>{t("govern.client")}</dt>
      <dd>{client}</dd>
      {caller !== undefined && <dt>{t("govern.detail_caller")}</dt>}
      {caller !== undefined && <dd class="mono cut" title={caller}>{caller}</dd>}
    </dl>
  );
}

/** What has a page of its own gets the way there. */
function Named({ value, children }: { value: string; children: ComponentChildren }) {
  const href = objectHref(value);
  const label = t("govern.open", { object: value });
  return (
    <span class="cell-named">
      {children}
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
