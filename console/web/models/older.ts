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

/** What was read behind one first page. */
interface Behind<P> {
  readonly first: P;
  readonly pages: readonly P[];
  readonly problem: string | null;
}

/** @param of.first Another one drops what was read further back from the one before. */
export function useOlder<P extends object>(
  { session }: Pick<Models, "session">,
  { first, read }: { first: P; read: ((before: string) => Promise<P>) | undefined },
): Older<P> {
  const behind = useSignal<Behind<P>>({ first, pages: [], problem: null });
  const { busy, run } = useDeed();
  const { pages, problem } = behind.value.first === first ? behind.value : { pages: [], problem: null };
  const last = pages.at(-1) ?? first;
  return {
    pages: [first, ...pages],
    last,
    busy: busy.value,
    problem,
    more: () =>
      run(async () => {
        const { next }: Further = last;
        if (typeof next !== "string" || read === undefined) return;
        try {
          const page = await session.whileSignedIn(() => read(next));
          behind.value = { first, pages: [...pages, page], problem: null };
        } catch (fault) {
          behind.value = { first, pages, problem: failureText(fault) };
        }
      }),
  };
}
