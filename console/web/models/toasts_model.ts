// Short messages at the edge of the page, one at a time on top of another, with a way back where there is one.

import { type ReadonlySignal, signal } from "@preact/signals";
import type { Tone } from "../words.ts";

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
  /** Takes the deed back. */
  readonly undo?: () => Promise<void> | void;
}

export interface Toasts {
  readonly list: ReadonlySignal<readonly Toast[]>;
  /** Shows a message for 8 seconds, longer while the pointer or the focus is on it. */
  say(text: string, options?: { readonly tone?: Tone; readonly undo?: () => Promise<void> | void }): void;
  dismiss(id: number): void;
  /** Time stands still while the pointer or the focus is in the messages. */
  hold(held: boolean): void;
}

const SHOWN_MS = 8000;
const MAX_SHOWN = 4;

interface ToastDeps {
  readonly later: (delayMs: number, task: () => void) => () => void;
}

export function createToasts({ later }: ToastDeps): Toasts {
  const list = signal<readonly Toast[]>([]);
  let number = 0;
  let held = false;
  const dismiss = (id: number): void => {
    list.value = list.peek().filter((toast) => toast.id !== id);
  };
  const expire = (id: number): void => {
    later(SHOWN_MS, () => held ? expire(id) : dismiss(id));
  };
  return {
    list,
    say(text, { tone = "idle", undo } = {}) {
      number += 1;
      list.value = [...list.peek(), { id: number, text, tone, undo }].slice(-MAX_SHOWN);
      expire(number);
    },
    dismiss,
    hold(now) {
      held = now;
    },
  };
}
