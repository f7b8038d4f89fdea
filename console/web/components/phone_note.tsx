// What the gateway knows about a paired phone: its kind, when it was last seen, and whether it receives notifications.

import type { PairingView } from "../../api/users/user_types.ts";
import type { Models } from "../app/app_context.ts";
import { t } from "../i18n/translate.ts";
import { Icon } from "./icons.tsx";
import { Time } from "./time.tsx";

type Phone = NonNullable<PairingView["phone"]>;

const PUSH_STATES = {
  on: { tone: "ok", shape: "check" },
  off: { tone: "idle", shape: "ring" },
  failed: { tone: "bad", shape: "cross" },
} as const;

interface PhoneNoteProps {
  readonly models: Pick<Models, "clock">;
  readonly phone: Phone;
}

/** All of it, on one line. */
export function PhoneNote({ models, phone }: PhoneNoteProps) {
  return (
    <>
      <span class="quiet small">
        {phone.kind !== null && `${t(`common.phone_kind_${phone.kind}`)}, `}
        {t("common.phone_seen")} <PhoneSeen models={models} phone={phone} />
      </span>
      <PhonePush push={phone.push} label={t(`common.phone_push_${phone.push}`)} />
      {phone.pushProblem !== null && (
        <span class="quiet small">
          {phone.pushProblem === "gone"
            ? t("common.phone_push_gone")
            : t("common.phone_push_refused", { problem: phone.pushProblem })}
        </span>
      )}
    </>
  );
}

/** When the phone was last seen. A phone that was not seen for 90 days is marked. */
export function PhoneSeen({ models, phone: { lastSeenMs, isStale } }: PhoneNoteProps) {
  const seen = lastSeenMs === null ? t("common.never") : <Time models={models} atMs={lastSeenMs} />;
  if (!isStale) return <span class={lastSeenMs === null ? "quiet" : ""}>{seen}</span>;
  return (
    <span class="tone-wait" title={t("common.phone_stale")}>
      {seen}
      <span class="unseen">{`, ${t("common.phone_stale")}`}</span>
    </span>
  );
}

/** Whether the phone receives notifications. */
export function PhonePush({ push, label }: Pick<Phone, "push"> & { readonly label: string }) {
  const { tone, shape } = PUSH_STATES[push];
  return (
    <span class={`status small tone-${tone}`}>
      <Icon name={`line-${shape}`} size={14} />
      {label}
    </span>
  );
}
