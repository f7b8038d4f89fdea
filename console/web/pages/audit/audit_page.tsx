// The Audit page, read only: actors, events, objects and changes. Its filters are stored in the address.

import type { ComponentChildren } from "preact";
import { AUDIT_ACTIONS } from "../../../../platform/audit_actions.ts";
import type { AuditItem, AuditPage as Answer } from "../../../api/audit/audit_log.ts";
import { take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type FilterQuery, type ListFilter, useFilteredList } from "../../app/filters.ts";
import { fullTimeText } from "../../app/format.ts";
import { auditObjectHref } from "../../app/audit_links.ts";
import { ExportButton } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { Icon } from "../../components/icons.tsx";
import { CellFilter } from "../../components/list_filters.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { auditActionLabel, ChangeText } from "./change_text.tsx";
import { SETTING_CHANGES } from "./setting_changes.ts";
import { UndoChange } from "./undo_change.tsx";

const TEXTS = {
  filters: "audit.events",
  failed: "audit.failed",
  empty: ["audit.none", "audit.none_next"],
  noMatch: ["audit.none_match", "audit.none_match_next"],
} as const;

export default function AuditPage({ models }: PageProps) {
  const filters = filterRows();
  const fetch = (query: FilterQuery) => take<Answer>(models.api.audit.$get({ query: withLabels(query) }));
  const { query, list } = useFilteredList(models, { filters, fetch, isSorted: true });
  const isOldestFirst = models.router.param("sort") === "at";
  return (
    <ListPage
      models={models}
      name="audit"
      savedAs="audit"
      title={t("audit.audit")}
      texts={TEXTS}
      filters={filters}
      resource={list}
      actions={
        <>
          {(["csv", "json"] as const).map((format) => (
            <ExportButton
              key={format}
              models={models}
              from="audit/export"
              query={withLabels(query)}
              file={"audit." + format}
              texts={{ label: `audit.export_${format}`, failed: "audit.export_failed" }}
            />
          ))}
        </>
      }
      label={t("audit.events")}
      rows={(_last, pages) => pages.flatMap(({ items }) => items)}
      columns={auditColumns(models)}
      keyOf={({ id }) => id}
      initialSort="-at"
      older={{
        read: (before) => fetch({ ...query, ...isOldestFirst ? { sort: "at" } : {}, before }),
        label: ({ searchedToMs }) =>
          searchedToMs === null || searchedToMs === undefined
            ? t(isOldestFirst ? "common.show_newer" : "audit.more")
            : t(isOldestFirst ? "common.search_newer" : "audit.search_further"),
        note: ({ searchedToMs }) =>
          searchedToMs === null || searchedToMs === undefined
            ? null
            : t("audit.searched_to", { time: fullTimeText(searchedToMs) }),
      }}
    />
  );
}

const ACTIONS = Object.keys(AUDIT_ACTIONS);

/** Adds the events whose label contains the search text. The server does not know the labels. */
function withLabels(query: FilterQuery): FilterQuery {
  const part = (query.q ?? "").toLowerCase();
  const labelled = part === ""
    ? []
    : ACTIONS.filter((one) => auditActionLabel(one).toLowerCase().includes(part));
  return labelled.length === 0 ? query : { ...query, labelled: labelled.join(",") };
}

function filterRows(): ListFilter[] {
  return [
    { name: "q", label: t("audit.filter_text"), control: "search" },
    { name: "actor", label: t("audit.filter_actor"), chip: t("audit.who"), control: "search" },
    { name: "object", label: t("audit.filter_object"), chip: t("audit.object"), control: "search" },
    {
      name: "action",
      label: t("audit.filter_event"),
      control: "choice",
      options: ACTIONS.toSorted((a, b) => auditActionLabel(a).localeCompare(auditActionLabel(b))),
      allLabel: t("audit.every_event"),
      text: auditActionLabel,
    },
    { name: "source", label: t("audit.filter_source") },
    { name: "from", label: t("audit.since"), control: "moment", isExtra: true },
    { name: "to", label: t("audit.until"), control: "moment", isExtra: true },
  ];
}

export function auditColumns(models: Models): TableColumn<AuditItem>[] {
  const filterCell = (to: Readonly<Record<string, string>>, value: string, look?: string) => (
    <CellFilter models={models} to={to} title="common.only" value={value} classes={look} />
  );
  return [
    {
      id: "at",
      label: t("audit.at"),
      width: "124px",
      sort: "server",
      isLargestFirst: true,
      cell: ({ atMs }) => (
        <CellFilter models={models} to={dayOf(atMs)} title="audit.this_day" value="" classes="">
          <Time models={models} atMs={atMs} />
        </CellFilter>
      ),
    },
    {
      id: "actor",
      label: t("audit.who"),
      width: "10%",
      cell: ({ actor }) => <ObjectCell value={actor}>{filterCell({ actor }, actor)}</ObjectCell>,
    },
    {
      id: "event",
      label: t("audit.event"),
      min: 140,
      width: "10%",
      cell: ({ action }) => filterCell({ action }, auditActionLabel(action), "wrap"),
    },
    {
      id: "object",
      label: t("audit.object"),
      min: 140,
      cell: ({ objects }) =>
        objects.map((object) => (
          <ObjectCell key={object} value={object}>{filterCell({ object }, object)}</ObjectCell>
        )),
    },
    {
      id: "change",
      label: t("audit.change"),
      priority: 2,
      min: 260,
      width: "50%",
      cell: (item) => {
        const { before, after, details: { caller: _, ...details } } = item;
        return (
          <>
            <ChangeText item={{ before, after, details }} labels={SETTING_CHANGES} />
            <UndoChange models={models} item={item} />
          </>
        );
      },
    },
    {
      id: "source",
      label: t("audit.from_place"),
      priority: 2,
      min: 130,
      width: "10%",
      cell: ({ actor, source, details: { caller } }) => {
        if (source === "") return false;
        const address = filterCell({ source }, source, "cut mono");
        return actor === "radius" ? <LoginAddresses client={address} caller={caller} /> : address;
      },
    },
  ];
}

/** A login has two addresses: the RADIUS client, and the caller (Calling-Station-Id). */
function LoginAddresses({ client, caller }: { client: ComponentChildren; caller: string | undefined }) {
  return (
    <dl class="addresses">
      <dt>{t("audit.client")}</dt>
      <dd>{client}</dd>
      {caller !== undefined && <dt>{t("audit.detail_caller")}</dt>}
      {caller !== undefined && <dd class="mono cut" title={caller}>{caller}</dd>}
    </dl>
  );
}

/** An object, with a link if it has its own page. */
function ObjectCell({ value, children }: { value: string; children: ComponentChildren }) {
  const href = auditObjectHref(value);
  const label = t("audit.open", { object: value });
  return (
    <span class="cell-named">
      {children}
      {href !== null && (
        <a class="cell-link" href={href} title={label}>
          <Icon name="chevron-right" size={14} />
          <span class="unseen">{label}</span>
        </a>
      )}
    </span>
  );
}

/** The local day of a time. */
function dayOf(atMs: number): { from: string; to: string } {
  const day = new Date(atMs);
  day.setHours(0, 0, 0, 0);
  const next = new Date(day);
  next.setDate(next.getDate() + 1);
  return { from: day.toISOString(), to: new Date(next.getTime() - 1).toISOString() };
}
