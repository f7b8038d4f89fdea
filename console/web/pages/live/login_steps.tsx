// The steps of one login as a timeline.

import type { ConversationView } from "../../../../radius/ports.ts";
import { fullTimeText, offsetText } from "../../app/format.ts";

import { Icon } from "../../components/icons.tsx";
import { t } from "../../i18n/translate.ts";
import { momentTexts } from "./moment_texts.ts";

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
