// A button: what it does by its look, why it cannot be pressed now, and what it is about where many say the same.

import type { ComponentChildren } from "preact";
import type { SpriteIcon } from "../icons.ts";
import { t } from "../i18n/translate.ts";
import { Symbol } from "./symbol.tsx";

export interface ButtonProps {
  /** What one does here first, what weighs little, or what takes something away. */
  readonly kind?: "primary" | "plain" | "bad" | undefined;
  readonly small?: boolean;
  readonly icon?: SpriteIcon;
  readonly disabled?: boolean;
  /** Why it cannot be pressed, such as a role that is missing; `undefined` when it can. */
  readonly reason?: string | undefined;
  /** What it began is under way, which it says instead of its own words. */
  readonly busy?: boolean;
  /** The thing it is done to, for screen readers: "Revoke" of "ada". */
  readonly of?: string;
  /** Sends the form that it stands in, or the one of which it has the id. */
  readonly type?: "submit";
  readonly form?: string;
  readonly autofocus?: boolean;
  readonly onClick?: () => unknown;
  readonly children: ComponentChildren;
}

export function Button(props: ButtonProps) {
  const { kind, small, icon, disabled, reason, busy, of, onClick, children, ...rest } = props;
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind ? `button-${kind}` : ""} ${small ? "button-small" : ""}`}
      disabled={disabled || busy || reason !== undefined}
      title={reason}
      onClick={onClick && (() => void onClick())}
    >
      {icon && <Symbol name={icon} size={small ? 14 : 16} />}
      {busy ? t("frame.working") : children}
      {of !== undefined && <span class="unseen">{` ${of}`}</span>}
    </button>
  );
}
