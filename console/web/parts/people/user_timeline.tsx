// A user's history, newest first: logins and changes, who did them and from where.

import { useSignal } from "@preact/signals";
import type { TimelineEntry, TimelinePage } from "../../../api/people/user_shapes.ts";
import { useDeed } from "../../models/deed.ts";
import { useResource } from "../../models/resource.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { knownWord, t } from "../../words/translate.ts";
import type { WordKey } from "../../words/words.ts";
import { readable } from "../../words.ts";
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

/** What a deed is called; one that is not here is called as the record has it. */
const DEEDS: Readonly<Record<string, WordKey>> = {
  "login.accepted": "people.deed_login_accepted",
  "login.rejected": "people.deed_login_rejected",
  "login.joined": "people.deed_login_joined",
  "user.created": "people.deed_user_created",
  "user.replaced": "people.deed_user_replaced",
  "user.deleted": "people.deed_user_deleted",
  "user.locked": "people.deed_user_locked",
  "user.unlock": "people.deed_user_unlocked",
  "user.unlocked": "people.deed_user_unlocked",
  "pairing.add": "people.deed_pairing_added",
  "pairing.added": "people.deed_pairing_added",
  "pairing.revoke": "people.deed_pairing_revoked",
  "pairing.revoked": "people.deed_pairing_revoked",
  "pairing.rename": "people.deed_pairing_renamed",
  "invitation.make": "people.deed_invitation_made",
  "invitation.made": "people.deed_invitation_made",
  "user.me_link": "people.deed_me_link",
  "user.me_entered": "people.deed_me_entered",
  "user.not_me": "people.deed_not_me",
  "recovery_codes.make": "people.deed_recovery_codes",
  "preference.set": "people.deed_preference_set",
};

function deedText(action: string): string {
  const word = Object.hasOwn(DEEDS, action) ? DEEDS[action] : undefined;
  return word === undefined ? readable(action.replaceAll(".", "_")) : t(word);
}

const DETAILS_LEFT_OUT = new Set(["backends", "conversation"]);

/** Why a login was rejected, as a sentence; `null` where the record does not say, or says what this page does not know. */
function reasonOf({ action, details: { because, by } }: TimelineEntry): string | null {
  if (action !== "login.rejected" || because === undefined) return null;
  if (knownWord("people", `because_${because}`) === null) return null;
  return t(`people.because_${because}` as WordKey, { by: by ?? "" });
}

function Entry({ models, entry }: Pick<UserPart, "models"> & { entry: TimelineEntry }) {
  const { atMs, actor, source, action, details } = entry;
  const tone = action === "login.accepted" ? "ok" : action === "login.rejected" ? "bad" : "idle";
  const reason = reasonOf(entry);
  const isSaid = (name: string) => reason !== null && (name === "because" || name === "by" || name === "row");
  const shown = Object.entries(details).filter(([name]) => !DETAILS_LEFT_OUT.has(name) && !isSaid(name));
  const conversation = details.conversation;
  return (
    <li class={`tone-${tone}`}>
      <Time models={models} atMs={atMs} />
      <strong>{deedText(action)}</strong>
      <span class="quiet small">
        {t("people.by")} <bdi class="mono">{actor}</bdi>
        {source !== "" && <bdi class="mono">{` ${source}`}</bdi>}
      </span>
      {reason !== null && <span class="small">{reason}</span>}
      {shown.map(([name, text]) => (
        <span key={name} class="small">
          <span class="quiet">{`${name} `}</span>
          <bdi class="mono">{text}</bdi>
        </span>
      ))}
      {conversation !== undefined && (
        <a class="small" href={`/live/c/${encodeURIComponent(conversation)}`}>
          {t("people.open_login")}
        </a>
      )}
    </li>
  );
}
