// Draws the messages in the top layer, where no bar can cover "Undo".

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Models } from "../../models/models.ts";
import type { Toast, Toasts as Model } from "../../models/toasts_model.ts";
import { t } from "../../words/translate.ts";
import { Symbol } from "../symbol.tsx";

export function Toasts({ models }: { models: Pick<Models, "toasts"> }) {
  const model = models.toasts;
  const region = useRef<HTMLDivElement>(null);
  const said = model.list.value;
  const shown = useSignal<readonly Toast[]>([]);
  // The region stands before its words come: only then do screen readers hear them.
  useEffect(() => {
    shown.value = said;
  }, [said]);
  const list = shown.value;
  const newest = list.at(-1)?.id;
  useLayoutEffect(() => {
    const element = region.current;
    if (element === null) return;
    // Shown anew for each message: what comes last into the top layer lies above dialogs opened before.
    if (element.matches(":popover-open")) element.hidePopover();
    if (newest !== undefined) element.showPopover();
  }, [newest]);
  return (
    <div
      class="toasts"
      ref={region}
      popover="manual"
      role="status"
      onPointerEnter={() => model.hold(true)}
      onPointerLeave={() => model.hold(false)}
      onFocusIn={() => model.hold(true)}
      onFocusOut={() => model.hold(false)}
    >
      {list.map((toast) => <OneToast key={toast.id} toast={toast} model={model} />)}
    </div>
  );
}

function OneToast({ toast, model }: { toast: Toast; model: Model }) {
  const { id, text, tone, undo } = toast;
  return (
    <div class={`toast tone-${tone}`}>
      <span>{text}</span>
      {undo !== undefined && (
        <button
          type="button"
          class="button button-small"
          onClick={() => {
            model.dismiss(id);
            void undo();
          }}
        >
          {t("frame.undo")}
        </button>
      )}
      <button type="button" class="button button-plain button-small" onClick={() => model.dismiss(id)}>
        <Symbol name="x" />
        <span class="unseen">{t("frame.dismiss")}</span>
      </button>
    </div>
  );
}
