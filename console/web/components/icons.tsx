// Icons and the logo: the icons of the sprite, and their elements. Screen readers skip them, because a text is next to each.

import type { RowIconName } from "./inline_icon.tsx";

export const SPRITE_ICONS = [
  "activity",
  "arrow-down",
  "arrow-left",
  "arrow-up",
  "bell",
  "bookmark",
  "calculator",
  "chart-line",
  "check",
  "chevron-down",
  "chevron-left",
  "chevron-right",
  "circle-alert",
  "columns-3",
  "copy",
  "download",
  "ellipsis",
  "external-link",
  "eye",
  "filter",
  "gauge",
  "globe",
  "heart-pulse",
  "history",
  "inbox",
  "key-round",
  "keyboard",
  "languages",
  "layers",
  "layout-dashboard",
  "link",
  "list-checks",
  "lock",
  "lock-open",
  "log-out",
  "mail",
  "minus",
  "monitor",
  "moon",
  "network",
  "pencil",
  "play",
  "plus",
  "printer",
  "refresh-cw",
  "rows-3",
  "scroll-text",
  "search",
  "send",
  "server",
  "settings",
  "shield",
  "smartphone",
  "sun",
  "target",
  "trash-2",
  "upload",
  "user",
  "user-plus",
  "users",
  "users-round",
  "x",
] as const;
export type SpriteIcon = typeof SPRITE_ICONS[number];

/** Only in the sprite. A separate object, so that scripts without it do not contain it. */
export const SPRITE_ICON_PATHS = {
  handset: "M5 1.8h6a1 1 0 0 1 1 1v10.4a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V2.8a1 1 0 0 1 1-1ZM7 12h2",
  live: "M1.5 8h3l2-5 3 10 2-5h3",
  close: "M4 4l8 8M12 4l-8 8",
  info: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8ZM8 7.4v3.4M8 5v.1",
  alert: "M8 2 14.5 13.5h-13ZM8 6.3v3.4M8 11.6v.1",
  sun:
    "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM8 1.3v1.4M8 13.3v1.4M1.3 8h1.4M13.3 8h1.4M3.3 3.3l1 1M11.7 11.7l1 1M3.3 12.7l1-1M11.7 4.3l1-1",
  moon: "M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1Z",
  leave: "M6.5 2.5h-4v11h4M6 8h8M11 5l3 3-3 3",
  pause: "M5.5 3v10M10.5 3v10",
  play: "M4.5 2.8 13 8l-8.5 5.2Z",
} as const;
export type IconName = RowIconName | keyof typeof SPRITE_ICON_PATHS;

/** The address of the sprite. The build inserts it, with the hash of the content. */
declare const SPRITE_URL: string;

export function Icon({ name, size = 16 }: { name: SpriteIcon | `line-${IconName}`; size?: number }) {
  return (
    <svg class="symbol" aria-hidden="true" width={size} height={size}>
      <use href={`${SPRITE_URL}#${name}`} />
    </svg>
  );
}

/** The logo: a challenge and its response. */
export function Logo({ size = 20 }: { size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="2.2"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      <path d="M2.5 6.5h13M12 2.5l4 4-4 4" />
      <path d="M17.5 13.5h-13M8 9.5l-4 4 4 4" opacity="0.55" />
    </svg>
  );
}
