// Users and groups that existed before an identity provider wanted to change them. An administrator accepts or refuses each one.

import { useSignal } from "@preact/signals";
import { ADOPTION_STATES } from "../../../../scim/v2/connections/connection_settings.ts";
import type { ConnectionMatchPage, ConnectionMatchRow } from "../../../api/connections/connection_types.ts";
import type { Models } from "../../app/app_context.ts";
import { type FilterQuery, type ListFilter, useFilteredList } from "../../app/filters.ts";
import { useOlderPages } from "../../app/resource.ts";
import { userHref } from "../../app/routes.ts";
import { type Selection, useListSelection } from "../../app/selection.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, EmptyState, ErrorState, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { FilterChips } from "../../components/filter_chips.tsx";
import { ListFilterBar } from "../../components/list_filters.tsx";
import { SelectionBar } from "../../components/selection_bar.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { type ConnectionPart, decideMatches, fetchMatches } from "./connection_calls.ts";

type Decision = "accept" | "refuse";
interface Asked {
  readonly decision: Decision;
  readonly ids: readonly string[] | "all";
  readonly count: number;
}

const SHAPES = {
  waiting: { tone: "wait", shape: "clock" },
  accepted: { tone: "ok", shape: "check" },
  refused: { tone: "bad", shape: "cross" },
} as const;

export function ExistingUsers({ models, item, page }: ConnectionPart) {
  const { name, target, adoption } = item.settings;
  const filters = filterRows();
  const fetch = async (query: FilterQuery) =>
    withNext(await fetchMatches(models, name, { state: "waiting", ...query }));
  const { query, list } = useFilteredList(models, { filters, fetch });
  const selection = useListSelection(models, query);
  const asked = useSignal<Asked | null>(null);
  const reason = permissionHint(models, "owner");
  const decide = async ({ decision, ids }: Asked) => {
    const { decided } = await decideMatches(models, name, { decision, ids });
    models.toasts.show(t(`connections.said_${decision}`, { count: decided }), { tone: "ok" });
    selection.clear();
    void list.reload();
    void page.reload();
  };
  const ask = (decision: Decision) => {
    const ids = selection.isEverything.peek() ? "all" : [...selection.selected.peek()];
    asked.value = { decision, ids, count: ids === "all" ? item.waitingMatches : ids.length };
  };
  const columns = columnsOf(models, {
    target,
    reason,
    onDecide: (row, decision) => asked.value = { decision, ids: [row.id], count: 1 },
  });
  return (
    <section class="access-part" aria-label={t("connections.existing")}>
      <p class="quiet">{t(`connections.existing_${adoption}`)}</p>
      <ListFilterBar models={models} label={t("connections.existing")} filters={filters} />
      <FilterChips models={models} filters={filters} />
      <Fetched resource={list}>
        {(first) => (
          <Matches
            models={models}
            first={first}
            columns={columns}
            selection={query.state === undefined ? selection : undefined}
            busy={list.busy.value}
            read={(cursor) => fetch({ ...query, cursor })}
          />
        )}
      </Fetched>
      <SelectionBar
        selection={selection}
        total={item.waitingMatches}
        actions={[
          { label: t("connections.decide_accept"), reason, run: () => ask("accept") },
          { label: t("connections.decide_refuse"), reason, isBad: true, run: () => ask("refuse") },
        ]}
      />
      {asked.value !== null && (
        <DecideDialog
          asked={asked.value}
          name={name}
          onConfirm={decide}
          onClose={() => asked.value = null}
        />
      )}
    </section>
  );
}

interface MatchesProps {
  readonly models: Models;
  readonly first: MatchPage;
  readonly columns: readonly TableColumn<ConnectionMatchRow>[];
  readonly selection: Selection | undefined;
  readonly busy: boolean;
  readonly read: (cursor: string) => Promise<MatchPage>;
}

