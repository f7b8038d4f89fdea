// Deleted users: who deleted them, how long they can be restored, and actions to restore or purge them.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { DAY_MS } from "../../../../platform/durations.ts";
import type { RestoreItem, TrashPage, TrashRow } from "../../../api/trash/trash_types.ts";
import { useAction } from "../../app/action.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type ListFilter, useFilteredList } from "../../app/filters.ts";
import { readyValue } from "../../app/resource.ts";
import { type Selection, useListSelection } from "../../app/selection.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { NameList } from "../../components/name_list.tsx";
import { SelectionBar } from "../../components/selection_bar.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { userHref } from "../../app/routes.ts";
import { fetchTrash, purgeUsers, restoreUsers } from "./user_calls.ts";

const TEXTS = {
  filters: "common.filters",
  failed: "users.trash_failed",
  old: "users.old_rows",
  empty: ["users.trash_empty", "users.trash_empty_next"],
  noMatch: ["users.trash_none_match", "common.none_match_next"],
} as const;
/** One request restores at most this many users. */
const MAX_AT_ONCE = 100;

export default function DeletedUsersPage({ models }: PageProps) {
  const { list, query } = useFilteredList<TrashPage>(models, {
    filters: filterRows([]),
    fetch: (query) => fetchTrash(models, query),
  });
  const selection = useListSelection(models, query);
  const results = useSignal<readonly RestoreItem[]>([]);
  const action = useAction();
  const target = models.router.param("target");
  const page = readyValue(list.state.value);
  const restore = (ids: readonly string[]) =>
    action.run(async () => {
      results.value = [];
      try {
        results.value = (await restoreUsers(models, { target, ids })).items;
        selection.clear();
      } finally {
        await list.reload();
      }
    });
  // Rows of other pages stay selected, and the questions name them, too.
  const seen = useRef(new Map<string, TrashRow>());
  for (const row of page?.rows ?? []) seen.current.set(row.id, row);
  const ask = (ids: readonly string[]) =>
    models.question.value = {
      title: t("users.trash_restore_title", { count: ids.length }),
      submitLabel: t("users.trash_restore"),
      text: <RestoreText rows={ids.flatMap((id) => seen.current.get(id) ?? [])} />,
      run: () => restore(ids),
    };
  const reason = permissionHint(models, "user_manager");
  return (
    <ListPage
      models={models}
      name="deleted_users"
      title={t("shell.deleted_users")}
      back={{ href: "/users", label: t("common.all_users") }}
      texts={TEXTS}
      filters={filterRows(page?.targets ?? [])}
      resource={list}
      rows={({ rows }) => rows}
      columns={columnsOf(models, { reason, isBusy: action.busy.value, restore })}
      keyOf={({ id }) => id}
      nameOf={({ name }) => name}
      selection={selection}
      note={({ days, most, total }) => (
        <>
          <ErrorAlert of={action.fault} />
          <RestoreResults items={results.value} target={target} />
          {total > 0 && <p class="quiet small">{t("users.trash_what", { days, most })}</p>}
        </>
      )}
    >
      <TrashBar
        models={models}
        selection={selection}
        rows={[...seen.current.values()]}
        target={target}
        isBusy={action.busy.value}
        onRestore={ask}
        onPurged={() => void list.reload()}
      />
    </ListPage>
  );
}

/** What comes back and what does not. */
function RestoreText({ rows }: { rows: readonly TrashRow[] }) {
  const groups = rows.reduce((sum, row) => sum + row.groups, 0);
  return (
    <>
      <NameList names={rows.map(({ name }) => name)} />
      <p>{t("users.trash_restore_what", { groups })}</p>
      {rows.some((row) => !row.active) && <p>{t("users.trash_restore_inactive")}</p>}
    </>
  );
}

function filterRows(targets: readonly string[]): ListFilter[] {
  return [
    { name: "q", label: t("users.trash_search"), chip: t("common.search"), control: "search" },
    {
      name: "target",
      label: t("common.target"),
      options: targets.length > 1 ? targets : [],
      allLabel: `${t("common.target")}: ${t("common.any")}`,
      ...(targets.length > 1 ? { control: "choice" } : {}),
      isNarrowing: false,
    },
  ];
}

interface RowActions {
  readonly reason: string | undefined;
  readonly isBusy: boolean;
  readonly restore: (ids: readonly string[]) => Promise<void>;
}

function columnsOf(models: Models, { reason, isBusy, restore }: RowActions): TableColumn<TrashRow>[] {
  return [
    {
      id: "name",
      label: t("common.user_name"),
      min: 160,
      cell: ({ name }) => <bdi class="cut" title={name}>{name}</bdi>,
    },
    {
      id: "display_name",
      label: t("common.display_name"),
      priority: 3,
      min: 140,
      cell: ({ displayName }) => <bdi class="cut" title={displayName}>{displayName}</bdi>,
    },
    {
      id: "deleted",
      label: t("users.trash_deleted"),
      width: "130px",
      priority: 2,
      cell: ({ deletedMs }) => <Time models={models} atMs={deletedMs} />,
    },
    {
      id: "by",
      label: t("users.trash_by"),
      priority: 2,
      min: 130,
      cell: ({ actor, source, cause }) => (
        <span title={source}>
          <bdi>{actor}</bdi>
          {cause === "vanished" && <div class="quiet small">{t("users.trash_cause_vanished")}</div>}
        </span>
      ),
    },
    {
      id: "groups",
      label: t("shell.groups"),
      width: "90px",
      number: true,
      priority: 3,
      cell: ({ groups }) => groups,
    },
    {
      id: "left",
      label: t("users.trash_left"),
      width: "120px",
      number: true,
      priority: 2,
      cell: ({ expiresMs }) => daysLeft(expiresMs - models.clock.nowMs.value),
    },
    {
      id: "restore",
      label: t("users.trash_restore"),
      width: "120px",
      isPinned: true,
      cell: ({ id, name, isTaken }) =>
        isTaken
          ? <span class="quiet" title={t("users.trash_taken_why")}>{t("users.trash_taken")}</span>
          : (
            <Button small of={name} reason={reason} disabled={isBusy} onClick={() => restore([id])}>
              {t("users.trash_restore")}
            </Button>
          ),
    },
  ];
}

