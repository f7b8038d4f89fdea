// A filter for a date and time, which is stored in the address.

import type { Models } from "../app/app_context.ts";

/** A date and time in the time zone of the browser. */
export function DateTimeFilter(
  { router, name, label }: { router: Models["router"]; name: string; label: string },
) {
  return (
    <label class="moment">
      <span>{label}</span>
      <input
        class="input"
        type="datetime-local"
        value={localText(router.param(name))}
        onChange={(event) => {
          const atMs = Date.parse(event.currentTarget.value);
          router.setParams({ [name]: Number.isNaN(atMs) ? "" : new Date(atMs).toISOString() });
        }}
      />
    </label>
  );
}

/** `datetime-local` takes local time without a zone. */
function localText(value: string): string {
  const atMs = Date.parse(value);
  if (Number.isNaN(atMs)) return "";
  const at = new Date(atMs);
  return new Date(atMs - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
