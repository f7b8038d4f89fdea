// What the phone shall be called, at pairing: proposed from the browser, and the person's to change.

import { type Signal, useSignal } from "@preact/signals";
import { MAX_PHONE_NAME_CHARACTERS } from "../../platform/device_label.ts";
import { t } from "../web/i18n/translate.ts";
import { type AgentTold, proposedName } from "./proposed_name.ts";

/** The name as it is being typed; it begins with the proposal. */
export function usePhoneName(): Signal<string> {
  return useSignal(
    proposedName(
      navigator as AgentTold,
      (browser, device) => t("device.proposed_name", { browser, device }),
    ),
  );
}

export function NameField({ id, name }: { id: string; name: Signal<string> }) {
  return (
    <div class="field">
      <label for={id}>{t("device.name")}</label>
      <input
        id={id}
        class="input"
        autocomplete="off"
        maxLength={MAX_PHONE_NAME_CHARACTERS}
        value={name.value}
        aria-describedby={`${id}-hint`}
        onInput={(event) => name.value = event.currentTarget.value}
      />
      <span class="hint" id={`${id}-hint`}>
        {t("device.name_hint")}
      </span>
    </div>
  );
}
