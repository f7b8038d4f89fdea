// The report of the enrolment: which factors each user has, invitations, reminders, the last use and the deadline.

import { useSignal } from "@preact/signals";
import type {
  EnrolmentPage as Answer,
  EnrolmentRow,
  EnrolmentStatus,
} from "../../../api/enrolment/enrolment_report.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type ListFilter, useFilteredList } from "../../app/filters.ts";
import { countText, timeText } from "../../app/format.ts";
import { readyValue, useInterval } from "../../app/resource.ts";
import { userHref } from "../../app/routes.ts";
import { useListSelection } from "../../app/selection.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button, ExportButton } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { CellFilter } from "../../components/filter_chips.tsx";
import type { IconName } from "../../components/icons.tsx";
import { lazy } from "../../components/lazy.tsx";
import { ListPage } from "../../components/list_page.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { SelectionBar } from "../../components/selection_bar.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";
import { factorLabel } from "../users/user_states.tsx";
import { fetchEnrolment, type InviteChoice } from "./enrolment_calls.ts";

const InviteDialog = lazy(async () => (await import("./invite_dialog.tsx")).InviteDialog);
const DeadlineDialog = lazy(async () => (await import("./deadline_dialog.tsx")).DeadlineDialog);

const STATUSES = ["overdue", "not_invited", "invited", "number", "enrolled"] as const;
const FACTORS = ["none", "device", "totp", "sms", "voice", "unused"] as const;
const TEXTS = {
  filters: "common.filters",
  failed: "common.unread",
  old: "common.old",
  empty: ["enrolment.none", "enrolment.none_next"],
  noMatch: ["enrolment.none_match", "common.none_match_next"],
} as const;
/** So long the page follows the invitations that were started here. */
const CHANGING_MS = 30_000;
const POLL_INTERVAL_MS = 2000;

/** The dialog that is open, with its users; `null`: the administrator chooses them. */
type OpenDialog =
  | { readonly kind: "invite"; readonly choice: InviteChoice | null }
  | { readonly kind: "deadline"; readonly names: readonly string[] };

export default function EnrolmentPage({ models }: PageProps) {
  const filters = filterRows();
  const { list, query } = useFilteredList<Answer>(models, {
    filters,
    fetch: (query) => fetchEnrolment(models, query),
    isSorted: true,
  });
  const open = useSignal<OpenDialog | null>(null);
  const selection = useListSelection(models, query);
  const reason = permissionHint(models, "user_manager");
  const page = readyValue(list.state.value);
  // The users of a new campaign are invited in the background.
  const changingUntilMs = useSignal(0);
  useInterval(
    POLL_INTERVAL_MS,
    () =>
      page?.progress || models.clock.nowMs.peek() < changingUntilMs.value ? list.reload() : Promise.resolve(),
  );
  const names = () => [...selection.selected.peek()];
  return (
    <ListPage
      models={models}
      name="enrolment"
      initialSort="name"
      title={t("shell.enrolment")}
      texts={TEXTS}
      filters={filters}
      resource={list}
      tabs={<a class="button button-small" href="/enrolment/campaigns">{t("shell.campaigns")}</a>}
      actions={
        <Actions
          {...{ models, query, reason }}
          onInvite={() => open.value = { kind: "invite", choice: null }}
        />
      }
      rows={(answer) => answer.progress === null ? answer.rows : []}
      columns={enrolmentColumns(models)}
      keyOf={({ name }) => name}
      hrefOf={({ name }) => `${userHref(name)}#devices`}
      actionsOf={enrolmentActions({
        reason,
        invite: (row) => open.value = { kind: "invite", choice: { names: [row.name] } },
        changeDeadline: (row) => open.value = { kind: "deadline", names: [row.name] },
      })}
      selection={selection}
      note={(answer) => <Summary models={models} answer={answer} />}
    >
      <SelectionBar
        selection={selection}
        total={null}
        actions={[
          {
            label: t("enrolment.invite"),
            reason,
            run: () => open.value = { kind: "invite", choice: { names: names() } },
          },
          {
            label: t("enrolment.change_deadline"),
            reason,
            run: () => open.value = { kind: "deadline", names: names() },
          },
        ]}
      />
      <Dialogs
        models={models}
        open={open.value}
        onClose={() => open.value = null}
        onDone={() => {
          selection.clear();
          changingUntilMs.value = models.clock.nowMs.peek() + CHANGING_MS;
          void list.reload();
        }}
      />
    </ListPage>
  );
}

