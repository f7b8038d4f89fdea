// A value in a row that narrows the list to it when it is pressed.

import type { ComponentChildren } from "preact";
import type { Models } from "../models/models.ts";
import { t } from "../i18n/translate.ts";
import type { MessageKey } from "../i18n/catalogue.ts";

interface CellFilterProps {
  readonly models: Pick<Models, "router">;
  /** What the address then has. */
  readonly to: Readonly<Record<string, string>>;
  /** "Show only {value}". */
  readonly says: MessageKey;
  readonly value: string;
  /** Further classes: `cut`, `mono`. */
  readonly look?: string | undefined;
  /** Instead of the value. */
  readonly children?: ComponentChildren;
}

export function CellFilter({ models: { router }, to, says, value, look = "cut", children }: CellFilterProps) {
  return (
    <button
      type="button"
      class={`cell-filter ${look}`}
      title={t(says, { value })}
      onClick={() => router.setParams(to)}
    >
      {children ?? value}
    </button>
  );
}
