// The Health page: each dependency of the gateway with its last success, and a button to test it.

import { useSignal } from "@preact/signals";
import type { HealthPart, HealthReport } from "../../../api/targets/target_types.ts";
import { failureText, take } from "../../app/api_client.ts";
import type { PageProps } from "../../app/app_context.ts";
import { decimalText } from "../../app/format.ts";
import { useInterval, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { clientText } from "../../components/client_text.ts";
import { Icon } from "../../components/icons.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { healthLink } from "./health_links.ts";

type Models = PageProps["models"];
interface HealthWithSkew extends HealthReport {
  /** How far the clock of the browser is ahead of the server. Half of the round trip is subtracted. */
  readonly skewMs: number;
}

const POLL_INTERVAL_MS = 15_000;
const SKEW_LIMIT_MS = 5000;
/** A smaller difference may be network latency. */
const MIN_SKEW_MS = 2000;
const STATES = {
  ok: { tone: "ok", shape: "check" },
  warning: { tone: "wait", shape: "alert" },
  bad: { tone: "bad", shape: "cross" },
  unknown: { tone: "idle", shape: "ring" },
  off: { tone: "idle", shape: "ring" },
} as const;

async function fetchWithSkew(models: Models): Promise<HealthWithSkew> {
  const startedMs = Date.now();
  const report = await fetchHealth(models);
  const half = (Date.now() - startedMs) / 2;
  return { ...report, skewMs: Math.round(startedMs + half - report.nowMs) };
}

export default function HealthPage({ models }: PageProps) {
  const page = useResource(models, { fetch: () => fetchWithSkew(models), inputs: [] });
  useInterval(POLL_INTERVAL_MS, page.reload);
  return (
    <main class="page" id="page">
      <PageBar title={t("shell.health")}>
        <a class="button" href="/nodes">
          <Icon name="server" size={14} />
          {t("shell.nodes")}
        </a>
      </PageBar>
      <Fetched resource={page}>
        {(report) => (
          <>
            <Summary report={report} />
            <Parts models={models} report={report} onTested={() => page.reload()} />
          </>
        )}
      </Fetched>
    </main>
  );
}

function Summary({ report: { parts, skewMs } }: { report: HealthWithSkew }) {
  const bad = parts.filter(({ state }) => state === "bad").length;
  const warning = parts.filter(({ state }) => state === "warning").length;
  const unasked = parts.filter(({ state }) => state === "unknown").length;
  const isSkewed = Math.abs(skewMs) > SKEW_LIMIT_MS;
  const tone = bad > 0 ? "bad" : warning > 0 ? "wait" : unasked > 0 ? "idle" : "ok";
  return (
    <>
      <Alert tone={tone} icon={tone === "ok" ? "check" : "alert"} role="status">
        {bad > 0
          ? t("health.bad", { count: bad })
          : warning > 0
          ? t("health.warning", { count: warning })
          : unasked > 0
          ? t("health.unasked", { count: unasked })
          : t("health.ok")}
      </Alert>
      {Math.abs(skewMs) >= MIN_SKEW_MS && (
        <Alert tone={isSkewed ? "wait" : "idle"} icon="clock">
          {t(isSkewed ? "health.skew_bad" : "health.skew", {
            seconds: decimalText(Math.abs(skewMs / 1000)),
          })}
        </Alert>
      )}
    </>
  );
}

interface PartsProps {
  readonly models: Models;
  readonly report: HealthWithSkew;
  readonly onTested: () => Promise<void>;
}

function Parts({ models, report, onTested }: PartsProps) {
  const testing = useSignal("");
  const problem = useSignal<string | null>(null);
  const reason = permissionHint(models, "operator");
  const test = async (part: HealthPart) => {
    testing.value = part.id;
    problem.value = null;
    try {
      const { part: now } = await testPart(models, part.id);
      const said = t("health.tested_as", { name: nameOf(part), state: t(`health.is_${now.state}`) });
      models.toasts.show(said, { tone: STATES[now.state].tone });
      await onTested();
    } catch (fault) {
      problem.value = failureText(fault);
    }
    testing.value = "";
  };
  const columns: readonly TableColumn<HealthPart>[] = [
    {
      label: t("common.component"),
      min: 160,
      width: "30%",
      cell: (part) => (
        <span>
          {t(`health.kind_${part.kind}`)}{" "}
          <bdi class="mono quiet">{isOfClient(part) ? clientText(part.name) : part.name}</bdi>
        </span>
      ),
    },
    {
      label: t("common.status"),
      width: "5%",
      min: 140,
      cell: ({ state }) => <StateText words={{ ...STATES[state], label: t(`health.is_${state}`) }} />,
    },
    {
      label: t("health.figure"),
      width: "70%",
      cell: (part) => <PartDetails part={part} />,
    },
    {
      label: t("common.last_good"),
      width: "120px",
      priority: 2,
      cell: ({ lastGoodMs, testable }) =>
        lastGoodMs === null ? testable && t("common.never") : <Time models={models} atMs={lastGoodMs} />,
    },
    {
      label: t("common.test"),
      width: "5%",
      min: 90,
      isPinned: true,
      cell: (part) =>
        !part.testable ? <span class="quiet small">{t(`health.untested_${part.kind}`)}</span> : (
          <Button
            small
            disabled={testing.value !== ""}
            reason={reason}
            of={nameOf(part)}
            onClick={() => test(part)}
          >
            {t("common.test")}
          </Button>
        ),
    },
  ];
  return (
    <section class="panel">
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
      <DataTable
        label={t("shell.health")}
        columns={columns}
        rows={report.parts}
        keyOf={({ id }) => id}
        hrefOf={(part) => healthLink(part).href}
      />
    </section>
  );
}

/** The figure of a row, and where its problem ends. */
function PartDetails({ part }: { part: HealthPart }) {
  const { href, action } = healthLink(part);
  return (
    <>
      <bdi>{healthText(part)}</bdi>
      {part.state !== "ok" && (
        <a class="change-link" href={href}>
          {action}
          <span class="unseen">{`: ${nameOf(part)}`}</span>
        </a>
      )}
    </>
  );
}

function nameOf({ kind, name }: HealthPart): string {
  return name === "" ? t(`health.kind_${kind}`) : isOfClient({ kind }) ? clientText(name) : name;
}

function isOfClient({ kind }: Pick<HealthPart, "kind">): boolean {
  return kind === "unsigned" || kind === "shadow";
}

const fetchHealth = ({ api }: Models) => take(api.health.$get());

const testPart = ({ api, session }: Models, id: string) =>
  session.whileSignedIn(() => take(api.health.test.$post({ json: { id } })));

/** The details of a row: its problem, or its figure. */
export function healthText({ kind, figure, limit, detail, name, note, push }: HealthPart): string {
  if (push !== undefined) return t(`health.push_${push}`);
  if (note !== undefined) return t(`health.note_${note}`, { name });
  if (kind === "unsigned") {
    return t(
      detail === "seen" || detail === "always" ? `health.unsigned_${detail}` : "health.unsigned_possible",
    );
  }
  if (detail !== "") return detail;
  if (limit !== undefined) return t("health.count_in_hour", { count: figure ?? 0, limit });
  if (name === "") return t("health.embedded");
  if (figure === null) return "";
  if (kind === "push") return t("health.push_phones", { count: figure });
  if (kind === "certificate") return t("health.days_left", { count: figure });
  if (kind === "log_export") return t("health.records_waiting", { count: figure });
  if (kind === "alerts") return t("common.messages_waiting", { count: figure });
  if (kind === "mail") return t("health.mails_waiting", { count: figure });
  if (kind === "outbox") return t("health.writes_owed", { count: figure });
  return `${figure} ms`;
}
