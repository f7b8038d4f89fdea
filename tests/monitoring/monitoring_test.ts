// The alert rules and the dashboard in packaging/ against the metrics of a running gateway, with the PromQL grammar of Prometheus
// and with promtool.

import { assert, assertEquals } from "@std/assert";
import { alertKindRow, END_WARNING_DAYS, isAlertKind } from "../../platform/alerts/alert_kinds.ts";
import { DAY_MS } from "../../platform/durations.ts";
import { SETTINGS } from "../../platform/config/settings.ts";
import { parser } from "../packages/lezer_promql.ts";
import { parse } from "../packages/yaml.ts";
import { makeAuthority } from "../support/certificates.ts";
import { runProgram } from "../support/child.ts";
import { startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { ALERT_CASES } from "./alert_cases.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const RULES = `${ROOT}packaging/prometheus/countersign.rules.yml`;
const DASHBOARD = `${ROOT}packaging/grafana/countersign.json`;
/** Metrics of Prometheus itself and of the node_exporter, with their labels. */
const FOREIGN = new Map([
  ["up", new Set(["job", "instance"])],
  ["node_netstat_Udp_RcvbufErrors", new Set(["job", "instance"])],
]);
/** Labels that Prometheus adds to each series. */
const SCRAPE_LABELS = ["job", "instance"];

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const rules: readonly Rule[] = (parse(await Deno.readTextFile(RULES)) as {
  groups: readonly { rules: readonly Rule[] }[];
}).groups.flatMap((group) => group.rules);

interface Selector {
  readonly metric: string;
  readonly matchers: readonly { readonly label: string; readonly text: string; readonly isRegex: boolean }[];
}

/** The selectors of an expression. Throws with the place of a syntax error. */
function selectorsOf(expr: string): Selector[] {
  const found: { metric: string; matchers: { label: string; text: string; isRegex: boolean }[] }[] = [];
  parser.parse(expr).iterate({
    enter({ name, type, from, to, node }) {
      if (type.isError) throw new SyntaxError(`Cannot parse ${expr} at ${from}`);
      const text = (child: string) => {
        const at = node.getChild(child);
        return at === null ? "" : expr.slice(at.from, at.to);
      };
      if (name === "VectorSelector") found.push({ metric: text("Identifier"), matchers: [] });
      if (name !== "UnquotedLabelMatcher") return;
      found.at(-1)?.matchers.push({
        label: text("LabelName"),
        text: JSON.parse(text("StringLiteral")),
        isRegex: expr.slice(from, to).includes("~"),
      });
    },
  });
  return found;
}

/** The labels that an expression groups by. */
function groupingsOf(expr: string): string[] {
  const labels: string[] = [];
  parser.parse(expr).iterate({
    enter({ name, from, to, node }) {
      if (name === "LabelName" && node.parent?.name === "GroupingLabels") labels.push(expr.slice(from, to));
    },
  });
  return labels;
}

type MetricLabels = ReadonlyMap<string, readonly Readonly<Record<string, string>>[]>;

/** The series of /metrics by name. */
function readMetrics(text: string): MetricLabels {
  const found = new Map<string, Record<string, string>[]>();
  for (const line of text.trimEnd().split("\n").filter((one) => !one.startsWith("#"))) {
    const [, name = "", labels = ""] = /^([a-z0-9_]+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    const pairs = [...labels.matchAll(/([a-z]+)="([^"]*)"/g)].map((
      [, label = "", value = ""],
    ) => [label, value]);
    found.set(name, [...found.get(name) ?? [], Object.fromEntries(pairs)]);
  }
  return found;
}

/** What is wrong with the names in an expression. */
function nameProblems(expr: string, metrics: MetricLabels): string[] {
  const selectors = selectorsOf(expr);
  const known = new Set(SCRAPE_LABELS);
  const problems = selectors.flatMap(({ metric, matchers }) => {
    const foreign = FOREIGN.get(metric);
    if (foreign !== undefined) {
      return matchers.flatMap(({ label }) => foreign.has(label) ? [] : [`${metric} has no label ${label}`]);
    }
    const series = metrics.get(metric);
    if (series === undefined) return [`there is no metric ${metric}`];
    for (const label of series.flatMap((labels) => Object.keys(labels))) known.add(label);
    return matchers.flatMap(({ label, text, isRegex }) => {
      if (SCRAPE_LABELS.includes(label)) return [];
      const values = series.map((labels) => labels[label]);
      // Each alternative of a regular expression is a value that exists.
      const wanted = isRegex ? text.split("|") : [text];
      return wanted.filter((one) => !values.includes(one)).map((one) => `${metric} has no ${label}="${one}"`);
    });
  });
  return [
    ...problems,
    ...groupingsOf(expr).filter((label) => !known.has(label)).map((label) => `no label ${label}`),
  ];
}

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
  readonly panels?: readonly Panel[];
}

async function dashboardPanels(): Promise<readonly Panel[]> {
  const { panels } = JSON.parse(await Deno.readTextFile(DASHBOARD)) as { panels: readonly Panel[] };
  return panels.flatMap((panel) => [panel, ...panel.panels ?? []]);
}

/** An expression of the dashboard, with Grafana's variables replaced. */
const plain = (expr: string) => expr.replaceAll("$__rate_interval", "5m").replaceAll('"$instance"', '".*"');

