// A list that is read further back: its first page, and the older ones that somebody asked for.

import { useSignal } from "@preact/signals";
import { failureText } from "../api_client.ts";
import { useDeed } from "./deed.ts";
import type { Models } from "./models.ts";

/** A page that may have older ones behind it. */
export interface Further {
  /** What to ask for those that are older; `null` at the end, absent where there never are any. */
  readonly next?: string | null;
}

export interface Older<P> {
  /** From the first page on. */
  readonly pages: readonly P[];
  readonly last: P;
  readonly busy: boolean;
  /** Why the older ones did not come; `null` when nothing failed. */
  readonly problem: string | null;
  /** Fetches the next older page; never rejects. */
  more(): Promise<void>;
}

/** @param of.first Another one drops what was read further back from the one before. */
export function useOlder<P extends object>(
  { session }: Pick<Models, "session">,
  { first, read }: { first: P; read: (before: string) => Promise<P> },
): Older<P> {
  const older = useSignal<{ readonly of: P; readonly pages: readonly P[] }>({ of: first, pages: [] });
  const { busy, fault, run } = useDeed();
  const { of, pages } = older.value;
  const shown = of === first ? [first, ...pages] : [first];
  const last = shown.at(-1) ?? first;
  return {
    pages: shown,
    last,
    busy: busy.value,
    problem: fault.value === null ? null : failureText(fault.value),
    more: () =>
      run(async () => {
        const { next: before }: Further = last;
        if (typeof before !== "string") return;
        const page = await session.whileSignedIn(() => read(before));
        older.value = { of: first, pages: [...shown.slice(1), page] };
      }),
  };
}
