// A user's history, newest first: logins and changes, who did them and from where.

import { useSignal } from "@preact/signals";
import type { TimelineEntry, TimelinePage } from "../../../api/users/user_types.ts";
import { useDeed } from "../../models/deed.ts";
import { useResource } from "../../models/resource.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { findMessage, t } from "../../i18n/translate.ts";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { ChangeText } from "../audit/change_text.tsx";
import { deedText } from "../audit/event_label.ts";
import { Button } from "../button.tsx";
import { Problem } from "../note.tsx";
import { Panel } from "../panel.tsx";
import { EmptyState, ErrorState, Skeleton } from "../states.tsx";
import { Time } from "../time.tsx";

export function UserTimeline({ models, user, calls }: UserPart) {
  const older = useSignal<TimelinePage | null>(null);
  const first = useResource<TimelinePage>(models, {
    fetch() {
      // What was older belongs to the page before it was changed.
      older.value = null;
      return calls.timeline("");
    },
    inputs: [user],
  });
  const deed = useDeed();
  const state = first.state.value;
  if (state.kind === "failed") {
    return (
      <ErrorState title={t("people.timeline_unread")} onRetry={() => void first.reload()}>
        {state.message}
      </ErrorState>
    );
  }
  if (state.kind !== "ready") return <Skeleton />;
  const entries = [...state.value.entries, ...older.value?.entries ?? []];
  const next = older.value === null ? state.value.next : older.value.next;
  const more = (before: string) =>
    deed.run(async () => {
      const page = await calls.timeline(before);
      older.value = { entries: [...older.value?.entries ?? [], ...page.entries], next: page.next };
    });
  return (
    <Panel quiet title={t("people.timeline")}>
      {entries.length === 0 && next === null &&
        <EmptyState title={t("people.no_timeline")} next={t("people.no_timeline_next")} />}
      <ol class="people-timeline">
        {entries.map((entry) => <Entry key={entry.id} models={models} entry={entry} />)}
      </ol>
      <Problem of={deed.fault} />
      {next !== null && <Button busy={deed.busy.value} onClick={() => more(next)}>{t("people.older")}
      </Button>}
    </Panel>
  );
}

/** Why a login was rejected, as a sentence; `null` where the record does not say, or says what this page does not know. */
function reasonOf({ action, details: { because, by } }: TimelineEntry): string | null {
  if (action !== "login.rejected" || because === undefined) return null;
  if (findMessage(`people.because_${because}`) === null) return null;
  return t(`people.because_${because}` as MessageKey, { by: by ?? "" });
}

function Entry({ models, entry }: Pick<UserPart, "models"> & { entry: TimelineEntry }) {
  const { atMs, actor, source, action, before, after, details } = entry;
  const tone = action === "login.accepted" ? "ok" : action === "login.rejected" ? "bad" : "idle";
  const reason = reasonOf(entry);
  // The reason says these; which backends were written is on the tab of the backends.
  const leftOut = new Set(["backends", ...reason === null ? [] : ["because", "by", "row"]]);
  const shown = Object.fromEntries(Object.entries(details).filter(([name]) => !leftOut.has(name)));
  return (
    <li class={`tone-${tone}`}>
      <Time models={models} atMs={atMs} />
      <strong>{deedText(action)}</strong>
      <span class="quiet small">
        {t("people.by")} <bdi class="mono">{actor}</bdi>
        {source !== "" && <bdi class="mono">{` ${source}`}</bdi>}
      </span>
      {reason !== null && <span class="small">{reason}</span>}
      <span class="small">
        <ChangeText item={{ before, after, details: shown }} />
      </span>
    </li>
  );
}
