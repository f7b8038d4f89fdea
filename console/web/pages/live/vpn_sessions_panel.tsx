// The VPN sessions in the drawer of the Live page.

import type { ConnectedAnswer } from "../../../api/accounting_sessions/session_routes.ts";
import type { Models } from "../../app/app_context.ts";
import type { Resource } from "../../app/resource.ts";
import { t } from "../../i18n/translate.ts";
import { VpnSessionList } from "./session_list.tsx";

export function VpnSessionsPanel(
  { models, connected }: { models: Models; connected: Resource<ConnectedAnswer> },
) {
  const state = connected.state.value;
  if (state.kind !== "ready") return null;
  const { sessions, total, stale } = state.value;
  return (
    <>
      {stale > 0 && <p class="panel-note">{t("live.sessions_stale", { count: stale })}</p>}
      <VpnSessionList
        withUser
        models={models}
        label={t("live.sessions_title")}
        sessions={sessions}
        onOrdered={connected.reload}
      />
      {total > sessions.length && (
        <p class="panel-note">{t("live.sessions_newest", { count: sessions.length })}</p>
      )}
    </>
  );
}
