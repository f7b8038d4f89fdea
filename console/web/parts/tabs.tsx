// Parts of one page by anchors: `#timeline` is a link like any other.

import type { Models } from "../models/models.ts";
import { countText } from "../format.ts";

export interface Tab {
  /** Without its sign; "" for the first. */
  readonly hash: string;
  readonly label: string;
  readonly count?: number;
}

/** The tab of the address, or the first one. */
export function currentTab({ router }: Pick<Models, "router">, tabs: readonly Tab[]): string {
  const hash = router.hash.value;
  return tabs.some((tab) => tab.hash === hash) ? hash : tabs[0]?.hash ?? "";
}

export function Tabs({ models, tabs, label }: { models: Models; tabs: readonly Tab[]; label: string }) {
  const { router } = models;
  const current = currentTab(models, tabs);
  return (
    <nav class="tabs" aria-label={label}>
      <ul>
        {tabs.map(({ hash, label, count }) => (
          <li key={hash}>
            <a href={`${router.path.value}#${hash}`} aria-current={hash === current ? "true" : undefined}>
              {label}
              {count !== undefined && <span class="count">{countText(count)}</span>}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
