// Several values of one kind, such as mail addresses: rows that are added and taken away.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n/translate.ts";
import { Symbol } from "./symbol.tsx";

interface MultiFieldProps<T> {
  /** The group's name: "Mail addresses". */
  readonly label: string;
  readonly rows: readonly T[];
  readonly onChange: (rows: readonly T[]) => void;
  /** A new row. */
  readonly blank: () => T;
  /** On the button: "Add a mail address". */
  readonly addLabel: string;
  /** What a row is called, for its button: "Remove ada@example.org". */
  readonly nameOf: (row: T) => string;
  /** The row's inputs; `change` puts another value in its place. Inputs bring their own labels. */
  readonly renderRow: (row: T, change: (next: T) => void, index: number) => ComponentChildren;
  /** Values over this many are not offered. */
  readonly max?: number;
  /** Why nothing may be changed here. */
  readonly reason?: string;
}

const DEFAULT_MAX = 20;

export function MultiField<T>(props: MultiFieldProps<T>) {
  const { label, rows, onChange, blank, addLabel, nameOf, renderRow, max = DEFAULT_MAX, reason } = props;
  const group = useRef<HTMLFieldSetElement>(null);
  const focusNext = useRef<"last" | "add" | null>(null);
  useLayoutEffect(() => {
    const where = focusNext.current;
    focusNext.current = null;
    if (where === "add") group.current?.querySelector<HTMLElement>(".add")?.focus();
    if (where === "last") {
      group.current?.querySelector<HTMLElement>(".multi-row:last-of-type :is(input, select)")?.focus();
    }
  }, [rows.length]);
  const put = (index: number, next: T) => onChange(rows.map((row, at) => at === index ? next : row));
  const remove = (index: number) => {
    focusNext.current = "add";
    onChange(rows.filter((_, at) => at !== index));
  };
  return (
    <fieldset class="multi" ref={group} disabled={reason !== undefined} title={reason}>
      <legend>{label}</legend>
      {rows.map((row, index) => (
        <div class="multi-row" key={index}>
          {renderRow(row, (next) => put(index, next), index)}
          <button type="button" class="button button-plain" onClick={() => remove(index)}>
            <Symbol name="x" />
            <span class="unseen">{t("frame.remove", { name: nameOf(row) })}</span>
          </button>
        </div>
      ))}
      <button
        type="button"
        class="button button-small add"
        disabled={rows.length >= max}
        onClick={() => {
          focusNext.current = "last";
          onChange([...rows, blank()]);
        }}
      >
        <Symbol name="plus" size={14} />
        {addLabel}
      </button>
    </fieldset>
  );
}