Deno.test("alert rules and dashboard use only metrics and labels that a gateway has from its start", async (t) => {
  const folder = await Deno.makeTempDir();
  try {
    const { certFile, keyFile } = await (await makeAuthority(folder)).issue(["DNS:localhost"]);
    await using gateway = await startProgram({
      toml: `[http]\ntls_cert = "${certFile}"\ntls_key = "${keyFile}"\npublic_url = "https://localhost"\n`,
    });
    const client = Deno.createHttpClient({ caCerts: [await Deno.readTextFile(`${folder}/ca.pem`)] });
    const url = gateway.httpUrl.replace("http://127.0.0.1", "https://localhost");
    const metrics = readMetrics(await (await fetch(`${url}/metrics`, { client } as RequestInit)).text());
    client.close();
    for (const { alert, expr } of rules) {
      await t.step(alert, () => assertEquals(nameProblems(expr, metrics), []));
    }
    for (const { title, targets = [] } of await dashboardPanels()) {
      await t.step(`panel "${title}"`, () => {
        assertEquals(targets.flatMap(({ expr }) => nameProblems(plain(expr), metrics)), []);
      });
    }
    await t.step("a wrong name, label, value or grouping is found", () => {
      const wrong =
        'sum by (nothing) (countersign_no_total) + countersign_ready{a="b"} + countersign_logins_total{result="won"}';
      assertEquals(nameProblems(wrong, metrics), [
        "there is no metric countersign_no_total",
        'countersign_ready has no a="b"',
        'countersign_logins_total has no result="won"',
        "no label nothing",
      ]);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** The anchors of a page, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const titles = [...page.matchAll(/^#{1,4} (.+)$/gm)].map(([, title = ""]) => title);
  return new Set(
    titles.map((title) => title.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")),
  );
}

Deno.test("each alert rule says what happened, what to do next, and where the page about it is", async (t) => {
  for (const { alert, annotations } of rules) {
    await t.step(alert, async () => {
      const { summary = "", description = "", runbook = "" } = annotations;
      assert(summary.length > 20 && description.length > 20, "the texts are too short");
      const [path = "", anchor = ""] = runbook.split("#");
      assert(anchorsOf(await Deno.readTextFile(ROOT + path)).has(anchor), `there is no ${runbook}`);
    });
  }
});

Deno.test("alert rules with a kind have the severity and the delay of the alert that the product sends", async (t) => {
  const failingMinutes = Number(SETTINGS.alerts.failingMs.default);
  for (const { alert, labels: { kind = "", severity = "" }, for: delay = "0m" } of rules) {
    if (kind === "") continue;
    await t.step(alert, () => {
      if (!isAlertKind(kind)) throw new Error(`There is no kind ${kind}`);
      const { delayMs, severity: usual } = alertKindRow(kind);
      const minutes = delayMs === null ? failingMinutes : delayMs / 60_000;
      // A part that others replace is a warning, and an end that is near is critical.
      const severities = kind in END_WARNING_DAYS || usual === "critical" ? ["warning", "critical"] : [usual];
      assertEquals([delay, severities.includes(severity)], [`${minutes}m`, true]);
    });
  }
  await t.step("the thresholds are those of the product", () => {
    const { warning, critical } = END_WARNING_DAYS.certificate_expiring;
    const exprOf = (name: string) => rules.find(({ alert }) => alert === name)?.expr ?? "";
    const dayS = DAY_MS / 1000;
    assert(exprOf("CountersignCertificateExpiring").includes(`<= ${warning} * ${dayS}`));
    assert(exprOf("CountersignCertificateEnds").includes(`<= ${critical} * ${dayS}`));
    const { spikeCount: count, spikeFactor: factor } = SETTINGS.alerts;
    assert(exprOf("CountersignRejectionSpike").includes(`clamp_min(${factor.default} * `));
    assert(exprOf("CountersignRejectionSpike").includes(`, ${count.default})`));
  });
});

Deno.test("ALERT_CASES has a case for each alert rule", () => {
  assertEquals(Object.keys(ALERT_CASES).sort(), rules.map(({ alert }) => alert).sort());
});

testNeeding(
  { peers: ["prometheus"] },
  "promtool accepts the alert rules, and each one fires when it should and only then",
  async () => {
    const folder = await Deno.makeTempDir();
    try {
      const promtool = async (...args: string[]) => {
        const { code, stdout, stderr } = await runProgram("/usr/bin/promtool", { args, timeoutMs: 120_000 });
        assertEquals(code, 0, `${stdout}\n${stderr}`);
      };
      await promtool("check", "rules", RULES);
      // A file for each alert, because promtool evaluates all rules of a file at each step.
      const files = await Promise.all(rules.map((rule) => writeUnitTests(folder, rule)));
      await promtool("test", "rules", ...files);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

/** Two unit tests of a rule for promtool. JSON is YAML. */
async function writeUnitTests(folder: string, rule: Rule): Promise<string> {
  const { alert } = rule;
  const { fires, quiet, atMinutes = 20 } = ALERT_CASES[alert] ?? { fires: {}, quiet: {} };
  const tests = [{ series: fires, count: 1 }, { series: quiet, count: 0 }].map(({ series, count }) => ({
    interval: "1m",
    name: `${alert} ${count === 1 ? "fires" : "is quiet"}`,
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [{
      expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
      eval_time: `${atMinutes}m`,
      exp_samples: [{ labels: "{}", value: count }],
    }],
  }));
  const interval = atMinutes > 1000 ? "10m" : "1m";
  const ruleFile = `${folder}/${alert}.rules.yml`;
  const testFile = `${folder}/${alert}.test.yml`;
  await Deno.writeTextFile(ruleFile, JSON.stringify({ groups: [{ name: "one", rules: [rule] }] }));
  await Deno.writeTextFile(
    testFile,
    JSON.stringify({ rule_files: [ruleFile], evaluation_interval: interval, tests }),
  );
  return testFile;
}
