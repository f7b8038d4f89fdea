// The members of a group: a page at a time, searched by the server, taken out one by one or many at once.

import type { GroupView, MemberPage, MemberRow } from "../../../api/groups/group_types.ts";
import { useMemo } from "preact/hooks";
import { whyNot } from "../../access_words.ts";
import type { GroupCalls } from "../../models/group_calls.ts";
import type { Models } from "../../models/models.ts";
import { pageOf } from "../../models/page_number.ts";
import { useResource } from "../../models/resource.ts";
import { createSelection } from "../../models/selection.ts";
import { userHref } from "../../user_href.ts";
import { t } from "../../i18n/translate.ts";
import { Fetched } from "../connect/fetched.tsx";
import { Button } from "../button.tsx";
import { type Column, DataTable, SelectionBar } from "../data_table.tsx";
import { Pager } from "../pager.tsx";
import { userState } from "../people/user_states.tsx";
import { Panel } from "../panel.tsx";
import { SearchBox } from "../search_box.tsx";
import { EmptyState } from "../states.tsx";
import { Status } from "../status.tsx";
import { MemberPicker } from "./member_picker.tsx";

const PAGE_SIZE = 20;

/** What the part is given. */
export interface MembersProps {
  readonly models: Models;
  readonly group: GroupView;
  readonly calls: GroupCalls;
  /** Puts in and takes out; resolves to whether it was done. */
  readonly onChange: (change: { add: readonly string[]; remove: readonly string[] }) => Promise<boolean>;
}

export function GroupMembers({ models, group, calls, onChange }: MembersProps) {
  const { router } = models;
  const reason = whyNot(models, "user_manager");
  const selection = useMemo(createSelection, [group.name]);
  const filters = { q: router.param("q"), page: String(pageOf(models)), size: String(PAGE_SIZE) };
  const list = useResource<MemberPage>(models, {
    fetch: () => calls.members(filters),
    inputs: [group.name, group.version, group.members, ...Object.values(filters)],
  });
  const remove = async (names: readonly string[]) => {
    if (await onChange({ add: [], remove: names })) selection.clear();
  };
  return (
    <Panel quiet title={t("groups.members")}>
      <MemberPicker
        models={models}
        target={group.target}
        reason={reason}
        onPick={async (name) => void await onChange({ add: [name], remove: [] })}
      />
      {group.members > 0 && (
        <div class="people-filters" role="search" aria-label={t("groups.filters")}>
          <SearchBox models={models} label={t("groups.search_members")} />
        </div>
      )}
      <Fetched resource={list}>
        {(page) =>
          page.rows.length === 0
            ? filters.q === ""
              ? <EmptyState title={t("groups.no_members")} next={t("groups.no_members_next")} />
              : (
                <EmptyState
                  title={t("groups.no_members_match")}
                  next={t("groups.none_match_next")}
                  onClear={() => router.setParams({ q: "", page: "" })}
                />
              )
            : (
              <>
                <DataTable
                  label={t("groups.members_of", { name: group.name })}
                  columns={columnsOf(reason, (name) => void remove([name]))}
                  rows={page.rows}
                  keyOf={({ name }) => name}
                  hrefOf={({ name }) => userHref(name, router.param("target"))}
                  selection={reason === undefined ? selection : undefined}
                  busy={list.busy.value}
                />
                <SelectionBar selection={selection} total={null}>
                  <Button small onClick={() => remove([...selection.chosen.value])}>
                    {t("groups.take_out")}
                  </Button>
                </SelectionBar>
                <Pager
                  models={models}
                  page={page.page}
                  pageSize={page.size}
                  shown={page.rows.length}
                  total={page.total}
                />
              </>
            )}
      </Fetched>
    </Panel>
  );
}

function columnsOf(reason: string | undefined, remove: (name: string) => void): Column<MemberRow>[] {
  return [
    { label: t("people.name"), cell: ({ name }) => <bdi class="wrap">{name}</bdi> },
    {
      label: t("people.display_name"),
      wideOnly: true,
      cell: ({ displayName }) => <bdi>{displayName}</bdi>,
    },
    {
      label: t("people.status"),
      wideOnly: true,
      cell: ({ known, active }) => (
        <Status
          words={known
            ? userState({ active, locked: false })
            : { label: t("groups.not_in_directory"), tone: "idle", shape: "ring" }}
        />
      ),
    },
    {
      label: t("groups.take_out"),
      width: "140px",
      narrow: "104px",
      cell: ({ name }) => (
        <Button small reason={reason} of={name} onClick={() => remove(name)}>
          {t("groups.take_out")}
        </Button>
      ),
    },
  ];
}
