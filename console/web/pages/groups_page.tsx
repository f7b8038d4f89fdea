// The list of groups: search, one page at a time, and a way to make one.

import { useSignal } from "@preact/signals";
import type { GroupPage, GroupRow } from "../../api/groups/group_types.ts";
import { whyNot } from "../access_words.ts";
import { countText } from "../format.ts";
import { type Filter, useFiltered } from "../models/filters.ts";
import { groupHref, listGroups } from "../models/group_calls.ts";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data_table.tsx";
import { ExportButton } from "../parts/export_button.tsx";
import { late } from "../parts/late.tsx";
import { ListPage } from "../parts/list_page.tsx";
import { BackendMarks } from "../parts/people/user_states.tsx";
import type { PageProps } from "../page_loader.ts";
import { valueOf } from "../remote.ts";
import { useShortcuts } from "../shortcuts.ts";
import { t } from "../i18n/translate.ts";

const CreateGroupDialog = late(async () =>
  (await import("../parts/groups/create_group_dialog.tsx")).CreateGroupDialog
);
const SAYS = {
  filters: "groups.filters",
  failed: "connect.unread",
  old: "connect.old",
  none: ["groups.none", "groups.none_next"],
  unmatched: ["groups.none_match", "groups.none_match_next"],
} as const;
const EXPORT = { label: "groups.export", failed: "groups.export_failed" } as const;

export default function GroupsPage({ models }: PageProps) {
  const creating = useSignal(false);
  const filters = filterRows();
  const { list, query } = useFiltered<GroupPage>(models, {
    filters,
    fetch: (query) => listGroups(models, query),
  });
  const { target } = query;
  const reason = whyNot(models, "user_manager");
  const create = () => creating.value = reason === undefined;
  useShortcuts([{ keys: "c g", does: "groups.create", needs: "user_manager", run: create }]);
  const page = valueOf(list.state.value);
  const createButton = (look: { kind: "primary" } | { small: true }) => (
    <Button {...look} icon="plus" reason={reason} onClick={create}>{t("groups.create")}</Button>
  );
  return (
    <ListPage
      models={models}
      title={t("frame.groups")}
      says={SAYS}
      filters={filters}
      resource={list}
      actions={
        <>
          <ExportButton
            models={models}
            from="export/groups"
            query={target === undefined ? {} : { target }}
            file="groups.csv"
            says={EXPORT}
            reason={reason}
          />
          {createButton({ kind: "primary" })}
        </>
      }
      begin={createButton({ small: true })}
      rows={({ rows }) => rows}
      columns={columnsOf()}
      keyOf={({ name }) => name}
      hrefOf={({ name }) => groupHref(name, target)}
    >
      {creating.value && page !== null && (
        <CreateGroupDialog
          models={models}
          page={page}
          onClose={() => creating.value = false}
        />
      )}
    </ListPage>
  );
}

function filterRows(): Filter[] {
  return [
    { name: "q", label: t("groups.search"), chip: t("frame.search"), by: "search" },
    { name: "target", label: t("people.target"), narrows: false },
  ];
}

function columnsOf(): Column<GroupRow>[] {
  return [
    { label: t("groups.name"), cell: ({ name }) => <bdi class="cut">{name}</bdi> },
    {
      label: t("groups.members"),
      width: "110px",
      number: true,
      cell: ({ members }) => countText(members),
    },
    {
      label: t("groups.replies"),
      width: "150px",
      number: true,
      wideOnly: true,
      cell: ({ replies }) => replies,
    },
    {
      label: t("people.backends"),
      wideOnly: true,
      cell: ({ backends }) => <BackendMarks marks={backends} />,
    },
  ];
}
