// The VPN sessions of a user, by accounting: connected ones first, then ended ones, newest first.

import type { UserSessionsAnswer } from "../../../api/accounting_sessions/session_types.ts";
import { useResource } from "../../models/resource.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../i18n/translate.ts";
import { Fetched } from "../fetched.tsx";
import { SessionList } from "../live/session_list.tsx";
import { Panel } from "../panel.tsx";
import { EmptyState } from "../states.tsx";

export function UserSessions({ models, user, calls }: UserPart) {
  const sessions = useResource<UserSessionsAnswer>(models, { fetch: calls.sessions, inputs: [user] });
  return (
    <Panel quiet title={t("live.sessions_tab")}>
      <Fetched resource={sessions} failed="live.sessions_unread">
        {({ sessions }) =>
          sessions.length === 0
            ? <EmptyState title={t("live.sessions_none")} next={t("live.sessions_none_next")} />
            : <SessionList models={models} label={t("live.sessions_tab")} sessions={sessions} />}
      </Fetched>
    </Panel>
  );
}
