// The inspector beside the board; it comes when the first login is chosen, as Live itself opens without it.

import type { ConversationView } from "../../../../radius/ports.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { LoginInspector } from "./login_inspector.tsx";
import { Symbol } from "../symbol.tsx";

interface InspectorPanelProps {
  readonly models: Models;
  readonly id: string;
  /** As the stream has it; `null` when it is not among the newest. */
  readonly view: ConversationView | null;
  readonly close: () => void;
}

export function InspectorPanel({ models, id, view, close }: InspectorPanelProps) {
  return (
    <aside class="panel inspector" aria-label={t("live.chosen")}>
      <div class="panel-head">
        <h2 class="mono">{view === null ? t("live.login") : view.user || t("live.no_name")}</h2>
        <a class="button button-small button-plain" href={`/live/c/${encodeURIComponent(id)}`}>
          {t("live.full_page")}
        </a>
        <button type="button" class="button button-small button-plain" onClick={close}>
          <Symbol name="line-close" size={14} />
          <span class="unseen">{t("live.close")}</span>
        </button>
      </div>
      <div class="body" tabIndex={0} role="group" aria-label={t("live.details")}>
        <LoginInspector models={models} id={id} view={view} />
      </div>
    </aside>
  );
}
