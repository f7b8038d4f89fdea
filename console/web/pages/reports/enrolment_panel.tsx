// Enrolment: how many users have which factors, which ones are not used, and who has not signed in for some time.

import type {
  EnrolledFactor,
  EnrolmentAnswer,
  EnrolmentReport,
  InactiveDays,
} from "../../../api/reports/enrolment.ts";
import { take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { countText } from "../../app/format.ts";
import { type Resource, useInterval, useResource } from "../../app/resource.ts";
import { Fetched } from "../../components/alert.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { factorName } from "./breakdown_panels.tsx";
import { ExportLinks, ReportTable } from "./report_table.tsx";

const POLL_INTERVAL_MS = 2000;
const FACTORS: readonly EnrolledFactor[] = ["device", "sms", "voice", "totp"];
const PERIODS: readonly InactiveDays[] = [30, 60, 90];

/** The newest count. While a count is running, its progress is fetched again and again. */
export function useEnrolment(models: Models): Resource<EnrolmentAnswer> {
  const answer = useResource(models, {
    fetch: () => take<EnrolmentAnswer>(models.api.reports.enrolment.$get()),
    inputs: [],
  });
  const state = answer.state.value;
  const isCounting = state.kind === "ready" && state.value.progress !== null;
  useInterval(POLL_INTERVAL_MS, () => isCounting ? answer.reload() : Promise.resolve());
  return answer;
}

export function EnrolmentPanel(
  { models, answer }: { models: Models; answer: Resource<EnrolmentAnswer> },
) {
  return (
    <section class="report-section" aria-labelledby="report-enrolment">
      <h2 id="report-enrolment">{t("reports.enrolment_title")}</h2>
      <Fetched resource={answer} rows={4}>
        {({ report, progress }) => (
          <>
            {report !== null && <Freshness models={models} report={report} />}
            {progress !== null && (
              <p class="quiet small" role="status">
                {t("reports.counting", {
                  counted: countText(progress.counted),
                  total: countText(progress.total),
                })}
              </p>
            )}
            {report !== null && <Figures report={report} />}
          </>
        )}
      </Fetched>
    </section>
  );
}

function Freshness(
  { models, report: { atMs, counted, total } }: { models: Models; report: EnrolmentReport },
) {
  const counts = { counted: countText(counted), total: countText(total) };
  return (
    <p class="quiet small">
      {t(counted < total ? "reports.enrolment_partial" : "reports.enrolment_of", counts)}{" "}
      <Time models={models} atMs={atMs} />
    </p>
  );
}

function Figures({ report }: { report: EnrolmentReport }) {
  const { active, enrolled, numberOnly, without, neverSignedIn } = report;
  return (
    <>
      <ul class="report-tiles" aria-label={t("reports.enrolment_title")}>
        <UserTile label={t("reports.active_users")} count={active} href="/users?status=active" />
        <UserTile label={t("reports.enrolled")} count={enrolled} of={active} />
        <UserTile label={t("reports.number_only")} count={numberOnly} of={active} />
        <UserTile
          label={t("reports.without_factor")}
          count={without}
          of={active}
          href="/users?status=active&enrolled=no"
        />
        <UserTile label={t("reports.never_signed_in")} count={neverSignedIn} of={active} />
      </ul>
      <div class="report-columns">
        <FactorUsers report={report} />
        <ReviewLists report={report} />
      </div>
    </>
  );
}

interface UserTileProps {
  readonly label: string;
  readonly count: number;
  /** All active users, for the share. */
  readonly of?: number;
  readonly href?: string;
}

function UserTile({ label, count, of, href }: UserTileProps) {
  const inside = (
    <>
      <span class="quiet">{label}</span>
      <strong>{countText(count)}</strong>
      {of !== undefined && <span class="quiet small">{shareText(count, of)}</span>}
    </>
  );
  return (
    <li class="report-tile">
      {href === undefined ? <div>{inside}</div> : <a href={href}>{inside}</a>}
    </li>
  );
}

function shareText(count: number, of: number): string {
  return t("reports.of_active", { percent: of === 0 ? 0 : Math.round(100 * count / of) });
}

function FactorUsers({ report: { factors, active } }: { report: EnrolmentReport }) {
  const title = t("reports.enrolled_factors");
  return (
    <ReportTable
      title={title}
      names={t("common.factor")}
      rows={FACTORS.map((name) => ({ name, ...factors[name] }))}
      keyOf={({ name }) => name}
      amount={({ users }) => active === 0 ? 0 : users}
      name={({ name }) => <a class="report-link" href={`/devices?kind=${name}`}>{factorName(name)}</a>}
      columns={[
        { label: t("shell.users"), cell: ({ users }) => countText(users) },
        { label: t("reports.unused"), cell: ({ unused }) => countText(unused) },
        { label: t("reports.never_used"), wideOnly: true, cell: ({ neverUsed }) => countText(neverUsed) },
      ]}
      files={<ExportLinks report="enrolled_factors" of={title} query={{}} />}
      empty="reports.none_in_range"
    />
  );
}

interface ReviewRow {
  readonly report: string;
  readonly label: string;
  readonly count: number;
  readonly href: string;
  readonly query: Readonly<Record<string, string>>;
}

/** Users and factors that an administrator looks through from time to time, each as a list and as a file. */
function ReviewLists({ report: { inactive, without, factors } }: { report: EnrolmentReport }) {
  const title = t("reports.review_title");
  const rows: ReviewRow[] = [
    ...PERIODS.map((days) => ({
      report: "inactive_users",
      label: t("reports.inactive_days", { days }),
      count: inactive[days],
      href: `/users?status=active&inactive=${days}`,
      query: { days: String(days) },
    })),
    {
      report: "users_without_factor",
      label: t("reports.users_without_factor"),
      count: without,
      href: "/users?status=active&enrolled=no",
      query: {},
    },
    {
      report: "unused_factors",
      label: t("reports.unused_factors"),
      count: FACTORS.reduce((sum, name) => sum + factors[name].unused, 0),
      href: "/devices",
      query: {},
    },
  ];
  return (
    <ReportTable
      title={title}
      names={t("reports.list")}
      rows={rows}
      keyOf={({ label }) => label}
      name={({ label, href }) => <a class="report-link" href={href}>{label}</a>}
      columns={[
        { label: t("reports.entries"), cell: ({ count }) => countText(count) },
        {
          label: t("reports.export"),
          cell: ({ report, label, query }) => (
            <span class="report-files">
              <ExportLinks report={report} of={label} query={query} />
            </span>
          ),
        },
      ]}
      empty="reports.none_in_range"
    />
  );
}
