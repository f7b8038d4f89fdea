// An action of a form: in progress, or failed with an error.

import { type ReadonlySignal, useSignal } from "@preact/signals";

export interface Deed {
  readonly busy: ReadonlySignal<boolean>;
  /** What was caught; `null` while nothing was. */
  readonly fault: ReadonlySignal<unknown>;
  /** Runs a task unless one is under way; never rejects. */
  run(task: () => Promise<unknown>): Promise<void>;
}

/** For as long as a part is drawn. */
export function useDeed(): Deed {
  const busy = useSignal(false);
  const fault = useSignal<unknown>(null);
  return {
    busy,
    fault,
    async run(task) {
      if (busy.peek()) return;
      busy.value = true;
      fault.value = null;
      try {
        await task();
      } catch (caught) {
        fault.value = caught;
      }
      busy.value = false;
    },
  };
}
