// The Access page: administrators, your own sign-in methods and sessions, and API tokens.

import type { SessionRow } from "../../../api/auth/sessions.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { useResource } from "../../app/resource.ts";
import { Button } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { currentTab, PageBar, type Tab, Tabs } from "../../components/page_layout.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { endOwnSession, fetchOwnSessions } from "./access_calls.ts";
import { AccessTable, AdminList } from "./access_lists.tsx";
import { TokenList } from "./access_tokens.tsx";
import { OwnFactors } from "./own_factors.tsx";

const PARTS = {
  "": AdminList,
  "sign-in": OwnFactors,
  sessions: OwnSessions,
  tokens: TokenList,
} as const;

export default function AccessPage({ models }: PageProps) {
  const tabs: readonly Tab[] = [
    { hash: "", label: t("shell.access") },
    { hash: "sign-in", label: t("access.your_sign_in") },
    { hash: "sessions", label: t("access.sessions") },
    { hash: "tokens", label: t("access.tokens") },
  ];
  const current = currentTab(models, tabs);
  const Part = PARTS[current as keyof typeof PARTS] ?? AdminList;
  return (
    <main class="page">
      <PageBar title={t("shell.access")} />
      <Tabs models={models} tabs={tabs} label={t("access.parts")} />
      <Part key={current} models={models} />
    </main>
  );
}

type Row = SessionRow & { readonly current: boolean };

export function OwnSessions({ models }: { models: Models }) {
  const resource = useResource(models, { fetch: () => fetchOwnSessions(models), inputs: [] });
  const end = ({ id, source }: Row) =>
    models.question.value = {
      title: t("access.session_end_title", { name: source }),
      submitLabel: t("access.session_end"),
      text: t("access.session_end_what"),
      isBad: true,
      async run() {
        await endOwnSession(models, id).finally(() => void resource.reload());
        models.toasts.show(t("access.session_ended_said", { name: source }), { tone: "ok" });
      },
    };
  const columns: readonly TableColumn<Row>[] = [
    {
      id: "source",
      label: t("common.ip_address"),
      cell: ({ source, current }) => (
        <>
          <bdi class="mono">{source}</bdi> {current && <span class="hint">({t("access.session_this")})</span>}
        </>
      ),
    },
    {
      id: "agent",
      label: t("access.session_agent"),
      priority: 2,
      cell: ({ agent }) => <span class="cut" title={agent}>{agent}</span>,
    },
    {
      id: "began",
      label: t("common.started"),
      width: "130px",
      isLargestFirst: true,
      sort: ({ createdMs }) => createdMs,
      priority: 2,
      cell: ({ createdMs }) => <Time models={models} atMs={createdMs} />,
    },
    {
      id: "used",
      label: t("access.session_used"),
      width: "130px",
      isLargestFirst: true,
      sort: ({ usedMs }) => usedMs,
      cell: ({ usedMs }) => <Time models={models} atMs={usedMs} />,
    },
    {
      label: t("common.actions"),
      width: "100px",
      isPinned: true,
      cell: (row) =>
        row.current ? null : (
          <Button
            small
            of={t("access.session_end_named", { name: row.source })}
            onClick={() => end(row)}
          >
            {t("access.session_end")}
          </Button>
        ),
    },
  ];
  return (
    <AccessTable
      models={models}
      initialSort="-used"
      label={t("access.sessions")}
      resource={resource}
      columns={columns}
      keyOf={({ id }) => id}
      empty={{ title: t("access.sessions"), next: "" }}
    />
  );
}
