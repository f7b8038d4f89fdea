// Notices from users to the administrators, shown until an administrator dismisses them.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Notice, NoticeList } from "../../../api/notices/notices.ts";
import { permissionHint } from "../../app/session_model.ts";
import { escapeParams, failureText, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { userHref } from "../../app/routes.ts";
import { useResource } from "../../app/resource.ts";
import { t } from "../../i18n/translate.ts";
import { clientText } from "../../components/client_text.ts";
import { Alert } from "../../components/alert.tsx";
import { Time } from "../../components/time.tsx";

const POLL_INTERVAL_MS = 10_000;

interface NoticesProps {
  readonly models: Models;
  /** Shows only the notices of this user. */
  readonly user?: string;
  /** The notices are fetched again when it changes. */
  readonly state?: unknown;
}

export function NoticePanel({ models, user = "", state: known }: NoticesProps) {
  const { api } = models;
  const problem = useSignal<string | null>(null);
  const loaded = useResource<NoticeList>(models, {
    fetch: () => take(api.notices.$get({ query: { user } })),
    inputs: [user, known],
  });
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void loaded.reload();
    }, POLL_INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  const dismiss = async ({ id }: Notice) => {
    try {
      await models.session.whileSignedIn(() =>
        take(api.notices[":id"].$delete({ param: escapeParams({ id }), json: {} }))
      );
      problem.value = null;
    } catch (fault) {
      problem.value = failureText(fault);
    }
    await loaded.reload();
  };
  const state = loaded.state.value;
  if (state.kind !== "ready" || state.value.total === 0) return null;
  const { items, total } = state.value;
  return (
    <section class="notices" aria-label={t("live.notices")}>
      {items.map((notice) => (
        <NoticeRow key={notice.id} {...{ models, notice, isHere: user !== "", dismiss }} />
      ))}
      {total > items.length && (
        <p class="quiet small">{t("live.notice_more", { count: total - items.length })}</p>
      )}
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
    </section>
  );
}

interface RowProps {
  readonly models: Models;
  readonly notice: Notice;
  /** The notice is on the page of its user. */
  readonly isHere: boolean;
  readonly dismiss: (notice: Notice) => Promise<void>;
}

function NoticeRow({ models, notice, isHere, dismiss }: RowProps) {
  const busy = useSignal(false);
  const { kind, user, atMs, source, client, place, conversationId, lockedUntilMs, operator = "" } = notice;
  // A user without accounting sessions may be connected.
  const isManual = kind === "not_me" && notice.sessions === 0;
  const reason = permissionHint(models, "operator");
  const isLocked = lockedUntilMs > models.clock.nowMs.value;
  return (
    <Alert tone="bad" role="alert">
      <strong>{t(`live.notice_${kind}`, { user })}</strong>{" "}
      {kind === "not_caller" && t("live.notice_caller_next", { operator })}
      {client !== "" &&
        t("live.notice_login", { client: clientText(client), place: place || t("live.notice_nowhere") })}{" "}
      {isLocked && t("live.notice_locked")} {isManual && t("live.notice_no_session")}
      <span class="notice-end">
        <Time models={models} atMs={atMs} />
        <bdi class="mono small">{source}</bdi>
        {!isHere && <a href={userHref(user)}>{t("live.notice_open", { user })}</a>}
        {conversationId !== "" && (
          <a href={`/live/c/${encodeURIComponent(conversationId)}`}>{t("live.notice_open_login")}</a>
        )}
        <button
          type="button"
          class="button button-small"
          aria-label={t("live.notice_dismiss_of", { user })}
          disabled={reason !== undefined}
          aria-disabled={busy.value ? "true" : undefined}
          title={reason}
          onClick={() => {
            if (busy.value) return;
            busy.value = true;
            void dismiss(notice).finally(() => busy.value = false);
          }}
        >
          {t("live.notice_dismiss")}
        </button>
      </span>
    </Alert>
  );
}
