// The Audit page, read only: actors, events, objects and changes. Its filters are stored in the address.

import type { ComponentChildren } from "preact";
import { AUDIT_ACTIONS, AUDIT_GROUP_NAMES, auditGroupOf } from "../../../../platform/audit_actions.ts";
import { findAuditedSetting } from "../../../../platform/client_settings.ts";
import type { AuditItem, AuditPage as Answer } from "../../../api/audit/audit_log.ts";
import { take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type FilterQuery, type ListFilter, useFilteredList } from "../../app/filters.ts";
import { fullTimeText } from "../../app/format.ts";
import { localMidnight } from "../../app/time_range.ts";
import { auditObjectHref } from "../../app/audit_links.ts";
import { Button, ExportButton } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { Icon } from "../../components/icons.tsx";
import { CellFilter } from "../../components/filter_chips.tsx";
import { rangeFilters } from "../../components/list_filters.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { ClockTime } from "../../components/time.tsx";
import { findMessage, t } from "../../i18n/translate.ts";
import { useAction } from "../../app/action.ts";
import { permissionHint } from "../../app/session_model.ts";
import { ErrorAlert } from "../../components/alert.tsx";
import { settingLabel } from "../clients/client_form.ts";
import { optionLabel, settingName } from "../settings/setting_problems.ts";
import { auditActionLabel, type ChangeLabels, ChangeText } from "./change_text.tsx";

const TEXTS = {
  filters: "audit.events",
  failed: "audit.failed",
  empty: ["audit.none", "audit.none_next"],
  noMatch: ["audit.none_match", "audit.none_match_next"],
} as const;

export default function AuditPage({ models }: PageProps) {
  const filters = filterRows();
  const toQuery = (query: FilterQuery) => withEvents(withLabels(query));
  const fetch = (query: FilterQuery) => take<Answer>(models.api.audit.$get({ query: toQuery(query) }));
  const { query, list } = useFilteredList(models, { filters, fetch, isSorted: true });
  const isOldestFirst = models.router.param("sort") === "at";
  return (
    <ListPage
      models={models}
      name="audit"
      savedAs="audit"
      title={t("shell.audit")}
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
              query={toQuery(query)}
              file={"audit." + format}
              texts={{ label: `audit.export_${format}`, failed: "audit.export_failed" }}
            />
          ))}
        </>
      }
      label={t("audit.events")}
      rows={(_last, pages) => pages.flatMap(({ items }) => items)}
      columns={auditColumns(models)}
      days={{ timeOf: ({ atMs }) => atMs, nowMs: models.clock.nowMs.peek() }}
      keyOf={({ id }) => id}
      initialSort="-at"
      older={{
        read: (before) => fetch({ ...query, ...isOldestFirst ? { sort: "at" } : {}, before }),
        label: ({ searchedToMs }) =>
          searchedToMs === null || searchedToMs === undefined
            ? t(isOldestFirst ? "common.show_newer" : "common.show_older")
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
/** The choices of events. Without one, sign-ins and provisioning are left out, unless another filter asks for records. */
const EVENTS = ["administrator_changes", "all", ...AUDIT_GROUP_NAMES] as const;
const ASKING = ["q", "actor", "object", "action", "source"];

/** The choice of events for the server. */
function withEvents({ events, ...query }: FilterQuery): FilterQuery {
  if (events === undefined) {
    return ASKING.some((name) => name in query) ? query : { ...query, events: "changes" };
  }
  return events === "all" ? query : { ...query, events };
}

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
    ...rangeFilters(),
    {
      name: "events",
      label: t("audit.events_label"),
      control: "choice",
      options: EVENTS,
      allLabel: t("audit.events_changes"),
      text: (name) => findMessage(`audit.events_${name}`) ?? name,
    },
    { name: "actor", label: t("audit.actor"), chip: t("audit.actor"), control: "search" },
    { name: "object", label: t("audit.object"), chip: t("audit.object"), control: "search" },
    {
      name: "action",
      label: t("audit.event"),
      control: "choice",
      options: ACTIONS.toSorted((a, b) =>
        AUDIT_GROUP_NAMES.indexOf(auditGroupOf(a)) - AUDIT_GROUP_NAMES.indexOf(auditGroupOf(b)) ||
        auditActionLabel(a).localeCompare(auditActionLabel(b))
      ),
      allLabel: t("audit.every_event"),
      text: auditActionLabel,
      groupOf: (action) => t(`audit.events_${auditGroupOf(action)}`),
    },
    { name: "source", label: t("common.ip_address"), control: "name", isExtra: true },
  ];
}

function auditColumns(models: Models): TableColumn<AuditItem>[] {
  const filterCell = (to: Readonly<Record<string, string>>, value: string, look?: string) => (
    <CellFilter models={models} to={to} title="common.only" value={value} classes={look} />
  );
  return [
    {
      id: "at",
      label: t("common.at"),
      width: "92px",
      sort: "server",
      isLargestFirst: true,
      cell: ({ atMs }) => (
        <CellFilter models={models} to={dayOf(atMs)} title="audit.this_day" value="" classes="">
          <ClockTime atMs={atMs} />
        </CellFilter>
      ),
    },
    {
      id: "actor",
      label: t("audit.actor"),
      min: 80,
      width: "5%",
      cell: ({ actor }) => <ObjectCell value={actor}>{filterCell({ actor }, actor)}</ObjectCell>,
    },
    {
      id: "event",
      label: t("audit.event"),
      min: 168,
      width: "5%",
      cell: ({ action }) => filterCell({ action }, auditActionLabel(action), "wrap"),
    },
    {
      id: "object",
      label: t("audit.object"),
      min: 110,
      width: "5%",
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
      width: "80%",
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
      label: t("common.ip_address"),
      priority: 2,
      min: 110,
      width: "5%",
      isWhole: true,
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
      <dt>{t("common.client")}</dt>
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
function dayOf(atMs: number): { range: string; from: string; to: string } {
  const [from, to] = [localMidnight(atMs), localMidnight(atMs, 1) - 1];
  return { range: "", from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

// Labels of changed settings, for the audit log. The history of a user needs none.

/** Settings of clients and of the server. */
const SETTING_CHANGES: ChangeLabels = {
  part(name) {
    const setting = findAuditedSetting(name);
    if (setting !== null) return settingLabel(setting);
    const label = settingName({ key: name });
    return label === name ? null : label;
  },
  value(name, value) {
    const label = optionLabel({ key: name }, value);
    return label === value ? null : label;
  },
};

// The button that undoes a change of settings from its audit record.

/** @param props.item a record of any action; others than a change of settings have no button. */
function UndoChange({ models, item: { id, action, atMs } }: { models: Models; item: AuditItem }) {
  const { busy, fault, run } = useAction();
  if (action !== "settings.change") return null;
  const undo = () =>
    run(async () => {
      await models.session.whileSignedIn(() =>
        take(models.api.settings.undo.$post({ json: { auditId: id } }))
      );
      models.toasts.show(t("audit.undone"), { tone: "ok" });
    });
  return (
    <>
      <Button
        small
        busy={busy.value}
        reason={permissionHint(models, "owner")}
        of={fullTimeText(atMs)}
        onClick={undo}
      >
        {t("common.undo")}
      </Button>
      <ErrorAlert of={fault} />
    </>
  );
}
