// Small line icons as inline paths: the live list draws hundreds, and a reference to a sprite costs more there.

import type { Shape } from "../words.ts";

export type IconName =
  | Shape
  | "live"
  | "search"
  | "close"
  | "alert"
  | "sun"
  | "moon"
  | "leave"
  | "pause"
  | "play"
  | "handset";

/** Drawn in a 16 by 16 box, stroke 1.6; a leading `f` fills the path. */
const PATHS: Readonly<Record<IconName, string>> = {
  check: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8ZM5.3 8.2l1.9 1.9 3.6-4",
  cross: "M2.5 2.5h11v11h-11ZM5.7 5.7l4.6 4.6M10.3 5.7l-4.6 4.6",
  clock: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8ZM8 4.8V8l2.2 1.6",
  diamond: "M8 1.7 14.3 8 8 14.3 1.7 8ZM8 6v4M6 8h4",
  ring: "M8 2.3a5.7 5.7 0 1 0 0 11.4A5.7 5.7 0 0 0 8 2.3ZM5.5 8h5",
  phone: "M5 1.8h6a1 1 0 0 1 1 1v10.4a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V2.8a1 1 0 0 1 1-1ZM7 12h2",
  handset: "M5 1.8h6a1 1 0 0 1 1 1v10.4a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V2.8a1 1 0 0 1 1-1ZM7 12h2",
  text: "M2.2 3h11.6v8H7.2L4 13.6V11H2.2ZM5 6h6M5 8.3h3.5",
  call:
    "M4.2 2.2 6 2.6l.8 2.9-1.4 1.2a9 9 0 0 0 3.9 3.9l1.2-1.4 2.9.8.4 1.8c-.1.9-.8 1.6-1.7 1.7A10.5 10.5 0 0 1 2.5 3.9c.1-.9.8-1.6 1.7-1.7Z",
  key: "M10.2 2.2a3.6 3.6 0 1 0 0 7.2 3.6 3.6 0 0 0 0-7.2ZM7.6 8.4l-5.2 5.2M4 12l1.5 1.5",
  link:
    "M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2-2a2.6 2.6 0 0 0-3.7-3.7l-.8.8M9.2 6.8a2.6 2.6 0 0 0-3.7 0l-2 2a2.6 2.6 0 0 0 3.7 3.7l.8-.8",
  door: "M7 3h5.5v10H7M2.3 8h7M6.7 5.3 9.4 8l-2.7 2.7",
  live: "M1.5 8h3l2-5 3 10 2-5h3",
  search: "M7 2.3a4.7 4.7 0 1 0 0 9.4 4.7 4.7 0 0 0 0-9.4ZM10.5 10.5l3.2 3.2",
  close: "M4 4l8 8M12 4l-8 8",
  alert: "M8 2 14.5 13.5h-13ZM8 6.3v3.4M8 11.6v.1",
  sun:
    "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM8 1.3v1.4M8 13.3v1.4M1.3 8h1.4M13.3 8h1.4M3.3 3.3l1 1M11.7 11.7l1 1M3.3 12.7l1-1M11.7 4.3l1-1",
  moon: "M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1Z",
  leave: "M6.5 2.5h-4v11h4M6 8h8M11 5l3 3-3 3",
  pause: "M5.5 3v10M10.5 3v10",
  play: "M4.5 2.8 13 8l-8.5 5.2Z",
};

/** An icon beside a word; it is hidden from screen readers because the word says it. */
export function Icon({ name, size = 14 }: { name: IconName; size?: number }) {
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
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The product's mark: a challenge goes out, its answer comes back. */
export function Mark({ size = 20 }: { size?: number }) {
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
