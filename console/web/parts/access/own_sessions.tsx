// One's own sessions: since when, from where, with what; each can be ended.

import type { SessionRow } from "../../../api/auth/sessions.ts";
import { endSession, fetchSessions } from "../../models/access_calls.ts";
import { useDeed } from "../../models/deed.ts";
import type { Models } from "../../models/models.ts";
import { useResource } from "../../models/resource.ts";
import { t } from "../../i18n/translate.ts";
import { AccessTable } from "./access_table.tsx";
import { Button } from "../button.tsx";
import type { Column } from "../data_table.tsx";
import { Problem } from "../note.tsx";
import { Time } from "../time.tsx";

type Row = SessionRow & { readonly current: boolean };

export function OwnSessions({ models }: { models: Models }) {
  const resource = useResource(models, { fetch: () => fetchSessions(models), inputs: [] });
  const deed = useDeed();
  const end = ({ id, source }: Row) =>
    deed.run(async () => {
      await endSession(models, id).finally(() => void resource.reload());
      models.toasts.say(t("access.session_ended_said", { name: source }), { tone: "ok" });
    });
  const columns: readonly Column<Row>[] = [
    {
      label: t("access.session_source"),
      cell: ({ source, current }) => (
        <>
          <bdi class="mono">{source}</bdi> {current && <span class="hint">({t("access.session_this")})</span>}
        </>
      ),
    },
    {
      label: t("access.session_agent"),
      width: "36%",
      wideOnly: true,
      cell: ({ agent }) => <span class="cut" title={agent}>{agent}</span>,
    },
    {
      label: t("access.session_began"),
      width: "16%",
      wideOnly: true,
      cell: ({ createdMs }) => <Time models={models} atMs={createdMs} />,
    },
    {
      label: t("access.session_used"),
      width: "26%",
      cell: ({ usedMs }) => <Time models={models} atMs={usedMs} />,
    },
    {
      label: t("access.actions"),
      width: "100px",
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
    <>
      <Problem of={deed.fault} />
      <AccessTable
        label={t("access.sessions")}
        resource={resource}
        columns={columns}
        keyOf={({ id }) => id}
        empty={{ title: t("access.sessions"), next: "" }}
      />
    </>
  );
}
