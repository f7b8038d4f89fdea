// Targets of the identity interface: what each holds, and how its backends stand.

import type { BackendRow, TargetRow } from "../../api/targets/target_types.ts";
import { fetchTargets } from "../models/connect_calls.ts";
import { useResource } from "../models/resource.ts";
import { BackendChips } from "../parts/connect/backend_state.tsx";
import type { Column } from "../parts/data_table.tsx";
import { ListPage } from "../parts/list_page.tsx";
import type { PageProps } from "../page_loader.ts";
import { countText } from "../format.ts";
import { t } from "../i18n/translate.ts";

const SAYS = {
  failed: "connect.unread",
  old: "connect.old",
  none: ["connect.targets_none", "connect.targets_none_next"],
} as const;

export default function TargetsPage({ models }: PageProps) {
  const list = useResource(models, { fetch: () => fetchTargets(models), inputs: [] });
  return (
    <ListPage
      models={models}
      title={t("frame.targets")}
      says={SAYS}
      resource={list}
      rows={({ items }) => items}
      columns={columnsOf()}
      keyOf={({ name }) => name}
      hrefOf={({ name }) => `/targets/${encodeURIComponent(name)}`}
    />
  );
}

function columnsOf(): readonly Column<TargetRow>[] {
  return [
    {
      label: t("connect.name"),
      cell: ({ name, logsIn }) => (
        <>
          <bdi class="mono">{name}</bdi>
          {logsIn && <span class="quiet target-note">{t("connect.logs_in")}</span>}
        </>
      ),
    },
    {
      label: t("connect.backends"),
      width: "45%",
      narrow: "60%",
      cell: ({ backends }) => <BackendChips rows={backends} />,
    },
    {
      label: t("frame.users"),
      width: "90px",
      number: true,
      wideOnly: true,
      cell: ({ users }) => countText(users),
    },
    {
      label: t("frame.groups"),
      width: "90px",
      number: true,
      wideOnly: true,
      cell: ({ groups }) => countText(groups),
    },
    {
      label: t("connect.read_only"),
      width: "110px",
      number: true,
      wideOnly: true,
      cell: ({ backends }) => countText(backends.reduce((all, { readOnly }) => all + readOnly.length, 0)),
    },
    {
      label: t("connect.owed"),
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
