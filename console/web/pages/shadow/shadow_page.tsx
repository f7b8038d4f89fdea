// Shadow mode: what the clients would do with a second factor, what to set before, and the users who have none yet.

import type { ShadowUserPage } from "../../../api/shadow/shadow_routes.ts";
import type {
  ShadowAdvice,
  ShadowClientReport,
  ShadowObstacle,
  ShadowUserRow,
} from "../../../api/shadow/shadow_report.ts";
import { take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type FilterQuery, type ListFilter, pageNumber, useFilteredList } from "../../app/filters.ts";
import { countText, spanText } from "../../app/format.ts";
import { userHref } from "../../app/routes.ts";
import { Alert } from "../../components/alert.tsx";
import { clientHref, clientText } from "../../components/client_text.ts";
import type { TableColumn } from "../../components/data_table.tsx";
import { ReadOnlyField } from "../../components/field.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";
import { InviteButton } from "../enrolment/invite_button.tsx";
import { ModeSwitch } from "./mode_switch.tsx";

const DAYS = ["1", "7", "30", "90"] as const;
const OBSTACLES = [
  ...["none", "no_factor", "needs_phone", "unknown", "inactive", "locked", "policy"] as const,
  ...["method", "eap_outer_identity", "unsigned"] as const,
] as const;
const TEXTS = {
  filters: "common.filters",
  failed: "common.unread",
  old: "common.old",
  empty: ["shadow.no_users", "shadow.no_users_next"],
  noMatch: ["common.no_users_match", "common.none_match_next"],
} as const;
const PAGE_SIZE = 50;

interface Answer extends ShadowUserPage {
  readonly clients: readonly ShadowClientReport[];
  readonly page: number;
  readonly size: number;
}

export default function ShadowPage({ models }: PageProps) {
  const filters = filterRows();
  const { list, query } = useFilteredList<Answer>(models, {
    filters,
    fetch: (query) => fetchReport(models, query),
  });
  return (
    <ListPage
      models={models}
      name="shadow"
      title={t("shell.shadow")}
      label={t("shell.users")}
      back={{ href: "/clients", label: t("shell.clients") }}
      texts={TEXTS}
      filters={filters}
      resource={list}
      actions={
        <InviteButton
          models={models}
          label={t("shadow.invite")}
          name={t("shell.shadow")}
          users={() => fetchInvitable(models, query)}
        />
      }
      rows={({ users }) => users}
      columns={columnsOf(models)}
      keyOf={({ client, user }) => `${client} ${user}`}
      hrefOf={({ user }) => `${userHref(user)}#devices`}
      note={({ clients }) => (
        <>
          {clients.length === 0 && <Alert tone="idle">{t("shadow.no_clients")}</Alert>}
          {clients.map((report) => (
            <ClientPanel
              key={report.client}
              models={models}
              report={report}
              onChanged={() => void list.reload()}
            />
          ))}
        </>
      )}
    />
  );
}

async function fetchReport(models: Models, query: FilterQuery): Promise<Answer> {
  const { api } = models;
  const { days, client } = query;
  const range = { ...days === undefined ? {} : { days }, ...client === undefined ? {} : { client } } as {
    days?: typeof DAYS[number];
  };
  const page = pageNumber(models);
  const asked = { ...query, page: String(page), size: String(PAGE_SIZE) } as typeof range;
  const [{ clients }, users] = await Promise.all([
    take(api.shadow.$get({ query: range })),
    take(api.shadow.users.$get({ query: asked })),
  ]);
  return { clients, ...users, page, size: PAGE_SIZE };
}

async function fetchInvitable({ api, session }: Models, { days, client }: FilterQuery) {
  const query = { ...days === undefined ? {} : { days }, ...client === undefined ? {} : { client } } as {
    days?: typeof DAYS[number];
  };
  return await session.whileSignedIn(() => take(api.shadow.invitable.$get({ query })));
}

interface PanelProps {
  readonly models: Models;
  readonly report: ShadowClientReport;
  readonly onChanged: () => void;
}

function ClientPanel({ models, report, onChanged }: PanelProps) {
  const { client, accepted, unanswered, passed, lastMs, advice, unrecorded } = report;
  const known = passed + Object.values(report.refused).reduce((sum, count) => sum + count, 0);
  return (
    <section class="panel people-panel" aria-label={client}>
      <h2>
        <a href={clientHref(client)}>
          <bdi class="mono">{clientText(client)}</bdi>
        </a>
      </h2>
      <div class="people-fields">
        <ReadOnlyField label={t("common.status")}>{t(`shadow.state_${report.mode}`)}</ReadOnlyField>
        <ReadOnlyField label={t("shadow.last_request")}>
          {lastMs === 0 ? t("common.never") : <Time models={models} atMs={lastMs} />}
        </ReadOnlyField>
        <ReadOnlyField label={t("shadow.accepted")}>{countText(accepted)}</ReadOnlyField>
        <ReadOnlyField label={t("shadow.rejected")}>{countText(report.rejected)}</ReadOnlyField>
        <ReadOnlyField label={t("shadow.would_pass")}>
          {known === 0
            ? t("common.no_sign_ins")
            : t("shadow.share", { count: countText(passed), percent: Math.floor(passed / known * 100) })}
        </ReadOnlyField>
        <ReadOnlyField label={t("shell.users")}>{countText(report.users)}</ReadOnlyField>
        <ReadOnlyField label={t("shadow.methods")}>{methodsText(report) || t("common.none")}</ReadOnlyField>
        <ReadOnlyField label={t("shadow.times")}>{timesText(report)}</ReadOnlyField>
        <ReadOnlyField label={t("shadow.retries")}>{retriesText(report)}</ReadOnlyField>
      </div>
      <Refused report={report} />
      {unrecorded > 0 && <Alert tone="wait">{t("shadow.unrecorded", { count: unrecorded })}</Alert>}
      {advice.map((one) => (
        <Alert key={one.code} tone={one.code === "times_out" ? "bad" : unanswered > 0 ? "wait" : "idle"}>
          {adviceText(one)}
        </Alert>
      ))}
      <ModeSwitch
        models={models}
        client={client}
        mode={report.mode}
        reason={report.isOfConsole ? undefined : t("shadow.in_settings")}
        onChanged={onChanged}
      />
    </section>
  );
}

