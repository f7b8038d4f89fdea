// The rail: where one can go, who is here, and the way out.

import { useSignal } from "@preact/signals";
import type { Models } from "../models/models.ts";
import { valueOf } from "../remote.ts";
import { storedTheme, switchTheme } from "../theme.ts";
import { ROLES } from "../words.ts";
import { Icon, type IconName, Mark } from "./icon.tsx";

interface RailRow {
  readonly group: string;
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
}

const PLACES: readonly RailRow[] = [{ group: "Watch", path: "/live", label: "Live", icon: "live" }];

export function Rail({ models }: { models: Models }) {
  const { session, router } = models;
  const who = valueOf(session.session.value);
  const theme = useSignal(storedTheme());
  const isDark = theme.value === "dark";
  return (
    <nav class="rail" aria-label="Pages">
      <a class="wordmark" href="/live">
        <Mark />Countersign
      </a>
      {[...new Set(PLACES.map(({ group }) => group))].map((group) => (
        <div class="rail-group" key={group}>
          <h2>{group}</h2>
          <ul>
            {PLACES.filter((place) => place.group === group).map(({ path, label, icon }) => (
              <li key={path}>
                <a
                  class="rail-link"
                  href={path}
                  aria-current={router.path.value === path || router.path.value === "/" ? "page" : undefined}
                >
                  <Icon name={icon} size={16} />
                  {label}
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
      {session.features.value.phone && (
        <div class="rail-group">
          <h2>For users</h2>
          <ul>
            <li>
              <a class="rail-link" href="/device" target="_blank" rel="noopener">
                <Icon name="handset" size={16} />Phone page
              </a>
            </li>
          </ul>
        </div>
      )}
      <div class="rail-end">
        {who !== null && (
          <div class="who">
            <strong class="cut">{who.name}</strong>
            <span>{ROLES[who.role] ?? who.role}</span>
          </div>
        )}
        <div class="rail-actions">
          <button
            type="button"
            class="button button-plain"
            onClick={() => {
              theme.value = switchTheme();
            }}
          >
            <Icon name={isDark ? "sun" : "moon"} />
            {isDark ? "Light" : "Dark"}
          </button>
          <button type="button" class="button button-plain" onClick={() => void session.signOut()}>
            <Icon name="leave" />
            Sign out
          </button>
        </div>
      </div>
    </nav>
  );
}
