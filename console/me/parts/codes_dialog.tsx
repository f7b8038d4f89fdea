// Ten codes, shown once: to copy or print; the user confirms to leave without them.

import { useSignal } from "@preact/signals";
import { CopyButton } from "../../web/parts/copy_button.tsx";
import { Dialog } from "../../web/parts/dialog.tsx";
import { Checkbox } from "../../web/parts/inputs.tsx";
import { Note } from "../../web/parts/note.tsx";
import { Symbol } from "../../web/parts/symbol.tsx";
import { t } from "../../web/i18n/translate.ts";

interface CodesProps {
  readonly user: string;
  readonly codes: readonly string[];
  readonly onClose: (isKept: boolean) => void;
}

export function CodesDialog({ user, codes, onClose }: CodesProps) {
  const kept = useSignal(false);
  const isStopped = useSignal(false);
  const close = () => {
    if (kept.value) onClose(true);
    else isStopped.value = true;
  };
  const title = t("me.recovery_codes", { user });
  return (
    <Dialog
      title={title}
      onClose={close}
      footer={
        <>
          {isStopped.value && !kept.value && (
            <button
              type="button"
              class="button button-plain"
              onClick={() => onClose(false)}
            >
              {t("me.recovery_leave")}
            </button>
          )}
          <button
            type="button"
            class="button button-primary"
            disabled={!kept.value}
            onClick={() => onClose(true)}
          >
            {t("frame.done")}
          </button>
        </>
      }
    >
      <Note tone="wait">{t("me.recovery_once")}</Note>
      <ol class="me-codes mono" aria-label={title}>
        {codes.map((code) => <li key={code}>{code}</li>)}
      </ol>
      <div class="me-deeds">
        <CopyButton text={codes.join("\n")} what={t("frame.copy")} />
        <button type="button" class="button button-small" onClick={() => globalThis.print()}>
          <Symbol name="printer" size={14} />
          {t("me.recovery_print")}
        </button>
      </div>
      <Checkbox label={t("me.recovery_kept")} checked={kept.value} onChange={(now) => kept.value = now} />
      {isStopped.value && !kept.value && <Note tone="bad" role="alert">{t("me.recovery_not_kept")}</Note>}
    </Dialog>
  );
}
