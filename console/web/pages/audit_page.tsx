// The audit: who did what to whom, before and after, from where. Filters live in the address; nothing can be changed here.

import type { AuditPage as Answer } from "../../api/govern/audit_reader.ts";
import { take } from "../api_client.ts";
import { type Filter, type Query, useFiltered } from "../models/filters.ts";
import { auditColumns, deedText } from "../parts/audit/audit_columns.tsx";
import { ExportButton } from "../parts/export_button.tsx";
import { ListPage } from "../parts/list_page.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../words/translate.ts";

const SAYS = {
  filters: "govern.deeds",
  failed: "govern.failed",
  none: ["govern.none", "govern.none_next"],
  unmatched: ["govern.none_match", "govern.none_match_next"],
} as const;
const FRAMES = { rows: "audit-list", none: "panel" } as const;

export default function AuditPage({ models }: PageProps) {
  const filters = filterRows();
  const fetch = (query: Query) => take<Answer>(models.api.audit.$get({ query }));
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
          query={query}
          file={`audit.${format}`}
          says={{ label: `govern.export_${format}`, failed: "govern.export_failed" }}
        />
      ))}
      frames={FRAMES}
      label={t("govern.deeds")}
      rows={(_last, pages) => pages.flatMap(({ items }) => items)}
      columns={auditColumns(models)}
      keyOf={({ id }) => id}
      older={{
        read: (before) => fetch({ ...query, before }),
        label: () => t("govern.more"),
      }}
    />
  );
}

function filterRows(): Filter[] {
  return [
    { name: "actor", label: t("govern.filter_actor"), chip: t("govern.who"), by: "search" },
    { name: "object", label: t("govern.filter_object"), chip: t("govern.object"), by: "search" },
    { name: "action", label: t("govern.filter_deed"), text: deedText },
    { name: "source", label: t("govern.filter_source") },
    { name: "from", label: t("govern.since"), by: "moment" },
    { name: "to", label: t("govern.until"), by: "moment" },
  ];
}
