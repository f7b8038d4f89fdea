// Modal dialogs (the browser's <dialog>), and the question before unsaved input is discarded.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n/translate.ts";
import { Icon } from "./icons.tsx";
import { useSignal } from "@preact/signals";
import { type Action, canClose } from "../app/action.ts";
import type { Router } from "../app/router.ts";
import { Alert } from "./alert.tsx";
import { Button } from "./button.tsx";

interface DialogProps {
  readonly title: string;
  /** Without it, only a button in the dialog closes it, because something would be lost. */
  readonly onClose?: (() => void) | undefined;
  /** 420 px unless wide (680 px). */
  readonly wide?: boolean | undefined;
  /** Whether a click outside closes it. For dialogs without input. */
  readonly lightDismiss?: boolean;
  /** The request of the dialog. While it runs, the dialog cannot be closed, unless it is slow. */
  readonly action?: Action | undefined;
  /** The buttons. */
  readonly footer?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Open while it is rendered: `{open.value && <Dialog …>}`. Closing restores the focus. */
export function Dialog(
  { title, onClose, action, wide = false, lightDismiss = false, footer, children }: DialogProps,
) {
  const isClosable = onClose !== undefined && (action === undefined || canClose(action));
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    // The children are rendered already, so their `autofocus` works.
    if (element?.open === false) {
      // The page behind is dimmed once, not once for each dialog.
      if (document.querySelector("dialog:modal") !== null) element.classList.add("dialog-over");
      element.showModal();
      // Without `autofocus`, the browser focuses the first control, which closes the dialog.
      if (document.activeElement?.matches(".panel-head *") === true) firstField(element)?.focus();
    }
    return () => element?.close();
  }, []);
  return (
    <dialog
      class={`dialog ${wide ? "dialog-wide" : ""}`}
      ref={dialog}
      aria-labelledby={titleId}
      // Can have the focus while all its controls are disabled.
      tabIndex={-1}
      closedby={!isClosable ? "none" : lightDismiss ? "any" : "closerequest"}
      onCancel={(event) => {
        // The cancel event of a file chooser bubbles up to the dialog.
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        if (isClosable) onClose();
      }}
    >
      <div class="panel-head">
        <h2 id={titleId}>{title}</h2>
        {onClose !== undefined && (
          <button
            type="button"
            class="button button-plain button-small end"
            // Not `disabled`: it can have the focus when the action starts.
            aria-disabled={isClosable ? undefined : "true"}
            onClick={() => isClosable && onClose()}
          >
            <Icon name="x" />
            <span class="unseen">{t("common.close")}</span>
          </button>
        )}
      </div>
      <div class="dialog-body">
        {action?.isSlow.value && <Alert tone="wait" role="status">{t("common.no_answer")}</Alert>}
        {children}
      </div>
      {footer !== undefined && <div class="dialog-foot">{footer}</div>}
    </dialog>
  );
}

function firstField(dialog: HTMLElement): HTMLElement | null {
  return dialog.querySelector<HTMLElement>(
    ".dialog-body :is(input:not([type=hidden]), select, textarea):enabled",
  );
}

interface DiscardProps {
  readonly onKeep: () => void;
  readonly onDiscard: () => void;
}

/** The focus is on the button that keeps the input. */
export function DiscardDialog({ onKeep, onDiscard }: DiscardProps) {
  return (
    <Dialog
      title={t("common.discard_title")}
      onClose={onKeep}
      footer={
        <>
          <Button autofocus onClick={onKeep}>{t("common.keep_editing")}</Button>
          <Button kind="bad" onClick={onDiscard}>{t("common.discard")}</Button>
        </>
      }
    >
      <p>{t("common.discard_text")}</p>
    </Dialog>
  );
}

interface GuardProps {
  readonly router: Router;
  readonly isDirty: boolean;
  /** Pages below this path share the input, so they are open without a question. */
  readonly within?: string;
  readonly onDiscard?: () => void;
}

/** Asks before the user leaves a page with unsaved input. */
export function UnsavedGuard({ router, isDirty, within, onDiscard }: GuardProps) {
  const proceed = useSignal<(() => void) | null>(null);
  // In a layout effect, because a click can follow the first key at once.
  useLayoutEffect(() => {
    if (!isDirty) return;
    const release = router.block((go) => proceed.value = go, { within });
    // The browser shows its own question.
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => {
      release();
      removeEventListener("beforeunload", warn);
    };
  }, [isDirty]);
  const go = proceed.value;
  if (go === null) return null;
  return (
    <DiscardDialog
      onKeep={() => proceed.value = null}
      onDiscard={() => {
        proceed.value = null;
        onDiscard?.();
        go();
      }}
    />
  );
}
