// The list of users, with search, filters, bulk actions, and dialogs to create, import and export users.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { UserPage, UserRow } from "../../../api/users/user_types.ts";
import { permissionHint } from "../../app/session_model.ts";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";
import { type FilterQuery, type ListFilter, useFilteredList } from "../../app/filters.ts";
import { useListSelection } from "../../app/selection.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { Button, ExportButton } from "../../components/button.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { Alert } from "../../components/alert.tsx";
import { Icon } from "../../components/icons.tsx";
import { lazy } from "../../components/lazy.tsx";
import { readyValue } from "../../app/resource.ts";
import { useShortcuts } from "../../app/shortcuts.ts";
import { userHref } from "../../app/routes.ts";
import type { TableColumn } from "../../components/data_table.tsx";
import { CellFilter } from "../../components/filter_chips.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { fetchUsers } from "./user_calls.ts";
import { BulkBar } from "./bulk_bar.tsx";
import { BackendMarks, factorLabel, userState } from "./user_states.tsx";

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

// The columns of the list of users, and the menu of a row.

interface UserColumnsOptions {
  readonly models: Models;
  /** Users of this directory sign in. */
  readonly logsIn: boolean;
}

function userColumns({ models, logsIn }: UserColumnsOptions): TableColumn<UserRow>[] {
  const only = (to: Readonly<Record<string, string>>, value: string, inside?: ComponentChildren) => (
    <CellFilter models={models} to={to} title="common.only" value={value}>{inside}</CellFilter>
  );
  return [
    {
      id: "name",
      label: t("common.user_name"),
      min: 160,
      sort: "server",
      cell: ({ name }) => <bdi class="cut" title={name}>{name}</bdi>,
    },
    {
      id: "displayName",
      label: t("common.display_name"),
      sort: "server",
      cell: ({ displayName }) => <bdi class="cut" title={displayName}>{displayName}</bdi>,
    },
    {
      id: "status",
      width: "128px",
      label: t("common.status"),
      sort: "server",
      cell: (row) => {
        const words = userState(row);
        return only({ status: statusOf(row), page: "" }, words.label, <StateText words={words} />);
      },
    },
    ...logsIn ? signInColumns(models, only) : [],
    {
      id: "mail",
      label: t("users.mail"),
      priority: 3,
      min: 180,
      cell: ({ mail }) => <bdi class="cut" title={mail}>{mail}</bdi>,
    },
    {
      id: "groups",
      width: "84px",
      label: t("shell.groups"),
      number: true,
      priority: 3,
      cell: ({ groups }) => groups,
    },
    {
      id: "backends",
      width: "130px",
      label: t("common.connectors"),
      priority: 3,
      cell: ({ backends }) => <BackendMarks marks={backends} />,
    },
  ];
}

function statusOf({ active, locked }: UserRow): "active" | "inactive" | "locked" {
  if (!active) return "inactive";
  return locked ? "locked" : "active";
}

type FilterCell = (
  to: Readonly<Record<string, string>>,
  value: string,
  inside?: ComponentChildren,
) => ComponentChildren;

function signInColumns(models: Models, only: FilterCell): TableColumn<UserRow>[] {
  return [
    {
      id: "lastSignIn",
      width: "116px",
      label: t("users.last_sign_in"),
      priority: 2,
      sort: "server",
      isLargestFirst: true,
      cell: ({ lastSignInMs }) =>
        lastSignInMs === null
          ? <span class="quiet">{t("common.never")}</span>
          : <Time models={models} atMs={lastSignInMs} />,
    },
    {
      id: "factors",
      label: t("common.second_factors"),
      priority: 2,
      cell: (row) => {
        const value = row.factors.length + row.unverified.length === 0 ? "no" : "yes";
        return only({ enrolled: value, page: "" }, t(`users.enrolled_${value}`), <FactorNames row={row} />);
      },
    },
  ];
}

/** The first factor, and how many others there are; screen readers and a tooltip get all names. */
function FactorNames({ row: { factors, unverified } }: { row: UserRow }) {
  const names = [
    ...factors.map(factorLabel),
    ...unverified.map((kind) => t("users.unverified_factor", { factor: factorLabel(kind) })),
  ];
  const [first = t("common.none"), ...others] = names;
  return (
    <span class={factors.length === 0 ? "quiet" : ""} title={names.join(", ")}>
      {first}
      {others.length > 0 && (
        <>
          <span class="unseen">{`, ${others.join(", ")}`}</span>
          <span class="quiet" aria-hidden="true">{` +${others.length}`}</span>
        </>
      )}
    </span>
  );
}

function userActions(target: string): (row: UserRow) => MenuItem[] {
  return ({ name }) => [
    { label: t("common.open_user"), icon: "user", href: userHref(name, target) },
    { label: t("common.second_factors"), icon: "smartphone", href: `${userHref(name, target)}#devices` },
    { label: t("common.show_sign_ins"), icon: "activity", href: `/history?user=${encodeURIComponent(name)}` },
    { label: t("shell.audit"), icon: "scroll-text", href: auditHref(`user:${name}`) },
  ];
}
