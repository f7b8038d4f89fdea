// The stream's connection in words: how old the data is while the server is away, what was missed when it is back, and
// why nothing can be done meanwhile.

import { useEffect } from "preact/hooks";
import type { Role } from "../../../api/auth/permissions.ts";
import { whyNot } from "../../access_words.ts";
import { countText, durationText } from "../../format.ts";
import type { LiveModels as Models } from "../../models/live_models.ts";
import { t } from "../../i18n/translate.ts";
import { Note } from "../note.tsx";

/** Why who is here may not do a thing now; `undefined` when they may. */
export function whyNotNow(models: Models, needs: Role): string | undefined {
  const isAway = models.live.link.value.kind === "reconnecting";
  return whyNot(models, needs) ?? (isAway ? t("live.not_while_away") : undefined);
}

const RESUMED_SHOWN_MS = 8000;

/** While the server is away: how old the data is. When it is back: how much was missed. */
export function ReconnectNote({ models: { live, clock } }: { models: Models }) {
  const { link, missed } = live;
  useEffect(() => {
    if (missed.value === null) return;
    const timer = setTimeout(live.forgetMissed, RESUMED_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [missed.value]);
  if (link.value.kind === "reconnecting") {
    // Reading the clock draws the age anew each second.
    clock.nowMs.value;
    return (
      <Note tone="bad" role="status">
        <strong>{t("live.server_silent")}</strong>{" "}
        {t("live.server_silent_next", { age: durationText(Date.now() - link.value.sinceMs) })}
      </Note>
    );
  }
  if (missed.value === null) return null;
  return (
    <Note tone="ok" icon="check" role="status">
      {t("live.resumed", { count: countText(missed.value) })}
    </Note>
  );
}
