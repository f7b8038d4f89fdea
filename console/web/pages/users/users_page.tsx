// The list of users, with search, filters, bulk actions, and dialogs to create, import and export users.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { UserPage } from "../../../api/users/user_types.ts";
import { permissionHint } from "../../app/session_model.ts";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";
import { type FilterQuery, type ListFilter, useFilteredList } from "../../app/filters.ts";
import { useListSelection } from "../../app/selection.ts";
import { fetchUsers } from "./user_calls.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { Button, ExportButton } from "../../components/button.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { Alert } from "../../components/alert.tsx";
import { BulkBar } from "./bulk_bar.tsx";
import { userActions, userColumns } from "./user_columns.tsx";
import { Icon } from "../../components/icons.tsx";
import { lazy } from "../../components/lazy.tsx";
import { readyValue } from "../../app/resource.ts";
import { useShortcuts } from "../../app/shortcuts.ts";
import { userHref } from "../../app/routes.ts";

const CreateUserDialog = lazy(async () => (await import("./create_user_dialog.tsx")).CreateUserDialog);

const STATUSES = ["active", "inactive", "locked"] as const;
const SYNCS = ["present", "pending", "failed", "vanished", "differs", "absent"] as const;
const TEXTS = {
  filters: "common.filters",
  failed: "users.unlisted",
  old: "users.old_rows",
  empty: ["users.none", "users.none_next"],
  noMatch: ["common.no_users_match", "users.none_match_next"],
} as const;
const EXPORT = { label: "common.export", failed: "common.export_failed" } as const;

export default function UsersPage({ models }: PageProps) {
  const creating = useSignal(false);
  const { param } = models.router;
  const { list, query } = useFilteredList<UserPage>(models, {
    filters: filterRows(null, []),
    fetch: (query) => fetchUsers(models, query),
    isSorted: true,
  });
  const page = readyValue(list.state.value);
  // The select of targets stays and keeps its focus while the users of another target are fetched.
  const targets = useRef<readonly string[]>([]);
  targets.current = page?.targets ?? targets.current;
  const target = param("target");
  const selection = useListSelection(models, query);
  const reason = permissionHint(models, "user_manager");
  const create = () => {
    creating.value = reason === undefined;
  };
  useShortcuts([{ keys: "c u", label: "common.create_user", needs: "user_manager", run: create }]);
  return (
    <ListPage
      models={models}
      name="users"
      savedAs="users"
      {...param("q") === "" ? { initialSort: "name" } : {}}
      title={t("shell.users")}
      texts={TEXTS}
      filters={filterRows(page, targets.current)}
      resource={list}
      actions={<Actions {...{ models, query, target, reason, create }} />}
      emptyAction={<Button reason={reason} onClick={create}>{t("common.create_user")}</Button>}
      rows={({ rows }) => rows}
      columns={userColumns({ models, logsIn: page?.logsIn !== false })}
      keyOf={({ name }) => name}
      hrefOf={({ name }) => userHref(name, target)}
      actionsOf={userActions(target)}
      selection={selection}
      note={({ rows, isCut, isUnsorted, outside }) => (
        <>
          {isUnsorted && <Alert tone="wait">{t("users.unsorted")}</Alert>}
          {isCut && rows.length > 0 && <Alert tone="wait">{t("users.cut")}</Alert>}
          {outside.length > 0 && <Outside names={outside} />}
        </>
      )}
    >
      {page !== null && (
        <BulkBar
          models={models}
          selection={selection}
          filters={{
            q: param("q"),
            status: param("status"),
            enrolled: param("enrolled"),
            inactive: param("inactive"),
            backend: param("backend"),
            sync: param("sync"),
          }}
          target={target}
          canInvite={page.logsIn}
          total={page.total}
          onChanged={() => void list.reload()}
        />
      )}
      {creating.value && page !== null && (
        <CreateUserDialog
          models={models}
          page={page}
          onClose={() => creating.value = false}
        />
      )}
    </ListPage>
  );
}

interface ActionsProps {
  readonly models: Models;
  readonly query: FilterQuery;
  readonly target: string;
  readonly reason: string | undefined;
  readonly create: () => void;
}

function Actions({ models, query, target, reason, create }: ActionsProps) {
  return (
    <>
      <ExportButton
        models={models}
        from="export/users"
        query={query}
        file="users.csv"
        texts={EXPORT}
        reason={reason}
      />
      <a
        class="button"
        href={`/deleted-users${target === "" ? "" : `?target=${encodeURIComponent(target)}`}`}
      >
        {t("shell.deleted_users")}
      </a>
      <a
        class="button"
        href={`/users/import${target === "" ? "" : `?target=${encodeURIComponent(target)}`}`}
      >
        <Icon name="upload" />
        {t("shell.import")}
      </a>
      <Button kind="primary" icon="user-plus" reason={reason} onClick={create}>
        {t("common.create_user")}
      </Button>
    </>
  );
}

/** Names with factors that are not in the directory. The page of such a name offers to create the user. */
function Outside({ names }: { names: readonly string[] }) {
  return (
    <Alert tone="idle">
      {t("users.outside", { count: names.length })} {names.map((name, at) => (
        <span key={name}>
          {at > 0 && ", "}
          <a href={`${userHref(name)}#devices`}>
            <bdi>{name}</bdi>
          </a>
        </span>
      ))}
    </Alert>
  );
}

/** Filters that only some targets have are added when the page is loaded. */
function filterRows(page: UserPage | null, targets: readonly string[]): ListFilter[] {
  const backends = page?.backends.map(({ name }) => name) ?? [];
  return [
    { name: "q", label: t("users.search"), chip: t("common.search"), control: "search" },
    choice({ name: "status", label: t("common.status"), options: STATUSES, text: true }),
    choice({
      name: "enrolled",
      label: t("common.second_factors"),
      options: page?.logsIn === false ? [] : ["yes", "no"],
      text: true,
    }),
    {
      ...choice({
        name: "target",
        label: t("common.target"),
        options: targets.length > 1 ? targets : [],
      }),
      isNarrowing: false,
    },
    choice({
      name: "inactive",
      label: t("users.inactive"),
      options: page?.logsIn === false ? [] : ["30", "60", "90"],
      text: true,
      isExtra: true,
    }),
    choice({ name: "backend", label: t("users.backend"), options: backends, isExtra: true }),
    choice({
      name: "sync",
      label: t("users.sync"),
      options: backends.length === 0 ? [] : SYNCS,
      text: true,
      isExtra: true,
    }),
  ];
}

interface Choice {
  readonly name: string;
  readonly label: string;
  /** Without options, the filter has no control. */
  readonly options: readonly string[];
  /** The labels of the options are messages such as `users.status_active`. */
  readonly text?: true;
  readonly isExtra?: true;
}

function choice({ name, label, options, text, ...more }: Choice): ListFilter {
  return {
    ...more,
    name,
    label,
    options,
    allLabel: `${label}: ${t("common.any")}`,
    ...(options.length > 0 ? { control: "choice" } : {}),
    ...(text === true ? { text: (option) => t(`users.${name}_${option}` as MessageKey) } : {}),
  };
}
