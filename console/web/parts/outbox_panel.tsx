// The embedded outbox: texts and calls that would have been sent. Their passcodes are shown to owners, one at a time.

import { useSignal } from "@preact/signals";
import type { OutboxItem } from "../../../upstream/embedded/interfaces.ts";
import { failureText, take } from "../api_client.ts";
import { countText } from "../format.ts";
import type { LiveModels as Models } from "../models/live_models.ts";
import { valueOf } from "../remote.ts";
import { EMPTY, NEEDS_ROLE } from "../words.ts";
import { Icon } from "./icon.tsx";
import { Empty } from "./note.tsx";
import { TimeLeft } from "./time_left.tsx";

export function OutboxPanel({ models }: { models: Models }) {
  const { live, clock, session } = models;
  const items = live.outbox.value;
  if (items === null) return null;
  const nowMs = clock.nowMs.value;
  const isOwner = valueOf(session.session.value)?.role === "owner";
  const alive = items.filter((item) => item.deadlineMs > nowMs);
  return (
    <section class="panel" aria-labelledby="outbox-title">
      <div class="panel-head">
        <h2 id="outbox-title">
          Outbox <span class="count">{countText(alive.length)}</span>
        </h2>
        <span class="quiet small">For evaluation: nothing is sent.</span>
      </div>
      {alive.length === 0
        ? <Empty {...EMPTY.outbox} />
        : (
          <ul class="scroll" tabIndex={0} aria-label="Messages">
            {alive.map((item) => (
              <Message key={item.id} item={item} nowMs={nowMs} isOwner={isOwner} models={models} />
            ))}
          </ul>
        )}
    </section>
  );
}

interface MessageProps {
  readonly item: OutboxItem;
  readonly nowMs: number;
  readonly isOwner: boolean;
  readonly models: Models;
}

function Message({ item, nowMs, isOwner, models: { api, session } }: MessageProps) {
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
        <Icon name={item.kind === "text" ? "text" : "call"} />
        <span>{item.kind === "text" ? "Text" : "Call"}</span>
      </span>
      <span class="mono cut">{item.to}</span>
      <TimeLeft startMs={item.createdMs} deadlineMs={item.deadlineMs} nowMs={nowMs} label="Good for" />
      <button
        type="button"
        class="button button-small"
        disabled={!isOwner}
        title={isOwner ? "Reading it is recorded" : NEEDS_ROLE.owner}
        onClick={() => void reveal()}
      >
        {said.value === null ? "Reveal" : "Hide"}
        <span class="unseen">{` the message to ${item.to}`}</span>
      </button>
      {said.value !== null && <p class="said mono" role="status">{said.value}</p>}
    </li>
  );
}
