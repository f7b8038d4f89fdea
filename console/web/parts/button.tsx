// A button: what it does by its look, why it cannot be pressed now, and what it is about where many say the same.

import type { ComponentChildren } from "preact";
import type { SpriteIcon } from "../icons.ts";
import { Symbol } from "./symbol.tsx";

export interface ButtonProps {
  /** What one does here first, what weighs little, or what takes something away. */
  readonly kind?: "primary" | "plain" | "bad";
  readonly small?: boolean;
  readonly icon?: SpriteIcon;
  readonly disabled?: boolean;
  /** Why it cannot be pressed, such as a role that is missing; `undefined` when it can. */
  readonly reason?: string | undefined;
  /** The thing it is done to, for screen readers: "Revoke" of "ada". */
  readonly of?: string;
  readonly onClick: () => unknown;
  readonly children: ComponentChildren;
}

export function Button({ kind, small, icon, disabled, reason, of, onClick, children }: ButtonProps) {
  return (
    <button
      type="button"
      class={`button${kind === undefined ? "" : ` button-${kind}`}${small === true ? " button-small" : ""}`}
      disabled={disabled === true || reason !== undefined}
      title={reason}
      onClick={() => void onClick()}
    >
      {icon !== undefined && <Symbol name={icon} size={small === true ? 14 : 16} />}
      {children}
      {of !== undefined && <span class="unseen">{` ${of}`}</span>}
    </button>
  );
}
