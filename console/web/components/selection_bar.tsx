// The bar below a list with selected rows: how many, a button that selects all, and the actions on them.

import type { Selection } from "../app/selection.ts";
import { useShortcuts } from "../app/shortcuts.ts";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icons.tsx";
import { Menu, type MenuItem } from "./menu.tsx";

interface SelectionBarProps {
  readonly selection: Selection;
  /** The number of rows that match; `null` if unknown. */
  readonly total: number | null;
  /** The actions on the selected rows. */
  readonly actions: readonly MenuItem[];
}

export function SelectionBar({ selection, total, actions }: SelectionBarProps) {
  const everything = selection.isEverything.value;
  const count = everything && total !== null ? total : selection.selected.value.size;
  useShortcuts(count === 0 ? [] : [{ keys: "a", label: "common.key_actions", run: focusActions }]);
  if (count === 0) return null;
  const choices: readonly MenuItem[] = [
    ...!everything && total !== null && total > count
      ? [{ label: t("common.select_all", { count: total }), run: selection.selectEverything }]
      : [],
    { label: t("common.select_none"), run: selection.clear },
  ];
  return (
    <div class="selection-bar" role="region" aria-label={t("common.selected", { count })}>
      <Icon name="list-checks" />
      <strong role="status">{t("common.selected", { count })}</strong>
      <div class="bar-buttons">
        {choices.map((item) => <BarButton key={item.label} item={item} />)}
        <span class="gap" />
        {actions.map((item) => <BarButton key={item.label} item={item} />)}
      </div>
      {/* A small screen has room for one button. */}
      <div class="bar-menu">
        <Menu
          text={t("common.actions")}
          icon="list-checks"
          label={t("common.selection_actions")}
          items={() => [...actions, ...choices]}
        />
      </div>
    </div>
  );
}

/** From a row to the bar, past the other rows. */
function focusActions(): void {
  const buttons = document.querySelectorAll<HTMLElement>(".selection-bar button");
  [...buttons].find((button) => button.checkVisibility())?.focus();
}

function BarButton({ item: { label, run, reason, isBad } }: { item: MenuItem }) {
  return (
    <Button
      small
      kind={isBad === true ? "bad" : undefined}
      reason={reason}
      {...run === undefined ? {} : { onClick: run }}
    >
      {label}
    </Button>
  );
}
