// The columns of the enrolment report, and the menu of a row.

import type { EnrolmentRow, EnrolmentStatus } from "../../../api/enrolment/enrolment_report.ts";
import type { Models } from "../../app/app_context.ts";
import { userHref } from "../../app/routes.ts";
import type { TableColumn } from "../../components/data_table.tsx";
import type { IconName } from "../../components/icons.tsx";
import { CellFilter } from "../../components/filter_chips.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { factorLabel } from "../users/user_states.tsx";

const LOOKS = {
  enrolled: { tone: "ok", shape: "check" },
  number: { tone: "wait", shape: "clock" },
  invited: { tone: "wait", shape: "clock" },
  overdue: { tone: "bad", shape: "alert" },
  not_invited: { tone: "idle", shape: "info" },
} as const satisfies Record<EnrolmentStatus, { tone: string; shape: IconName }>;

export function enrolmentColumns(models: Models): TableColumn<EnrolmentRow>[] {
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

export function enrolmentActions(
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
