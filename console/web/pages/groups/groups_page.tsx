// The list of groups, with a search and a dialog to create one.

import { useSignal } from "@preact/signals";
import type { GroupPage, GroupRow } from "../../../api/groups/group_types.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type ListFilter, useFilteredList } from "../../app/filters.ts";
import { countText } from "../../app/format.ts";
import { readyValue } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { useShortcuts } from "../../app/shortcuts.ts";
import { BackendChoice, noBackendReason, showReceiptToast } from "../../components/backend_results.tsx";
import { Button, ExportButton } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { BackendMarks } from "../users/user_states.tsx";
import { addGroup, fetchGroups, groupHref } from "./group_calls.ts";

const TEXTS = {
  filters: "common.filters",
  failed: "common.unread",
  old: "common.old",
  empty: ["groups.none", "groups.none_next"],
  noMatch: ["common.no_groups_match", "common.none_match_next"],
} as const;
const EXPORT = { label: "common.export", failed: "common.export_failed" } as const;

export default function GroupsPage({ models }: PageProps) {
  const creating = useSignal(false);
  const filters = filterRows();
  const { list, query } = useFilteredList<GroupPage>(models, {
    filters,
    fetch: (query) => fetchGroups(models, query),
    isSorted: true,
  });
  const { target } = query;
  const reason = permissionHint(models, "user_manager");
  const create = () => creating.value = reason === undefined;
  useShortcuts([{ keys: "c g", label: "groups.create", needs: "user_manager", run: create }]);
  const page = readyValue(list.state.value);
  const createButton = (look: { kind: "primary" } | { small: true }) => (
    <Button {...look} icon="plus" reason={reason} onClick={create}>{t("groups.create")}</Button>
  );
  return (
    <ListPage
      models={models}
      name="groups"
      savedAs="groups"
      {...query.q === undefined ? { initialSort: "name" } : {}}
      title={t("shell.groups")}
      texts={TEXTS}
      filters={filters}
      resource={list}
      actions={
        <>
          <ExportButton
            models={models}
            from="export/groups"
            query={target === undefined ? {} : { target }}
            file="groups.csv"
            texts={EXPORT}
            reason={reason}
          />
          {createButton({ kind: "primary" })}
        </>
      }
      emptyAction={createButton({ small: true })}
      rows={({ rows }) => rows}
      columns={columnsOf(query.q === undefined)}
      keyOf={({ name }) => name}
      hrefOf={({ name }) => groupHref(name, target)}
      actionsOf={({ name }) => [
        { label: t("groups.open"), icon: "users-round", href: groupHref(name, target) },
        { label: t("shell.audit"), icon: "scroll-text", href: auditHref(`group:${name}`) },
      ]}
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

function filterRows(): ListFilter[] {
  return [
    { name: "q", label: t("groups.search"), chip: t("common.search"), control: "search" },
    { name: "target", label: t("common.target"), isNarrowing: false },
  ];
}

/** A search has its own order. */
function columnsOf(isSortable: boolean): TableColumn<GroupRow>[] {
  return [
    {
      id: "name",
      label: t("groups.name"),
      min: 180,
      ...isSortable ? { sort: "server" as const } : {},
      cell: ({ name }) => <bdi class="cut" title={name}>{name}</bdi>,
    },
    {
      id: "members",
      label: t("groups.members"),
      width: "110px",
      number: true,
      cell: ({ members }) => countText(members),
    },
    {
      id: "replies",
      label: t("groups.replies"),
      width: "150px",
      number: true,
      priority: 2,
      cell: ({ replies }) => replies,
    },
    {
      id: "backends",
      label: t("common.connectors"),
      priority: 2,
      cell: ({ backends }) => <BackendMarks marks={backends} />,
    },
  ];
}

const NAME_ROWS: readonly FieldRow<{ name: string }>[] = [{
  name: "name",
  label: "groups.name",
  hint: "groups.name_hint",
  input: { required: true, maxLength: 1024, autofocus: true },
}];

function CreateGroupDialog({ models, page, onClose }: {
  models: Models;
  page: GroupPage;
  onClose: () => void;
}) {
  const draft = useSignal({ name: "" });
  const chosen = useSignal<readonly string[] | null>(null);
  const create = async () => {
    const target = models.router.param("target");
    const { name } = draft.value;
    const { group, receipt } = await addGroup(models, { name, target, backends: chosen.value });
    const made = group?.name ?? name;
    showReceiptToast(models, t("groups.created", { name: made }), receipt);
    models.router.go(groupHref(made, target));
  };
  return (
    <FormDialog
      title={t("groups.create")}
      submitLabel={t("groups.create")}
      reason={noBackendReason(chosen, page.backends)}
      onSubmit={create}
      onClose={onClose}
    >
      <FormFields prefix="group" draft={draft} rows={NAME_ROWS} />
      <BackendChoice backends={page.backends} chosen={chosen} />
    </FormDialog>
  );
}
