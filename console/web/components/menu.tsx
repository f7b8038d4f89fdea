// A button that opens a menu: actions, links, or choices that can be switched on and off.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { Icon, type SpriteIcon } from "./icons.tsx";

export interface MenuItem {
  readonly label: string;
  readonly icon?: SpriteIcon;
  /** A link. */
  readonly href?: string;
  readonly run?: () => unknown;
  /** The item switches something on and off. The menu stays open, unless `closes` is set. */
  readonly checked?: boolean;
  readonly closes?: boolean;
  /** Why the item is disabled, such as a missing role. */
  readonly reason?: string | undefined;
  /** The item deletes something. */
  readonly isBad?: boolean;
}

interface MenuProps {
  /** The text of the button. Without it, the button shows three dots. */
  readonly text?: string;
  readonly icon?: SpriteIcon;
  /** For screen readers: "Actions for ada". */
  readonly label: string;
  /** Called when the menu opens. */
  readonly items: () => readonly MenuItem[];
  /** Above the items, such as a form. */
  readonly children?: ComponentChildren;
  /** A small button without a border, for a row of a table. */
  readonly isPlain?: boolean;
}

export function Menu({ text, icon, label, items, children, isPlain = false }: MenuProps) {
  const id = `menu-${useId()}`;
  const isOpen = useSignal(false);
  const list = useRef<HTMLDivElement>(null);
  const close = () => list.current?.hidePopover();
  return (
    <>
      <button
        type="button"
        class={isPlain ? "menu-dots" : "button"}
        popovertarget={id}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        aria-label={label}
        title={label}
      >
        <Icon name={icon ?? "ellipsis"} size={16} />
        {text !== undefined && <span class="cut">{text}</span>}
        {text !== undefined && <Icon name="chevron-down" size={14} />}
      </button>
      <div
        class="menu"
        id={id}
        ref={list}
        popover="auto"
        role="menu"
        aria-label={label}
        onToggle={(event) => {
          isOpen.value = event.newState === "open";
          // The items are rendered before the next frame.
          if (isOpen.value) requestAnimationFrame(() => itemsOf(list.current)[0]?.focus());
        }}
        onKeyDown={(event) => moveFocus(event, { list: list.current, close })}
      >
        {isOpen.value && items().map((item) => <Item key={item.label} item={item} close={close} />)}
        {isOpen.value && children}
      </div>
    </>
  );
}

function Item({ item, close }: { item: MenuItem; close: () => void }) {
  const { label, icon, href, run, checked, reason, isBad = false } = item;
  const stays = checked !== undefined && item.closes !== true;
  const classes = `menu-item ${isBad ? "menu-bad" : ""}`;
  const inside = (
    <>
      {checked !== undefined && <span class="menu-check">{checked && <Icon name="check" size={14} />}</span>}
      {icon !== undefined && <Icon name={icon} size={14} />}
      <span class="cut">{label}</span>
    </>
  );
  if (href !== undefined && reason === undefined) {
    return <a class={classes} role="menuitem" tabIndex={-1} href={href} onClick={close}>{inside}</a>;
  }
  return (
    <button
      type="button"
      class={classes}
      role={checked === undefined ? "menuitem" : "menuitemcheckbox"}
      aria-checked={checked}
      tabIndex={-1}
      aria-disabled={reason === undefined ? undefined : "true"}
      title={reason}
      onClick={() => {
        if (reason !== undefined) return;
        // Before the action opens a dialog, so that the focus returns to the button of the menu.
        if (!stays) close();
        void run?.();
      }}
    >
      {inside}
      {reason !== undefined && <span class="unseen">{` (${reason})`}</span>}
    </button>
  );
}

function itemsOf(list: HTMLElement | null): HTMLElement[] {
  return [...list?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? []];
}

function moveFocus(
  event: KeyboardEvent,
  { list, close }: { readonly list: HTMLElement | null; readonly close: () => void },
): void {
  const items = itemsOf(list);
  const at = items.findIndex((item) => item === document.activeElement);
  if (at < 0) return;
  const target = {
    ArrowDown: items[(at + 1) % items.length],
    ArrowUp: items.at(at - 1),
    Home: items[0],
    End: items.at(-1),
  }[event.key];
  if (event.key === "Tab") return close();
  if (target === undefined) return;
  event.preventDefault();
  target.focus();
}
