// The steps of one login as a timeline.

import type { ConversationView } from "../../../../radius/ports.ts";
import { fullTimeText, offsetText } from "../../app/format.ts";
import {
  messageOrName,
  momentLabel,
  type StateLabel,
  type StateStyle,
} from "../../app/login_state_labels.ts";
import { Icon } from "../../components/icons.tsx";
import { t } from "../../i18n/translate.ts";

/** @param props.atMs the time of the replay. Later steps are dimmed. */
export function LoginSteps({ view, atMs }: { view: ConversationView; atMs: number }) {
  return (
    <section aria-label={t("live.steps")}>
      <ol class="moments">
        {momentTexts(view.moments, view).map((words, at) => {
          const moment = view.moments[at] as ConversationView["moments"][number];
          return (
            <li key={at} class={`tone-${words.tone} ${moment.atMs > atMs ? "to-come" : ""}`}>
              <span class="at mono" title={fullTimeText(moment.atMs)}>
                {offsetText(moment.atMs - view.startedMs)}
              </span>
              <Icon name={`line-${words.shape}`} size={14} />
              <span>
                {words.label}
                {words.why !== null && !isExplained(at, view) && <span class="why">{words.why}</span>}
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** The reason in the headline covers the end of a login. */
function isExplained(at: number, { moments, outcome }: ConversationView): boolean {
  return at === moments.length - 1 && outcome !== null;
}

/** The place of a decision of the phone or of an administrator (radius/conversation/conversation.ts). */
const DECISION_PLACE = "decided";

/** The label of an entry of the timeline, and what happened there if the label does not say it. */
export interface MomentText extends StateLabel {
  readonly why: string | null;
}

/** The entries of a timeline. A step that an entry repeats is named once. @param phone the phone that was asked */
export function momentTexts(
  moments: readonly { readonly step: string; readonly row: string }[],
  { phone }: { readonly phone?: string | undefined } = {},
): MomentText[] {
  let before = "";
  return moments.map(({ step, row }) => {
    const why = messageOrName(`explain.row_${row}`, row);
    const words = momentLabel(step);
    if (step === DECISION_PLACE) {
      before = "";
      const label = phone !== undefined && ON_PHONE.has(row) ? `${why} · ${phone}` : why;
      return { ...row === "decided_approved" ? DECIDED.yes : DECIDED.no, label, why: null };
    }
    const isRepeated = words.label === before;
    before = words.label;
    if (isRepeated || why === words.label) return { ...words, label: why, why: null };
    return { ...words, why };
  });
}

const DECIDED = {
  yes: { tone: "ok", shape: "phone" },
  no: { tone: "bad", shape: "phone" },
} as const satisfies Record<string, StateStyle>;
/** Decisions that were made on the phone. */
const ON_PHONE: ReadonlySet<string> = new Set(["decided_approved", "decided_phone", "decided_wrong_number"]);
