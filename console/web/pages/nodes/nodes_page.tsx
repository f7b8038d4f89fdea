// The Nodes page: the processes that share one store, with their state, load and clocks, and warnings about them.

import type { ComponentChildren } from "preact";
import type { NodeList, NodeRow } from "../../../api/nodes/node_routes.ts";
import { take } from "../../app/api_client.ts";
import type { PageProps } from "../../app/app_context.ts";
import { countText, decimalText, octetsText, spanText } from "../../app/format.ts";
import { useInterval, useResource } from "../../app/resource.ts";
import { Alert } from "../../components/alert.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";

type Models = PageProps["models"];

/** A node reports once a second. */
const POLL_INTERVAL_MS = 2000;
const MAX_CLOCK_OFFSET_MS = 5000;
/** A smaller difference may be the time that a report takes. */
const MIN_CLOCK_OFFSET_MS = 1000;

const TEXTS = {
  failed: "common.unread",
  old: "common.old",
  empty: ["nodes.alone", "nodes.alone_next"],
} as const;

export default function NodesPage({ models }: PageProps) {
  const page = useResource(models, { fetch: () => take(models.api.nodes.$get()), inputs: [] });
  useInterval(POLL_INTERVAL_MS, page.reload);
  return (
    <ListPage
      models={models}
      name="nodes"
      title={t("shell.nodes")}
      back={{ href: "/health", label: t("nodes.back") }}
      texts={TEXTS}
      resource={page}
      note={({ isShared, items }) => isShared && <Warnings items={items} />}
      rows={({ isShared, items }) => isShared ? items : []}
      columns={columnsOf(models)}
      keyOf={({ id }) => id}
      nameOf={({ name, id }) => `${name} ${id}`}
    />
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

function columnsOf(models: Models): readonly TableColumn<NodeRow>[] {
  const current = (text: (node: NodeRow) => ComponentChildren) => (node: NodeRow) =>
    // Of a node that stopped, the last report is out of date.
    node.isAlive ? text(node) : <span class="quiet">{t("nodes.no_figure")}</span>;
  return [
    {
      id: "name",
      label: t("common.node"),
      min: 180,
      sort: ({ name }) => name,
      cell: ({ name, isSelf }) => (
        <>
          <bdi class="cut" title={name}>{name}</bdi>
          {isSelf && <span class="quiet target-note">{t("nodes.this_page")}</span>}
        </>
      ),
    },
    {
      id: "state",
      label: t("common.status"),
      width: "170px",
      sort: (node) => Number(!node.isAlive),
      cell: stateCell,
    },
    {
      id: "role",
      label: t("common.role"),
      min: 150,
      cell: current(({ figures }) => roleText(figures.leases)),
    },
    {
      id: "clock",
      label: t("nodes.clock"),
      min: 150,
      cell: current(clockText),
    },
    {
      id: "version",
      label: t("common.version"),
      width: "90px",
      priority: 2,
      sort: ({ version }) => version,
      cell: ({ version }) => version,
    },
    ...figureColumns(current),
    {
      id: "started",
      label: t("common.started_at"),
      width: "130px",
      priority: 3,
      isLargestFirst: true,
      sort: ({ startedMs }) => startedMs,
      cell: ({ startedMs }) => <Time models={models} atMs={startedMs} />,
    },
    ...addressColumns(),
  ];
}

type CurrentCell = (text: (node: NodeRow) => ComponentChildren) => (node: NodeRow) => ComponentChildren;

function figureColumns(current: CurrentCell): readonly TableColumn<NodeRow>[] {
  return [
    {
      id: "requests",
      label: t("common.requests"),
      width: "100px",
      number: true,
      priority: 2,
      isLargestFirst: true,
      sort: ({ figures }) => figures.requestsPerS,
      cell: current(({ figures }) => t("nodes.per_second", { rate: countText(figures.requestsPerS) })),
    },
    {
      id: "waiting",
      label: t("nodes.waiting"),
      width: "130px",
      number: true,
      priority: 2,
      isLargestFirst: true,
      sort: ({ figures }) => figures.waiting,
      cell: current(({ figures }) => countText(figures.waiting)),
    },
    {
      id: "memory",
      label: t("nodes.memory"),
      width: "90px",
      number: true,
      priority: 3,
      cell: current(({ figures }) => octetsText(figures.rssOctets)),
    },
    {
      id: "lag",
      label: t("nodes.lag"),
      width: "90px",
      number: true,
      priority: 3,
      cell: current(({ figures }) => spanText(figures.lagMs)),
    },
  ];
}

function addressColumns(): readonly TableColumn<NodeRow>[] {
  return [
    {
      id: "radius",
      label: t("nodes.radius"),
      priority: 3,
      isOptional: true,
      cell: ({ radius }) => <span class="mono">{radius.join(", ")}</span>,
    },
    {
      id: "http",
      label: t("nodes.http"),
      priority: 3,
      isOptional: true,
      cell: ({ http }) => <span class="mono">{http}</span>,
    },
    {
      id: "id",
      label: t("nodes.id"),
      width: "110px",
      isOptional: true,
      cell: ({ id }) => <span class="mono">{id}</span>,
    },
  ];
}

function stateCell({ isAlive }: NodeRow) {
  const words = isAlive
    ? { tone: "ok", shape: "check", label: t("nodes.alive") } as const
    : { tone: "bad", shape: "cross", label: t("nodes.not_alive") } as const;
  return <StateText words={words} />;
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
