// The list of groups: search, one page at a time, and a way to make one.

import { useSignal } from "@preact/signals";
import type { GroupPage, GroupRow } from "../../api/people/group_shapes.ts";
import { whyNot } from "../access_words.ts";
import { countText } from "../format.ts";
import { groupHref, listGroups } from "../models/group_calls.ts";
import { useResource } from "../models/resource.ts";
import { Fetched } from "../parts/connect/fetched.tsx";
import { type Column, DataTable } from "../parts/data_table.tsx";
import { FilterChips } from "../parts/filter_chips.tsx";
import { ExportButton } from "../parts/groups/export_button.tsx";
import { late } from "../parts/late.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { pageOf, Pager } from "../parts/pager.tsx";
import { BackendMarks } from "../parts/people/user_states.tsx";
import { SearchBox } from "../parts/search_box.tsx";
import { EmptyState } from "../parts/states.tsx";
import { Symbol } from "../parts/symbol.tsx";
import type { PageProps } from "../page_loader.ts";
import { useShortcuts } from "../shortcuts.ts";
import { t } from "../words/translate.ts";

const CreateGroupDialog = late(async () =>
  (await import("../parts/groups/create_group_dialog.tsx")).CreateGroupDialog
);
const PAGE_SIZE = 50;
type Models = PageProps["models"];

export default function GroupsPage({ models }: PageProps) {
  const { param, setParams } = models.router;
  const creating = useSignal(false);
  const filters = {
    target: param("target"),
    q: param("q"),
    page: String(pageOf(models)),
    size: String(PAGE_SIZE),
  };
  const list = useResource<GroupPage>(models, {
    fetch: () => listGroups(models, filters),
    inputs: Object.values(filters),
  });
  const reason = whyNot(models, "user_manager");
  const create = () => creating.value = reason === undefined;
  useShortcuts([{ keys: "c g", does: "groups.create", needs: "user_manager", run: create }]);
  const page = list.state.value.kind === "ready" ? list.state.value.value : null;
  const createButton = (kind: string) => (
    <button
      type="button"
      class={`button ${kind}`}
      disabled={reason !== undefined}
      title={reason}
      onClick={create}
    >
      <Symbol name="plus" />
      {t("groups.create")}
    </button>
  );
  return (
    <main class="page" id="page">
      <PageBar title={t("frame.groups")}>
        <ExportButton models={models} what="groups" filters={{ target: filters.target }} />
        {createButton("button-primary")}
      </PageBar>
      <div class="people-filters" role="search" aria-label={t("groups.filters")}>
        <SearchBox models={models} label={t("groups.search")} />
      </div>
      <FilterChips
        models={models}
        filters={[{ name: "q", label: t("frame.search") }, { name: "target", label: t("people.target") }]}
      />
      <Fetched resource={list}>
        {(value) => {
          if (value.rows.length > 0) return <Rows models={models} page={value} busy={list.busy.value} />;
          return filters.q === ""
            ? (
              <EmptyState title={t("groups.none")} next={t("groups.none_next")}>
                {createButton("button-small")}
              </EmptyState>
            )
            : (
              <EmptyState
                title={t("groups.none_match")}
                next={t("groups.none_match_next")}
                onClear={() => setParams({ q: "", page: "" })}
              />
            );
        }}
      </Fetched>
      {creating.value && page !== null && (
        <CreateGroupDialog
          models={models}
          page={page}
          onClose={() => creating.value = false}
        />
      )}
    </main>
  );
}

function Rows({ models, page, busy }: { models: Models; page: GroupPage; busy: boolean }) {
  const target = models.router.param("target");
  return (
    <>
      <section class="panel">
        <DataTable
          label={t("frame.groups")}
          columns={columnsOf()}
          rows={page.rows}
          keyOf={({ name }) => name}
          nameOf={({ name }) => name}
          hrefOf={({ name }) => groupHref(name, target)}
          busy={busy}
        />
      </section>
      <Pager
        models={models}
        page={page.page}
        pageSize={page.size}
        shown={page.rows.length}
        total={page.total}
      />
    </>
  );
}

function columnsOf(): Column<GroupRow>[] {
  return [
    { name: "name", label: t("groups.name"), cell: ({ name }) => <bdi class="cut">{name}</bdi> },
    {
      name: "members",
      label: t("groups.members"),
      width: "110px",
      number: true,
      cell: ({ members }) => countText(members),
    },
    {
      name: "replies",
      label: t("groups.replies"),
      width: "150px",
      number: true,
      wideOnly: true,
      cell: ({ replies }) => replies,
    },
    {
      name: "backends",
      label: t("people.backends"),
      wideOnly: true,
      cell: ({ backends }) => <BackendMarks marks={backends} />,
    },
  ];
}
