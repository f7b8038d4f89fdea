// The VPN sessions of a user, with the action that ends them.

import type { UserSessionsAnswer } from "../../../api/accounting_sessions/session_routes.ts";
import { useInterval, useResource } from "../../app/resource.ts";
import { EmptyState, Fetched } from "../../components/alert.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { DisconnectAll, VpnSessionList } from "../live/session_list.tsx";
import type { UserPart } from "./user_page_model.ts";

const POLL_INTERVAL_MS = 5000;

export function UserSessions({ models, user, calls }: UserPart) {
  const sessions = useResource<UserSessionsAnswer>(models, { fetch: calls.sessions, inputs: [user] });
  useInterval(POLL_INTERVAL_MS, sessions.reload);
  return (
    <Panel quiet title={t("users.sessions_tab")}>
      <Fetched resource={sessions} failed="users.sessions_unread">
        {({ sessions: shown }) =>
          shown.length === 0
            ? <EmptyState title={t("users.sessions_none")} next={t("users.sessions_none_next")} />
            : (
              <>
                <DisconnectAll
                  models={models}
                  user={user.name}
                  sessions={shown}
                  onOrdered={sessions.reload}
                />
                <VpnSessionList
                  models={models}
                  label={t("users.sessions_tab")}
                  sessions={shown}
                  onOrdered={sessions.reload}
                />
              </>
            )}
      </Fetched>
    </Panel>
  );
}
