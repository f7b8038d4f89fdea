// VPN sessions from accounting (RFC 2866) as rows: state, user, addresses, client, time, and transferred octets.

import type { SessionView } from "../../../api/accounting_sessions/session_routes.ts";
import { octetsText } from "../../app/format.ts";
import type { Models } from "../../app/app_context.ts";
import { userHref } from "../../app/routes.ts";
import { t } from "../../i18n/translate.ts";
import { clientText } from "./client_text.ts";
import type { StateLabel } from "../../app/login_state_labels.ts";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";

interface SessionListProps {
  readonly models: Pick<Models, "clock">;
  readonly label: string;
  readonly sessions: readonly SessionView[];
  /** Shows the user of each session. */
  readonly withUser?: boolean;
}

export function VpnSessionList({ models, label, sessions, withUser = false }: SessionListProps) {
  return (
    <ul class="scroll" tabIndex={0} aria-label={label}>
      {sessions.map((session) => (
        <li key={session.id} class="entry session">
          <StateText words={stateOf(session)} />
          {withUser && <UserName user={session.user} />}
          <bdi class="mono cut">{addressOf(session)}</bdi>
          <bdi class="quiet cut">{clientText(session.client)}</bdi>
          <span class="quiet">
            <Time models={models} atMs={session.endedMs ?? session.startedMs} />
          </span>
          <span class="mono quiet">{amounts(session)}</span>
          <Remark session={session} />
        </li>
      ))}
    </ul>
  );
}

function UserName({ user }: { user: string }) {
  if (user === "") return <span class="quiet">{t("live.session_no_user")}</span>;
  return <a class="cut" href={userHref(user)}>{user}</a>;
}

function stateOf({ endedMs, isStale }: SessionView): StateLabel {
  if (endedMs !== null) return { label: t("live.session_ended"), tone: "idle", shape: "ring" };
  return isStale
    ? { label: t("live.session_stale"), tone: "wait", shape: "clock" }
    : { label: t("live.session_connected"), tone: "ok", shape: "check" };
}

/** The address inside the VPN, and the address of the caller. */
function addressOf({ framedAddress, callingStation }: SessionView): string {
  return [framedAddress, callingStation].filter((address) => address !== "").join(" ← ");
}

/** Input is what the NAS received from the user. */
function amounts({ inputOctets, outputOctets }: SessionView): string {
  return t("live.session_amounts", { down: octetsText(outputOctets), up: octetsText(inputOctets) });
}

const END_WORDS = {
  stop: "live.session_end_stop",
  nas_restarted: "live.session_end_restarted",
  nas_stopped: "live.session_end_stopped",
} as const;

/** Why the session ended, or why it is stale. */
function Remark({ session: { end, isStale, terminateCause } }: { session: SessionView }) {
  if (end === null && !isStale) return null;
  const text = t(end === null ? "live.session_stale_why" : END_WORDS[end]);
  return <span class="quiet small remark">{terminateCause === "" ? text : `${text}: ${terminateCause}`}
  </span>;
}
