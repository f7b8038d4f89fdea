// Small line icons as inline paths in a 16 by 16 box. The live list draws hundreds, and a sprite costs more there.

export const ROW_ICON_PATHS = {
  check: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8ZM5.3 8.2l1.9 1.9 3.6-4",
  cross: "M2.5 2.5h11v11h-11ZM5.7 5.7l4.6 4.6M10.3 5.7l-4.6 4.6",
  clock: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8ZM8 4.8V8l2.2 1.6",
  diamond: "M8 1.7 14.3 8 8 14.3 1.7 8ZM8 6v4M6 8h4",
  ring: "M8 2.3a5.7 5.7 0 1 0 0 11.4A5.7 5.7 0 0 0 8 2.3ZM5.5 8h5",
  phone: "M5 1.8h6a1 1 0 0 1 1 1v10.4a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V2.8a1 1 0 0 1 1-1ZM7 12h2",
  text: "M2.2 3h11.6v8H7.2L4 13.6V11H2.2ZM5 6h6M5 8.3h3.5",
  call:
    "M4.2 2.2 6 2.6l.8 2.9-1.4 1.2a9 9 0 0 0 3.9 3.9l1.2-1.4 2.9.8.4 1.8c-.1.9-.8 1.6-1.7 1.7A10.5 10.5 0 0 1 2.5 3.9c.1-.9.8-1.6 1.7-1.7Z",
  key: "M10.2 2.2a3.6 3.6 0 1 0 0 7.2 3.6 3.6 0 0 0 0-7.2ZM7.6 8.4l-5.2 5.2M4 12l1.5 1.5",
  link:
    "M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2-2a2.6 2.6 0 0 0-3.7-3.7l-.8.8M9.2 6.8a2.6 2.6 0 0 0-3.7 0l-2 2a2.6 2.6 0 0 0 3.7 3.7l.8-.8",
  door: "M7 3h5.5v10H7M2.3 8h7M6.7 5.3 9.4 8l-2.7 2.7",
  search: "M7 2.3a4.7 4.7 0 1 0 0 9.4 4.7 4.7 0 0 0 0-9.4ZM10.5 10.5l3.2 3.2",
} as const;
export type RowIconName = keyof typeof ROW_ICON_PATHS;

/** An icon beside a text. Screen readers skip it. */
export function InlineIcon({ name, size = 14 }: { name: RowIconName; size?: number }) {
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