function Matches({ models, first, columns, selection, busy, read }: MatchesProps) {
  const older = useOlderPages<MatchPage>(models);
  const { pages, problem } = older.olderPages(first);
  const all = [first, ...pages];
  const rows = all.flatMap(({ rows }) => rows);
  return (
    <>
      <section class="panel">
        {rows.length === 0
          ? <EmptyState title={t("connections.matches_none")} next={t("connections.matches_none_next")} />
          : (
            <DataTable
              label={t("connections.existing")}
              columns={columns}
              rows={rows}
              keyOf={({ id }) => id}
              nameOf={({ name }) => name}
              selection={selection}
              busy={busy}
            />
          )}
      </section>
      {problem !== null && <ErrorState title={t("common.unread")}>{problem}</ErrorState>}
      {all.at(-1)?.next && (
        <div class="pager">
          <span />
          <Button disabled={older.isBusy()} onClick={() => older.loadMore(first, read)}>
            {t("common.show_more")}
          </Button>
        </div>
      )}
    </>
  );
}

type MatchPage = ConnectionMatchPage & { readonly next: string | null };

const withNext = (page: ConnectionMatchPage): MatchPage => ({ ...page, next: page.cursor });

interface DecideProps {
  readonly asked: Asked;
  readonly name: string;
  readonly onConfirm: (asked: Asked) => Promise<void>;
  readonly onClose: () => void;
}

function DecideDialog({ asked, name, onConfirm, onClose }: DecideProps) {
  const { decision, count } = asked;
  return (
    <ConfirmDialog
      title={t(`connections.ask_${decision}`, { count, name })}
      submitLabel={t(`connections.decide_${decision}`)}
      count={count}
      onClose={onClose}
      onConfirm={() => onConfirm(asked)}
    >
      <Alert tone="wait">{t(`connections.why_${decision}`, { name })}</Alert>
    </ConfirmDialog>
  );
}

function filterRows(): ListFilter[] {
  return [{
    name: "state",
    label: t("common.status"),
    control: "choice",
    options: ADOPTION_STATES.slice(1),
    allLabel: t("connections.match_waiting"),
    text: (value) => t(`connections.match_${value}` as "connections.match_waiting"),
  }];
}

interface ColumnDeps {
  readonly target: string;
  /** Why the administrator cannot decide. */
  readonly reason: string | undefined;
  readonly onDecide: (row: ConnectionMatchRow, decision: Decision) => unknown;
}

function columnsOf(
  models: Models,
  { target, reason, onDecide }: ColumnDeps,
): readonly TableColumn<ConnectionMatchRow>[] {
  return [
    {
      id: "name",
      label: t("common.name"),
      cell: ({ kind, name, isGone }) =>
        isGone ? <bdi class="cut quiet" title={name}>{t("common.name_gone", { name })}</bdi> : (
          <a
            class="cut"
            title={name}
            href={kind === "user" ? userHref(name, target) : `/groups/${encodeURIComponent(name)}`}
          >
            <bdi>{name}</bdi>
          </a>
        ),
    },
    {
      id: "externalId",
      label: t("connections.external_id"),
      priority: 2,
      cell: ({ externalId }) => <bdi class="cut mono" title={externalId ?? ""}>{externalId}</bdi>,
    },
    {
      id: "state",
      label: t("common.status"),
      width: "140px",
      cell: ({ state, decidedBy }) => (
        <span title={decidedBy ?? ""}>
          <StateText words={{ ...SHAPES[state], label: t(`connections.match_${state}`) }} />
        </span>
      ),
    },
    {
      id: "last",
      label: t("connections.last_request"),
      width: "130px",
      priority: 2,
      cell: ({ lastMs }) => <Time models={models} atMs={lastMs} />,
    },
    {
      label: t("common.actions"),
      width: "190px",
      isPinned: true,
      cell: (row) =>
        row.state === "waiting" && (
          <span class="row-buttons">
            <Button small reason={reason} of={row.name} onClick={() => onDecide(row, "accept")}>
              {t("connections.decide_accept")}
            </Button>
            <Button small reason={reason} of={row.name} onClick={() => onDecide(row, "refuse")}>
              {t("connections.decide_refuse")}
            </Button>
          </span>
        ),
    },
  ];
}
