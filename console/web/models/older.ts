// A list with older pages: its first page, and the older ones that were requested.

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { failureText } from "../api_client.ts";
import type { Models } from "./models.ts";

/** A page that may have older ones behind it. */
export interface Further {
  /** What to ask for those that are older; `null` at the end, absent where there never are any. */
  readonly next?: string | null;
}

/** What was read behind a first page. */
interface Behind<P> {
  readonly first: P | null;
  readonly pages: readonly P[];
  /** Why the next ones did not come; `null` when nothing failed. */
  readonly problem: string | null;
}

export interface Older<P> {
  /** What was read behind this first page; nothing while it was another one. */
  of(first: P): Omit<Behind<P>, "first">;
  readonly isBusy: () => boolean;
  /** Reads what is older than the last page that is shown; never rejects. */
  more(first: P, read: (before: string) => Promise<P>): Promise<void>;
}

/** @param deps.session waits while a session is over, and calls again when there is one. */
export function createOlder<P extends object>({ session }: Pick<Models, "session">): Older<P> {
  const nothing: Behind<P> = { first: null, pages: [], problem: null };
  const behind = signal(nothing);
  const busy = signal(false);
  const of = (first: P) => behind.value.first === first ? behind.value : nothing;
  return {
    of,
    isBusy: () => busy.value,
    async more(first, read) {
      const { pages } = of(first);
      const { next }: Further = pages.at(-1) ?? first;
      if (typeof next !== "string" || busy.peek()) return;
      busy.value = true;
      try {
        const page = await session.whileSignedIn(() => read(next));
        behind.value = { first, pages: [...pages, page], problem: null };
      } catch (fault) {
        behind.value = { first, pages, problem: failureText(fault) };
      }
      busy.value = false;
    },
  };
}

/** For as long as a list is drawn. */
export function useOlder<P extends object>(models: Pick<Models, "session">): Older<P> {
  return useMemo(() => createOlder<P>(models), []);
}
