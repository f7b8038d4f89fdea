// The name of this phone, with a dialog to change it.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { t } from "../web/i18n/translate.ts";
import { NameField } from "./paired.tsx";
import type { PhoneModel } from "./phone_model.ts";

interface PhoneNameProps {
  readonly model: PhoneModel;
  /** "" for none. */
  readonly name: string;
}

export function PhoneName({ model, name }: PhoneNameProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useSignal(name);
  const open = () => {
    typed.value = name;
    dialog.current?.showModal();
  };
  return (
    <div class="phone-name">
      <span>
        <span class="quiet">{t("device.name")}</span>
        <strong>{name || t("device.no_name")}</strong>
      </span>
      <button type="button" class="button button-plain" onClick={open}>
        {t("common.rename")}
      </button>
      <dialog class="dialog" ref={dialog} aria-labelledby="rename-title">
        <form
          method="dialog"
          class="card"
          onSubmit={() => {
            if (typed.value.trim() !== name) void model.rename(typed.value);
          }}
        >
          <h2 id="rename-title">{t("common.rename")}</h2>
          <NameField id="new-name" name={typed} />
          <div class="choices">
            <button type="button" class="button" onClick={() => dialog.current?.close()}>
              {t("common.cancel")}
            </button>
            <button type="submit" class="button button-primary" disabled={typed.value.trim() === ""}>
              {t("device.rename_save")}
            </button>
          </div>
        </form>
      </dialog>
    </div>
  );
}
