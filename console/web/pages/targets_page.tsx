// Targets of the identity interface: what each holds, and how its backends stand.

import type { BackendRow, TargetRow } from "../../api/connect/target_shapes.ts";
import { fetchTargets } from "../models/connect_calls.ts";
import { useResource } from "../models/resource.ts";
import { BackendChips } from "../parts/connect/backend_state.tsx";
import { Fetched } from "../parts/connect/fetched.tsx";
import { type Column, DataTable } from "../parts/data_table.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { EmptyState } from "../parts/states.tsx";
import type { PageProps } from "../page_loader.ts";
import { countText } from "../format.ts";
import { t } from "../words/translate.ts";

export default function TargetsPage({ models }: PageProps) {
  const list = useResource(models, { fetch: () => fetchTargets(models), inputs: [] });
  return (
    <main class="page" id="page">
      <PageBar title={t("frame.targets")} />
      <Fetched resource={list}>
        {({ items }) =>
          items.length === 0
            ? <EmptyState title={t("connect.targets_none")} next={t("connect.targets_none_next")} />
            : (
              <section class="panel">
                <DataTable
                  label={t("frame.targets")}
                  columns={columnsOf()}
                  rows={items}
                  keyOf={({ name }) => name}
                  nameOf={({ name }) => name}
                  hrefOf={({ name }) => `/targets/${encodeURIComponent(name)}`}
                  busy={list.busy.value}
                />
              </section>
            )}
      </Fetched>
    </main>
  );
}

function columnsOf(): readonly Column<TargetRow>[] {
  return [
    {
      name: "name",
      label: t("connect.name"),
      cell: ({ name, logsIn }) => (
        <>
          <bdi class="mono">{name}</bdi>
          {logsIn && <span class="quiet target-note">{t("connect.logs_in")}</span>}
        </>
      ),
    },
    {
      name: "backends",
      label: t("connect.backends"),
      width: "45%",
      narrow: "60%",
      cell: ({ backends }) => <BackendChips rows={backends} />,
    },
    {
      name: "users",
      label: t("frame.users"),
      width: "90px",
      number: true,
      wideOnly: true,
      cell: ({ users }) => countText(users),
    },
    {
      name: "groups",
      label: t("frame.groups"),
      width: "90px",
      number: true,
      wideOnly: true,
      cell: ({ groups }) => countText(groups),
    },
    {
      name: "owed",
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
