// The columns of the list of users, and the menu of a row.

import type { ComponentChildren } from "preact";
import type { UserRow } from "../../../api/users/user_types.ts";
import type { Models } from "../../app/app_context.ts";
import { userHref } from "../../app/routes.ts";
import type { TableColumn } from "../../components/data_table.tsx";
import { CellFilter } from "../../components/filter_chips.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { BackendMarks, factorLabel, userState } from "./user_states.tsx";

interface UserColumnsOptions {
  readonly models: Models;
  /** Users of this directory sign in. */
  readonly logsIn: boolean;
}

export function userColumns({ models, logsIn }: UserColumnsOptions): TableColumn<UserRow>[] {
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

export function userActions(target: string): (row: UserRow) => MenuItem[] {
  return ({ name }) => [
    { label: t("common.open_user"), icon: "user", href: userHref(name, target) },
    { label: t("common.second_factors"), icon: "smartphone", href: `${userHref(name, target)}#devices` },
    { label: t("common.show_sign_ins"), icon: "activity", href: `/history?user=${encodeURIComponent(name)}` },
    { label: t("shell.audit"), icon: "scroll-text", href: auditHref(`user:${name}`) },
  ];
}
