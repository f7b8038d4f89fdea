// The history of a user, newest first: logins and changes with their actors and sources.

import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import type { TimelineEntry, TimelinePage } from "../../../api/users/user_types.ts";
import { useAction } from "../../app/action.ts";
import { useResource } from "../../app/resource.ts";
import { EmptyState, ErrorAlert, ErrorState, Skeleton } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { clientText } from "../../components/client_text.ts";
import { Panel } from "../../components/page_layout.tsx";
import { ClockTime, DayTitle, isNewDay } from "../../components/time.tsx";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { findMessage, t } from "../../i18n/translate.ts";
import { auditActionLabel, ChangeText } from "../audit/change_text.tsx";
import type { UserPart } from "./user_page_model.ts";

export function UserTimeline({ models, user, calls }: UserPart) {
  const older = useSignal<TimelinePage | null>(null);
  const first = useResource<TimelinePage>(models, {
    fetch() {
      // The older pages belong to the previous state.
      older.value = null;
      return calls.timeline("");
    },
    inputs: [user],
  });
  const action = useAction();
  const state = first.state.value;
  if (state.kind === "failed") {
    return (
      <ErrorState title={t("users.timeline_unread")} onRetry={() => void first.reload()}>
        {state.message}
      </ErrorState>
    );
  }
  if (state.kind !== "ready") return <Skeleton />;
  const entries = [...state.value.entries, ...older.value?.entries ?? []];
  const next = older.value === null ? state.value.next : older.value.next;
  const more = (before: string) =>
    action.run(async () => {
      const page = await calls.timeline(before);
      older.value = { entries: [...older.value?.entries ?? [], ...page.entries], next: page.next };
    });
  return (
    <Panel quiet title={t("users.timeline")}>
      {entries.length === 0 && next === null &&
        <EmptyState title={t("users.no_timeline")} next={t("users.no_timeline_next")} />}
      <ol class="people-timeline">
        {entries.map((entry, at) => (
          <Fragment key={entry.id}>
            {isNewDay(entry.atMs, entries[at - 1]?.atMs) && (
              <li class="day-item">
                <DayTitle atMs={entry.atMs} nowMs={models.clock.nowMs.peek()} />
              </li>
            )}
            <Entry entry={entry} />
          </Fragment>
        ))}
      </ol>
      <ErrorAlert of={action.fault} />
      {next !== null && (
        <Button busy={action.busy.value} onClick={() => more(next)}>{t("users.older")}</Button>
      )}
    </Panel>
  );
}

/** Why a login was rejected; `null` if the record has no known reason. */
function reasonOf({ action, details: { because, by } }: TimelineEntry): string | null {
  if (action !== "login.rejected" || because === undefined) return null;
  if (findMessage(`users.because_${because}`) === null) return null;
  return t(`users.because_${because}` as MessageKey, { by: by ?? "" });
}

function Entry({ entry }: { entry: TimelineEntry }) {
  const { atMs, actor, source, action, before, after, details } = entry;
  const tone = action === "login.accepted" ? "ok" : action === "login.rejected" ? "bad" : "idle";
  const reason = reasonOf(entry);
  // The reason covers these details; the backends have their own tab.
  const leftOut = new Set([
    "backends",
    ...actor === "radius" ? ["client"] : [],
    ...reason === null ? [] : ["because", "by", "row"],
  ]);
  const shown = Object.fromEntries(Object.entries(details).filter(([name]) => !leftOut.has(name)));
  return (
    <li class={`tone-${tone}`}>
      <ClockTime atMs={atMs} />
      <strong>{auditActionLabel(action)}</strong>
      <span class="quiet small">
        {actor === "radius" && details.client !== undefined
          ? (
            <>
              {t("shell.client")} <bdi class="mono">{clientText(details.client)}</bdi>
            </>
          )
          : (
            <>
              {t("users.by")} <bdi class="mono">{actor}</bdi>
              {source !== "" && <bdi class="mono">{` ${source}`}</bdi>}
            </>
          )}
      </span>
      {reason !== null && <span class="small">{reason}</span>}
      <span class="small">
        <ChangeText item={{ before, after, details: shown }} />
      </span>
    </li>
  );
}
