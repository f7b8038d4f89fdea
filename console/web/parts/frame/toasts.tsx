// Draws the messages in the top layer, where no bar can cover "Undo". The region is always there: a live region that comes
// with its text is not read out.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Models } from "../../models/models.ts";
import type { Toast, Toasts as Model } from "../../models/toasts_model.ts";
import { pageTop, scrollPage } from "../../page_scroll.ts";
import { t } from "../../i18n/translate.ts";
import { Symbol } from "../symbol.tsx";

/** Between the page and the messages on a small screen. */
const GAP_PX = 8;

export function Toasts({ models }: { models: Pick<Models, "toasts"> }) {
  const model = models.toasts;
  const region = useRef<HTMLDivElement>(null);
  const list = model.list.value;
  const newest = list.at(-1)?.id;
  useLayoutEffect(() => {
    const element = region.current;
    if (element === null) return;
    const topPx = pageTop();
    // Shown anew for each message: what comes last into the top layer lies above dialogs opened before.
    if (element.matches(":popover-open")) element.hidePopover();
    if (newest !== undefined) element.showPopover();
    document.documentElement.toggleAttribute("data-toasts", newest !== undefined);
    makeRoom(element);
    // On a small screen another element scrolls the page now.
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
      onPointerEnter={() => model.hold(true)}
      onPointerLeave={() => model.hold(false)}
      onFocusIn={() => model.hold(true)}
      onFocusOut={() => model.hold(false)}
    >
      {list.map((toast) => <OneToast key={toast.id} toast={toast} model={model} />)}
    </div>
  );
}

/** Tells the style sheet how much of the window's lower end the messages take; small screens leave it to them. */
function makeRoom(region: Element): void {
  const roomPx = innerHeight - region.getBoundingClientRect().top + GAP_PX;
  document.documentElement.style.setProperty("--toasts", `${roomPx}px`);
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
