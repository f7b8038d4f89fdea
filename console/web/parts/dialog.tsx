// A dialog over the page: the browser's own, so focus, Escape and the top layer are its work.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n/translate.ts";
import { Symbol } from "./symbol.tsx";

interface DialogProps {
  readonly title: string;
  /** Absent: Esc and the x do nothing, because something would be lost; only a button in the dialog closes it. */
  readonly onClose?: (() => void) | undefined;
  /** 420 px unless wide (680 px). */
  readonly wide?: boolean | undefined;
  /** Whether a click beside it closes it; only where nothing typed is lost. */
  readonly light?: boolean;
  /** The buttons at its end. */
  readonly footer?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Open while it is drawn: `{open.value && <Dialog …>}`. The focus goes back to where it was when it leaves. */
export function Dialog({ title, onClose, wide = false, light = false, footer, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    // The children are there already, so `autofocus` among them is obeyed.
    if (element?.open === false) element.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      class={`dialog ${wide ? "dialog-wide" : ""}`}
      ref={dialog}
      aria-labelledby={titleId}
      closedby={onClose === undefined ? "none" : light ? "any" : "closerequest"}
      onCancel={(event) => {
        // A file chooser's own cancel rises to here as well.
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        onClose?.();
      }}
    >
      <div class="panel-head">
        <h2 id={titleId}>{title}</h2>
        {onClose !== undefined && (
          <button type="button" class="button button-plain button-small end" onClick={onClose}>
            <Symbol name="x" />
            <span class="unseen">{t("frame.close")}</span>
          </button>
        )}
      </div>
      <div class="dialog-body">{children}</div>
      {footer !== undefined && <div class="dialog-foot">{footer}</div>}
    </dialog>
  );
}
