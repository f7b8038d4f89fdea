// Health: everything that the gateway hangs on, each with when it was last good and a button that asks it again.

import { useSignal } from "@preact/signals";
import type { HealthPart, HealthReport } from "../../api/targets/target_types.ts";
import { whyNot } from "../access_words.ts";
import { fetchHealth, testPart } from "../models/connect_calls.ts";
import { failureText } from "../api_client.ts";
import { decimalText } from "../format.ts";
import { useEvery } from "../models/every.ts";
import { useResource } from "../models/resource.ts";
import { Fetched } from "../parts/connect/fetched.tsx";
import { Button } from "../parts/button.tsx";
import { type Column, DataTable } from "../parts/data_table.tsx";
import { Note } from "../parts/note.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { Status } from "../parts/status.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../i18n/translate.ts";

type Models = PageProps["models"];
interface Looked extends HealthReport {
  /** How far this browser's clock is ahead of the server's; a half of the way there and back is taken off. */
  readonly skewMs: number;
}

const LOOK_EVERY_MS = 15_000;
const SKEW_LIMIT_MS = 5000;
/** A smaller difference is the time of the way there and back. */
const MIN_SKEW_MS = 2000;
const STATES = {
  ok: { tone: "ok", shape: "check" },
  warning: { tone: "wait", shape: "clock" },
  bad: { tone: "bad", shape: "cross" },
  unknown: { tone: "idle", shape: "ring" },
} as const;

async function look(models: Models): Promise<Looked> {
  const startedMs = Date.now();
  const report = await fetchHealth(models);
  const half = (Date.now() - startedMs) / 2;
  return { ...report, skewMs: Math.round(startedMs + half - report.nowMs) };
}

export default function HealthPage({ models }: PageProps) {
  const page = useResource(models, { fetch: () => look(models), inputs: [] });
  useEvery(LOOK_EVERY_MS, () => void page.reload());
  return (
    <main class="page" id="page">
      <PageBar title={t("frame.health")} />
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

function Summary({ report: { parts, skewMs } }: { report: Looked }) {
  const bad = parts.filter(({ state }) => state === "bad").length;
  const warning = parts.filter(({ state }) => state === "warning").length;
  const unasked = parts.filter(({ state }) => state === "unknown").length;
  const isSkewed = Math.abs(skewMs) > SKEW_LIMIT_MS;
  const tone = bad > 0 ? "bad" : warning > 0 ? "wait" : unasked > 0 ? "idle" : "ok";
  return (
    <>
      <Note tone={tone} icon={tone === "ok" ? "check" : "alert"} role="status">
        {bad > 0
          ? t("connect.health_bad", { count: bad })
          : warning > 0
          ? t("connect.health_warning", { count: warning })
          : unasked > 0
          ? t("connect.health_unasked", { count: unasked })
          : t("connect.health_ok")}
      </Note>
      {Math.abs(skewMs) >= MIN_SKEW_MS && (
        <Note tone={isSkewed ? "wait" : "idle"} icon="clock">
          {t(isSkewed ? "connect.skew_bad" : "connect.skew", {
            seconds: decimalText(Math.abs(skewMs / 1000)),
          })}
        </Note>
      )}
    </>
  );
}

interface PartsProps {
  readonly models: Models;
  readonly report: Looked;
  readonly onTested: () => Promise<void>;
}

function Parts({ models, report, onTested }: PartsProps) {
  const testing = useSignal("");
  const problem = useSignal<string | null>(null);
  const reason = whyNot(models, "operator");
  const test = async (part: HealthPart) => {
    testing.value = part.id;
    problem.value = null;
    try {
      const { part: now } = await testPart(models, part.id);
      const said = t("connect.tested_as", { name: nameOf(part), state: t(`connect.health_is_${now.state}`) });
      models.toasts.say(said, { tone: STATES[now.state].tone });
      await onTested();
    } catch (fault) {
      problem.value = failureText(fault);
    }
    testing.value = "";
  };
  const columns: readonly Column<HealthPart>[] = [
    {
      label: t("connect.part"),
      cell: (part) => (
        <>
          {t(`connect.kind_${part.kind}`)} <bdi class="mono quiet">{part.name}</bdi>
        </>
      ),
    },
    {
      label: t("connect.state"),
      width: "150px",
      narrow: "100px",
      cell: ({ state }) => <Status words={{ ...STATES[state], label: t(`connect.health_is_${state}`) }} />,
    },
    {
      label: t("connect.figure"),
      wideOnly: true,
      cell: (part) => <bdi>{figureText(part)}</bdi>,
    },
    {
      label: t("connect.last_good"),
      width: "140px",
      wideOnly: true,
      cell: ({ lastGoodMs, testable }) =>
        lastGoodMs === null ? testable && t("connect.never") : <Time models={models} atMs={lastGoodMs} />,
    },
    {
      label: t("connect.test"),
      width: "170px",
      narrow: "112px",
      cell: (part) =>
        !part.testable ? <span class="quiet small">{t(`connect.untested_${part.kind}`)}</span> : (
          <Button
            small
            disabled={testing.value !== ""}
            reason={reason}
            of={nameOf(part)}
            onClick={() => test(part)}
          >
            {t("connect.test")}
          </Button>
        ),
    },
  ];
  return (
    <section class="panel">
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      <DataTable
        label={t("frame.health")}
        columns={columns}
        rows={report.parts}
        keyOf={({ id }) => id}
      />
    </section>
  );
}

function nameOf({ kind, name }: HealthPart): string {
  return name === "" ? t(`connect.kind_${kind}`) : name;
}

function figureText({ kind, figure, limit, detail, name, note }: HealthPart): string {
  if (note !== undefined) return t(`connect.note_${note}`);
  if (detail !== "") return detail;
  if (limit !== undefined) return t("connect.count_in_hour", { count: figure ?? 0, limit });
  if (name === "") return t("connect.embedded");
  if (figure === null) return "";
  if (kind === "certificate") return t("connect.days_left", { count: figure });
  if (kind === "outbox") return t("connect.writes_owed", { count: figure });
  return `${figure} ms`;
}
