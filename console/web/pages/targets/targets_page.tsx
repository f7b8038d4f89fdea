// The list of targets, with their numbers of objects and the states of their backends.

import type { BackendRow, TargetList, TargetRow } from "../../../api/targets/target_types.ts";
import type { PageProps } from "../../app/app_context.ts";
import { countText } from "../../app/format.ts";
import { type ListFilter, useFilteredList } from "../../app/filters.ts";
import { readyValue, type Resource } from "../../app/resource.ts";
import type { TableColumn } from "../../components/data_table.tsx";
import { ListPage } from "../../components/list_page.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { BackendChips } from "../../components/backend_results.tsx";
import { CreateDirectory } from "./directory_dialogs.tsx";
import { fetchTargets } from "./target_calls.ts";

const TEXTS = {
  failed: "common.unread",
  old: "common.old",
  empty: ["targets.none", "targets.none_next"],
  filters: "common.filters",
  noMatch: ["targets.none_match", "targets.none_match_next"],
} as const;

export default function TargetsPage({ models }: PageProps) {
  const filters = filterRows();
  const { list } = useFilteredList(models, { filters, fetch: (query) => fetchTargets(models, query) });
  return (
    <ListPage
      models={models}
      name="targets"
      initialSort="name"
      title={t("shell.targets")}
      texts={TEXTS}
      filters={filters}
      resource={list}
      rows={({ items }) => items}
      columns={columnsOf()}
      keyOf={({ name }) => name}
      actions={<CreateDirectory models={models} taken={namesOf(list)} />}
      hrefOf={({ name }) => `/targets/${encodeURIComponent(name)}`}
      actionsOf={actionsOf}
    />
  );
}

function filterRows(): ListFilter[] {
  const label = t("targets.sync");
  return [{
    name: "sync",
    label,
    control: "choice",
    options: ["problem"],
    allLabel: `${label}: ${t("common.any")}`,
    text: () => t("targets.sync_problem"),
  }];
}

function namesOf({ state }: Resource<TargetList>): readonly string[] {
  return readyValue(state.value)?.items.map(({ name }) => name) ?? [];
}

function columnsOf(): readonly TableColumn<TargetRow>[] {
  return [
    {
      id: "name",
      label: t("common.name"),
      min: 180,
      sort: ({ name }) => name,
      cell: ({ name, logsIn }) => (
        <>
          <bdi class="cut mono" title={name}>{name}</bdi>
          {logsIn && <span class="quiet target-note">{t("targets.logs_in")}</span>}
        </>
      ),
    },
    {
      id: "backends",
      label: t("common.connectors"),
      width: "45%",
      min: 200,
      cell: ({ backends }) => <BackendChips rows={backends} />,
    },
    {
      id: "users",
      label: t("shell.users"),
      width: "90px",
      number: true,
      priority: 2,
      isLargestFirst: true,
      sort: ({ users }) => users,
      cell: ({ users }) => countText(users),
    },
    {
      id: "groups",
      label: t("shell.groups"),
      width: "90px",
      number: true,
      priority: 2,
      isLargestFirst: true,
      sort: ({ groups }) => groups,
      cell: ({ groups }) => countText(groups),
    },
    {
      id: "readOnly",
      label: t("targets.read_only"),
      width: "110px",
      number: true,
      priority: 3,
      cell: ({ backends }) => countText(backends.reduce((all, { readOnly }) => all + readOnly.length, 0)),
    },
    {
      id: "pending",
      label: t("targets.owed"),
      width: "130px",
      number: true,
      priority: 3,
      isLargestFirst: true,
      sort: ({ backends }) => sum(backends),
      cell: ({ backends }) => countText(sum(backends)),
    },
  ];
}

function actionsOf({ name }: TargetRow): readonly MenuItem[] {
  const escaped = encodeURIComponent(name);
  return [
    { label: t("common.open_directory"), icon: "layers", href: `/targets/${escaped}` },
    { label: t("shell.users"), icon: "users", href: `/users?target=${escaped}` },
    { label: t("shell.audit"), icon: "scroll-text", href: auditHref(`target:${name}`) },
  ];
}

function sum(backends: readonly BackendRow[]): number {
  return backends.reduce((all, { owed, dead }) => all + owed + dead, 0);
}
