// The embedded outbox: texts and calls that would have been sent. Their passcodes are shown to owners, one at a time.

import { useSignal } from "@preact/signals";
import type { OutboxItem } from "../../../../upstream/embedded/telephony/outbox.ts";
import { failureText, take } from "../../api_client.ts";
import { countText } from "../../format.ts";
import type { LiveModels as Models } from "../../models/live_models.ts";
import { Symbol } from "../symbol.tsx";
import { t } from "../../i18n/translate.ts";
import { Empty } from "../note.tsx";
import { whyNotNow } from "./reconnect_note.tsx";
import { TimeLeft } from "../time_left.tsx";

export function OutboxPanel({ models }: { models: Models }) {
  const { live, clock } = models;
  const items = live.outbox.value;
  if (items === null) return null;
  const nowMs = clock.nowMs.value;
  const reason = whyNotNow(models, "owner");
  const alive = items.filter((item) => item.deadlineMs > nowMs);
  return (
    <section class="panel" aria-labelledby="outbox-title">
      <div class="panel-head">
        <h2 id="outbox-title">
          {t("live.outbox")} <span class="count">{countText(alive.length)}</span>
        </h2>
        <span class="quiet small">{t("live.outbox_hint")}</span>
      </div>
      {alive.length === 0
        ? <Empty title={t("live.outbox_none")} next={t("live.outbox_none_next")} />
        : (
          <ul class="scroll" tabIndex={0} aria-label={t("live.outbox")}>
            {alive.map((item) => (
              <Message key={item.id} item={item} nowMs={nowMs} reason={reason} models={models} />
            ))}
          </ul>
        )}
    </section>
  );
}

interface MessageProps {
  readonly item: OutboxItem;
  readonly nowMs: number;
  readonly reason: string | undefined;
  readonly models: Models;
}

function Message({ item, nowMs, reason, models: { api, session } }: MessageProps) {
  const said = useSignal<string | null>(null);
  const reveal = async () => {
    if (said.value !== null) {
      said.value = null;
      return;
    }
    try {
      const call = () => take(api.outbox[":id"].reveal.$post({ param: { id: item.id }, json: {} }));
      said.value = (await session.whileSignedIn(call)).body;
    } catch (fault) {
      said.value = failureText(fault);
    }
  };
  return (
    <li class="entry message">
      <span class="status tone-idle">
        <Symbol name={item.kind === "text" ? "line-text" : "line-call"} size={14} />
        <span>{t(item.kind === "text" ? "live.text" : "live.call")}</span>
      </span>
      <span class="mono cut">{item.to}</span>
      <TimeLeft
        startMs={item.createdMs}
        deadlineMs={item.deadlineMs}
        nowMs={nowMs}
        label={t("live.time_left")}
      />
      <button
        type="button"
        class="button button-small"
        disabled={reason !== undefined}
        title={reason ?? t("live.reveal_recorded")}
        onClick={() => void reveal()}
      >
        {t(said.value === null ? "live.reveal" : "live.hide")}
        <span class="unseen">{` ${t("live.the_message_to", { to: item.to })}`}</span>
      </button>
      {said.value !== null && <p class="said mono" role="status">{said.value}</p>}
    </li>
  );
}
