// One's own logins: those that wait first, in a box of their own; the recent ones below; each can be disowned.

import { useSignal } from "@preact/signals";
import { ErrorState, Skeleton } from "../../web/parts/states.tsx";
import { Icon } from "../../web/parts/icon.tsx";
import { Symbol } from "../../web/parts/symbol.tsx";
import { Time } from "../../web/parts/time.tsx";
import { relativeText } from "../../web/format.ts";
import { t } from "../../web/i18n/translate.ts";
import type { MeApproval, MeLogin, MeOpenLogin } from "../../api/account/account_types.ts";
import { isOpen, loginWords, type OwnLogin, reasonText } from "../login_looks.ts";
import { LoginPlace } from "./login_place.tsx";
import { type Doubt, NotMeDialog } from "./not_me_dialog.tsx";
import type { PartProps } from "./part_props.ts";
import { Nothing, Section } from "./section.tsx";

const SHOWN_AT_FIRST = 6;

const NOTHING_OPEN: { open: readonly MeOpenLogin[]; approvals: readonly MeApproval[] } = {
  open: [],
  approvals: [],
};

/** The request that a login waits for, by where both come from; the page behind it says whose it is in full. */
function requestOf(login: MeOpenLogin, approvals: readonly MeApproval[]): MeApproval | undefined {
  if (!login.waitsForPhone) return undefined;
  return approvals.find(({ client, place, createdMs }) =>
    client === login.client && place === login.place && createdMs >= login.startedMs
  );
}

export function OpenLogins(props: PartProps) {
  const doubt = useSignal<Doubt | null>(null);
  const state = props.account.logins.state.value;
  const { open, approvals } = state.kind === "ready" ? state.value : NOTHING_OPEN;
  return (
    <>
      {open.length > 0 && (
        <section class="panel me-open" aria-labelledby="me-open">
          <div class="me-section-head">
            <div>
              <h2 id="me-open">{t("me.logins_open", { count: open.length })}</h2>
              <p class="quiet">{t("me.logins_open_why")}</p>
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
  const doubt = useSignal<Doubt | null>(null);
  if (state.kind === "failed") {
    return (
      <ErrorState title={t("me.fail_logins")} onRetry={() => void logins.reload()}>
        {state.message}
      </ErrorState>
    );
  }
  if (state.kind !== "ready") return <Skeleton rows={4} />;
  return (
    <Section title={t("me.logins")} why={t("me.logins_why")}>
      <LoginList {...props} logins={state.value.recent} onDoubt={(login) => doubt.value = { login }} />
      <div class="me-row me-any">
        <Symbol name="shield" size={20} />
        <div class="me-row-text">
          <strong>{t("me.logins_any")}</strong>
          <span class="quiet small">{t("me.logins_any_why")}</span>
        </div>
        <button type="button" class="button button-bad" onClick={() => doubt.value = { login: null }}>
          {t("me.logins_lock")}
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
  readonly logins: readonly MeLogin[];
  readonly onDoubt: (login: MeLogin) => void;
}

function LoginList({ logins, onDoubt, ...props }: LoginListProps) {
  const isWhole = useSignal(false);
  if (logins.length === 0) return <Nothing title={t("me.logins_none")} next={t("me.logins_none_next")} />;
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
            <Symbol name="chevron-down" />
            {t("me.logins_more", { count: more })}
          </button>
        </div>
      )}
    </>
  );
}

interface LoginRowProps extends PartProps {
  readonly login: OwnLogin;
  /** What can be answered on this device. */
  readonly request?: MeApproval | undefined;
  readonly onDoubt: () => void;
}

function LoginRow({ models, login, request, onDoubt }: LoginRowProps) {
  const { tone, shape, label } = loginWords(login);
  const reason = reasonText(login);
  const when = relativeText(login.startedMs, models.clock.nowMs.value);
  return (
    <li class={`me-row me-login tone-${tone}`}>
      <Icon name={shape} size={20} />
      <div class="me-row-text">
        <span class="me-row-name">
          <strong>{label}</strong>
          <span class="quiet small">
            <Time models={models} atMs={login.startedMs} />
          </span>
        </span>
        <LoginPlace login={login} />
        {reason !== null && <span class="quiet small">{reason}</span>}
      </div>
      <div class="me-row-deeds">
        <button
          type="button"
          class={`button ${isOpen(login) ? "button-bad" : "button-plain"}`}
          onClick={onDoubt}
        >
          {t("me.not_me")}
          <span class="unseen">{` ${label}, ${login.client}, ${when}`}</span>
        </button>
        {request !== undefined && (
          <a class="button" href={`/me/approve/${encodeURIComponent(request.requestId)}`}>
            {t("me.logins_open_answer")}
          </a>
        )}
      </div>
    </li>
  );
}
