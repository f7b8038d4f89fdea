// What the phone shall be called, at pairing: proposed from the browser, and the person's to change.

import { type Signal, useSignal } from "@preact/signals";
import { MAX_PHONE_NAME_CHARACTERS } from "../../phone_name.ts";
import { type AgentTold, proposedName } from "./proposed_name.ts";

/** The name as it is being typed; it begins with the proposal. */
export function usePhoneName(): Signal<string> {
  return useSignal(proposedName(navigator as AgentTold));
}

export function NameField({ id, name }: { id: string; name: Signal<string> }) {
  return (
    <div class="field">
      <label for={id}>Name of this phone</label>
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
        Tells it from your other phones. Empty: it goes by its number.
      </span>
    </div>
  );
}