function daysLeft(leftMs: number): string {
  return leftMs < DAY_MS ? t("users.trash_less_than_a_day") : String(Math.floor(leftMs / DAY_MS));
}

interface BarProps {
  readonly models: Models;
  readonly selection: Selection;
  readonly rows: readonly TrashRow[];
  readonly target: string;
  readonly isBusy: boolean;
  readonly onRestore: (ids: readonly string[]) => void;
  readonly onPurged: () => void;
}

/** The actions on the selected users. */
function TrashBar({ models, selection, rows, target, isBusy, onRestore, onPurged }: BarProps) {
  /** The selected ids when the dialog opened. */
  const purging = useSignal<readonly string[]>([]);
  const ids = [...selection.selected.value].slice(0, MAX_AT_ONCE);
  const count = purging.value.length;
  const working = isBusy ? t("common.working") : undefined;
  const names = rows.filter(({ id }) => purging.value.includes(id)).map(({ name }) => name);
  return (
    <div class="bulk-foot">
      <SelectionBar
        selection={selection}
        total={null}
        actions={[
          {
            label: t("users.trash_restore"),
            reason: permissionHint(models, "user_manager") ?? working,
            run: () => onRestore(ids),
          },
          {
            label: t("users.trash_purge"),
            isBad: true,
            reason: permissionHint(models, "owner") ?? working,
            run: () => purging.value = ids,
          },
        ]}
      />
      {count > 0 && (
        <ConfirmDialog
          title={t("users.trash_purge_title", { count })}
          submitLabel={t("users.trash_purge")}
          count={count}
          onConfirm={async () => {
            const { purged } = await purgeUsers(models, { target, ids: purging.value });
            models.toasts.show(t("users.trash_purged", { count: purged }));
            selection.clear();
            onPurged();
          }}
          onClose={() => purging.value = []}
        >
          {names.length > 0 && (
            <p>
              <bdi>{names.join(", ")}</bdi>
            </p>
          )}
          <p>{t("users.trash_purge_what")}</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

// The result of restoring deleted users.

/** What was restored, what was not and why, and what remains to be done. */
function RestoreResults({ items, target }: { items: readonly RestoreItem[]; target: string }) {
  const restored = items.filter(({ did }) => did === "restored");
  const failed = items.filter(({ did }) => did === "failed");
  const groups = restored.reduce((sum, one) => sum + one.groups.length, 0);
  const remarks = restored.flatMap(remarksOf);
  const isWhole = remarks.length === 0;
  return (
    <>
      {restored.length > 0 && (
        <Alert tone={isWhole ? "ok" : "wait"} icon={isWhole ? "check" : "alert"} role="status">
          <strong>{t("users.trash_restored", { count: restored.length, groups })}</strong>{" "}
          {t("users.trash_pair")} <UserLinks items={restored} target={target} />
          {!isWhole && (
            <ul class="people-consequences">
              {remarks.map((remark) => <li key={remark}>{remark}</li>)}
            </ul>
          )}
        </Alert>
      )}
      {failed.length > 0 && (
        <Alert tone="bad" role="alert">
          <strong>{t("users.trash_not_restored", { count: failed.length })}</strong>
          <ul class="people-consequences">
            {failed.map(({ id, name, problem }) => (
              <li key={id}>
                {name !== "" && <bdi>{`${name}: `}</bdi>}
                {problem}
              </li>
            ))}
          </ul>
        </Alert>
      )}
    </>
  );
}

const MAX_LINKS = 10;

function UserLinks({ items, target }: { items: readonly RestoreItem[]; target: string }) {
  const more = items.length - MAX_LINKS;
  return (
    <>
      {items.slice(0, MAX_LINKS).map(({ id, name }, at) => (
        <span key={id}>
          {at > 0 && ", "}
          <a href={`${userHref(name, target)}#devices`}>
            <bdi>{name}</bdi>
          </a>
        </span>
      ))}
      {more > 0 && ` ${t("common.and_more", { count: more })}`}
    </>
  );
}

function remarksOf({ name, missingGroups, failedGroups, lacksPassword, receipt }: RestoreItem): string[] {
  const queued = receipt?.entries.filter(({ outcome }) => outcome !== "done" && outcome !== "read_only") ??
    [];
  return [
    ...(missingGroups.length === 0
      ? []
      : [t("users.trash_group_missing", { name, groups: missingGroups.join(", ") })]),
    ...(failedGroups.length === 0
      ? []
      : [t("users.trash_group_failed", { name, groups: failedGroups.join(", ") })]),
    ...(lacksPassword ? [t("users.trash_no_password", { name })] : []),
    ...queued.map(({ backend }) => t("users.trash_pending", { name, backend })),
  ];
}
