// Puts a text on the clipboard and says so on itself.

import { useSignal } from "@preact/signals";
import { t } from "../i18n/translate.ts";
import { Symbol } from "./symbol.tsx";

const SAID_MS = 2000;

/** @param props.what what is copied, for its name: "Copy the link". */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const said = useSignal<"copied" | "not_copied" | null>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.value = "copied";
    } catch (_notAllowed) {
      // Over plain http browsers keep the clipboard closed.
      said.value = "not_copied";
    }
    setTimeout(() => said.value = null, SAID_MS);
  };
  return (
    <button type="button" class="button button-small" onClick={() => void copy()}>
      <Symbol name={said.value === "copied" ? "check" : "copy"} size={14} />
      <span aria-live="polite">{said.value === null ? what : t(`frame.${said.value}`)}</span>
    </button>
  );
}
