// Actions of a form or page: whether one is in progress, its failure, and its result as a message.

import { type ReadonlySignal, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Receipt } from "../../../scim/ports.ts";
import { ApiFailure, failureText } from "./api_client.ts";
import { type RunLater, runLater } from "./clock_model.ts";

export interface Action {
  readonly busy: ReadonlySignal<boolean>;
  /** It runs for 15 seconds without an answer. */
  readonly isSlow: ReadonlySignal<boolean>;
  /** The error of the latest run; `null` without one. */
  readonly fault: ReadonlySignal<unknown>;
  /** Runs a task unless one is running. Never rejects. */
  run(task: () => Promise<unknown>): Promise<void>;
}

const SLOW_MS = 15_000;

export function createAction({ later }: { readonly later: RunLater }): Action {
  const busy = signal(false);
  const isSlow = signal(false);
  const fault = signal<unknown>(null);
  return {
    busy,
    isSlow,
    fault,
    async run(task) {
      if (busy.peek()) return;
      busy.value = true;
      fault.value = null;
      const stopTimer = later(SLOW_MS, () => isSlow.value = true);
      try {
        await task();
      } catch (caught) {
        fault.value = caught;
      }
      stopTimer();
      isSlow.value = false;
      busy.value = false;
    },
  };
}

/** An action of a component. */
export function useAction(): Action {
  return useMemo(() => createAction({ later: runLater }), []);
}

/**
 * Whether a dialog can be closed. While its action runs, it cannot: the result would be lost. A slow action lets it
 * close, because its answer may never come.
 */
export function canClose({ busy, isSlow }: Pick<Action, "busy" | "isSlow">): boolean {
  return !busy.value || isSlow.value;
}

/** The question before a bulk action, or an action on access that cannot be undone. */
export interface Question {
  /** With the object: "Restore 2 users?". */
  readonly title: string;
  /** The verb on the button. */
  readonly submitLabel: string;
  /** What changes. */
  readonly text: ComponentChildren;
  readonly isBad?: boolean;
  /** Runs the action after the answer. An error is shown in the dialog. */
  readonly run: () => Promise<unknown>;
}

export interface ResultMessage {
  readonly text: string;
  readonly tone: "ok" | "wait" | "bad";
  readonly receipt: Receipt | null;
}

/** The result of a saved change. It is a warning if a backend did not save it, or left out members of a group. */
export function toResultMessage(text: string, receipt: Receipt | null = null): ResultMessage {
  const isWhole = receipt === null ||
    receipt.entries.every(({ outcome, notStored }) =>
      (outcome === "done" || outcome === "read_only") && notStored === undefined
    );
  return { text, tone: isWhole ? "ok" : "wait", receipt };
}

/** Whether a backend refused a change that other backends saved. */
export function hasFailure(receipt: Receipt): boolean {
  return receipt.entries.some(({ outcome }) =>
    outcome !== "done" && outcome !== "queued" && outcome !== "read_only"
  );
}

/** The result of a change that was not saved. */
export function toFailureMessage(title: string, fault: unknown): ResultMessage {
  const receipt = fault instanceof ApiFailure ? fault.receipt : null;
  return { text: `${title} ${failureText(fault)}`, tone: "bad", receipt };
}
