// Who is connected to the VPN now, by accounting. Shown only if a RADIUS client sends accounting.

import { take } from "../../api_client.ts";
import type { ConnectedAnswer } from "../../../api/accounting_sessions/session_types.ts";
import { countText } from "../../format.ts";
import { useEvery } from "../../models/every.ts";
import type { LiveModels as Models } from "../../models/live_models.ts";
import { useResource } from "../../models/resource.ts";
import { t } from "../../i18n/translate.ts";
import { SessionList } from "./session_list.tsx";

const REFRESH_MS = 10_000;

export function SessionsPanel({ models }: { models: Models }) {
  const connected = useResource<ConnectedAnswer>(models, {
    fetch: () => take(models.api.connected.$get({ query: {} })),
    inputs: [],
  });
  useEvery(REFRESH_MS, () => void connected.reload());
  const state = connected.state.value;
  if (state.kind !== "ready" || state.value.total === 0) return null;
  const { sessions, total, stale } = state.value;
  return (
    <section class="panel sessions-panel" aria-labelledby="sessions-title">
      <div class="panel-head">
        <h2 id="sessions-title">
          {t("live.sessions_title")} <span class="count">{countText(total)}</span>
        </h2>
        {stale > 0 && <span class="quiet small">{t("live.sessions_stale", { count: stale })}</span>}
      </div>
      <SessionList withUser models={models} label={t("live.sessions_title")} sessions={sessions} />
      {total > sessions.length && (
        <p class="panel-note">{t("live.sessions_newest", { count: sessions.length })}</p>
      )}
    </section>
  );
}
