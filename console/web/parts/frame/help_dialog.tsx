// Every key that does something on the page that is open, and what it needs.

import { useRef } from "preact/hooks";
import { whyNot } from "../../access_words.ts";
import type { Models } from "../../models/models.ts";
import { activeShortcuts, type Shortcut } from "../../shortcuts.ts";
import { t } from "../../i18n/translate.ts";
import { Dialog } from "../dialog.tsx";
import { Checkbox } from "../inputs.tsx";

export function HelpDialog({ models }: { models: Models }) {
  const { preferences, overlay } = models;
  // What was on when the dialog opened.
  const rows = useRef(activeShortcuts()).current;
  return (
    <Dialog title={t("frame.keys")} wide light onClose={() => overlay.value = null}>
      <Checkbox
        label={t("frame.single_keys")}
        hint={t("frame.single_keys_hint")}
        checked={preferences.singleKeys.value}
        onChange={preferences.setSingleKeys}
      />
      <dl class="keys">
        <div>
          <dt>
            <kbd>Ctrl</kbd> <kbd>K</kbd>
          </dt>
          <dd>{t("frame.key_palette")}</dd>
        </div>
        {rows.map((row) => (
          <KeyRow
            key={row.keys}
            row={row}
            reason={row.needs && whyNot(models, row.needs)}
          />
        ))}
      </dl>
    </Dialog>
  );
}

function KeyRow({ row, reason }: { row: Shortcut; reason: string | undefined }) {
  return (
    <div>
      <dt>
        <Keys keys={row.keys} />
      </dt>
      <dd>
        {t(row.does)}
        {reason !== undefined && <span class="quiet">{` · ${reason}`}</span>}
      </dd>
    </div>
  );
}

const KEY_NAMES: Readonly<Record<string, string>> = { Escape: "Esc", " ": "Space" };

/** `g l` as two keys, `X` as Shift and x. */
export function Keys({ keys }: { keys: string }) {
  const pressed = keys === " " ? [keys] : keys.split(" ");
  const shown = pressed.flatMap((key) => /^[A-Z]$/.test(key) ? ["Shift", key.toLowerCase()] : [key]);
  return <>{shown.map((key, at) => <kbd key={at}>{KEY_NAMES[key] ?? key}</kbd>)}</>;
}
