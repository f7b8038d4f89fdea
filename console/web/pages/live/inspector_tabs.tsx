// The tabs of the inspector, as the ARIA pattern for tabs describes them: arrow keys move, and only the current tab is a tab stop.

import type { Models } from "../../app/app_context.ts";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";

export const INSPECTOR_TABS = ["summary", "steps", "packets"] as const;
export type InspectorTab = typeof INSPECTOR_TABS[number];

const TAB_LABELS = {
  summary: "live.summary",
  steps: "live.steps",
  packets: "live.packets",
} as const satisfies Record<InspectorTab, MessageKey>;

/** The id of the panel that the tabs show. */
export const INSPECTOR_PANEL_ID = "inspector-panel";

/** The tab of the address, or the first one. */
export function currentInspectorTab({ router }: Pick<Models, "router">): InspectorTab {
  const name = router.param("tab");
  return INSPECTOR_TABS.find((tab) => tab === name) ?? "summary";
}

export function showInspectorTab({ router }: Pick<Models, "router">, tab: InspectorTab): void {
  router.setParams({ tab: tab === "summary" ? "" : tab });
}

export const tabId = (tab: InspectorTab) => `inspector-tab-${tab}`;

/** The tab that a key selects; `null` for other keys. */
export function tabOfKey(key: string, current: InspectorTab): InspectorTab | null {
  const at = INSPECTOR_TABS.indexOf(current);
  const count = INSPECTOR_TABS.length;
  const next = { ArrowRight: at + 1, ArrowLeft: at - 1 + count, Home: 0, End: count - 1 }[key];
  return next === undefined ? null : INSPECTOR_TABS[next % count] ?? null;
}

export function InspectorTabs({ models }: { models: Pick<Models, "router"> }) {
  const current = currentInspectorTab(models);
  return (
    <div class="inspector-tabs" role="tablist" aria-label={t("live.details")}>
      {INSPECTOR_TABS.map((tab) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={tabId(tab)}
          aria-selected={tab === current}
          aria-controls={INSPECTOR_PANEL_ID}
          tabIndex={tab === current ? 0 : -1}
          onClick={() => showInspectorTab(models, tab)}
          onKeyDown={(event) => {
            const next = tabOfKey(event.key, tab);
            if (next === null) return;
            event.preventDefault();
            showInspectorTab(models, next);
            document.getElementById(tabId(next))?.focus();
          }}
        >
          {t(TAB_LABELS[tab])}
        </button>
      ))}
    </div>
  );
}
