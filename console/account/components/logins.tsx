// The user's logins with their labels: open ones first, then recent ones. The user can report each one as "not me".

import { useSignal } from "@preact/signals";
import { Alert, ErrorState, Skeleton } from "../../web/components/alert.tsx";
import { Icon } from "../../web/components/icons.tsx";
import { InlineIcon } from "../../web/components/inline_icon.tsx";
import { Time } from "../../web/components/time.tsx";
import { canClose, useAction } from "../../web/app/action.ts";
import { relativeText } from "../../web/app/format.ts";
import { t } from "../../web/i18n/translate.ts";
import type { AccountApproval, AccountLogin, AccountOpenLogin } from "../../api/account/account_types.ts";
import { Nothing, type PartProps, Section } from "./section.tsx";
import { Dialog } from "../../web/components/dialog.tsx";
import { type StateLabel, type StateStyle, toReadableName } from "../../web/app/login_state_labels.ts";
import type { MessageKey } from "../../web/i18n/catalogue.ts";

const SHOWN_AT_FIRST = 6;

const NOTHING_OPEN: { open: readonly AccountOpenLogin[]; approvals: readonly AccountApproval[] } = {
  open: [],
  approvals: [],
};

/** The approval request of a login, matched by client, source and time. */
function requestOf(
  login: AccountOpenLogin,
  approvals: readonly AccountApproval[],
): AccountApproval | undefined {
  if (!login.waitsForPhone) return undefined;
  return approvals.find(({ client, place, createdMs }) =>
    client === login.client && place === login.place && createdMs >= login.startedMs
  );
}

export function OpenLogins(props: PartProps) {
  const doubt = useSignal<DisputedLogin | null>(null);
  const state = props.account.logins.state.value;
  const { open, approvals } = state.kind === "ready" ? state.value : NOTHING_OPEN;
  return (
    <>
      {open.length > 0 && (
        <section class="panel me-open" aria-labelledby="me-open">
          <div class="me-section-head">
            <div>
              <h2 id="me-open">{t("account.logins_open", { count: open.length })}</h2>
              <p class="quiet">{t("account.logins_open_why")}</p>
            </div>
          </div>
          <ul class="me-rows">
            {open.map((login) => (
              <LoginRow
                key={login.conversationId}
                {...props}
                login={login}
                request={requestOf(login, approvals)}
                onDoubt={() => doubt.value = { login }}
              />
            ))}
          </ul>
        </section>
      )}
      {doubt.value !== null && (
        <NotMeDialog
          {...props}
          doubt={doubt.value}
          onClose={() => doubt.value = null}
        />
      )}
    </>
  );
}

export function RecentLogins(props: PartProps) {
  const { logins } = props.account;
  const state = logins.state.value;
  const doubt = useSignal<DisputedLogin | null>(null);
  if (state.kind === "failed") {
    return (
      <ErrorState title={t("account.logins_unread")} onRetry={() => void logins.reload()}>
        {state.message}
      </ErrorState>
    );
  }
  if (state.kind !== "ready") return <Skeleton rows={4} />;
  return (
    <Section title={t("account.logins")} why={t("account.logins_why")}>
      <LoginList {...props} logins={state.value.recent} onDoubt={(login) => doubt.value = { login }} />
      <div class="me-row me-any">
        <Icon name="shield" size={20} />
        <div class="me-row-text">
          <strong>{t("account.logins_any")}</strong>
          <span class="quiet small">{t("account.logins_any_why")}</span>
        </div>
        <button type="button" class="button button-bad" onClick={() => doubt.value = { login: null }}>
          {t("account.logins_lock")}
        </button>
      </div>
      {doubt.value !== null && (
        <NotMeDialog
          {...props}
          doubt={doubt.value}
          onClose={() => doubt.value = null}
        />
      )}
    </Section>
  );
}

interface LoginListProps extends PartProps {
  readonly logins: readonly AccountLogin[];
  readonly onDoubt: (login: AccountLogin) => void;
}

function LoginList({ logins, onDoubt, ...props }: LoginListProps) {
  const isWhole = useSignal(false);
  if (logins.length === 0) {
    return <Nothing title={t("common.no_sign_ins_yet")} next={t("account.logins_none_next")} />;
  }
  const shown = isWhole.value ? logins : logins.slice(0, SHOWN_AT_FIRST);
  const more = logins.length - shown.length;
  return (
    <>
      <ul class="me-rows">
        {shown.map((login) => (
          <LoginRow
            key={login.conversationId}
            {...props}
            login={login}
            onDoubt={() => onDoubt(login)}
          />
        ))}
      </ul>
      {more > 0 && (
        <div class="me-more">
          <button type="button" class="button button-plain" onClick={() => isWhole.value = true}>
            <Icon name="chevron-down" />
            {t("account.logins_more", { count: more })}
          </button>
        </div>
      )}
    </>
  );
}