interface ActionsProps {
  readonly models: Models;
  readonly query: Readonly<Record<string, string>>;
  readonly reason: string | undefined;
  readonly onInvite: () => void;
}

function Actions({ models, query, reason, onInvite }: ActionsProps) {
  const sort = models.router.param("sort");
  const asked = { ...query, ...(sort === "" ? {} : { sort }) };
  const file = { models, from: "enrolment/report/export", query: asked };
  return (
    <>
      <ExportButton
        {...file}
        file="enrolment.csv"
        texts={{ label: "enrolment.export_csv", failed: "common.export_failed" }}
      />
      <ExportButton
        {...file}
        file="enrolment.json"
        texts={{ label: "enrolment.export_json", failed: "common.export_failed" }}
      />
      <Button kind="primary" icon="user-plus" reason={reason} onClick={onInvite}>
        {t("enrolment.invite")}
      </Button>
    </>
  );
}

interface DialogsProps {
  readonly models: Models;
  readonly open: OpenDialog | null;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function Dialogs({ models, open, onClose, onDone }: DialogsProps) {
  if (open === null) return null;
  return open.kind === "invite"
    ? <InviteDialog models={models} choice={open.choice} onClose={onClose} onStarted={onDone} />
    : <DeadlineDialog models={models} choice={{ names: open.names }} onClose={onClose} onChanged={onDone} />;
}

/** How many users have each status, or the progress of the first reading. */
function Summary({ models, answer }: { models: Models; answer: Answer }) {
  if (answer.progress !== null) {
    const { read, total } = answer.progress;
    return (
      <p class="quiet" role="status">
        {t("enrolment.reading", { read: countText(read), total: countText(total) })}
      </p>
    );
  }
  const { counts, nowMs } = answer;
  return (
    <>
      <ul class="report-tiles" aria-label={t("enrolment.summary")}>
        {STATUSES.map((status) => (
          <li key={status} class="report-tile">
            <a
              href={models.router.param("status") === status ? "/enrolment" : `/enrolment?status=${status}`}
              aria-current={models.router.param("status") === status ? "true" : undefined}
            >
              <span class="quiet">{t(`enrolment.status_${status}`)}</span>
              <strong>{countText(counts[status])}</strong>
            </a>
          </li>
        ))}
      </ul>
      <p class="quiet small">{t("common.as_of", { time: timeText(nowMs) })}</p>
    </>
  );
}

function filterRows(): ListFilter[] {
  return [
    { name: "q", label: t("enrolment.search"), chip: t("common.search"), control: "search" },
    {
      ...{ name: "status", label: t("shell.enrolment"), control: "choice", options: STATUSES },
      allLabel: `${t("shell.enrolment")}: ${t("common.any")}`,
      text: (value) => t(`enrolment.status_${value}` as MessageKey),
    },
    {
      ...{ name: "factor", label: t("enrolment.factor"), control: "choice", options: FACTORS },
      allLabel: `${t("enrolment.factor")}: ${t("common.any")}`,
      text: (value) => t(`enrolment.factor_${value}` as MessageKey),
    },
    { name: "group", label: t("common.group"), control: "name", isExtra: true },
    { name: "campaign", label: t("enrolment.campaign") },
  ];
}

const LOOKS = {
  enrolled: { tone: "ok", shape: "check" },
  number: { tone: "wait", shape: "clock" },
  invited: { tone: "wait", shape: "clock" },
  overdue: { tone: "bad", shape: "alert" },
  not_invited: { tone: "idle", shape: "info" },
} as const satisfies Record<EnrolmentStatus, { tone: string; shape: IconName }>;

function enrolmentColumns(models: Models): TableColumn<EnrolmentRow>[] {
  return [
    {
      id: "name",
      label: t("common.user_name"),
      min: 150,
      sort: "server",
      cell: ({ name }) => <bdi class="cut" title={name}>{name}</bdi>,
    },
    {
      id: "displayName",
      label: t("common.display_name"),
      priority: 3,
      sort: "server",
      cell: ({ displayName }) => <bdi class="cut" title={displayName}>{displayName}</bdi>,
    },
    {
      id: "status",
      label: t("shell.enrolment"),
      width: "176px",
      sort: "server",
      cell: ({ status }) => {
        const label = t(`enrolment.status_${status}`);
        return (
          <CellFilter models={models} to={{ status, page: "" }} title="common.only" value={label}>
            <StateText words={{ ...LOOKS[status], label }} />
          </CellFilter>
        );
      },
    },
    {
      id: "factors",
      label: t("enrolment.factor"),
      priority: 2,
      cell: ({ factors }) =>
        factors.length === 0
          ? <span class="quiet">{t("common.none")}</span>
          : (
            <span class="cut" title={factors.map(factorLabel).join(", ")}>
              {factors.map(factorLabel).join(", ")}
            </span>
          ),
    },
    ...momentColumns(models),
  ];
}

/** Invitations, reminders, the last use and the deadline. */
function momentColumns(models: Models): TableColumn<EnrolmentRow>[] {
  const moment = (atMs: number | null, absolute = false) =>
    atMs === null
      ? <span class="quiet">{t(absolute ? "common.none" : "common.never")}</span>
      : <Time models={models} atMs={atMs} absolute={absolute} />;
  return [
    {
      id: "invited",
      label: t("common.invited"),
      width: "120px",
      priority: 2,
      sort: "server",
      isLargestFirst: true,
      cell: ({ invitedMs }) => moment(invitedMs),
    },
    {
      id: "reminded",
      label: t("enrolment.reminded"),
      width: "120px",
      priority: 3,
      sort: "server",
      isLargestFirst: true,
      cell: ({ remindedMs, reminders }) =>
        remindedMs === null ? moment(null) : <>{moment(remindedMs)} {reminders > 1 && `(${reminders})`}</>,
    },
    {
      id: "used",
      label: t("enrolment.used"),
      width: "120px",
      priority: 2,
      sort: "server",
      isLargestFirst: true,
      cell: ({ usedMs, neverUsed }) =>
        neverUsed ? <span class="tone-wait">{t("common.never")}</span> : moment(usedMs),
    },
    {
      id: "deadline",
      label: t("enrolment.deadline"),
      width: "170px",
      priority: 3,
      sort: "server",
      cell: ({ deadlineMs }) => moment(deadlineMs, true),
    },
  ];
}

interface RowActions {
  readonly reason: string | undefined;
  readonly invite: (row: EnrolmentRow) => void;
  readonly changeDeadline: (row: EnrolmentRow) => void;
}

function enrolmentActions(
  { reason, invite, changeDeadline }: RowActions,
): (row: EnrolmentRow) => readonly MenuItem[] {
  return (row) => [
    { label: t("common.open_user"), icon: "user", href: `${userHref(row.name)}#devices` },
    { label: t("shell.audit"), icon: "scroll-text", href: auditHref(`user:${row.name}`) },
    ...row.factors.length > 0
      ? []
      : [{ label: t("enrolment.invite"), icon: "user-plus", reason, run: () => invite(row) } as const],
    ...row.invitedMs === null ? [] : [
      {
        label: t("enrolment.change_deadline"),
        icon: "history",
        reason,
        run: () => changeDeadline(row),
      } as const,
    ],
  ];
}
