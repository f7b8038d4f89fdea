// The list of users: search, filters, one page at a time, and a way to make one.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { UserPage, UserRow } from "../../api/people/user_shapes.ts";
import { whyNot } from "../access_words.ts";
import { createSelection, type Selection } from "../models/selection.ts";
import { useResource } from "../models/resource.ts";
import { listUsers } from "../models/user_calls.ts";
import { userHref } from "../user_href.ts";
import { type Column, DataTable } from "../parts/data_table.tsx";
import { FilterChips, type FilterRow } from "../parts/filter_chips.tsx";
import { Note } from "../parts/note.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { pageOf, Pager } from "../parts/pager.tsx";
import { BackendMarks, factorLabel, userState } from "../parts/people/user_states.tsx";
import { SearchBox } from "../parts/search_box.tsx";
import { EmptyState, ErrorState, Skeleton } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { Symbol } from "../parts/symbol.tsx";
import type { PageProps } from "../page_loader.ts";
import { useShortcuts } from "../shortcuts.ts";
import { t } from "../words/translate.ts";
import type { WordKey } from "../words/words.ts";
import { late } from "../parts/late.tsx";

const CreateUserDialog = late(async () =>
  (await import("../parts/people/create_user_dialog.tsx")).CreateUserDialog
);

const BulkBar = late(async () => (await import("../parts/people/bulk_bar.tsx")).BulkBar);
const ExportButton = late(async () => (await import("../parts/groups/export_button.tsx")).ExportButton);

const PAGE_SIZE = 50;
const NARROWING = ["q", "status", "enrolled", "backend", "sync"] as const;
const STATUSES = ["active", "inactive", "locked"] as const;
const SYNCS = ["present", "pending", "failed", "vanished", "differs", "absent"] as const;

