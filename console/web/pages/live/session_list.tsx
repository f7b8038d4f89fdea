// VPN sessions from accounting (RFC 2866) as rows: state, user, addresses, client, time, and transferred octets.

import type { SessionView } from "../../../api/accounting_sessions/session_routes.ts";
import { octetsText } from "../../app/format.ts";
import type { Models } from "../../app/app_context.ts";
import { userHref } from "../../app/routes.ts";
import { t } from "../../i18n/translate.ts";
import { clientText } from "../../components/client_text.ts";
import type { StateLabel } from "../../app/login_state_labels.ts";
import { useSignal } from "@preact/signals";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import { lazy } from "../../components/lazy.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";

const DisconnectDialog = lazy(async () => (await import("./disconnect_dialog.tsx")).DisconnectDialog);

const DisconnectAllDialog = lazy(async () => (await import("./disconnect_dialog.tsx")).DisconnectAllDialog);

interface SessionListProps {
  readonly models: Models;
  readonly label: string;
  readonly sessions: readonly SessionView[];
  /** Shows the user of each session. */
  readonly withUser?: boolean;
  /** Called when the end of a session was ordered. */
  readonly onOrdered: () => Promise<void>;
}

export function VpnSessionList({ models, label, sessions, onOrdered, withUser = false }: SessionListProps) {
  const chosen = useSignal<SessionView | null>(null);
  return (
    <>
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
            <DisconnectButton models={models} session={session} choose={() => chosen.value = session} />
            <Remark session={session} />
          </li>
        ))}
      </ul>
      {chosen.value !== null && (
        <DisconnectDialog
          models={models}
          session={chosen.value}
          onOrdered={onOrdered}
          onClose={() => chosen.value = null}
        />
      )}
    </>
  );
}

interface DisconnectAllProps extends Pick<SessionListProps, "models" | "sessions" | "onOrdered"> {
  readonly user: string;
}

/** Ends all connected sessions of a user who has several. */
export function DisconnectAll({ models, user, sessions, onOrdered }: DisconnectAllProps) {
  const isAsking = useSignal(false);
  const count = sessions.filter(({ endedMs }) => endedMs === null).length;
  if (count < 2) return null;
  return (
    <div>
      <Button small reason={permissionHint(models, "operator")} onClick={() => isAsking.value = true}>
        {t("live.session_disconnect_all")}
      </Button>
      {isAsking.value && (
        <DisconnectAllDialog
          {...{ models, user, count, onOrdered }}
          onClose={() => isAsking.value = false}
        />
      )}
    </div>
  );
}

interface DisconnectProps {
  readonly models: Models;
  readonly session: SessionView;
  readonly choose: () => void;
}

function DisconnectButton({ models, session, choose }: DisconnectProps) {
  const { endedMs, disconnect, disconnectProblem, user, sessionId } = session;
  if (endedMs !== null) return <span />;
  const reason = permissionHint(models, "operator") ??
    (disconnectProblem === undefined ? undefined : t(`live.session_${disconnectProblem}`));
  return (
    <span class="actions">
      <Button
        small
        reason={reason}
        busy={disconnect?.state === "pending" && disconnect.attempts === 0}
        of={`${user} ${sessionId}`}
        onClick={choose}
      >
        {t("live.session_disconnect")}
      </Button>
    </span>
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

/** Why the session ended, or why it is stale, and the result of the order to end it. */
function Remark({ session }: { session: SessionView }) {
  const parts = [endText(session), orderText(session)].filter((part) => part !== "");
  if (parts.length === 0) return null;
  return <span class="quiet small remark">{parts.join(" ")}</span>;
}

function endText({ end, isStale, terminateCause }: SessionView): string {
  if (end === null && !isStale) return "";
  const text = t(end === null ? "live.session_stale_why" : END_WORDS[end]);
  return terminateCause === "" ? text : `${text}: ${terminateCause}`;
}

/** The result of the latest order to end the session. */
function orderText({ disconnect, nas, sessionId }: SessionView): string {
  if (disconnect === undefined) return "";
  const { state, problem, attempts, errorCause, isManual } = disconnect;
  const isRetried = state === "pending" && attempts > 0;
  const result = problem !== null
    ? t(`live.session_${problem}`)
    : isRetried
    ? t("live.session_order_retried", { count: attempts })
    : state === "refused" && errorCause !== ""
    ? t("live.session_order_refused_for", { cause: errorCause })
    : t(`live.session_order_${state}`);
  return isManual ? `${result} ${t("live.session_manual", { nas, session: sessionId })}` : result;
}
