// Asks before unsaved input is lost: when the user leaves a page, closes a dialog, or closes the window.

import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import type { Router } from "../router.ts";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

interface DiscardProps {
  readonly onKeep: () => void;
  readonly onDiscard: () => void;
}

/** The question itself. The button that keeps the input has the focus. */
export function DiscardDialog({ onKeep, onDiscard }: DiscardProps) {
  return (
    <Dialog
      title={t("frame.discard_title")}
      onClose={onKeep}
      footer={
        <>
          <Button autofocus onClick={onKeep}>{t("frame.keep_editing")}</Button>
          <Button kind="bad" onClick={onDiscard}>{t("frame.discard")}</Button>
        </>
      }
    >
      <p>{t("frame.discard_text")}</p>
    </Dialog>
  );
}

/** Holds the page while it has unsaved input. */
export function UnsavedGuard({ router, isDirty }: { readonly router: Router; readonly isDirty: boolean }) {
  const proceed = useSignal<(() => void) | null>(null);
  // With the drawing, not after it: a click may follow the first key at once.
  useLayoutEffect(() => {
    if (!isDirty) return;
    const release = router.hold((go) => proceed.value = go);
    // The browser asks in its own words.
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
        go();
      }}
    />
  );
}
