// The help dialog: all shortcuts of the open page, and the role that each one needs.

import { useRef } from "preact/hooks";
import { permissionHint } from "./session_model.ts";
import type { Models } from "./app_context.ts";
import { activeShortcuts, type Shortcut } from "./shortcuts.ts";
import { t } from "../i18n/translate.ts";
import { Dialog } from "../components/dialog.tsx";
import { Checkbox } from "../components/field.tsx";

export function HelpDialog({ models }: { models: Models }) {
  const { preferences, overlay } = models;
  // The dialog has no shortcuts of its own: it lists those of the page under it.
  const rows = useRef(activeShortcuts()).current;
  return (
    <Dialog title={t("shell.keys")} wide lightDismiss onClose={() => overlay.value = null}>
      <Checkbox
        label={t("shell.keys")}
        hint={t("shell.single_keys_hint")}
        checked={preferences.singleKeys.value}
        onChange={preferences.setSingleKeys}
      />
      <dl class="keys">
        <div>
          <dt>
            <kbd>Ctrl</kbd> <kbd>K</kbd>
          </dt>
          <dd>{t("shell.key_palette")}</dd>
        </div>
        {rows.map((row) => (
          <KeyRow
            key={row.keys}
            row={row}
            reason={row.needs && permissionHint(models, row.needs)}
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
        <ShortcutKeys keys={row.keys} />
      </dt>
      <dd>
        {t(row.label)}
        {reason !== undefined && <span class="quiet">{` · ${reason}`}</span>}
      </dd>
    </div>
  );
}

const KEY_NAMES: Readonly<Record<string, string>> = { Escape: "Esc", " ": "Space" };

/** `g l` as two keys, `X` as Shift and x. */
export function ShortcutKeys({ keys }: { keys: string }) {
  const pressed = keys === " " ? [keys] : keys.split(" ");
  const shown = pressed.flatMap((key) => /^[A-Z]$/.test(key) ? ["Shift", key.toLowerCase()] : [key]);
  return <>{shown.map((key, at) => <kbd key={at}>{KEY_NAMES[key] ?? key}</kbd>)}</>;
}
