// The Test inbox page: SMS messages and calls that the embedded telephony service captures instead of sending them.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { OutboxItem } from "../../../../upstream/embedded/telephony/outbox.ts";
import { escapeParams, failureText, take } from "../../app/api_client.ts";
import type { PageProps } from "../../app/app_context.ts";
import { countText } from "../../app/format.ts";
import { EmptyState, Skeleton } from "../../components/alert.tsx";
import { Icon } from "../../components/icons.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { Time, TimeLeft } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { ConnectionBanner, type LiveModels as Models, withLiveModels } from "../live/live_context.tsx";
import { livePermissionHint } from "../live/live_permission.ts";

export default function TestInboxPage({ models: frame }: PageProps) {
  const models = withLiveModels(frame);
  const { live, session } = models;
  useEffect(() => {
    live.start();
    return live.stop;
  }, []);
  return (
    <main class="page test-inbox">
      <PageBar title={t("shell.test_inbox")} />
      <ConnectionBanner models={models} />
      {session.features.value.outbox
        ? (
          <>
            <p class="quiet">{t("testinbox.hint")}</p>
            <Messages models={models} />
          </>
        )
        : (
          <div class="panel">
            <EmptyState title={t("testinbox.off")} next={t("testinbox.off_next")} />
          </div>
        )}
    </main>
  );
}

function Messages({ models }: { models: Models }) {
  const { live, clock } = models;
  const items = live.outbox.value;
  if (items === null) return <Skeleton rows={4} />;
  const nowMs = clock.nowMs.value;
  const reason = livePermissionHint(models, "owner");
  const alive = items.filter((item) => item.deadlineMs > nowMs);
  return (
    <section class="panel" aria-labelledby="messages-title">
      <div class="panel-head">
        <h2 id="messages-title">
          {t("testinbox.messages")} <span class="count">{countText(alive.length)}</span>
        </h2>
      </div>
      {alive.length === 0
        ? <EmptyState title={t("testinbox.none")} next={t("testinbox.none_next")} />
        : (
          <ul class="messages">
            {alive.map((item) => <Message key={item.id} {...{ item, nowMs, reason, models }} />)}
          </ul>
        )}
    </section>
  );
}

interface MessageProps {
  readonly item: OutboxItem;
  readonly nowMs: number;
  /** Why the administrator cannot read the message. */
  readonly reason: string | undefined;
  readonly models: Models;
}

function Message({ item, nowMs, reason, models }: MessageProps) {
  const { api, session } = models;
  const shown = useSignal<string | null>(null);
  const reveal = async () => {
    if (shown.value !== null) {
      shown.value = null;
      return;
    }
    try {
      const call = () =>
        take(api.outbox[":id"].reveal.$post({ param: escapeParams({ id: item.id }), json: {} }));
      shown.value = (await session.whileSignedIn(call)).body;
    } catch (fault) {
      shown.value = failureText(fault);
    }
  };
  return (
    <li class="entry message">
      <span class="status tone-idle">
        <Icon name={item.kind === "text" ? "line-text" : "line-call"} size={14} />
        <span>{t(item.kind === "text" ? "testinbox.text" : "testinbox.call")}</span>
      </span>
      <span class="mono">{item.to}</span>
      <span class="quiet">
        <Time models={models} atMs={item.createdMs} />
      </span>
      <TimeLeft
        startMs={item.createdMs}
        deadlineMs={item.deadlineMs}
        nowMs={nowMs}
        label={t("testinbox.expires")}
      />
      <button
        type="button"
        class="button button-small"
        disabled={reason !== undefined}
        title={reason ?? t("testinbox.reveal_recorded")}
        onClick={() => void reveal()}
      >
        {t(shown.value === null ? "testinbox.reveal" : "testinbox.hide")}
        <span class="unseen">{` ${t("testinbox.the_message_to", { to: item.to })}`}</span>
      </button>
      {shown.value !== null && <p class="shown mono" role="status">{shown.value}</p>}
    </li>
  );
}
