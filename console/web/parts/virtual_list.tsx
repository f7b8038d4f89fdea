// A list of rows of one height that draws only those in view. Rows are placed by a transform, so that nothing shifts
// when others come or go; a row that did not change is not drawn again.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { assignSlots, type NextSlots } from "../models/slots.ts";

export interface RowPlace {
  readonly index: number;
  readonly transform: string;
}

interface VirtualListProps<T> {
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Draws a row. What it reads besides the row and its place stands in `drawnWith`, or is a signal read by a part of the row. */
  readonly renderRow: (row: T, place: RowPlace) => ComponentChildren;
  /** Rows are drawn again when one of these is another; always as many. */
  readonly drawnWith?: readonly unknown[];
  /** The focus is not in the list: elements of rows that scrolled out are reused for new rows. */
  readonly reuse?: boolean;
  readonly label: string;
}

/** Rows drawn beyond each edge, so that a quick scroll shows no gap. */
const OVERSCAN = 6;
const FALLBACK_ROW_PX = 36;
const NO_SLOTS: NextSlots = { slots: new Map(), free: 0 };
const NOTHING: readonly unknown[] = [];

export function VirtualList<T>(props: VirtualListProps<T>) {
  const { rows, keyOf, renderRow, drawnWith = NOTHING, reuse = false, label } = props;
  const frame = useRef<HTMLDivElement>(null);
  const slots = useRef(NO_SLOTS);
  // In rows, not in pixels: a scroll within a row draws nothing.
  const top = useSignal(0);
  const size = useSignal({ heightPx: 600, rowPx: FALLBACK_ROW_PX });
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const measure = () => {
      const rowPx = parseFloat(getComputedStyle(element).getPropertyValue("--row")) || FALLBACK_ROW_PX;
      size.value = { heightPx: element.clientHeight, rowPx };
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  const { heightPx, rowPx } = size.value;
  const first = Math.max(0, top.value - OVERSCAN);
  const last = Math.min(rows.length, top.value + Math.ceil(heightPx / rowPx) + 1 + OVERSCAN);
  const shown = rows.slice(first, last);
  slots.current = assignSlots(slots.current, shown.map(keyOf), { reuse });
  return (
    <div
      class="rows"
      ref={frame}
      role="rowgroup"
      aria-label={label}
      onScroll={(event) => {
        top.value = Math.floor(event.currentTarget.scrollTop / size.peek().rowPx);
      }}
    >
      <div class="spacer" role="presentation" style={{ height: `${rows.length * rowPx}px` }}>
        {shown.map((row, at) => (
          <Row
            key={slots.current.slots.get(keyOf(row))}
            row={row}
            index={first + at}
            rowPx={rowPx}
            render={renderRow}
            drawnWith={drawnWith}
          />
        ))}
      </div>
    </div>
  );
}

interface RowProps<T> {
  readonly row: T;
  readonly index: number;
  readonly rowPx: number;
  readonly render: VirtualListProps<T>["renderRow"];
  readonly drawnWith: readonly unknown[];
}

function Row<T>({ row, index, rowPx, render, drawnWith }: RowProps<T>) {
  const drawn = useMemo(
    () => render(row, { index, transform: `translateY(${index * rowPx}px)` }),
    [row, index, rowPx, ...drawnWith],
  );
  return <>{drawn}</>;
}
