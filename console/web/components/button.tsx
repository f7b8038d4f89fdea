// Buttons: for an action, to copy a text, and to export a list.

import type { ComponentChildren } from "preact";
import { Icon, type SpriteIcon } from "./icons.tsx";
import { t } from "../i18n/translate.ts";
import { useSignal } from "@preact/signals";
import { download, failureText } from "../app/api_client.ts";
import { useAction } from "../app/action.ts";
import type { FilterQuery } from "../app/filters.ts";
import type { Models } from "../app/app_context.ts";
import type { MessageKey } from "../i18n/catalogue.ts";

interface ButtonProps {
  /** The main action, a minor action, or a destructive one. */
  readonly kind?: "primary" | "plain" | "bad" | undefined;
  readonly small?: boolean;
  readonly icon?: SpriteIcon;
  /** It does nothing now, and keeps the focus. */
  readonly disabled?: boolean;
  /** Why the button is disabled, such as a missing role; `undefined` if it is enabled. */
  readonly reason?: string | undefined;
  /** The action is running. The button shows that instead of its label. */
  readonly busy?: boolean;
  /** The object of the action, for screen readers: "Revoke" of "ada". */
  readonly of?: string;
  /** Submits its form, or the form with the id `form`. */
  readonly type?: "submit";
  readonly form?: string;
  readonly autofocus?: boolean;
  readonly onClick?: () => unknown;
  readonly children: ComponentChildren;
}

export function Button(props: ButtonProps) {
  const { kind, small, icon, disabled, reason, busy, of, onClick, children, ...rest } = props;
  const isOff = disabled === true || busy === true;
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind ? `button-${kind}` : ""} ${small ? "button-small" : ""}`}
      disabled={reason !== undefined}
      // Not `disabled`: a button that its own action disables would lose the focus.
      aria-disabled={isOff ? "true" : undefined}
      title={reason}
      onClick={(event) => {
        // Also when Enter in a field submits the form.
        if (isOff) event.preventDefault();
        else void onClick?.();
      }}
    >
      {icon && <Icon name={icon} size={small ? 14 : 16} />}
      {busy ? t("common.working") : children}
      {of !== undefined && <span class="unseen">{` ${of}`}</span>}
    </button>
  );
}

const SAID_MS = 2000;

/** @param props.what the label: "Copy the link". */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const said = useSignal<"common.copied" | "common.not_copied" | null>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.value = "common.copied";
    } catch (_notAllowed) {
      // Over plain HTTP, browsers deny access to the clipboard.
      said.value = "common.not_copied";
    }
    setTimeout(() => said.value = null, SAID_MS);
  };
  return (
    <button type="button" class="button button-small" onClick={() => void copy()}>
      <Icon name={said.value === "common.copied" ? "check" : "copy"} size={14} />
      <span aria-live="polite">{said.value === null ? what : t(said.value)}</span>
    </button>
  );
}

/** The label of the button and the message after a failure. */
interface ExportTexts {
  readonly label: MessageKey;
  readonly failed: MessageKey;
}

interface ExportProps {
  readonly models: Models;
  /** Below `/console/api/`: `audit/export`. */
  readonly from: string;
  /** The filters of the list. */
  readonly query: FilterQuery;
  /** `audit.csv`: the extension is the requested format. */
  readonly file: string;
  readonly texts: ExportTexts;
  /** Why the export is disabled. */
  readonly reason?: string | undefined;
  readonly small?: boolean;
}

export function ExportButton({ models, from, query, file, texts, reason, small = false }: ExportProps) {
  const { busy, run } = useAction();
  const save = () =>
    run(async () => {
      const asked = new URLSearchParams({ ...query, format: file.slice(file.indexOf(".") + 1) });
      try {
        await models.session.whileSignedIn(() => download(`/console/api/${from}?${asked}`, file));
      } catch (fault) {
        models.toasts.show(`${t(texts.failed)} ${failureText(fault)}`, { tone: "bad" });
      }
    });
  return (
    <Button icon="download" small={small} disabled={busy.value} reason={reason} onClick={save}>
      {t(busy.value ? "common.working" : texts.label)}
    </Button>
  );
}
