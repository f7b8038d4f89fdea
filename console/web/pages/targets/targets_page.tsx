// The list of targets, with their numbers of objects and the states of their backends.

import type { BackendRow, TargetRow } from "../../../api/targets/target_types.ts";
import type { PageProps } from "../../app/app_context.ts";
import { countText } from "../../app/format.ts";
import { useResource } from "../../app/resource.ts";
import type { TableColumn } from "../../components/data_table.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { t } from "../../i18n/translate.ts";
import { BackendChips } from "../../components/backend_results.tsx";
import { fetchTargets } from "./target_calls.ts";

const TEXTS = {
  failed: "common.unread",
  old: "common.old",
  empty: ["targets.none", "targets.none_next"],
} as const;

export default function TargetsPage({ models }: PageProps) {
  const list = useResource(models, { fetch: () => fetchTargets(models), inputs: [] });
  return (
    <ListPage
      models={models}
      title={t("shell.targets")}
      texts={TEXTS}
      resource={list}
      rows={({ items }) => items}
      columns={columnsOf()}
      keyOf={({ name }) => name}
      hrefOf={({ name }) => `/targets/${encodeURIComponent(name)}`}
    />
  );
}

function columnsOf(): readonly TableColumn<TargetRow>[] {
  return [
    {
      label: t("common.name"),
      cell: ({ name, logsIn }) => (
        <>
          <bdi class="mono">{name}</bdi>
          {logsIn && <span class="quiet target-note">{t("targets.logs_in")}</span>}
        </>
      ),
    },
    {
      label: t("common.backends"),
      width: "45%",
      narrow: "60%",
      cell: ({ backends }) => <BackendChips rows={backends} />,
    },
    {
      label: t("shell.users"),
      width: "90px",
      number: true,
      wideOnly: true,
      cell: ({ users }) => countText(users),
    },
    {
      label: t("shell.groups"),
      width: "90px",
      number: true,
      wideOnly: true,
      cell: ({ groups }) => countText(groups),
    },
    {
      label: t("targets.read_only"),
      width: "110px",
      number: true,
      wideOnly: true,
      cell: ({ backends }) => countText(backends.reduce((all, { readOnly }) => all + readOnly.length, 0)),
    },
    {
      label: t("targets.owed"),
      width: "110px",
      number: true,
      wideOnly: true,
      cell: ({ backends }) => countText(sum(backends)),
    },
  ];
}

function sum(backends: readonly BackendRow[]): number {
  return backends.reduce((all, { owed, dead }) => all + owed + dead, 0);
}
