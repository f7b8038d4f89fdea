// Small line icons as inline paths: the live list draws hundreds, and a reference to a sprite costs more there.

import { ROW_ICON_PATHS, type RowIconName } from "../icon_paths.ts";

/** An icon beside a word; it is hidden from screen readers because the word says it. */
export function Icon({ name, size = 14 }: { name: RowIconName; size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      <path d={ROW_ICON_PATHS[name]} />
    </svg>
  );
}