interface LoginRowProps extends PartProps {
  readonly login: OwnLogin;
  /** The request that can be answered on this device. */
  readonly request?: AccountApproval | undefined;
  readonly onDoubt: () => void;
}

function LoginRow({ models, login, request, onDoubt }: LoginRowProps) {
  const { tone, shape, label } = loginLabel(login);
  const reason = ownReasonText(login);
  const when = relativeText(login.startedMs, models.clock.nowMs.value);
  return (
    <li class={`me-row me-login tone-${tone}`}>
      <InlineIcon name={shape} size={20} />
      <div class="me-row-text">
        <span class="me-row-name">
          <strong>{label}</strong>
          <span class="quiet small">
            <Time models={models} atMs={login.startedMs} />
          </span>
        </span>
        <LoginOrigin login={login} />
        {reason !== null && <span class="quiet small">{reason}</span>}
      </div>
      <div class="me-row-actions">
        <button
          type="button"
          class={`button ${isOpen(login) ? "button-bad" : "button-plain"}`}
          onClick={onDoubt}
        >
          {t("common.not_me")}
          <span class="unseen">{` ${label}, ${login.client}, ${when}`}</span>
        </button>
        {request !== undefined && (
          <a class="button" href={`/me/approve/${encodeURIComponent(request.requestId)}`}>
            {t("account.logins_open_answer")}
          </a>
        )}
      </div>
    </li>
  );
}

/** The client and the source of a login. */
function LoginOrigin({ login }: { login: OwnLogin }) {
  return (
    <span class="small">
      {t("account.login_at")} <span class="mono">{login.client}</span> {t("account.login_from")}{" "}
      {login.place === "" ? t("account.place_unknown") : <span class="mono">{login.place}</span>}
    </span>
  );
}

/** The disputed login; `null` for no specific one. */
interface DisputedLogin {
  readonly login: OwnLogin | null;
}

function NotMeDialog(
  { models, account, doubt: { login }, onClose }: PartProps & { doubt: DisputedLogin; onClose: () => void },
) {
  const problem = useSignal<string | null>(null);
  const action = useAction();
  const { busy } = action;
  const confirm = async () => {
    problem.value = await account.reportNotMe(login?.conversationId ?? null);
    if (problem.value === null) onClose();
  };
  return (
    <Dialog
      title={t(login === null ? "account.not_me_any_title" : "account.not_me_title")}
      onClose={onClose}
      action={action}
      footer={
        <>
          <button type="button" class="button" autofocus disabled={!canClose(action)} onClick={onClose}>
            {t(login === null ? "common.cancel" : "account.not_me_keep")}
          </button>
          <button
            type="button"
            class="button button-bad"
            disabled={busy.value}
            onClick={() => void action.run(confirm)}
          >
            {busy.value ? t("common.working") : t(login === null ? "account.not_me_any_do" : "common.not_me")}
          </button>
        </>
      }
    >
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
      {login !== null && (
        <p class="me-which">
          <strong>{loginLabel(login).label}</strong> <LoginOrigin login={login} />
          {", "}
          <Time models={models} atMs={login.startedMs} />
        </p>
      )}
      <ul class="me-effects">
        <li>{t(endsWord(login))}</li>
        <li>{t("account.not_me_locks")}</li>
        <li>{t("account.not_me_sessions")}</li>
        <li>{t("account.not_me_tells")}</li>
      </ul>
    </Dialog>
  );
}

/** Only an open login can be ended. */
function endsWord(
  login: OwnLogin | null,
): "account.not_me_any_ends" | "account.not_me_ends" | "account.not_me_past" {
  if (login === null) return "account.not_me_any_ends";
  return isOpen(login) ? "account.not_me_ends" : "account.not_me_past";
}

/** A closed or an open login. */
type OwnLogin = AccountLogin | AccountOpenLogin;

const OUTCOME_STYLES: Readonly<Record<string, StateStyle>> = {
  open: { tone: "wait", shape: "clock" },
  accepted: { tone: "ok", shape: "check" },
  rejected: { tone: "bad", shape: "cross" },
  expired: { tone: "idle", shape: "clock" },
  cancelled: { tone: "idle", shape: "ring" },
  superseded: { tone: "idle", shape: "ring" },
};

function isOpen(login: OwnLogin): login is AccountOpenLogin {
  return !("endedMs" in login);
}

/** The style and label of the outcome, or of an open login. */
function loginLabel(login: OwnLogin): StateLabel {
  const name = isOpen(login) ? "open" : login.outcome;
  const look = OUTCOME_STYLES[name] ?? { tone: "idle", shape: "ring" };
  const key = `account.outcome_${name}`;
  const word = t(key as MessageKey);
  // The server may be newer than this page.
  return { ...look, label: word === key ? toReadableName(name) : word };
}

/** The reason of a rejection; `null` if there is no message for it. */
function ownReasonText(login: OwnLogin): string | null {
  if (isOpen(login) || login.reason === null) return null;
  const key = `account.reason_${login.reason}`;
  const word = t(key as MessageKey);
  return word === key ? null : word;
}
