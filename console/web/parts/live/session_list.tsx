// Accounting sessions (RFC 2866) as rows: state, user, address, client, start, and how much was transferred.

import type { SessionView } from "../../../api/accounting_sessions/session_types.ts";
import { octetsText } from "../../format.ts";
import type { Models } from "../../models/models.ts";
import { userHref } from "../../user_href.ts";
import { t } from "../../i18n/translate.ts";
import type { StateWords } from "../../words.ts";
import { Status } from "../status.tsx";
import { Time } from "../time.tsx";

interface SessionListProps {
  readonly models: Pick<Models, "clock">;
  readonly label: string;
  readonly sessions: readonly SessionView[];
  /** Left out on the page of the user. */
  readonly withUser?: boolean;
}

export function SessionList({ models, label, sessions, withUser = false }: SessionListProps) {
  return (
    <ul class="scroll" tabIndex={0} aria-label={label}>
      {sessions.map((session) => (
        <li key={session.id} class="entry session">
          <Status words={stateOf(session)} />
          {withUser && <UserName user={session.user} />}
          <bdi class="mono cut">{addressOf(session)}</bdi>
          <bdi class="quiet cut">{session.client}</bdi>
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

function stateOf({ endedMs, isStale }: SessionView): StateWords {
  if (endedMs !== null) return { label: t("live.session_ended"), tone: "idle", shape: "ring" };
  return isStale
    ? { label: t("live.session_stale"), tone: "wait", shape: "clock" }
    : { label: t("live.session_connected"), tone: "ok", shape: "check" };
}

/** The address inside the VPN, and the one that the user connects from. */
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