export default function UsersPage({ models }: PageProps) {
  const creating = useSignal(false);
  const { target, ...narrowed } = narrowing(models);
  const filters = {
    target,
    ...narrowed,
    page: String(pageOf(models)),
    size: String(PAGE_SIZE),
  };
  const list = useResource<UserPage>(models, {
    fetch: () => listUsers(models, filters),
    inputs: Object.values(filters),
  });
  const selection = useMemo(createSelection, []);
  // What is chosen stands for the list that was seen.
  useEffect(() => selection.clear(), [target, ...Object.values(narrowed)]);
  const reason = whyNot(models, "user_manager");
  const create = () => creating.value = reason === undefined;
  useShortcuts([{ keys: "c u", does: "people.create", needs: "user_manager", run: create }]);
  const state = list.state.value;
  const page = state.kind === "ready" ? state.value : null;
  return (
    <main class="page" id="page">
      <PageBar title={t("frame.users")}>
        <ExportButton models={models} what="users" filters={{ target, ...narrowed }} />
        <a
          class="button"
          href={`/users/import${
            filters.target === "" ? "" : `?target=${encodeURIComponent(filters.target)}`
          }`}
        >
          <Symbol name="upload" />
          {t("frame.import")}
        </a>
        <button
          type="button"
          class="button button-primary"
          disabled={reason !== undefined}
          title={reason}
          onClick={create}
        >
          <Symbol name="user-plus" />
          {t("people.create")}
        </button>
      </PageBar>
      <div class="people-filters" role="search" aria-label={t("people.filters")}>
        <SearchBox models={models} label={t("people.search")} />
        <Choice models={models} name="status" label={t("people.status")} options={STATUSES} />
        {page?.logsIn !== false && (
          <Choice models={models} name="enrolled" label={t("people.enrolled")} options={["yes", "no"]} />
        )}
        {page !== null && page.backends.length > 0 && (
          <>
            <PlainChoice
              models={models}
              name="backend"
              label={t("people.backend")}
              options={page.backends.map(({ name }) => name)}
            />
            <Choice models={models} name="sync" label={t("people.sync")} options={SYNCS} />
          </>
        )}
        {page !== null && page.targets.length > 1 && (
          <PlainChoice models={models} name="target" label={t("people.target")} options={page.targets} />
        )}
      </div>
      <FilterChips models={models} filters={filterRows()} />
      {list.problem.value !== null && page !== null && (
        <ErrorState
          title={t("people.unlisted")}
          onRetry={() => void list.reload()}
        >
          {list.problem.value} {t("people.old_rows")}
        </ErrorState>
      )}
      {state.kind === "failed" && (
        <ErrorState title={t("people.unlisted")} onRetry={() => void list.reload()}>
          {state.message}
        </ErrorState>
      )}
      {state.kind === "loading" && <Skeleton />}
      {page !== null && (
        <Rows
          models={models}
          page={page}
          busy={list.busy.value}
          selection={selection}
          onCreate={create}
        />
      )}
      {page !== null && (
        <BulkBar
          models={models}
          selection={selection}
          filters={narrowed}
          target={target}
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
    </main>
  );
}

type Models = PageProps["models"];

/** The filters that narrow the list, and its target: what an export shows, too. */
function narrowing({ router }: Models) {
  const { param } = router;
  return {
    target: param("target"),
    q: param("q"),
    status: param("status"),
    enrolled: param("enrolled"),
    backend: param("backend"),
    sync: param("sync"),
  };
}

function Rows({ models, page, busy, selection, onCreate }: {
  models: Models;
  page: UserPage;
  busy: boolean;
  selection: Selection;
  onCreate: () => void;
}) {
  const { router } = models;
  const columns = useMemo(() => columnsOf(page), [page.logsIn, page.target]);
  const isNarrowed = NARROWING.some((name) => router.param(name) !== "");
  const clear = () => router.setParams(Object.fromEntries([...NARROWING, "page"].map((name) => [name, ""])));
  if (page.rows.length === 0) {
    return isNarrowed
      ? <EmptyState title={t("people.none_match")} next={t("people.none_match_next")} onClear={clear} />
      : (
        <EmptyState title={t("people.none")} next={t("people.none_next")}>
          <button
            type="button"
            class="button"
            disabled={whyNot(models, "user_manager") !== undefined}
            title={whyNot(models, "user_manager")}
            onClick={onCreate}
          >
            {t("people.create")}
          </button>
        </EmptyState>
      );
  }
  const target = router.param("target");
  return (
    <>
      {page.isCut && <Note tone="wait">{t("people.cut")}</Note>}
      <section class="panel">
        <DataTable
          label={t("frame.users")}
          columns={columns}
          rows={page.rows}
          keyOf={({ name }) => name}
          nameOf={({ name }) => name}
          hrefOf={({ name }) => userHref(name, target)}
          selection={selection}
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

function columnsOf({ logsIn }: UserPage): Column<UserRow>[] {
  const login: Column<UserRow>[] = logsIn
    ? [{
      name: "factors",
      width: "150px",
      label: t("people.factors"),
      wideOnly: true,
      cell: ({ factors }) =>
        factors.length === 0
          ? <span class="quiet">{t("frame.none")}</span>
          : factors.map(factorLabel).join(", "),
    }]
    : [];
  return [
    {
      name: "name",
      label: t("people.name"),
      cell: ({ name }) => <bdi class="cut">{name}</bdi>,
    },
    {
      name: "display",
      label: t("people.display_name"),
      wideOnly: true,
      cell: ({ displayName }) => <bdi class="cut" title={displayName}>{displayName}</bdi>,
    },
    {
      name: "mail",
      label: t("people.mail"),
      wideOnly: true,
      width: "18%",
      cell: ({ mail }) => <bdi class="mono cut" title={mail}>{mail}</bdi>,
    },
    {
      name: "state",
      width: "124px",
      narrow: "116px",
      label: t("people.status"),
      cell: (row) => <Status words={userState(row)} />,
    },
    ...login,
    {
      name: "groups",
      width: "84px",
      label: t("frame.groups"),
      number: true,
      wideOnly: true,
      cell: ({ groups }) => groups,
    },
    {
      name: "backends",
      width: "130px",
      label: t("people.backends"),
      wideOnly: true,
      cell: ({ backends }) => <BackendMarks marks={backends} />,
    },
  ];
}

interface ChoiceProps {
  readonly models: Models;
  readonly name: string;
  readonly label: string;
  readonly options: readonly string[];
  readonly textOf?: (option: string) => string;
}

function PlainChoice({ models: { router }, name, label, options, textOf = String }: ChoiceProps) {
  return (
    <select
      class="input"
      aria-label={label}
      value={router.param(name)}
      onChange={(event) => router.setParams({ [name]: event.currentTarget.value, page: "" })}
    >
      <option value="">{`${label}: ${t("people.any")}`}</option>
      {options.map((option) => <option key={option} value={option}>{textOf(option)}</option>)}
    </select>
  );
}

function Choice(props: Omit<ChoiceProps, "textOf">) {
  return <PlainChoice {...props} textOf={(option) => choiceText(props.name, option)} />;
}

/** The options' words are rows such as `people.status_active`. */
function choiceText(name: string, option: string): string {
  return t(`people.${name}_${option}` as WordKey);
}

function filterRows(): FilterRow[] {
  return [
    { name: "q", label: t("frame.search") },
    { name: "status", label: t("people.status"), text: (value) => choiceText("status", value) },
    { name: "enrolled", label: t("people.enrolled"), text: (value) => choiceText("enrolled", value) },
    { name: "backend", label: t("people.backend") },
    { name: "sync", label: t("people.sync"), text: (value) => choiceText("sync", value) },
    { name: "target", label: t("people.target") },
  ];
}
