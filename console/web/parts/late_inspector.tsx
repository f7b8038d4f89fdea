// The inspector, fetched with its words when the first login is chosen: Live itself opens without it.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ConversationView } from "../../../radius/doing/ports.ts";
import type { Models } from "../models/models.ts";
import { loadWords, t } from "../words/translate.ts";
import { Icon } from "./icon.tsx";
import type { LoginInspector as Inspector } from "./login_inspector.tsx";

const loaded = signal<{ readonly Inspector: typeof Inspector } | "failed" | null>(null);

interface LateInspectorProps {
  readonly models: Models;
  readonly id: string;
  /** As the stream has it; `null` when it is not among the newest. */
  readonly view: ConversationView | null;
  readonly close: () => void;
}

export function LateInspector({ models, id, view, close }: LateInspectorProps) {
  useEffect(() => {
    Promise.all([import("./login_inspector.tsx"), loadWords(["explain"])]).then(
      ([{ LoginInspector }]) => loaded.value = { Inspector: LoginInspector },
      () => loaded.value ??= "failed",
    );
  }, []);
  return (
    <aside class="panel inspector" aria-label={t("live.chosen")}>
      <div class="panel-head">
        <h2 class="mono cut">{view === null ? t("live.login") : view.user || t("live.no_name")}</h2>
        <a class="button button-small button-plain" href={`/live/c/${encodeURIComponent(id)}`}>
          {t("live.full_page")}
        </a>
        <button type="button" class="button button-small button-plain" onClick={close}>
          <Icon name="close" />
          <span class="unseen">{t("live.close")}</span>
        </button>
      </div>
      {loaded.value === "failed" && <div class="empty" role="alert">{t("frame.page_unloaded")}</div>}
      {loaded.value !== null && loaded.value !== "failed" && (
        <div class="body" tabIndex={0} role="group" aria-label={t("live.details")}>
          <loaded.value.Inspector models={models} id={id} view={view} />
        </div>
      )}
    </aside>
  );
}