/** The logins that would be refused, by obstacle; a link shows their users. */
function Refused({ report: { client, refused } }: Pick<PanelProps, "report">) {
  const found = Object.entries(refused) as [ShadowObstacle, number][];
  if (found.length === 0) return null;
  return (
    <ul class="report-tiles" aria-label={t("shadow.would_fail")}>
      {found.sort(([, a], [, b]) => b - a).map(([obstacle, count]) => (
        <li key={obstacle} class="report-tile">
          <a href={`/shadow?client=${encodeURIComponent(client)}&obstacle=${obstacle}`}>
            <span class="quiet">{t(`shadow.obstacle_${obstacle}`)}</span>
            <strong>{countText(count)}</strong>
          </a>
        </li>
      ))}
    </ul>
  );
}

function methodsText({ methods }: Pick<ShadowClientReport, "methods">): string {
  return methods.map(({ method, logins, prompted, unsigned }) => {
    const marks = [
      ...prompted > 0 && !method.includes("EAP")
        ? [t("shadow.with_prompts", { count: countText(prompted) })]
        : [],
      ...unsigned > 0 ? [t("shadow.unsigned", { count: countText(unsigned) })] : [],
    ];
    return `${method}: ${countText(logins)}${marks.length === 0 ? "" : ` (${marks.join(", ")})`}`;
  }).join(" · ");
}

function timesText({ p50Ms, p95Ms, maxMs }: ShadowClientReport): string {
  if (p50Ms === null || p95Ms === null) return t("common.no_sign_ins");
  return t("shadow.times_of", { p50: spanText(p50Ms), p95: spanText(p95Ms), max: spanText(maxMs) });
}

function retriesText({ retryS, tries, patienceMs }: ShadowClientReport): string {
  if (retryS === null) return t("shadow.no_retries");
  const times = { seconds: retryS, tries };
  return patienceMs === null
    ? t("shadow.retries_of", times)
    : t("shadow.retries_until", { ...times, waits: spanText(patienceMs) });
}

/** What to set, and why. */
function adviceText({ code, values }: ShadowAdvice): string {
  if (code === "times_out") {
    return t(values.to === undefined ? "shadow.advice_times_out" : "shadow.advice_times_out_or", {
      ...values,
    });
  }
  return t(`shadow.advice_${code}`, { ...values });
}

function filterRows(): ListFilter[] {
  return [
    { name: "client", label: t("common.client"), control: "name" },
    {
      ...{ name: "obstacle", label: t("shadow.obstacle"), control: "choice", options: OBSTACLES },
      allLabel: `${t("shadow.obstacle")}: ${t("common.any")}`,
      text: obstacleText,
    },
    {
      ...{ name: "days", label: t("shadow.range"), control: "choice", options: DAYS, isNarrowing: false },
      allLabel: t("shadow.days", { count: 30 }),
      text: (value) => t("shadow.days", { count: Number(value) }),
    },
  ];
}

function obstacleText(obstacle: string): string {
  return t(`shadow.obstacle_${obstacle}` as MessageKey);
}

function columnsOf(models: Models): TableColumn<ShadowUserRow>[] {
  return [
    {
      id: "user",
      label: t("common.user_name"),
      min: 150,
      cell: ({ user }) => <bdi class="cut" title={user}>{user}</bdi>,
    },
    {
      id: "client",
      label: t("common.client"),
      priority: 2,
      cell: ({ client }) => <bdi class="cut mono" title={client}>{client}</bdi>,
    },
    {
      id: "obstacle",
      label: t("shadow.obstacle"),
      width: "240px",
      cell: ({ obstacle }) => (
        <StateText
          words={obstacle === null
            ? { tone: "ok", shape: "check", label: t("shadow.obstacle_none") }
            : { tone: "bad", shape: "alert", label: obstacleText(obstacle) }}
        />
      ),
    },
    {
      id: "methods",
      label: t("shadow.methods"),
      priority: 3,
      cell: ({ methods }) => methods.join(", "),
    },
    { id: "logins", label: t("common.sign_ins"), number: true, cell: ({ logins }) => countText(logins) },
    {
      id: "last",
      label: t("shadow.last_request"),
      width: "120px",
      priority: 2,
      cell: ({ lastMs }) => <Time models={models} atMs={lastMs} />,
    },
  ];
}
