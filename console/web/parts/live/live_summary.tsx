// What screen readers hear of the live board: how many logins are under way, at most every ten seconds, never each row.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LiveModels as Models } from "../../models/live_models.ts";
import { t } from "../../i18n/translate.ts";

const SAID_EVERY_MS = 10_000;

export function LiveSummary({ live }: { live: Models["live"] }) {
  const said = useSignal("");
  const underWay = useComputed(() => Object.values(live.steps.value).reduce((sum, count) => sum + count, 0));
  useEffect(() => {
    const timer = setInterval(() => {
      said.value = t("live.under_way", { count: underWay.peek() });
    }, SAID_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return <span class="unseen" role="status">{said}</span>;
}
