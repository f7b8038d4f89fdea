// Until when a link or a code may be used.

import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { Time } from "../time.tsx";

export function GoodUntil({ models, atMs }: { models: Models; atMs: number }) {
  return (
    <p class="quiet small">
      {t("people.good_until")} <Time models={models} atMs={atMs} absolute />
    </p>
  );
}
