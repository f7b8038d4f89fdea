// A secret that is shown this one time: to copy, and to confirm that it is kept.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy_button.tsx";
import { Dialog } from "./dialog.tsx";
import { Checkbox } from "./inputs.tsx";
import { Note } from "./note.tsx";

interface SecretProps {
  /** What it is: "Token of ci". */
  readonly label: string;
  /** One line, or several such as recovery codes. */
  readonly secret: string;
  readonly onDone: () => void;
  readonly children?: ComponentChildren;
}

export function SecretOnce({ label, secret, onDone, children }: SecretProps) {
  const kept = useSignal(false);
  return (
    <div class="secret">
      <Note tone="wait">{t("frame.shown_once")}</Note>
      <pre class="mono" role="group" tabIndex={0} aria-label={label}>{secret}</pre>
      {children}
      <div class="secret-end">
        <CopyButton text={secret} what={t("frame.copy")} />
        <Checkbox
          label={t("frame.i_kept_it")}
          checked={kept.value}
          onChange={(checked) => kept.value = checked}
        />
        <Button kind="primary" disabled={!kept.value} onClick={onDone}>
          {t("frame.done")}
        </Button>
      </div>
    </div>
  );
}

/** A secret that was made. */
export interface Secret {
  /** What it is, which is its label as well unless it has one of its own. */
  readonly title: string;
  readonly label?: string;
  readonly secret: string;
  readonly wide?: boolean;
  readonly children?: ComponentChildren;
}

/** The same in a dialog of its own, which nothing but "Done" closes: the secret cannot be shown again. */
export function SecretDialog(
  { title, label = title, secret, onClose, wide, children }: Secret & { onClose: () => void },
) {
  return (
    <Dialog title={title} wide={wide}>
      <SecretOnce label={label} secret={secret} onDone={onClose}>{children}</SecretOnce>
    </Dialog>
  );
}
