// The audit: who did what to whom, before and after, from where. Filters live in the address; nothing can be changed here.

import type { AuditPage as Answer } from "../../api/audit/audit_reader.ts";
import { AUDIT_ACTIONS } from "../../../platform/audit_actions.ts";
import { take } from "../api_client.ts";
import { fullTimeText } from "../format.ts";
import { type Filter, type Query, useFiltered } from "../models/filters.ts";
import { auditColumns } from "../parts/audit/audit_columns.tsx";
import { deedText } from "../parts/audit/event_label.ts";
import { ExportButton } from "../parts/export_button.tsx";
import { ListPage } from "../parts/list_page.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../i18n/translate.ts";

const SAYS = {
  filters: "govern.deeds",
  failed: "govern.failed",
  none: ["govern.none", "govern.none_next"],
  unmatched: ["govern.none_match", "govern.none_match_next"],
} as const;
const FRAMES = { rows: "audit-list", none: "panel" } as const;

export default function AuditPage({ models }: PageProps) {
  const filters = filterRows();
  const fetch = (query: Query) => take<Answer>(models.api.audit.$get({ query: withLabels(query) }));
  const { query, list } = useFiltered(models, { filters, fetch });
  return (
    <ListPage
      models={models}
      title={t("govern.audit")}
      says={SAYS}
      filters={filters}
      bar="filters"
      resource={list}
      actions={(["csv", "json"] as const).map((format) => (
        <ExportButton
          key={format}
          models={models}
          from="audit/export"
          query={withLabels(query)}
          file={`audit.${format}`}
          says={{ label: `govern.export_${format}`, failed: "govern.export_failed" }}
        />
      ))}
      frames={FRAMES}
      label={t("govern.deeds")}
      blocks
      rows={(_last, pages) => pages.flatMap(({ items }) => items)}
      columns={auditColumns(models)}
      keyOf={({ id }) => id}
      older={{
        read: (before) => fetch({ ...query, before }),
        label: ({ searchedToMs }) =>
          t(searchedToMs === null || searchedToMs === undefined ? "govern.more" : "govern.search_further"),
        said: ({ searchedToMs }) =>
          searchedToMs === null || searchedToMs === undefined
            ? null
            : t("govern.searched_to", { time: fullTimeText(searchedToMs) }),
      }}
    />
  );
}

const ACTIONS = Object.keys(AUDIT_ACTIONS);

/** The server compares texts; the labels of events are known here, in the reader's language. */
function withLabels(query: Query): Query {
  const part = (query.q ?? "").toLowerCase();
  const labelled = part === "" ? [] : ACTIONS.filter((one) => deedText(one).toLowerCase().includes(part));
  return labelled.length === 0 ? query : { ...query, labelled: labelled.join(",") };
}

function filterRows(): Filter[] {
  return [
    { name: "q", label: t("govern.filter_text"), by: "search" },
    { name: "actor", label: t("govern.filter_actor"), chip: t("govern.who"), by: "search" },
    { name: "object", label: t("govern.filter_object"), chip: t("govern.object"), by: "search" },
    {
      name: "action",
      label: t("govern.filter_deed"),
      by: "choice",
      options: ACTIONS.toSorted((a, b) => deedText(a).localeCompare(deedText(b))),
      every: t("govern.every_event"),
      text: deedText,
    },
    { name: "source", label: t("govern.filter_source") },
    { name: "from", label: t("govern.since"), by: "moment" },
    { name: "to", label: t("govern.until"), by: "moment" },
  ];
}
