// The Nodes page: the processes that share one store, with their state, load and clocks, and warnings about them.

import type { ComponentChildren } from "preact";
import type { NodeList, NodeRow } from "../../../api/nodes/node_routes.ts";
import { take } from "../../app/api_client.ts";
import type { PageProps } from "../../app/app_context.ts";
import { countText, decimalText, octetsText, spanText } from "../../app/format.ts";
import { useInterval, useResource } from "../../app/resource.ts";
import { Alert, Fetched } from "../../components/alert.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { Chip } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";

type Models = PageProps["models"];

/** A node reports once a second. */
const POLL_INTERVAL_MS = 2000;
const MAX_CLOCK_OFFSET_MS = 5000;
/** A smaller difference may be the time that a report takes. */
const MIN_CLOCK_OFFSET_MS = 1000;

export default function NodesPage({ models }: PageProps) {
  const page = useResource(models, { fetch: () => take(models.api.nodes.$get()), inputs: [] });
  useInterval(POLL_INTERVAL_MS, page.reload);
  return (
    <main class="page" id="page">
      <PageBar title={t("shell.nodes")} back={{ href: "/health", label: t("nodes.back") }} />
      <Fetched resource={page}>
        {({ isShared, items }) =>
          isShared
            ? (
              <>
                <Warnings items={items} />
                <div class="node-list">
                  {items.map((node) => <Node key={node.id} models={models} node={node} />)}
                </div>
              </>
            )
            : <Alert tone="idle" icon="check">{t("nodes.alone")}</Alert>}
      </Fetched>
    </main>
  );
}

function Warnings({ items }: Pick<NodeList, "items">) {
  const alive = items.filter(({ isAlive }) => isAlive);
  const silent = items.length - alive.length;
  const versions = [...new Set(alive.map(({ version }) => version))];
  const skewed = alive.filter(({ clockOffsetMs }) => Math.abs(clockOffsetMs) > MAX_CLOCK_OFFSET_MS);
  return (
    <>
      <Alert tone={silent > 0 ? "bad" : "ok"} icon={silent > 0 ? "alert" : "check"} role="status">
        {t(silent > 0 ? "nodes.silent" : "nodes.all_answer", { count: silent || items.length })}
      </Alert>
      {versions.length > 1 && (
        <Alert tone="wait">{t("nodes.versions", { versions: versions.join(", ") })}</Alert>
      )}
      {skewed.map(({ id, name, clockOffsetMs }) => (
        <Alert key={id} tone="wait" icon="clock">
          {t("nodes.clock_differs", { name, seconds: decimalText(Math.abs(clockOffsetMs) / 1000) })}
        </Alert>
      ))}
    </>
  );
}

function Node({ models, node }: { models: Models; node: NodeRow }) {
  const { id, name, isSelf, isAlive } = node;
  return (
    <section class="panel" aria-label={`${name} ${id}`}>
      <div class="panel-head">
        <h2>
          <bdi>{name}</bdi>
        </h2>
        <Chip
          words={isAlive
            ? { tone: "ok", shape: "check", label: t("nodes.alive") }
            : { tone: "bad", shape: "cross", label: t("nodes.not_alive") }}
        />
        {isSelf && <span class="chip tone-idle">{t("nodes.this_page")}</span>}
      </div>
      <dl class="connect-facts">
        {[...identityFacts(models, node), ...isAlive ? currentFacts(node) : []].map((
          [label, value, isText],
        ) => (
          <div key={label}>
            <dt>{t(label)}</dt>
            <dd class={isText ? "" : "mono"}>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

type Fact = readonly [label: MessageKey, value: ComponentChildren, isText?: boolean];

function identityFacts(models: Models, { id, version, radius, http, startedMs }: NodeRow): readonly Fact[] {
  return [
    ["nodes.radius", radius.map((address) => <div key={address}>{address}</div>)],
    ["nodes.http", http],
    ["nodes.id", id],
    ["nodes.version", version],
    ["nodes.started", <Time key="time" models={models} atMs={startedMs} />],
  ];
}

/** Of a node that stopped, the last report is out of date. */
function currentFacts(node: NodeRow): readonly Fact[] {
  const { waiting, requestsPerS, rssOctets, lagMs, leases } = node.figures;
  return [
    ["nodes.role", roleText(leases), true],
    ["nodes.waiting", countText(waiting)],
    ["nodes.requests", t("nodes.per_second", { rate: countText(requestsPerS) })],
    ["nodes.memory", octetsText(rssOctets)],
    ["nodes.lag", spanText(lagMs)],
    ["nodes.clock", clockText(node), true],
  ];
}

/** Every node handles sign-ins. A lease adds a job that only one node does. */
function roleText(leases: readonly string[]): string {
  const jobs = leases.map((lease) =>
    lease.startsWith(TARGET_LEASE)
      ? t("nodes.role_writer", { target: lease.slice(TARGET_LEASE.length) })
      : lease === "charts"
      ? t("nodes.role_charts")
      : lease
  );
  return [t("nodes.role_sign_ins"), ...jobs].join("; ");
}

const TARGET_LEASE = "target:";

function clockText({ isSelf, clockOffsetMs }: NodeRow): string {
  if (isSelf) return t("nodes.clock_self");
  if (Math.abs(clockOffsetMs) < MIN_CLOCK_OFFSET_MS) return t("nodes.clock_same");
  const seconds = decimalText(Math.abs(clockOffsetMs) / 1000);
  return t(clockOffsetMs > 0 ? "nodes.clock_ahead" : "nodes.clock_behind", { seconds });
}
