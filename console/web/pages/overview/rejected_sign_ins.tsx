// The latest rejected sign-ins with short reasons.

import type { HistoryItem, HistoryPage } from "../../../api/history/history.ts";
import type { Models } from "../../app/app_context.ts";
import type { Resource } from "../../app/resource.ts";
import { userHref } from "../../app/routes.ts";
import { clientText } from "../../components/client_text.ts";
import { EmptyState, Fetched } from "../../components/alert.tsx";
import { ClockTime } from "../../components/time.tsx";
import { shortReasonText } from "../../app/login_state_labels.ts";
import { t } from "../../i18n/translate.ts";

interface RejectedProps {
  readonly models: Models;
  readonly rejected: Resource<HistoryPage>;
  /** The start of the period. */
  readonly fromMs: number;
}

export function RejectedPanel({ models, rejected, fromMs }: RejectedProps) {
  const all = new URLSearchParams({ outcome: "rejected", from: new Date(fromMs).toISOString() });
  return (
    <section class="panel overview-panel" aria-labelledby="overview-rejected">
      <div class="panel-head">
        <h2 id="overview-rejected">{t("overview.latest_rejected")}</h2>
        <a class="end" href={`/history?${all}`}>{t("overview.all_rejected")}</a>
      </div>
      <Fetched resource={rejected} rows={5}>
        {({ items }) =>
          items.length === 0
            ? <EmptyState title={t("overview.none_rejected")} next={t("overview.none_rejected_next")} />
            : (
              <ul class="rejected-list">
                {items.map((item) => <RejectedRow key={item.id} models={models} item={item} />)}
              </ul>
            )}
      </Fetched>
    </section>
  );
}

function RejectedRow({ models, item }: { models: Models; item: HistoryItem }) {
  const { id, user, client, endedMs, reason } = item;
  return (
    <li>
      <a class="rejected-user" href={userHref(user)}>
        <bdi>{user === "" ? t("common.none") : user}</bdi>
      </a>
      <a class="rejected-reason" href={`/live/c/${encodeURIComponent(id)}`}>
        {reason === null ? t("login.rejected") : shortReasonText(reason)}
      </a>
      <bdi class="rejected-client quiet">{clientText(client)}</bdi>
      <ClockTime atMs={endedMs} dayOfMs={models.clock.nowMs.peek()} />
    </li>
  );
}
