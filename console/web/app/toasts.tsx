// Short messages over the page, with an Undo button if the action can be undone.

import { type ReadonlySignal, signal } from "@preact/signals";
import type { RunLater } from "./clock_model.ts";
import type { Tone } from "./login_state_labels.ts";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { pageTop, scrollPage } from "./router.ts";
import { t } from "../i18n/translate.ts";
import { Icon } from "../components/icons.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
  /** Undoes the action. */
  readonly undo?: () => Promise<void> | void;
}

export interface ToastModel {
  readonly list: ReadonlySignal<readonly Toast[]>;
  /** Shows a message for 8 seconds, longer while the pointer or the focus is on it. */
  show(text: string, options?: { readonly tone?: Tone; readonly undo?: () => Promise<void> | void }): void;
  dismiss(id: number): void;
  /** Runs the newest Undo that is shown; nothing without one. For the keyboard, because the messages are far away in the tab order. */
  undoNewest(): void;
  /** Keeps the messages while the pointer or the focus is on them. */
  pause(held: boolean): void;
}

const SHOWN_MS = 8000;
const MAX_SHOWN = 4;

interface ToastDeps {
  readonly later: RunLater;
}

export function createToasts({ later }: ToastDeps): ToastModel {
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
    show(text, { tone = "idle", undo } = {}) {
      number += 1;
      list.value = [...list.peek(), { id: number, text, tone, undo }].slice(-MAX_SHOWN);
      expire(number);
    },
    dismiss,
    undoNewest() {
      const newest = list.peek().findLast(({ undo }) => undo !== undefined);
      if (newest === undefined) return;
      dismiss(newest.id);
      void newest.undo?.();
    },
    pause(now) {
      held = now;
    },
  };
}

/** The gap between the page and the messages on small screens. */
const GAP_PX = 8;

export function ToastRegion({ models }: { models: { readonly toasts: ToastModel } }) {
  const model = models.toasts;
  const region = useRef<HTMLDivElement>(null);
  const list = model.list.value;
  const newest = list.at(-1)?.id;
  useLayoutEffect(() => {
    const element = region.current;
    if (element === null) return;
    const isOpen = element.matches(":popover-open");
    if (!isOpen && newest === undefined) return;
    const topPx = pageTop();
    // Shown again for each message, so that it is above dialogs in the top layer.
    if (isOpen) element.hidePopover();
    if (newest !== undefined) element.showPopover();
    document.documentElement.toggleAttribute("data-toasts", newest !== undefined);
    makeRoom(element);
    // On small screens, the messages change which element scrolls.
    scrollPage(topPx);
  }, [newest]);
  useEffect(() => {
    const element = region.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => makeRoom(element));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div
      class="toasts"
      ref={region}
      popover="manual"
      role="status"
      onPointerEnter={() => model.pause(true)}
      onPointerLeave={() => model.pause(false)}
      onFocusIn={() => model.pause(true)}
      onFocusOut={() => model.pause(false)}
    >
      {list.map((toast) => <OneToast key={toast.id} toast={toast} model={model} />)}
    </div>
  );
}

/** Sets the height of the messages as a custom property. On small screens the page leaves room for them. */
function makeRoom(region: Element): void {
  const roomPx = innerHeight - region.getBoundingClientRect().top + GAP_PX;
  document.documentElement.style.setProperty("--toasts", `${roomPx}px`);
}

function OneToast({ toast, model }: { toast: Toast; model: ToastModel }) {
  const { id, text, tone, undo } = toast;
  return (
    <div class={`toast tone-${tone}`}>
      <span>{text}</span>
      {undo !== undefined && (
        <button
          type="button"
          class="button button-small"
          aria-keyshortcuts="z"
          onClick={() => {
            model.dismiss(id);
            void undo();
          }}
        >
          {t("common.undo")}
        </button>
      )}
      <button type="button" class="button button-plain button-small" onClick={() => model.dismiss(id)}>
        <Icon name="x" />
        <span class="unseen">{t("common.dismiss")}</span>
      </button>
    </div>
  );
}
